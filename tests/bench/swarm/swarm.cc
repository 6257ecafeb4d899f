#include "tests/bench/swarm/swarm.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/pki/authority.h"
#include "common/pki/join_token.h"

namespace nave::bench {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(4);
constexpr absl::Duration kPoll = absl::Milliseconds(5);
constexpr size_t kLargeBytes = 1900;  // With the rest of the object, 2 KB.

std::string BundleId(size_t index) { return absl::StrFormat("swarm-%02d", index); }

// Objects of one bundle; the first one of bundle 0 is the large one, and says `version`.
std::string Manifest(size_t bundle, size_t objects, uint64_t version) {
  std::string text;
  for (size_t i = 0; i < objects; ++i) {
    absl::StrAppend(&text,
                    "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ", BundleId(bundle),
                    "-", i, "\ndata:\n  bundle: \"", bundle, "\"\n");
    if (bundle != 0 || i != 0) continue;
    absl::StrAppend(&text, "  version: \"", version, "\"\n");
    // Text that does not compress to nothing.
    uint64_t state = 1;
    std::string filler;
    while (filler.size() < kLargeBytes) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      absl::StrAppend(&filler, absl::Hex(state >> 40), " ");
    }
    absl::StrAppend(&text, "  filler: \"", filler, "\"\n");
  }
  return text;
}

}  // namespace

Swarm::Swarm(std::unique_ptr<HubApi> api)
    : api_(std::move(api)), loop_(MakeThreadExecutor()), calls_(MakeGrpcHubCalls(*loop_)) {}

Swarm::~Swarm() {
  OnLoop([this] {
    agents_.clear();
    calls_.reset();
  });
}

void Swarm::OnLoop(std::function<void()> task) {
  absl::Notification done;
  loop_->Post([&] {
    task();
    done.Notify();
  });
  done.WaitForNotification();
}

absl::Status Swarm::Await(const char* what, std::function<bool(const SwarmAgent&)> done) {
  const absl::Time deadline = absl::Now() + kPatience;
  for (;;) {
    size_t missing = 0;
    OnLoop([&] {
      for (const auto& agent : agents_) missing += done(*agent) ? 0 : 1;
    });
    if (missing == 0) return absl::OkStatus();
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat(what, ": ", missing, " of ", agents_.size(), " agents did not"));
    }
    absl::SleepFor(kPoll);
  }
}

absl::StatusOr<AgentIdentity> Swarm::EnrollOne(const std::string& cluster) {
  ASSIGN_OR_RETURN(const std::string text, api_->CreateToken(cluster));
  ASSIGN_OR_RETURN(const JoinTokenText token, ParseJoinToken(text));
  if (ca_pem_.empty()) {
    absl::StatusOr<std::string> ca;
    absl::Notification done;
    loop_->Post([&] {
      calls_->FetchCa(token.hub_address, token.ca_pin, [&](absl::StatusOr<std::string> answer) {
        ca = std::move(answer);
        done.Notify();
      });
    });
    done.WaitForNotification();
    ASSIGN_OR_RETURN(ca_pem_, std::move(ca));
  }
  AgentIdentity identity;
  ASSIGN_OR_RETURN(identity.key_pem, GenerateKey());
  EnrollRequestData request;
  request.hub_address = token.hub_address;
  request.ca_pem = ca_pem_;
  request.token = text;
  request.agent_version = "swarm";
  ASSIGN_OR_RETURN(request.csr_pem, MakeCsr(identity.key_pem, cluster));
  absl::StatusOr<EnrollAnswer> answer;
  absl::Notification done;
  loop_->Post([&] {
    calls_->Enroll(std::move(request), [&](absl::StatusOr<EnrollAnswer> given) {
      answer = std::move(given);
      done.Notify();
    });
  });
  done.WaitForNotification();
  RETURN_IF_ERROR(answer.status());
  identity.certificate_pem = answer->certificate_pem;
  identity.ca_pem = answer->ca_pem;
  identity.cluster_uid = answer->cluster_uid;
  identity.cluster_name = answer->cluster_name;
  identity.hub_id = answer->hub_id;
  identity.hub_address = token.hub_address;
  return identity;
}

absl::Status Swarm::Enroll(size_t count) {
  while (identities_.size() < count) {
    ASSIGN_OR_RETURN(AgentIdentity identity,
                     EnrollOne(absl::StrFormat("swarm-%05d", identities_.size())));
    identities_.push_back(std::move(identity));
  }
  return absl::OkStatus();
}

absl::Status Swarm::Connect(size_t count) {
  RETURN_IF_ERROR(Enroll(count));
  while (agents_.size() < count) {
    OnLoop([&] {
      agents_.push_back(std::make_unique<SwarmAgent>(*loop_, board_, identities_[agents_.size()],
                                                     agents_.size() + 1));
      agents_.back()->Start();
    });
  }
  return Await("be welcomed and hold all bundles", [this](const SwarmAgent& agent) {
    if (!agent.live()) return false;
    return std::all_of(bundles_.begin(), bundles_.end(), [&](const Uuid& key) {
      return agent.acked(key).time != absl::InfinitePast();
    });
  });
}

absl::Status Swarm::PutBundles(size_t count, size_t objects) {
  objects_ = objects;
  for (size_t i = bundles_.size(); i < count; ++i) {
    ASSIGN_OR_RETURN(const Uuid uid, api_->PutBundle(BundleId(i), Manifest(i, objects, version_)));
    bundles_.push_back(uid);
  }
  return Await("hold all bundles", [this](const SwarmAgent& agent) {
    return std::all_of(bundles_.begin(), bundles_.end(), [&](const Uuid& key) {
      return agent.acked(key).time != absl::InfinitePast();
    });
  });
}

absl::StatusOr<Swarm::Fanout> Swarm::Update() {
  if (bundles_.empty() || agents_.empty())
    return absl::FailedPreconditionError("no bundles or no agents");
  const Uuid key = bundles_.front();
  std::vector<Digest> before;
  OnLoop([&] {
    for (const auto& agent : agents_) before.push_back(agent->acked(key).digest);
  });
  const absl::Time start = absl::Now();
  RETURN_IF_ERROR(api_->PutBundle(BundleId(0), Manifest(0, objects_, ++version_)).status());
  Fanout fanout;
  fanout.write = absl::Now() - start;
  const Digest old = before.front();
  RETURN_IF_ERROR(Await("acknowledge the change",
                        [&](const SwarmAgent& agent) { return agent.acked(key).digest != old; }));
  OnLoop([&] {
    for (const auto& agent : agents_) fanout.acks.push_back(agent->acked(key).time - start);
  });
  std::sort(fanout.acks.begin(), fanout.acks.end());
  return fanout;
}

absl::StatusOr<size_t> Swarm::Settle() {
  const absl::Time deadline = absl::Now() + kPatience;
  for (;;) {
    size_t worst = agents_.size();
    for (size_t i = 0; i < bundles_.size(); ++i) {
      ASSIGN_OR_RETURN(const BundleCounts counts, api_->Counts(BundleId(i)));
      worst = std::min<size_t>(worst, counts.applied);
    }
    if (worst == agents_.size() || absl::Now() > deadline) return worst;
    absl::SleepFor(absl::Milliseconds(200));
  }
}

void Swarm::Mark() {
  OnLoop([this] {
    marked_ = board_;
    marked_at_ = absl::Now();
    marked_welcomes_.clear();
    for (const auto& agent : agents_) marked_welcomes_.push_back(agent->welcomes());
  });
}

absl::StatusOr<Swarm::Return> Swarm::AwaitReturn() {
  if (marked_welcomes_.size() != agents_.size()) return absl::FailedPreconditionError("no mark");
  size_t index = 0;
  RETURN_IF_ERROR(Await("come back", [&](const SwarmAgent& agent) {
    const uint64_t before = marked_welcomes_[index++ % agents_.size()];
    return agent.live() && agent.welcomes() > before;
  }));
  Return back;
  OnLoop([&] {
    back.all = absl::Now() - marked_at_;
    back.since.welcomes = board_.welcomes - marked_.welcomes;
    back.since.welcomes_that_matched = board_.welcomes_that_matched - marked_.welcomes_that_matched;
    back.since.refusals = board_.refusals - marked_.refusals;
    back.since.contents_taken = board_.contents_taken - marked_.contents_taken;
    back.since.acks = board_.acks - marked_.acks;
    back.since.streams_lost = board_.streams_lost - marked_.streams_lost;
  });
  return back;
}

size_t Swarm::Live() {
  size_t live = 0;
  OnLoop([&] {
    for (const auto& agent : agents_) live += agent->live() ? 1 : 0;
  });
  return live;
}

}  // namespace nave::bench
