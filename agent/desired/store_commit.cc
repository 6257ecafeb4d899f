// SecretDesiredStore: the commit.
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/desired/secret_desired_store.h"
#include "agent/desired/store_internal.h"
#include "common/base/error.h"
#include "common/base/log.h"

namespace nave {
namespace {

// An API server takes 1 MiB; base64 does not count, names and annotations do.
constexpr size_t kStateBytesMax = 1'000'000;

}  // namespace

void SecretDesiredStore::Commit(AgentState next, Done done) {
  if (!fenced_.ok()) return PostDone(std::move(done), fenced_);
  if (!waiting_.has_value()) waiting_ = CommitOp();
  waiting_->state = std::move(next);
  waiting_->has_state = true;
  waiting_->asked_at = ++clock_;
  waiting_->dones.push_back(std::move(done));
  executor_.Post(Guarded([this] { PumpCommit(); }));
}

void SecretDesiredStore::PumpCommit() {
  if (running_.has_value() || !waiting_.has_value()) return;
  const absl::Time now = executor_.Now();
  if (now < commit_after_) {
    executor_.Cancel(commit_timer_);
    commit_timer_ = executor_.PostAt(commit_after_, Guarded([this] { PumpCommit(); }));
    return;
  }
  commit_after_ = now + options_.commit_interval;
  running_ = std::move(waiting_);
  waiting_.reset();
  if (!running_->has_state) running_->state = state_;
  WriteRebuiltInventories();
}

// What was rebuilt after a loss is in no Secret of its own yet.
void SecretDesiredStore::WriteRebuiltInventories() {
  rebuilding_ = 1;
  rebuild_status_ = absl::OkStatus();
  for (auto& [key, record] : records_) {
    const StoredInventory& stored = record.inventory;
    if (stored.entries.empty() || !stored.shards.empty() || !record.next_shards.empty() ||
        !running_->state.assignments.contains(key)) {
      continue;
    }
    ++rebuilding_;
    auto op = std::make_shared<InventoryOp>();
    op->key = key;
    op->next = stored.entries;
    op->done = [this](absl::Status status) {
      rebuild_status_.Update(status);
      if (--rebuilding_ == 0) WriteState();
    };
    Enqueue(key, [this, op] { BeginRebuild(op); });
  }
  if (--rebuilding_ == 0) WriteState();
}

// Writes the shards; this commit names them.
void SecretDesiredStore::BeginRebuild(std::shared_ptr<InventoryOp> op) {
  op->rebuild = true;
  BeginInventory(std::move(op));
}

absl::Status SecretDesiredStore::FillShards(AgentState* state) const {
  for (auto& [key, assignment] : state->assignments) {
    auto record = records_.find(key);
    assignment.inventory_shards = 0;
    if (record != records_.end()) {
      const Record& held = record->second;
      assignment.inventory_shards = static_cast<uint32_t>(
          held.next_shards.empty() ? held.inventory.shards.size() : held.next_shards.size());
    }
    const Digest& digest = assignment.content_digest;
    if (digest.IsNone()) continue;
    if (record == records_.end() || !record->second.contents.contains(digest)) {
      return MakeError(Reason::kInternal,
                       absl::StrCat("commit of ", key.ToString(), ": its content is not written"));
    }
  }
  return absl::OkStatus();
}

void SecretDesiredStore::WriteState() {
  absl::Status ready = rebuild_status_;
  if (ready.ok()) ready = FillShards(&running_->state);
  if (!ready.ok()) return EndCommit(ready);
  SecretData data = FormatState(running_->state);
  if (DataBytes(data) > kStateBytesMax) {
    return EndCommit(MakeError(
        Reason::kLimitExceeded,
        absl::StrCat("nave-state: at most ", kStateBytesMax, " bytes, got ", DataBytes(data))));
  }
  auto written = [this](absl::StatusOr<SecretRef> result) { OnStateWritten(std::move(result)); };
  if (state_ref_.name.empty()) {
    writer_.CreateOnly(kStateSecretName, std::move(data), std::move(written));
  } else {
    writer_.Replace(state_ref_, std::move(data), std::move(written));
  }
}

void SecretDesiredStore::OnStateWritten(absl::StatusOr<SecretRef> written) {
  if (!written.ok()) return EndCommit(written.status());
  state_ref_ = *std::move(written);
  state_ = running_->state;
  EndCommit(absl::OkStatus());
}

void SecretDesiredStore::EndCommit(const absl::Status& status) {
  NoteFence(status);
  CommitOp ended = *std::move(running_);
  running_.reset();
  // A write that only named new shards says nothing about content.
  if (status.ok() && ended.has_state) {
    CollectGarbage(ended.asked_at);
    SweepNext();
  }
  for (Done& done : ended.dones) std::move(done)(status);
  PumpCommit();
}

bool SecretDesiredStore::IsNamed(const Uuid& key, const Digest& digest) const {
  auto names = [&](const AgentState& state) {
    auto it = state.assignments.find(key);
    return it != state.assignments.end() && it->second.content_digest == digest;
  };
  return names(state_) || (running_.has_value() && names(running_->state)) ||
         (waiting_.has_value() && waiting_->has_state && names(waiting_->state));
}

void SecretDesiredStore::CollectGarbage(uint64_t asked_at) {
  std::vector<Uuid> keys;
  for (const auto& [key, record] : records_) keys.push_back(key);
  for (const Uuid& key : keys) CollectGarbageOf(key, asked_at);
}

void SecretDesiredStore::CollectGarbageOf(const Uuid& key, uint64_t asked_at) {
  Record& record = records_[key];
  std::vector<Digest> given_up;
  for (const auto& [digest, held] : record.contents) {
    if (IsNamed(key, digest)) continue;
    // What was written after the commit was asked for waits for the next one.
    if (held.told_at > asked_at && !held.abandoned) continue;
    given_up.push_back(digest);
  }
  for (const Digest& digest : given_up) EraseContent(key, digest);
  const bool waits =
      waiting_.has_value() && waiting_->has_state && waiting_->state.assignments.contains(key);
  // A content that waits for its commit brings the key back.
  if (state_.assignments.contains(key) || waits || !record.contents.empty()) return;
  record.inventory.entries.clear();
  std::vector<SecretRef> shards = std::move(record.inventory.shards);
  record.inventory = StoredInventory{};
  DeleteAll(key, std::move(shards));
}

}  // namespace nave
