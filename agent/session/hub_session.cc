#include "agent/session/hub_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"

namespace nave {
namespace {

constexpr uint32_t kProtocolMin = 1;
constexpr uint32_t kProtocolMax = 1;
// 80 bytes each on the wire at most.
constexpr size_t kKeySetEntryBytes = 80;
// The hub answers every KeySet; should an answer be lost in it, it is asked again.
constexpr absl::Duration kAnswerTimeout = absl::Minutes(1);
constexpr size_t kRejectionsListedMax = 200;

absl::Status Broken(absl::string_view what) { return MakeError(Reason::kProtocolError, what); }

}  // namespace

HubSession::HubSession(Options options, AgentState state, bool state_lost,
                       const ContentSource* held)
    : options_(std::move(options)),
      connection_(options_.seed),
      ledger_(
          [&] {
            state.cluster_uid = options_.cluster_uid;
            state.kube_system_uid = options_.kube_system_uid;
            return std::move(state);
          }(),
          state_lost, options_.seed + 1),
      intake_(held, &ledger_, options_.seed + 2) {
  ledger_.SetFrozen(!options_.frozen_reason.empty());
  told_frozen_ = ledger_.frozen();
}

// --- Events of the stream

Effects HubSession::OnTick(absl::Time now) {
  Effects effects;
  const absl::string_view expired = connection_.Expired(now);
  if (!expired.empty()) EndStream(expired, now, &effects);
  return Settle(std::move(effects), now);
}

Effects HubSession::OnStreamUp(uint64_t attempt, absl::Time now) {
  if (!IsCurrent(attempt)) return {};
  connection_.OnOpened(now);
  hello_due_ = true;
  return Settle({}, now);
}

Effects HubSession::OnWritten(uint64_t attempt, absl::Time now) {
  if (!IsCurrent(attempt)) return {};
  connection_.OnWritten(now);
  return Settle({}, now);
}

Effects HubSession::OnStreamDown(uint64_t attempt, absl::Time now) {
  if (!IsCurrent(attempt)) return {};
  Effects effects;
  connection_.OnLost(now);
  CleanAfterStream(&effects);
  return Settle(std::move(effects), now);
}

Effects HubSession::OnFrame(uint64_t attempt, HubFrame frame, absl::Time now) {
  if (!IsCurrent(attempt)) return {};
  Effects effects;
  connection_.OnReceived(now);
  absl::Status handled = Dispatch(std::move(frame), now, &effects);
  if (!handled.ok()) EndStream(absl::string_view(handled.message()), now, &effects);
  return Settle(std::move(effects), now);
}

absl::Status HubSession::Dispatch(HubFrame frame, absl::Time now, Effects* effects) {
  if (auto* refusal = std::get_if<Refusal>(&frame.body)) {
    HandleRefusal(*refusal, now, effects);
    return absl::OkStatus();
  }
  if (auto* welcome = std::get_if<Welcome>(&frame.body)) return HandleWelcome(*welcome, now);
  if (!live()) return Broken("first frame: want Welcome or Refusal, got another");
  if (taking_) intake_.AddBlobs(frame.blobs);
  if (auto* batch = std::get_if<DesiredBatch>(&frame.body)) {
    return HandleBatch(std::move(*batch), now, effects);
  }
  if (auto* ack = std::get_if<StatusAck>(&frame.body)) {
    HandleAcked(outbox_.OnAck(ack->seq));
  } else if (std::holds_alternative<Drain>(frame.body)) {
    connection_.OnDrain(now);
    CleanAfterStream(effects);
    effects->close_stream = true;
    effects->close_reason = "the hub drains";
  }
  return absl::OkStatus();
}

void HubSession::EndStream(absl::string_view close_reason, absl::Time now, Effects* effects) {
  connection_.OnLost(now);
  CleanAfterStream(effects);
  effects->close_stream = true;
  effects->close_reason = std::string(close_reason);
}

void HubSession::CleanAfterStream(Effects* effects) {
  intake_.OnStreamDown(effects);
  outbox_.OnStreamDown();
  if (ledger_.adopting()) {
    // Not answered: the next handshake decides again. That the history is another one is known,
    // though, and kept.
    ledger_.AbandonAdopt();
    ledger_.SetHold("HistoryDiverged");
  }
  hello_due_ = false;
  taking_ = false;
  key_sets_.clear();
  answer_expected_ = false;
  ack_.reset();
  acked_revision_ = 0;
  key_set_at_ = absl::InfiniteFuture();
  key_set_backoff_.Reset();
}

// --- Handshake

absl::Status HubSession::HandleWelcome(const Welcome& welcome, absl::Time now) {
  if (connection_.phase() != Connection::Phase::kGreeting) return Broken("Welcome: came twice");
  if (welcome.protocol < kProtocolMin || welcome.protocol > kProtocolMax) {
    return Broken(absl::StrCat("Welcome: protocol ", welcome.protocol, " was not offered"));
  }
  connection_.OnWelcome(welcome, now);
  facts_changed_ = !(facts_ == Facts{});
  const bool same_instance =
      welcome.status.has_value() && welcome.status->instance_id == options_.instance_id;
  HandleAcked(outbox_.OnWelcome(same_instance ? welcome.status->seq : 0));
  if (!options_.frozen_reason.empty()) return absl::OkStatus();
  // The hub takes this cluster for the right one (again).
  ledger_.SetFrozen(false);
  ledger_.SetHub(welcome.hub_id);
  HandleHistory(welcome, now);
  return absl::OkStatus();
}

void HubSession::HandleHistory(const Welcome& welcome, absl::Time now) {
  if (welcome.history_contains_yours && !ledger_.state_lost()) {
    taking_ = true;
    ledger_.SetHold("");
    // The verdict is about the root that Hello named.
    if (welcome.set_matches && ledger_.Root() == hello_root_) {
      HandleEqualSets(welcome.current);
    } else {
      QueueKeySet(now);
    }
  } else if (welcome.adopt) {
    taking_ = true;
    ledger_.BeginAdopt();
    QueueKeySet(now);
  } else {
    ledger_.SetHold("HistoryDiverged");
  }
}

void HubSession::HandleEqualSets(const At& current) {
  // No tombstone is in force, so what is still Removing is no longer ordered.
  std::vector<Uuid> removing;
  for (const auto& [key, held] : ledger_.working().assignments) {
    if (held.state == KeyState::kRemoving) removing.push_back(key);
  }
  for (const Uuid& key : removing) ledger_.TakeNotDesired(key, current, NothingLeft(key));
  ledger_.StoreAt(current);
}

void HubSession::HandleRefusal(const Refusal& refusal, absl::Time now, Effects* effects) {
  const Connection::RefusalAction action = connection_.OnRefused(refusal, now);
  CleanAfterStream(effects);
  effects->close_stream = true;
  effects->close_reason = absl::StrCat(FormatRefusalReason(refusal.reason), ": ", refusal.message);
  if (!action.hold.empty()) ledger_.SetHold(action.hold);
  if (action.freeze) ledger_.SetFrozen(true);
  effects->renew_certificate = action.renew_certificate;
  effects->reload_ca = action.reload_ca;
  effects->check_lease = action.check_lease;
}

Effects HubSession::OnCertificateRenewed(bool ok, absl::Time now) {
  connection_.Resume(ok, now);
  return Settle({}, now);
}

Effects HubSession::OnLeaseChecked(bool still_leader, absl::Time now) {
  if (still_leader) connection_.Resume(/*at_once=*/false, now);
  return Settle({}, now);
}

Hello HubSession::MakeHello(absl::Time now) const {
  Hello hello;
  hello.protocol_min = kProtocolMin;
  hello.protocol_max = kProtocolMax;
  hello.agent_version = options_.agent_version;
  hello.instance_id = options_.instance_id;
  hello.attempt = connection_.attempt();
  hello.kube_system_uid = options_.kube_system_uid;
  hello.hub_id = ledger_.working().hub_id;
  hello.committed = ledger_.working().at;
  hello.root = ledger_.Root();
  hello.state_lost = ledger_.state_lost();
  hello.agent_time = now;
  hello.facts = facts_;
  hello.facts.conditions.clear();
  return hello;
}

// --- Desired state

absl::Status HubSession::HandleBatch(DesiredBatch batch, absl::Time now, Effects* effects) {
  if (!taking_) return absl::OkStatus();  // HOLD: nothing is taken from this hub.
  const bool last = batch.last;
  absl::Status taken = intake_.OnBatch(
      std::move(batch), [this](const Uuid& key) { return NothingLeft(key); }, now, effects);
  RETURN_IF_ERROR(taken);
  if (last) {
    answer_expected_ = false;
    key_set_at_ = absl::InfiniteFuture();
  }
  return absl::OkStatus();
}

Effects HubSession::OnContentStored(const Uuid& key, const Digest& digest,
                                    const absl::Status& status, absl::Time now) {
  intake_.OnContentStored(key, digest, status, now);
  return Settle({}, now);
}

Effects HubSession::OnBlob(uint64_t fetch, const Digest& digest, std::string compressed,
                           absl::Time now) {
  intake_.OnBlob(fetch, digest, std::move(compressed));
  return Settle({}, now);
}

Effects HubSession::OnFetchDone(uint64_t fetch, const absl::Status& status,
                                const std::vector<Digest>& superseded, absl::Time now) {
  Effects effects;
  intake_.OnFetchDone(fetch, status, superseded, now, &effects);
  return Settle(std::move(effects), now);
}

Effects HubSession::OnCommitted(const absl::Status& status, absl::Time now) {
  Effects effects;
  const bool was_adopting = ledger_.adopt_uncommitted();
  effects.changed = ledger_.OnCommitted(status, now);
  const AgentState& committed = ledger_.committed();
  if (was_adopting && !ledger_.adopt_uncommitted()) {
    // What was said about revisions of the other history must delete no tombstone of this one.
    for (auto& [key, known] : statuses_) known.revision = 0;
  }
  for (const Uuid& key : effects.changed) {
    outbox_.MarkChanged(key);
    auto it = committed.assignments.find(key);
    if (it == committed.assignments.end()) {
      statuses_.erase(key);
      continue;
    }
    // The change ended the pending mark, but a newer upsert may be pending, or taken and not yet
    // durable.
    const Assignment* working = ledger_.Find(key);
    const bool newer_taken = working != nullptr && working->state == KeyState::kPresent &&
                             working->revision > it->second.revision;
    if (intake_.IsPending(key) || newer_taken || ledger_.IsRevivalUncommitted(key)) {
      effects.pending.emplace_back(key, true);
    }
  }
  for (const auto& [key, revision] : ledger_.unheld_removals()) outbox_.MarkChanged(key);
  return Settle(std::move(effects), now);
}

void HubSession::QueueKeySet(absl::Time now) {
  std::vector<KeySetEntry> entries = ledger_.KeySetEntries();
  const size_t per_frame = std::max<size_t>(1, options_.frame_bytes_max / kKeySetEntryBytes);
  size_t begin = 0;
  do {
    KeySet part;
    const size_t end = std::min(entries.size(), begin + per_frame);
    part.keys.assign(entries.begin() + static_cast<ptrdiff_t>(begin),
                     entries.begin() + static_cast<ptrdiff_t>(end));
    part.last = end == entries.size();
    key_sets_.push_back(std::move(part));
    begin = end;
  } while (begin < entries.size());
  answer_expected_ = true;
  key_set_at_ = now + kAnswerTimeout;
}

void HubSession::CompareRoots(absl::Time now) {
  if (!taking_ || !key_sets_.empty()) return;
  if (answer_expected_) {
    if (now >= key_set_at_) QueueKeySet(now);
    return;
  }
  // Only when nothing at all is pending do the roots say something.
  if (!intake_.idle() || !ledger_.settled() || !intake_.newest().has_value()) return;
  const Intake::Newest& newest = *intake_.newest();
  if (acked_revision_ == newest.at.revision) return;
  if (ledger_.Root() == newest.desired_root) {
    key_set_at_ = absl::InfiniteFuture();
    key_set_backoff_.Reset();
    acked_revision_ = newest.at.revision;
    ack_ = MakeAck();
  } else if (key_set_at_ == absl::InfiniteFuture()) {
    key_set_at_ = now + key_set_backoff_.Next(1.0);
  } else if (now >= key_set_at_) {
    QueueKeySet(now);
  }
}

DesiredAck HubSession::MakeAck() const {
  DesiredAck ack;
  ack.revision = intake_.newest()->at.revision;
  for (const auto& [key, rejected] : ledger_.rejected()) {
    if (ack.rejected.size() == kRejectionsListedMax) break;
    ack.rejected.push_back({key, rejected.digest, rejected.code, rejected.message});
  }
  ack.rejected_total = static_cast<uint32_t>(ledger_.rejected().size());
  return ack;
}

// --- What follows

Effects HubSession::Settle(Effects effects, absl::Time now) {
  if (taking_) intake_.Advance(now, &effects);
  for (const Uuid& key : intake_.TakeRejectionChanges()) outbox_.MarkChanged(key);
  ledger_.CommitIfDue(now, &effects);
  NoteHold(&effects);
  CompareRoots(now);
  ScheduleStatus(now);
  effects.dial = connection_.TakeDial(now);
  if (connection_.open() && !connection_.writing()) {
    effects.frame = NextFrame(now);
    if (effects.frame.has_value()) connection_.OnWriteStarted(now);
  }
  return effects;
}

void HubSession::ScheduleStatus(absl::Time now) {
  if (!outbox_.HasWork()) return;
  status_due_ = std::min(status_due_, outbox_.IsUrgent() ? now : now + options_.status_gather);
}

void HubSession::NoteHold(Effects* effects) {
  outbox_.SetHoldReason(hold_reason());
  if (ledger_.holding() != told_hold_) {
    told_hold_ = ledger_.holding();
    effects->hold = told_hold_;
    MarkAllChanged();  // The revisions that are reported change with it.
  }
  if (ledger_.frozen() != told_frozen_) {
    told_frozen_ = ledger_.frozen();
    effects->frozen = told_frozen_;
  }
}

std::string HubSession::hold_reason() const {
  if (ledger_.frozen()) {
    return options_.frozen_reason.empty() ? "WrongCluster" : options_.frozen_reason;
  }
  if (!ledger_.hold_reason().empty()) return ledger_.hold_reason();
  if (!ledger_.holding()) return "";
  const std::string& committed = ledger_.committed().hold_reason;
  return committed.empty() ? "HistoryDiverged" : committed;
}

std::optional<AgentFrame> HubSession::NextFrame(absl::Time now) {
  if (std::exchange(hello_due_, false)) {
    Hello hello = MakeHello(now);
    hello_root_ = hello.root;
    return AgentFrame(std::move(hello));
  }
  if (!live()) return std::nullopt;
  if (!key_sets_.empty()) {
    AgentFrame frame(std::move(key_sets_.front()));
    key_sets_.pop_front();
    return frame;
  }
  if (ack_.has_value()) {
    AgentFrame frame(*std::move(ack_));
    ack_.reset();
    return frame;
  }
  if (std::exchange(facts_changed_, false)) return AgentFrame(facts_);
  if (outbox_.HasWork() && now >= status_due_) {
    status_due_ = absl::InfiniteFuture();
    return AgentFrame(outbox_.TakePart([this] { return ReportedKeys(); },
                                       [this](const Uuid& key) { return ComposeStatus(key); },
                                       options_.frame_bytes_max));
  }
  if (connection_.PingDue(now)) {
    connection_.OnPing(now);
    return AgentFrame(Ping{});
  }
  return std::nullopt;
}

absl::Time HubSession::NextDeadline() const {
  absl::Time next = std::min(connection_.NextDeadline(), ledger_.NextDeadline());
  if (live() && !connection_.writing()) next = std::min(next, status_due_);
  if (!taking_) return next;
  next = std::min(next, intake_.NextDeadline());
  const bool can_ask = answer_expected_ || (intake_.idle() && ledger_.settled());
  return can_ask && key_sets_.empty() ? std::min(next, key_set_at_) : next;
}

}  // namespace nave
