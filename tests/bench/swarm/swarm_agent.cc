#include "tests/bench/swarm/swarm_agent.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/uuid.h"

namespace nave::bench {
namespace {

HubSession::Options OptionsOf(const AgentIdentity& identity, uint64_t seed) {
  HubSession::Options options;
  options.agent_version = "swarm";
  options.instance_id = Uuid::Random();
  options.cluster_uid = identity.cluster_uid;
  // Each is a cluster of its own; the same after a restart, as a cluster's would be.
  options.kube_system_uid = identity.cluster_uid;
  options.seed = seed;
  options.status_gather = kStatusGather;
  return options;
}

AgentState EmptyState(const AgentIdentity& identity) {
  AgentState state;
  state.cluster_uid = identity.cluster_uid;
  state.kube_system_uid = identity.cluster_uid;
  return state;
}

}  // namespace

SwarmAgent::SwarmAgent(Executor& loop, SwarmBoard& board, AgentIdentity identity, uint64_t seed)
    : loop_(loop),
      board_(board),
      identity_(std::move(identity)),
      session_(OptionsOf(identity_, seed), EmptyState(identity_), false, this),
      link_(MakeGrpcHubLink(loop)),
      state_(EmptyState(identity_)) {
  link_->SetListener(this);
}

SwarmAgent::~SwarmAgent() {
  *alive_ = false;
  if (timer_ != 0) loop_.Cancel(timer_);
}

void SwarmAgent::Start() {
  Facts facts;
  facts.kubernetes_version = "v1.37.2";
  facts.nodes = 3;
  Run(session_.OnFacts(std::move(facts), loop_.Now()));
  Run(session_.OnTick(loop_.Now()));
}

SwarmAgent::Acked SwarmAgent::acked(const Uuid& key) const {
  const auto found = acked_.find(key);
  return found == acked_.end() ? Acked() : found->second;
}

void SwarmAgent::OnStreamUp(uint64_t attempt) { Run(session_.OnStreamUp(attempt, loop_.Now())); }
void SwarmAgent::OnWritten(uint64_t attempt) { Run(session_.OnWritten(attempt, loop_.Now())); }

void SwarmAgent::OnFrame(uint64_t attempt, HubFrame frame) {
  if (const auto* welcome = std::get_if<Welcome>(&frame.body)) {
    ++board_.welcomes;
    ++welcomes_;
    if (welcome->set_matches) ++board_.welcomes_that_matched;
  }
  if (std::holds_alternative<Refusal>(frame.body)) ++board_.refusals;
  Run(session_.OnFrame(attempt, std::move(frame), loop_.Now()));
}

void SwarmAgent::OnStreamDown(uint64_t attempt, absl::Status) {
  ++board_.streams_lost;
  Run(session_.OnStreamDown(attempt, loop_.Now()));
}

void SwarmAgent::OnBlob(uint64_t fetch, const Digest& digest, std::string compressed) {
  Run(session_.OnBlob(fetch, digest, std::move(compressed), loop_.Now()));
}

void SwarmAgent::OnFetchDone(uint64_t fetch, absl::Status status, std::vector<Digest> superseded) {
  Run(session_.OnFetchDone(fetch, status, superseded, loop_.Now()));
}

DesiredContentPtr SwarmAgent::content(const Uuid& key) const {
  const auto found = held_.find(key);
  return found == held_.end() ? nullptr : found->second;
}

DesiredContentPtr SwarmAgent::FindObject(const Digest& object) const {
  for (const auto& [key, content] : held_) {
    for (const Listing::Entry& entry : content->listing.objects) {
      if (entry.digest == object) return content;
    }
  }
  return nullptr;
}

template <typename F>
void SwarmAgent::Later(F task) {
  loop_.Post([alive = std::weak_ptr<bool>(alive_), task = std::move(task)]() mutable {
    const std::shared_ptr<bool> there = alive.lock();
    if (there != nullptr && *there) task();
  });
}

void SwarmAgent::Store(Effects& effects) {
  for (const Uuid& key : effects.abandon_content) written_.erase(key);
  for (ContentWrite& write : effects.write_content) {
    ++board_.contents_taken;
    std::weak_ptr<const DesiredContent>& known = board_.contents[write.content->digest];
    DesiredContentPtr content = known.lock();
    if (content == nullptr) {
      content = std::move(write.content);
      known = content;
    }
    const Digest digest = content->digest;
    written_[write.key] = std::move(content);
    Later([this, key = write.key, digest] {
      Run(session_.OnContentStored(key, digest, absl::OkStatus(), loop_.Now()));
    });
  }
  if (!effects.commit.has_value()) return;
  state_ = *std::move(effects.commit);
  for (const auto& [key, assignment] : state_.assignments) {
    const auto written = written_.find(key);
    if (written == written_.end() || written->second->digest != assignment.content_digest) continue;
    held_[key] = std::move(written->second);
    written_.erase(written);
  }
  std::erase_if(held_,
                [this](const auto& entry) { return !state_.assignments.contains(entry.first); });
  Later([this] { Run(session_.OnCommitted(absl::OkStatus(), loop_.Now())); });
}

void SwarmAgent::Report(const Uuid& key) {
  const auto found = state_.assignments.find(key);
  AssignmentStatus status;
  status.key = key;
  status.since = loop_.Now();
  if (found == state_.assignments.end() || found->second.state == KeyState::kRemoving) {
    status.phase = Phase::kRemoved;
    if (found != state_.assignments.end()) status.revision = found->second.revision;
    Run(session_.OnStatus(std::move(status), false, loop_.Now()));
    return;
  }
  const DesiredContentPtr content = this->content(key);
  const auto objects =
      static_cast<uint32_t>(content == nullptr ? 0 : content->listing.objects.size());
  status.name = found->second.name;
  status.revision = found->second.revision;
  status.digest = found->second.digest;
  status.phase = Phase::kApplied;
  status.health = Health::kHealthy;
  status.counts = {objects, objects, objects, 0};
  Run(session_.OnStatus(std::move(status), objects > 0, loop_.Now()));
}

// In the order of the fields of Effects.
void SwarmAgent::Run(Effects effects) {
  if (effects.close_stream) link_->Close(attempt_);
  for (const Uuid& key : effects.changed) {
    Later([this, key] { Report(key); });
  }
  Store(effects);
  for (uint64_t fetch : effects.cancel_fetches) link_->CancelFetch(fetch);
  for (const FetchRequest& fetch : effects.fetches) link_->Fetch(fetch);
  if (effects.check_lease) {
    Later([this] { Run(session_.OnLeaseChecked(true, loop_.Now())); });
  }
  if (effects.dial.has_value()) {
    attempt_ = *effects.dial;
    link_->Dial(attempt_, {identity_.hub_address, identity_.ca_pem, identity_.certificate_pem,
                           identity_.key_pem});
  }
  if (effects.frame.has_value()) {
    if (std::holds_alternative<DesiredAck>(*effects.frame)) {
      ++board_.acks;
      std::erase_if(
          acked_, [this](const auto& entry) { return !state_.assignments.contains(entry.first); });
      for (const auto& [key, assignment] : state_.assignments) {
        Acked& acked = acked_[key];
        if (acked.digest != assignment.digest) acked = {assignment.digest, absl::Now()};
      }
    }
    link_->Send(attempt_, *effects.frame);
  }
  Arm();
}

void SwarmAgent::Arm() {
  const absl::Time next = session_.NextDeadline();
  if (next == timer_at_) return;
  if (timer_ != 0) loop_.Cancel(timer_);
  timer_ = 0;
  timer_at_ = next;
  if (next == absl::InfiniteFuture()) return;
  timer_ = loop_.PostAt(next, [this, alive = std::weak_ptr<bool>(alive_)] {
    const std::shared_ptr<bool> there = alive.lock();
    if (there == nullptr || !*there) return;
    timer_ = 0;
    timer_at_ = absl::InfiniteFuture();
    Run(session_.OnTick(loop_.Now()));
  });
}

}  // namespace nave::bench
