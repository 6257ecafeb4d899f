#include "hub/core/api_backend.h"

#include <utility>

#include "common/base/status_macros.h"
#include "hub/core/record_ports.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"

namespace nave {
namespace {

// A request id is remembered for 10 minutes at least. One lease serves all requests of a minute.
constexpr absl::Duration kRememberRequests = absl::Minutes(10);
constexpr absl::Duration kLeaseShared = absl::Minutes(1);

class RecordApiStore : public ApiStore {
 public:
  RecordApiStore(RecordStore* records, BlobStore* blobs, std::function<absl::Time()> now)
      : records_(records), blobs_(blobs), now_(std::move(now)) {}

  absl::StatusOr<std::optional<StoredValue>> Get(absl::string_view key) override {
    absl::StatusOr<KeyValue> kv = records_->Get(key);
    if (absl::IsNotFound(kv.status())) return std::optional<StoredValue>();
    if (!kv.ok()) return kv.status();
    return std::optional<StoredValue>(StoredValue{std::move(kv->value), kv->mod_revision});
  }

  absl::StatusOr<RangePage> Range(absl::string_view prefix, absl::string_view after, size_t limit,
                                  uint64_t at) override {
    return records_->Range(prefix, after, limit, at);
  }

  absl::StatusOr<std::optional<uint64_t>> Commit(
      ControlTxn txn, std::optional<RememberedRequest> request) override {
    RecordTxn converted = ToRecordTxn(std::move(txn));
    if (request.has_value()) {
      ASSIGN_OR_RETURN(LeaseId lease, RequestLease());
      converted.Compare(RequestKey(request->id), 0);
      converted.Put(RequestKey(request->id), EncodeRecord(request->record), lease);
    }
    return records_->Commit(std::move(converted));
  }

  absl::Status PutBlobs(const std::vector<absl::string_view>& contents, ControlTxn* txn) override {
    ASSIGN_OR_RETURN(BlobGuard guard, blobs_->Put(contents));
    guard.AddTo(txn);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> GetBlob(const Digest& digest) override { return blobs_->Get(digest); }

  std::unique_ptr<StoreWatch> Watch(absl::string_view prefix, uint64_t after,
                                    Store::WatchCallback on_batch) override {
    return records_->Watch(prefix, after, std::move(on_batch));
  }

 private:
  absl::StatusOr<LeaseId> RequestLease() {
    std::lock_guard<std::mutex> lock(mutex_);
    absl::Time now = now_();
    if (lease_ != 0 && now < lease_until_) return lease_;
    ASSIGN_OR_RETURN(lease_, records_->GrantLease(kRememberRequests + kLeaseShared));
    lease_until_ = now + kLeaseShared;
    return lease_;
  }

  RecordStore* const records_;
  BlobStore* const blobs_;
  const std::function<absl::Time()> now_;
  std::mutex mutex_;
  // Guarded by mutex_.
  LeaseId lease_ = 0;
  absl::Time lease_until_ = absl::InfinitePast();
};

class CoreApiBackend : public ApiBackend {
 public:
  explicit CoreApiBackend(ApiBackendParts parts)
      : parts_(std::move(parts)), store_(parts_.records, parts_.blobs, parts_.now) {}

  FleetSnapshotPtr Snapshot() override { return parts_.core->snapshot(); }
  bool AwaitRevision(uint64_t revision, absl::Duration timeout) override {
    return parts_.core->AwaitRevision(revision, timeout);
  }
  LiveTable* live() override { return parts_.core->live(); }
  ApiStore* store() override { return &store_; }
  HubFacts Facts() override {
    HubFacts facts = parts_.facts();
    facts.ca_pin = parts_.ca->Authority()->pin();
    return facts;
  }
  std::string Roots() override { return parts_.ca->RootsPem(); }
  absl::Time Now() override { return parts_.now(); }

 private:
  const ApiBackendParts parts_;
  RecordApiStore store_;
};

}  // namespace

std::unique_ptr<ApiBackend> MakeApiBackend(ApiBackendParts parts) {
  return std::make_unique<CoreApiBackend>(std::move(parts));
}

}  // namespace nave
