#include "agent/desired/secret_desired_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/desired/store_internal.h"
#include "common/base/error.h"
#include "common/base/log.h"

namespace nave {

SecretDesiredStore::SecretDesiredStore(SecretStoreOptions options)
    : options_(std::move(options)),
      executor_(*options_.executor),
      writer_(*options_.client, executor_, options_.ns, options_.writer, options_.seed) {}

SecretDesiredStore::~SecretDesiredStore() { executor_.Cancel(commit_timer_); }

void SecretDesiredStore::PostDone(Done done, absl::Status status) {
  executor_.Post(Guarded([done = std::move(done), status = std::move(status)]() mutable {
    std::move(done)(std::move(status));
  }));
}

void SecretDesiredStore::NoteFence(const absl::Status& status) {
  if (fenced_.ok() && absl::IsFailedPrecondition(status)) fenced_ = status;
}

bool SecretDesiredStore::idle() const {
  return !waiting_.has_value() && !running_.has_value() && unnamed_.empty() && loader_ == nullptr &&
         std::none_of(records_.begin(), records_.end(),
                      [](const auto& record) { return record.second.busy; });
}

// --- Load

void SecretDesiredStore::Load(std::string kube_system_uid,
                              absl::AnyInvocable<void(LoadOutcome) &&> done) {
  loader_ = std::make_unique<StateLoader>(*options_.client, writer_, options_.ns,
                                          std::move(kube_system_uid));
  loader_->Start([this, done = std::move(done)](LoadedState loaded) mutable {
    OnLoaded(std::move(loaded), std::move(done));
  });
}

void SecretDesiredStore::OnLoaded(LoadedState loaded,
                                  absl::AnyInvocable<void(LoadOutcome) &&> done) {
  loader_.reset();
  const LoadOutcome outcome = loaded.outcome;
  if (outcome != LoadOutcome::kUnavailable) {
    state_ = std::move(loaded.state);
    state_ref_ = std::move(loaded.state_ref);
    for (auto& [key, inventory] : loaded.inventories) {
      records_[key].inventory = std::move(inventory);
    }
    for (auto& [key, contents] : loaded.contents) {
      for (auto& [digest, stored] : contents) {
        AddObjects(stored);
        records_[key].contents[digest] = Held{std::move(stored), ++clock_, false};
      }
    }
    unnamed_ = std::move(loaded.unnamed);
  }
  if (outcome == LoadOutcome::kOk) SweepNext();
  std::move(done)(outcome);
}

void SecretDesiredStore::SweepNext() {
  if (sweeping_ || unnamed_.empty()) return;
  sweeping_ = true;
  SecretRef ref = unnamed_.back();
  writer_.Delete(ref, [this, name = ref.name](absl::Status status) {
    if (!status.ok())
      LogWarning("leftover not removed", {{"secret", name}, {"error", status.message()}});
    unnamed_.pop_back();
    sweeping_ = false;
    SweepNext();
  });
}

// --- One thing at a time for each key

void SecretDesiredStore::Enqueue(const Uuid& key, absl::AnyInvocable<void()> task) {
  Record& record = records_[key];
  record.queue.push_back(std::move(task));
  if (record.busy) return;
  record.busy = true;
  executor_.Post(Guarded([this, key] { RunNext(key); }));
}

void SecretDesiredStore::RunNext(const Uuid& key) {
  Record& record = records_[key];
  absl::AnyInvocable<void()> task = std::move(record.queue.front());
  record.queue.pop_front();
  task();
}

void SecretDesiredStore::Next(const Uuid& key) {
  Record& record = records_[key];
  if (!record.queue.empty()) {
    executor_.Post(Guarded([this, key] { RunNext(key); }));
    return;
  }
  record.busy = false;
  if (record.contents.empty() && record.inventory.shards.empty() &&
      record.inventory.entries.empty() && !state_.assignments.contains(key)) {
    records_.erase(key);
  }
}

void SecretDesiredStore::DeleteAll(const Uuid& key, std::vector<SecretRef> refs) {
  if (refs.empty()) return;
  auto shared = std::make_shared<std::vector<SecretRef>>(std::move(refs));
  Enqueue(key, [this, key, shared] { DeleteOneByOne(key, shared); });
}

void SecretDesiredStore::DeleteOneByOne(const Uuid& key,
                                        std::shared_ptr<std::vector<SecretRef>> refs) {
  if (refs->empty()) return Next(key);
  SecretRef ref = std::move(refs->back());
  refs->pop_back();
  writer_.Delete(std::move(ref), [this, key, refs](absl::Status status) {
    if (!status.ok()) LogWarning("leftover not removed", {{"error", status.message()}});
    DeleteOneByOne(key, refs);
  });
}

// --- Content

void SecretDesiredStore::WriteContent(const Uuid& key, DesiredContentPtr content, Done done) {
  if (!fenced_.ok()) return PostDone(std::move(done), fenced_);
  auto op = std::make_shared<ContentOp>();
  op->key = key;
  op->digest = content->digest;
  op->done = std::move(done);
  Enqueue(key, [this, op, content = std::move(content)] { BeginContent(op, *content); });
}

void SecretDesiredStore::BeginContent(std::shared_ptr<ContentOp> op,
                                      const DesiredContent& content) {
  Record& record = records_[op->key];
  auto held = record.contents.find(op->digest);
  if (held != record.contents.end()) {
    held->second.told_at = ++clock_;
    held->second.abandoned = false;
    std::move(op->done)(absl::OkStatus());
    return Next(op->key);
  }
  StoredContent& stored = op->held.stored;
  stored.packed = PackContent(content);
  for (const Listing::Entry& entry : content.listing.objects) {
    stored.objects.push_back(entry.digest);
  }
  std::sort(stored.objects.begin(), stored.objects.end());
  op->parts = CutIntoParts(stored.packed, options_.part_bytes_max);
  WritePart(std::move(op));
}

void SecretDesiredStore::WritePart(std::shared_ptr<ContentOp> op) {
  const size_t index = op->held.stored.parts.size();
  if (index == op->parts.size()) return WriteEmptyInventory(std::move(op));
  SecretData data =
      FormatContentPart(op->digest, op->parts[index], static_cast<uint32_t>(op->parts.size()));
  op->parts[index].clear();
  writer_.CreateFresh(ContentSecretName(op->key, op->digest, static_cast<uint32_t>(index)),
                      std::move(data), /*immutable=*/true,
                      [this, op](absl::StatusOr<SecretRef> written) {
                        if (!written.ok()) return EndContent(op, written.status());
                        op->held.stored.parts.push_back(*std::move(written));
                        WritePart(op);
                      });
}

// Beside the first content of a key, so that the commit can name it and the first intentions need
// no commit of their own.
void SecretDesiredStore::WriteEmptyInventory(std::shared_ptr<ContentOp> op) {
  StoredInventory& inventory = records_[op->key].inventory;
  if (!inventory.shards.empty() || !inventory.entries.empty()) {
    return EndContent(op, absl::OkStatus());
  }
  SecretData data = FormatInventoryShard({});
  const Digest digest = Sha256(data["inventory"]);
  writer_.CreateFresh(InventorySecretName(op->key, 1, 0), std::move(data), /*immutable=*/false,
                      [this, op, digest](absl::StatusOr<SecretRef> written) {
                        if (!written.ok()) return EndContent(op, written.status());
                        StoredInventory& made = records_[op->key].inventory;
                        made.shards = {*std::move(written)};
                        made.written = {digest};
                        EndContent(op, absl::OkStatus());
                      });
}

void SecretDesiredStore::EndContent(const std::shared_ptr<ContentOp>& op,
                                    const absl::Status& status) {
  if (status.ok()) {
    op->held.told_at = ++clock_;
    AddObjects(op->held.stored);
    records_[op->key].contents[op->digest] = std::move(op->held);
  } else {
    NoteFence(status);
    DeleteAll(op->key, std::move(op->held.stored.parts));
  }
  std::move(op->done)(status);
  Next(op->key);
}

void SecretDesiredStore::AbandonContent(const Uuid& key) {
  // Behind the writing that it may be about.
  Enqueue(key, [this, key] {
    for (auto& [digest, held] : records_[key].contents) {
      if (!IsNamed(key, digest)) held.abandoned = true;
    }
    Next(key);
  });
}

void SecretDesiredStore::EraseContent(const Uuid& key, const Digest& digest) {
  Record& record = records_[key];
  auto it = record.contents.find(digest);
  RemoveObjects(it->second.stored);
  std::vector<SecretRef> parts = std::move(it->second.stored.parts);
  record.contents.erase(it);
  DeleteAll(key, std::move(parts));
}

void SecretDesiredStore::AddObjects(const StoredContent& stored) {
  for (const Digest& object : stored.objects) ++objects_[object];
}

void SecretDesiredStore::RemoveObjects(const StoredContent& stored) {
  for (const Digest& object : stored.objects) {
    auto it = objects_.find(object);
    if (it != objects_.end() && --it->second == 0) objects_.erase(it);
  }
}

DesiredContentPtr SecretDesiredStore::Unpack(const Digest& digest,
                                             const StoredContent& stored) const {
  if (recent_ != nullptr && recent_->digest == digest) return recent_;
  absl::StatusOr<DesiredContentPtr> content = UnpackContent(stored.packed, digest);
  if (!content.ok()) return nullptr;
  if (recent_ == nullptr) {
    executor_.Post([this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.lock() != nullptr) recent_ = nullptr;
    });
  }
  recent_ = *content;
  return *std::move(content);
}

DesiredContentPtr SecretDesiredStore::content(const Uuid& key) const {
  auto assignment = state_.assignments.find(key);
  auto record = records_.find(key);
  if (assignment == state_.assignments.end() || record == records_.end()) return nullptr;
  const Digest& digest = assignment->second.content_digest;
  auto held = record->second.contents.find(digest);
  return held == record->second.contents.end() ? nullptr : Unpack(digest, held->second.stored);
}

DesiredContentPtr SecretDesiredStore::FindObject(const Digest& object) const {
  if (!objects_.contains(object)) return nullptr;
  auto lists = [&](const StoredContent& stored) {
    return std::binary_search(stored.objects.begin(), stored.objects.end(), object);
  };
  for (const auto& [key, record] : records_) {
    for (const auto& [digest, held] : record.contents) {
      if (lists(held.stored)) return Unpack(digest, held.stored);
    }
  }
  return nullptr;
}

}  // namespace nave
