// The part of HubSession that makes the statuses.
#include <algorithm>
#include <set>
#include <utility>

#include "agent/session/hub_session.h"
#include "common/base/reasons.h"

namespace nave {
namespace {

Phase DefaultPhase(KeyState state) {
  switch (state) {
    case KeyState::kPresent:
      return Phase::kPending;
    case KeyState::kRemoving:
      return Phase::kRemoving;
    case KeyState::kNotDesired:
      return Phase::kNotDesired;
  }
  return Phase::kPending;
}

// What is said of a committed key before the reconciler has looked at it.
AssignmentStatus UnknownStatus(const Assignment& held) {
  AssignmentStatus status;
  status.key = held.key;
  status.revision = held.revision;
  status.digest = held.digest;
  status.phase = DefaultPhase(held.state);
  status.reason = std::string(Camel(Reason::kStatusUnknown));
  return status;
}

void ApplyRejection(const RejectedUpsert& rejected, AssignmentStatus* status) {
  const ReasonInfo* reason = FindReason(rejected.code);
  status->digest = rejected.digest;
  status->phase = Phase::kRejected;
  status->health = Health::kDegraded;
  status->reason =
      std::string(reason == nullptr ? absl::string_view(rejected.code) : reason->camel);
  status->message = rejected.message;
  status->since = rejected.since;
}

void ToHubClock(absl::Duration offset, AssignmentStatus* status) {
  // Infinite times stay as they are.
  status->since += offset;
  for (ObjectStatus& object : status->not_ok) object.since += offset;
}

}  // namespace

Effects HubSession::OnStatus(AssignmentStatus status, bool owns_objects, absl::Time now) {
  const Uuid key = status.key;
  if (!ledger_.committed().assignments.contains(key)) return Settle({}, now);
  auto [it, inserted] = statuses_.try_emplace(key, status);
  if (inserted || !(it->second == status)) {
    it->second = std::move(status);
    outbox_.MarkChanged(key);
  }
  const Assignment* held = ledger_.Find(key);
  if (held != nullptr && held->state == KeyState::kNotDesired && !owns_objects &&
      it->second.phase == Phase::kNotDesired && !intake_.IsPending(key)) {
    ledger_.Forget(key);
  }
  return Settle({}, now);
}

Effects HubSession::OnFacts(Facts facts, absl::Time now) {
  if (!(facts == facts_)) {
    facts_ = std::move(facts);
    facts_changed_ = true;
  }
  return Settle({}, now);
}

bool HubSession::NothingLeft(const Uuid& key) const {
  auto status = statuses_.find(key);
  auto held = ledger_.committed().assignments.find(key);
  return status != statuses_.end() && held != ledger_.committed().assignments.end() &&
         status->second.phase == Phase::kRemoved && held->second.state == KeyState::kRemoving &&
         status->second.revision == held->second.revision;
}

void HubSession::HandleAcked(const std::vector<StatusOutbox::AckedRemoval>& acked) {
  for (const StatusOutbox::AckedRemoval& removal : acked) {
    if (ledger_.UnheldRemoval(removal.key) == removal.revision) {
      ledger_.ForgetUnheldRemoval(removal.key);
      outbox_.MarkChanged(removal.key);
      continue;
    }
    // A tombstone written anew meanwhile needs a report of its own.
    const Assignment* held = ledger_.Find(removal.key);
    if (held != nullptr && held->state == KeyState::kRemoving &&
        held->revision == removal.revision && NothingLeft(removal.key) && !ledger_.holding()) {
      ledger_.Forget(removal.key);
    }
  }
}

std::vector<Uuid> HubSession::ReportedKeys() const {
  std::set<Uuid> keys;
  for (const auto& [key, held] : ledger_.committed().assignments) keys.insert(key);
  for (const auto& [key, rejected] : ledger_.rejected()) keys.insert(key);
  for (const auto& [key, revision] : ledger_.unheld_removals()) keys.insert(key);
  return {keys.begin(), keys.end()};
}

std::optional<AssignmentStatus> HubSession::ComposeStatus(const Uuid& key) const {
  const AgentState& committed = ledger_.committed();
  const RejectedUpsert* rejected = ledger_.FindRejected(key);
  auto held = committed.assignments.find(key);
  AssignmentStatus status;
  status.key = key;
  if (held == committed.assignments.end() && rejected == nullptr) {
    const std::optional<uint64_t> removal = ledger_.UnheldRemoval(key);
    // Not before the point that ordered it is durable, or a later handshake could claim an older
    // one.
    if (!removal.has_value() || ledger_.holding() || committed.at.revision < *removal) {
      return std::nullopt;
    }
    status.revision = *removal;
    status.phase = Phase::kRemoved;
    status.health = Health::kHealthy;
    status.reason = std::string(Camel(Reason::kRemoved));
    return status;
  }
  if (held != committed.assignments.end()) {
    auto known = statuses_.find(key);
    status = known == statuses_.end() ? UnknownStatus(held->second) : known->second;
    status.revision = std::min(status.revision, held->second.revision);
    status.name = held->second.name;
  }
  if (rejected != nullptr) {
    if (status.name.empty()) status.name = rejected->name;
    status.revision = std::max(status.revision, rejected->revision);
    ApplyRejection(*rejected, &status);
  }
  if (ledger_.holding()) status.revision = 0;
  if (status.not_ok.size() > kStatusObjectsMax) status.not_ok.resize(kStatusObjectsMax);
  status.message = ClampMessage(status.message);
  ToHubClock(connection_.clock_offset(), &status);
  return status;
}

void HubSession::MarkAllChanged() {
  for (const Uuid& key : ReportedKeys()) outbox_.MarkChanged(key);
}

}  // namespace nave
