#include "hub/session/content_cache.h"

#include <set>
#include <utility>

#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/compress/zstd.h"
#include "common/manifest/parse.h"
#include "common/model/assignment.h"
#include "common/wire/link.h"

namespace nave {
namespace {

// What could not be loaded is tried again after this long; until then the agent is told to fetch
// it, and learns why not.
constexpr absl::Duration kRetryAfter = absl::Seconds(5);

// nullptr: too large to travel inline.
absl::StatusOr<BlobSetPtr> LoadDelta(BlobReader* blobs, const Digest& from, const Digest& to) {
  std::vector<Digest> held;
  if (!from.IsNone()) {
    // An older listing that was collected meanwhile only costs the saving.
    if (auto digests = DigestsOfListing(blobs, from); digests.ok()) held = *std::move(digests);
  }
  ASSIGN_OR_RETURN(std::vector<Digest> wanted, DigestsOfListing(blobs, to));
  auto set = std::make_shared<BlobSet>();
  size_t bytes = 0;
  for (const Digest& digest : MissingDigests(held, wanted)) {
    ASSIGN_OR_RETURN(BlobPtr blob, blobs->GetCompressed(digest));
    bytes += SerializedBlobBytes(blob->compressed.size());
    if (bytes > kInlineBlobBytesMax) return BlobSetPtr();
    set->blobs.push_back(std::move(blob));
  }
  set->encoded = SerializeBlobs(set->blobs);
  return BlobSetPtr(std::move(set));
}

}  // namespace

absl::StatusOr<std::vector<Digest>> DigestsOfListing(BlobReader* blobs, const Digest& listing) {
  ASSIGN_OR_RETURN(BlobPtr blob, blobs->GetCompressed(listing));
  ASSIGN_OR_RETURN(std::string json, ZstdDecompress(blob->compressed, kBundleBytesMax));
  ASSIGN_OR_RETURN(Listing parsed, ParseListing(json));
  std::vector<Digest> digests = {listing};
  for (const Listing::Entry& entry : parsed.objects) digests.push_back(entry.digest);
  return digests;
}

std::vector<Digest> MissingDigests(const std::vector<Digest>& held,
                                   const std::vector<Digest>& wanted) {
  std::set<Digest> seen(held.begin(), held.end());
  std::vector<Digest> missing;
  for (const Digest& digest : wanted) {
    if (seen.insert(digest).second) missing.push_back(digest);
  }
  return missing;
}

ContentCache::ContentCache(Executor* loop, Executor* reader, BlobReader* blobs,
                           std::function<void()> on_loaded, size_t bytes_max)
    : loop_(loop),
      reader_(reader),
      blobs_(blobs),
      on_loaded_(std::move(on_loaded)),
      bytes_max_(bytes_max) {}

std::optional<BlobSetPtr> ContentCache::Delta(const Digest& from, const Digest& to) {
  Pair pair(from, to);
  auto [it, inserted] = entries_.try_emplace(pair);
  Entry& entry = it->second;
  if (!inserted) {
    if (!entry.ready) return std::nullopt;
    recent_.splice(recent_.begin(), recent_, entry.used);
    return entry.set;
  }
  entry.used = recent_.insert(recent_.begin(), pair);
  reader_->Post([this, alive = std::weak_ptr<int>(alive_), loop = loop_, blobs = blobs_, pair] {
    absl::StatusOr<BlobSetPtr> set = LoadDelta(blobs, pair.first, pair.second);
    loop->Post([this, alive, pair, set = std::move(set)]() mutable {
      if (!alive.expired()) OnReady(pair, std::move(set));
    });
  });
  return std::nullopt;
}

void ContentCache::OnReady(const Pair& pair, absl::StatusOr<BlobSetPtr> set) {
  Entry& entry = entries_[pair];
  entry.ready = true;
  if (set.ok()) {
    entry.set = *std::move(set);
    if (entry.set != nullptr) bytes_ += entry.set->encoded.size();
    Evict();
  } else {
    LogError("content not loaded",
             {{"digest", pair.second.Hex()}, {"error", set.status().message()}});
    loop_->PostAfter(kRetryAfter, [this, alive = std::weak_ptr<int>(alive_), pair] {
      if (alive.expired()) return;
      auto it = entries_.find(pair);
      if (it == entries_.end() || it->second.set != nullptr) return;
      recent_.erase(it->second.used);
      entries_.erase(it);
    });
  }
  on_loaded_();
}

void ContentCache::Evict() {
  // The newest entry stays, whatever its size.
  while (bytes_ > bytes_max_ && recent_.size() > 1) {
    auto oldest = entries_.find(recent_.back());
    if (!oldest->second.ready) return;
    if (oldest->second.set != nullptr) bytes_ -= oldest->second.set->encoded.size();
    entries_.erase(oldest);
    recent_.pop_back();
  }
}

}  // namespace nave
