#include "agent/session/ledger.h"

#include <algorithm>

namespace nave {
namespace {

// The store's own bookkeeping is no change of an assignment.
bool SameAssignment(Assignment a, const Assignment& b) {
  a.inventory_shards = b.inventory_shards;
  return a == b;
}

std::vector<Uuid> ChangedKeys(const std::map<Uuid, Assignment>& before,
                              const std::map<Uuid, Assignment>& after) {
  std::vector<Uuid> changed;
  for (const auto& [key, assignment] : after) {
    auto it = before.find(key);
    if (it == before.end() || !SameAssignment(it->second, assignment)) changed.push_back(key);
  }
  for (const auto& [key, assignment] : before) {
    if (!after.contains(key)) changed.push_back(key);
  }
  return changed;
}

}  // namespace

Ledger::Ledger(AgentState committed, bool state_lost, uint64_t seed)
    : committed_(std::move(committed)), random_(seed), state_lost_(state_lost) {
  if (state_lost_) committed_.hold_reason = "StateLost";
  working_ = committed_;
}

const Assignment* Ledger::Find(const Uuid& key) const {
  auto it = working_.assignments.find(key);
  return it == working_.assignments.end() ? nullptr : &it->second;
}

const RejectedUpsert* Ledger::FindRejected(const Uuid& key) const {
  auto it = rejected_.find(key);
  return it == rejected_.end() ? nullptr : &it->second;
}

uint64_t Ledger::RevisionOf(const Uuid& key) const {
  if (adopting_) return 0;
  uint64_t revision = 0;
  if (const Assignment* held = Find(key)) revision = held->revision;
  if (const RejectedUpsert* rejected = FindRejected(key)) {
    revision = std::max(revision, rejected->revision);
  }
  return std::max(revision, UnheldRemoval(key).value_or(0));
}

std::string Ledger::NameOf(const Uuid& key) const {
  if (const Assignment* held = Find(key); held != nullptr && !held->name.empty()) return held->name;
  const RejectedUpsert* rejected = FindRejected(key);
  return rejected == nullptr ? "" : rejected->name;
}

std::vector<KeySetEntry> Ledger::KeySetEntries() const {
  std::map<Uuid, KeySetEntry> entries;
  for (const auto& [key, held] : working_.assignments) {
    entries[key] = {key, held.digest, held.confirmed, held.state};
  }
  // A rejected upsert stands for what is held, whatever that is: else the hub would send it again
  // and again.
  for (const auto& [key, rejected] : rejected_) {
    entries[key] = {key, rejected.digest, rejected.confirmed, KeyState::kPresent};
  }
  std::vector<KeySetEntry> sorted;
  sorted.reserve(entries.size());
  for (auto& [key, entry] : entries) sorted.push_back(entry);
  return sorted;
}

Digest Ledger::Root() const { return ComputeRoot(KeySetEntries()); }

void Ledger::TakeUpsert(const Upsert& upsert, const At& at) {
  unheld_removals_.erase(upsert.key);
  std::string name = upsert.name.empty() ? NameOf(upsert.key) : upsert.name;
  Assignment& held = working_.assignments[upsert.key];
  held.key = upsert.key;
  held.name = std::move(name);
  held.revision = at.revision;
  held.digest = upsert.digest;
  held.content_digest = upsert.digest;
  held.state = KeyState::kPresent;
  held.confirmed = upsert.confirmed;
  held.propagation = Propagation::kDelete;
  rejected_.erase(upsert.key);
  dirty_ = true;
  StoreAt(at);
}

void Ledger::Revive(const Uuid& key) {
  auto it = working_.assignments.find(key);
  if (it == working_.assignments.end() || it->second.state != KeyState::kRemoving) return;
  Assignment& held = it->second;
  // The revision stays: what the newer batch says is not taken yet, and must not be ignored when it
  // is said again.
  held.state = held.content_digest.IsNone() ? KeyState::kNotDesired : KeyState::kPresent;
  held.digest = held.content_digest;
  held.confirmed = false;
  held.propagation = Propagation::kDelete;
  dirty_ = true;
}

bool Ledger::IsRevivalUncommitted(const Uuid& key) const {
  auto durable = committed_.assignments.find(key);
  const Assignment* held = Find(key);
  return held != nullptr && held->state != KeyState::kRemoving &&
         durable != committed_.assignments.end() && durable->second.state == KeyState::kRemoving;
}

void Ledger::TakeTombstone(const Tombstone& tombstone, const At& at) {
  rejected_.erase(tombstone.key);
  auto it = working_.assignments.find(tombstone.key);
  if (it == working_.assignments.end()) {
    unheld_removals_[tombstone.key] = at.revision;
  } else {
    Assignment& held = it->second;
    held.state = KeyState::kRemoving;
    held.revision = at.revision;
    held.propagation = tombstone.propagation;
    held.confirmed = tombstone.confirmed;
    dirty_ = true;
  }
  StoreAt(at);
}

void Ledger::TakeNotDesired(const Uuid& key, const At& at, bool nothing_left) {
  rejected_.erase(key);
  auto it = working_.assignments.find(key);
  if (it == working_.assignments.end()) return;
  Assignment& held = it->second;
  if (held.state == KeyState::kRemoving && nothing_left) return Forget(key);
  if (held.state == KeyState::kNotDesired) return;
  held.state = KeyState::kNotDesired;
  held.revision = at.revision;
  held.confirmed = false;
  held.propagation = Propagation::kDelete;
  dirty_ = true;
  StoreAt(at);
}

void Ledger::Forget(const Uuid& key) {
  if (working_.assignments.erase(key) > 0) dirty_ = true;
}

void Ledger::StoreAt(const At& at) {
  const bool same_history = working_.hub_id == hub_id_ && !working_.at.IsNone();
  if (same_history && at.revision < working_.at.revision) return;
  if (same_history && at == working_.at) return;
  working_.hub_id = hub_id_;
  working_.at = at;
  dirty_ = true;
}

std::optional<uint64_t> Ledger::UnheldRemoval(const Uuid& key) const {
  auto it = unheld_removals_.find(key);
  if (it == unheld_removals_.end()) return std::nullopt;
  return it->second;
}

void Ledger::SetHold(absl::string_view reason) {
  if (state_lost_ || working_.hold_reason == reason) return;
  working_.hold_reason = std::string(reason);
  dirty_ = true;
}

bool Ledger::holding() const {
  return adopting_ || adopt_uncommitted_ || !working_.hold_reason.empty() ||
         !committed_.hold_reason.empty();
}

void Ledger::TakeAdopt(const At& at) {
  adopting_ = false;
  state_lost_ = false;
  adopt_uncommitted_ = true;
  for (auto& [key, held] : working_.assignments) held.revision = 0;
  for (auto& [key, rejected] : rejected_) rejected.revision = 0;
  unheld_removals_.clear();
  working_.hub_id = hub_id_;
  working_.at = at;
  working_.hold_reason.clear();
  dirty_ = true;
}

void Ledger::CommitIfDue(absl::Time now, Effects* effects) {
  if (!dirty_ || in_flight_.has_value() || !CanCommit() || now < commit_at_) return;
  dirty_ = false;
  in_flight_ = working_;
  in_flight_adopts_ = adopt_uncommitted_;
  effects->commit = working_;
}

std::vector<Uuid> Ledger::OnCommitted(const absl::Status& status, absl::Time now) {
  if (!in_flight_.has_value()) return {};
  if (!status.ok()) {
    in_flight_.reset();
    dirty_ = true;
    commit_at_ = now + commit_backoff_.Next(random_.Uniform());
    return {};
  }
  commit_backoff_.Reset();
  commit_at_ = absl::InfinitePast();
  std::vector<Uuid> changed = ChangedKeys(committed_.assignments, in_flight_->assignments);
  committed_ = *std::move(in_flight_);
  in_flight_.reset();
  if (in_flight_adopts_) adopt_uncommitted_ = false;
  return changed;
}

absl::Time Ledger::NextDeadline() const {
  if (!dirty_ || in_flight_.has_value() || !CanCommit()) return absl::InfiniteFuture();
  return commit_at_;
}

}  // namespace nave
