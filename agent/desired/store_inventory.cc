// SecretDesiredStore: inventories.
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/desired/secret_desired_store.h"
#include "agent/desired/store_internal.h"
#include "common/base/error.h"

namespace nave {

const Inventory& SecretDesiredStore::inventory(const Uuid& key) const {
  static const auto* none = new Inventory();
  auto record = records_.find(key);
  return record == records_.end() ? *none : record->second.inventory.entries;
}

void SecretDesiredStore::WriteInventory(const Uuid& key, Inventory next, Done done) {
  if (!fenced_.ok()) return PostDone(std::move(done), fenced_);
  auto op = std::make_shared<InventoryOp>();
  op->key = key;
  op->next = std::move(next);
  op->done = std::move(done);
  Enqueue(key, [this, op] {
    if (!state_.assignments.contains(op->key)) {
      return EndInventory(op, MakeError(Reason::kNotFound,
                                        absl::StrCat("key ", op->key.ToString(), ": is not held")));
    }
    BeginInventory(op);
  });
}

void SecretDesiredStore::BeginInventory(std::shared_ptr<InventoryOp> op) {
  const StoredInventory& stored = records_[op->key].inventory;
  const auto present = static_cast<uint32_t>(stored.shards.size());
  // Never fewer than before: an inventory that has shrunk will grow again.
  const uint32_t count =
      ShardsFor(op->next, std::max(present, stored.count_seen), options_.part_bytes_max);
  op->shards = SplitInventory(op->next, count);
  if (count == present) {
    op->refs = stored.shards;
    op->written = stored.written;
  } else {
    op->refs.resize(count);
    op->written.resize(count);
  }
  WriteShard(std::move(op));
}

void SecretDesiredStore::WriteShard(std::shared_ptr<InventoryOp> op) {
  for (; op->at < op->shards.size(); ++op->at) {
    SecretData data = FormatInventoryShard(op->shards[op->at]);
    const Digest digest = Sha256(data["inventory"]);
    SecretRef& ref = op->refs[op->at];
    if (!ref.name.empty() && digest == op->written[op->at]) continue;
    auto written = [this, op, digest](absl::StatusOr<SecretRef> result) {
      if (!result.ok()) return EndInventory(op, result.status());
      op->refs[op->at] = *std::move(result);
      op->written[op->at] = digest;
      // A shard that is in use counts as written whatever becomes of the others.
      StoredInventory& stored = records_[op->key].inventory;
      if (stored.shards.size() == op->refs.size()) {
        stored.shards[op->at] = op->refs[op->at];
        stored.written[op->at] = digest;
      }
      ++op->at;
      WriteShard(op);
    };
    if (ref.name.empty()) {
      writer_.CreateFresh(InventorySecretName(op->key, static_cast<uint32_t>(op->shards.size()),
                                              static_cast<uint32_t>(op->at)),
                          std::move(data), /*immutable=*/false, std::move(written));
    } else {
      writer_.Replace(ref, std::move(data), std::move(written));
    }
    return;
  }
  OnShardsWritten(std::move(op));
}

void SecretDesiredStore::OnShardsWritten(std::shared_ptr<InventoryOp> op) {
  Record& record = records_[op->key];
  if (record.inventory.shards.size() == op->refs.size()) {
    record.inventory.entries = std::move(op->next);
    return EndInventory(op, absl::OkStatus());
  }
  if (op->rebuild) {
    record.inventory.shards = std::move(op->refs);
    record.inventory.written = std::move(op->written);
    record.inventory.count_seen = 0;
    return EndInventory(op, absl::OkStatus());
  }
  // Another number of shards counts when nave-state says so.
  record.next_shards = op->refs;
  if (!waiting_.has_value()) waiting_ = CommitOp();
  waiting_->dones.push_back([this, op](absl::Status status) { OnShardsNamed(op, status); });
  PumpCommit();
}

void SecretDesiredStore::OnShardsNamed(const std::shared_ptr<InventoryOp>& op,
                                       const absl::Status& status) {
  Record& record = records_[op->key];
  record.next_shards.clear();
  absl::Status result = status;
  if (result.ok() && !state_.assignments.contains(op->key)) {
    result = MakeError(Reason::kNotFound, "the key was forgotten meanwhile");
  }
  if (!result.ok()) {
    DeleteAll(op->key, std::move(op->refs));
    return EndInventory(op, result);
  }
  std::vector<SecretRef> before = std::move(record.inventory.shards);
  record.inventory.shards = std::move(op->refs);
  record.inventory.written = std::move(op->written);
  record.inventory.entries = std::move(op->next);
  record.inventory.count_seen = 0;
  DeleteAll(op->key, std::move(before));
  EndInventory(op, absl::OkStatus());
}

void SecretDesiredStore::EndInventory(const std::shared_ptr<InventoryOp>& op,
                                      const absl::Status& status) {
  // NOT_FOUND is about the key, the rest may be about who writes.
  NoteFence(status);
  std::move(op->done)(status);
  Next(op->key);
}

}  // namespace nave
