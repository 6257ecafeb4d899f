#include "hub/records/blobs.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/compress/zstd.h"

namespace nave {
namespace {

// The first chunk begins with the number of chunks. It is written last, so a blob that has it is
// whole.
constexpr size_t kCountBytes = 4;
constexpr int kPutTries = 10;
// For keys, the guard's compare and the head.
constexpr size_t kTxnBytesUsed = kTxnBytesMax - (16 << 10);
constexpr size_t kTxnWritesUsed = kTxnWritesMax - 1;

std::string FormatCount(uint32_t count) {
  std::string out(kCountBytes, '\0');
  for (size_t i = 0; i < kCountBytes; ++i)
    out[i] = static_cast<char>(count >> (8 * (kCountBytes - 1 - i)));
  return out;
}

uint32_t ParseCount(absl::string_view text) {
  uint32_t count = 0;
  for (size_t i = 0; i < kCountBytes; ++i) count = count << 8 | static_cast<uint8_t>(text[i]);
  return count;
}

absl::Status Corrupt(const Digest& digest, absl::string_view what) {
  return MakeError(Reason::kStoreCorrupt, absl::StrCat("blob ", digest.Hex(), ": ", what));
}

absl::Status Missing(const Digest& digest) {
  return MakeError(Reason::kNotFound, absl::StrCat("blob ", digest.Hex(), ": not in the store"));
}

}  // namespace

// A blob on its way into the store: its chunks' payloads, the last one first.
struct BlobStore::Pending {
  Digest digest;
  absl::string_view content;

  std::vector<Write> Chunks(const EncryptionKeys& keys) const {
    std::string compressed = ZstdCompress(content);
    size_t first = std::min(compressed.size(), kBlobChunkBytes - kCountBytes);
    size_t rest = compressed.size() - first;
    uint32_t count = 1 + static_cast<uint32_t>((rest + kBlobChunkBytes - 1) / kBlobChunkBytes);
    std::vector<Write> chunks;
    for (uint32_t i = count; i-- > 0;) {
      std::string key = BlobKey(digest, i);
      std::string payload =
          i == 0 ? FormatCount(count) + compressed.substr(0, first)
                 : compressed.substr(first + (i - 1) * kBlobChunkBytes, kBlobChunkBytes);
      std::string sealed = Seal(keys, key, payload);
      chunks.push_back({std::move(key), std::move(sealed), 0});
    }
    return chunks;
  }
};

BlobStore::BlobStore(RecordStore* records, EncryptionKeys keys, size_t cache_bytes)
    : records_(records), keys_(std::move(keys)), cache_bytes_max_(cache_bytes) {}

absl::StatusOr<Revision> BlobStore::Collected() const {
  absl::StatusOr<KeyValue> found = records_->Get(kGcKey);
  if (found.ok()) return found->mod_revision;
  if (absl::IsNotFound(found.status())) return Revision{0};
  return found.status();
}

absl::StatusOr<bool> BlobStore::Has(const Digest& digest) const {
  absl::StatusOr<KeyValue> found = records_->Get(BlobKey(digest, 0));
  if (found.ok()) return true;
  if (absl::IsNotFound(found.status())) return false;
  return found.status();
}

absl::StatusOr<BlobGuard> BlobStore::Put(const std::vector<absl::string_view>& contents) {
  std::vector<Pending> blobs;
  for (absl::string_view content : contents) {
    if (content.size() > kBlobBytesMax) {
      return MakeError(
          Reason::kLimitExceeded,
          absl::StrCat("content: want at most ", kBlobBytesMax, " bytes, got ", content.size()),
          {{"limit", absl::StrCat(kBlobBytesMax)}, {"actual", absl::StrCat(content.size())}});
    }
    blobs.push_back({Sha256(content), content});
  }
  std::sort(blobs.begin(), blobs.end(),
            [](const Pending& a, const Pending& b) { return a.digest < b.digest; });
  blobs.erase(std::unique(blobs.begin(), blobs.end(),
                          [](const Pending& a, const Pending& b) { return a.digest == b.digest; }),
              blobs.end());
  for (int i = 0; i < kPutTries; ++i) {
    // Read before anything is looked for: what is found then is still there when the guard's
    // compare holds.
    ASSIGN_OR_RETURN(Revision collected, Collected());
    ASSIGN_OR_RETURN(bool put, TryPut(blobs, collected));
    if (put) return BlobGuard(collected);
  }
  return MakeError(Reason::kStoreUnavailable, "blobs: the collector deletes all the time");
}

absl::StatusOr<BlobGuard> BlobStore::Guard(const std::vector<Digest>& digests) {
  ASSIGN_OR_RETURN(Revision collected, Collected());
  for (const Digest& digest : digests) {
    ASSIGN_OR_RETURN(bool has, Has(digest));
    if (!has) return Missing(digest);
  }
  return BlobGuard(collected);
}

absl::StatusOr<bool> BlobStore::TryPut(const std::vector<Pending>& blobs, Revision collected) {
  RecordTxn txn;
  size_t bytes = 0;
  auto commit = [&]() -> absl::StatusOr<bool> {
    // Else chunks that the collector takes for remains could go between two of these transactions.
    txn.Compare(std::string(kGcKey), collected);
    ASSIGN_OR_RETURN(std::optional<Revision> revision, records_->Commit(std::move(txn)));
    txn = RecordTxn();
    bytes = 0;
    return revision.has_value();
  };
  for (const Pending& blob : blobs) {
    ASSIGN_OR_RETURN(bool has, Has(blob.digest));
    if (has) continue;
    for (Write& chunk : blob.Chunks(keys_)) {
      size_t size = chunk.key.size() + chunk.value->size();
      if (txn.writes.size() == kTxnWritesUsed || bytes + size > kTxnBytesUsed) {
        ASSIGN_OR_RETURN(bool committed, commit());
        if (!committed) return false;
      }
      txn.writes.push_back(std::move(chunk));
      bytes += size;
    }
  }
  return txn.writes.empty() ? true : commit();
}

absl::StatusOr<std::string> BlobStore::ReadCompressed(const Digest& digest) const {
  std::string compressed;
  uint32_t count = 0, read = 0;
  RETURN_IF_ERROR(ForEachRecord(
      *records_->store(), BlobPrefix(digest), 0, [&](const KeyValue& kv) -> absl::Status {
        // Chunks beyond the count are remains of an attempt that compressed less well.
        if (read > 0 && read == count) return absl::OkStatus();
        if (kv.key != BlobKey(digest, read))
          return read == 0 ? Missing(digest) : Corrupt(digest, "a chunk is missing");
        ASSIGN_OR_RETURN(std::string payload, Unseal(keys_, kv.key, kv.value));
        absl::string_view data = payload;
        if (read++ == 0) {
          if (data.size() < kCountBytes) return Corrupt(digest, "the first chunk is cut");
          count = ParseCount(data);
          data.remove_prefix(kCountBytes);
        }
        absl::StrAppend(&compressed, data);
        return absl::OkStatus();
      }));
  if (read == 0) return Missing(digest);
  if (read != count) return Corrupt(digest, absl::StrCat("want ", count, " chunks, got ", read));
  return compressed;
}

absl::StatusOr<std::string> BlobStore::Get(const Digest& digest) {
  // Whole files are asked for rarely, and would push out what agents need.
  BlobPtr cached = FindCached(digest);
  std::string read;
  if (cached == nullptr) {
    ASSIGN_OR_RETURN(read, ReadCompressed(digest));
  }
  absl::StatusOr<std::string> content =
      ZstdDecompress(cached != nullptr ? cached->compressed : read, kBlobBytesMax);
  if (!content.ok()) return Corrupt(digest, content.status().message());
  if (Sha256(*content) != digest) return Corrupt(digest, "the content has another digest");
  return content;
}

absl::StatusOr<BlobPtr> BlobStore::GetCompressed(const Digest& digest) {
  BlobPtr cached = FindCached(digest);
  if (cached != nullptr) return cached;
  ASSIGN_OR_RETURN(std::string compressed, ReadCompressed(digest));
  absl::StatusOr<std::string> content = ZstdDecompress(compressed, kBlobBytesMax);
  if (!content.ok()) return Corrupt(digest, content.status().message());
  if (Sha256(*content) != digest) return Corrupt(digest, "the content has another digest");
  auto blob = std::make_shared<const Blob>(Blob{digest, std::move(compressed)});
  Keep(blob);
  return blob;
}

BlobPtr BlobStore::FindCached(const Digest& digest) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto found = cached_.find(digest);
  if (found == cached_.end()) return nullptr;
  cache_.splice(cache_.begin(), cache_, found->second);
  return *found->second;
}

void BlobStore::Keep(const BlobPtr& blob) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (blob->compressed.size() > cache_bytes_max_ || cached_.contains(blob->digest)) return;
  cache_.push_front(blob);
  cached_[blob->digest] = cache_.begin();
  cache_bytes_ += blob->compressed.size();
  while (cache_bytes_ > cache_bytes_max_) {
    cache_bytes_ -= cache_.back()->compressed.size();
    cached_.erase(cache_.back()->digest);
    cache_.pop_back();
  }
}

}  // namespace nave
