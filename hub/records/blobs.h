// Content of bundles in the store: compressed, encrypted, in chunks, under its own digest.
//
// Blobs are written before the transaction that names them, which carries a BlobGuard; the
// collector (blob_collector.h) and that transaction cannot both succeed for one blob.
#ifndef NAVE_HUB_RECORDS_BLOBS_H_
#define NAVE_HUB_RECORDS_BLOBS_H_

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/model/stream.h"
#include "hub/records/codec.h"
#include "hub/records/envelope.h"
#include "hub/records/keys.h"
#include "hub/records/record_store.h"

namespace nave {

// Bytes of one blob, not compressed. Above what a request may hold.
inline constexpr size_t kBlobBytesMax = 32 << 20;
// Payload of one chunk: two of them with their keys fit a transaction.
inline constexpr size_t kBlobChunkBytes = 500 << 10;

// What protects blobs until a transaction names them. Every transaction with a digest that no
// record named before carries one; else the collector may take the blob at the same time.
class BlobGuard {
 public:
  // 0: nothing was ever collected.
  explicit BlobGuard(Revision collected) : collected_(collected) {}
  // `Txn` is RecordTxn, or has its Compare and Put. When the compares do not hold, put the blobs
  // again.
  template <typename Txn>
  void AddTo(Txn* txn) const {
    txn->Compare(std::string(kGcKey), collected_);
    // Only its mod revision counts.
    txn->Put(std::string(kRefsKey), EncodeNumber(collected_));
  }

 private:
  Revision collected_;
};

// Thread-safe; calls block. `records` outlives it.
class BlobStore {
 public:
  // `cache_bytes`: of compressed content that was read last.
  BlobStore(RecordStore* records, EncryptionKeys keys, size_t cache_bytes = size_t{64} << 20);

  // Makes `contents` durable, in as many transactions as it takes; what is there already is not
  // written again. LIMIT_EXCEEDED, and the store's errors; what was written by then is collected
  // later.
  absl::StatusOr<BlobGuard> Put(const std::vector<absl::string_view>& contents);
  // The same for blobs that should be there. NOT_FOUND names the first one that is not.
  absl::StatusOr<BlobGuard> Guard(const std::vector<Digest>& digests);

  // NOT_FOUND, STORE_CORRUPT, KEY_MISSING. What is given has the digest that was asked for.
  absl::StatusOr<std::string> Get(const Digest& digest);
  // As it goes to agents.
  absl::StatusOr<BlobPtr> GetCompressed(const Digest& digest);

 private:
  struct Pending;
  absl::StatusOr<Revision> Collected() const;
  absl::StatusOr<bool> Has(const Digest& digest) const;
  // False: the collector was at work meanwhile.
  absl::StatusOr<bool> TryPut(const std::vector<Pending>& blobs, Revision collected);
  absl::StatusOr<std::string> ReadCompressed(const Digest& digest) const;
  BlobPtr FindCached(const Digest& digest);
  void Keep(const BlobPtr& blob);

  RecordStore* const records_;
  const EncryptionKeys keys_;
  const size_t cache_bytes_max_;

  std::mutex mutex_;
  // Guarded by mutex_. Used last first.
  std::list<BlobPtr> cache_;
  absl::flat_hash_map<Digest, std::list<BlobPtr>::iterator> cached_;
  size_t cache_bytes_ = 0;
};

}  // namespace nave

#endif  // NAVE_HUB_RECORDS_BLOBS_H_
