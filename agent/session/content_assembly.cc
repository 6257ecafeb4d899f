#include "agent/session/content_assembly.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/compress/zstd.h"
#include "common/manifest/object_key.h"
#include "common/manifest/parse.h"
#include "common/model/assignment.h"
#include "common/value/codec.h"

namespace nave {
namespace {

// A listing of kBundleObjectsMax entries with the longest names stays below it.
constexpr size_t kBlobBytesMax = 4 << 20;
// Unasked blobs that are kept at most: inline ones come with the batch that needs them.
constexpr size_t kUnaskedBytesMax = 4 << 20;

absl::Status VerifyObject(const Listing::Entry& entry, absl::string_view json) {
  if (json.size() > kObjectBytesMax) {
    return MakeError(Reason::kLimitExceeded,
                     absl::StrCat(entry.key.ToString(), ": at most ", kObjectBytesMax,
                                  " bytes of JSON, got ", json.size()));
  }
  absl::StatusOr<Value> object = ParseJson(json);
  if (!object.ok()) {
    return MakeError(Reason::kContentInvalid,
                     absl::StrCat(entry.key.ToString(), ": ", object.status().message()));
  }
  if (KeyOf(*object) != entry.key) {
    return MakeError(
        Reason::kContentInvalid,
        absl::StrCat(entry.key.ToString(), ": the content is ", KeyOf(*object).ToString()));
  }
  return absl::OkStatus();
}

// Looks objects up in contents that are held; each content is made once.
class HeldObjects {
 public:
  HeldObjects(const Uuid& key, const ContentSource& source) : source_(source) {
    if (DesiredContentPtr own = source.content(key)) Index(std::move(own));
  }
  // Valid as long as this object is; nullptr: not held.
  const std::string* Find(const Digest& digest) {
    auto it = index_.find(digest);
    if (it != index_.end()) return it->second;
    if (!source_.HasObject(digest)) return nullptr;
    if (DesiredContentPtr other = source_.FindObject(digest)) Index(std::move(other));
    it = index_.find(digest);
    return it == index_.end() ? nullptr : it->second;
  }

 private:
  void Index(DesiredContentPtr content) {
    for (size_t i = 0; i < content->objects.size(); ++i) {
      index_.emplace(content->listing.objects[i].digest, &content->objects[i]);
    }
    contents_.push_back(std::move(content));
  }

  const ContentSource& source_;
  std::vector<DesiredContentPtr> contents_;
  std::map<Digest, const std::string*> index_;
};

absl::StatusOr<Listing> ReadListing(const std::string& json) {
  absl::StatusOr<Listing> listing = ParseListing(json);
  if (!listing.ok()) {
    return MakeError(Reason::kContentInvalid,
                     absl::StrCat("listing: ", listing.status().message()));
  }
  if (listing->objects.size() > kBundleObjectsMax) {
    return MakeError(Reason::kLimitExceeded,
                     absl::StrCat("listing: at most ", kBundleObjectsMax, " objects, got ",
                                  listing->objects.size()));
  }
  return listing;
}

}  // namespace

Digest BlobStash::Add(absl::string_view compressed) {
  absl::StatusOr<std::string> data = ZstdDecompress(compressed, kBlobBytesMax);
  if (!data.ok()) return Digest{};
  const Digest digest = Sha256(*data);
  if (unasked_bytes_ + compressed.size() > kUnaskedBytesMax) return digest;
  if (blobs_.emplace(digest, compressed).second) unasked_bytes_ += compressed.size();
  return digest;
}

bool BlobStash::AddWanted(const Digest& wanted, std::string compressed) {
  absl::StatusOr<std::string> data = ZstdDecompress(compressed, kBlobBytesMax);
  if (!data.ok() || Sha256(*data) != wanted) return false;
  blobs_[wanted] = std::move(compressed);
  return true;
}

std::string BlobStash::Read(const Digest& digest) const {
  // Decompressed once already when it came.
  return *ZstdDecompress(blobs_.at(digest), kBlobBytesMax);
}

void BlobStash::KeepOnly(const std::function<bool(const Digest&)>& wanted) {
  std::erase_if(blobs_, [&](const auto& entry) { return !wanted(entry.first); });
  unasked_bytes_ = 0;
}

void BlobStash::Clear() {
  blobs_.clear();
  unasked_bytes_ = 0;
}

AssemblyResult AssembleContent(const Digest& digest, const Uuid& key, const BlobStash& stash,
                               const ContentSource& held) {
  AssemblyResult result;
  if (!stash.Has(digest)) {
    result.missing.push_back(digest);
    return result;
  }
  result.needs.push_back(digest);
  absl::StatusOr<Listing> listing = ReadListing(stash.Read(digest));
  if (!listing.ok()) {
    result.rejection = listing.status();
    return result;
  }
  for (const Listing::Entry& entry : listing->objects) {
    if (stash.Has(entry.digest)) {
      result.needs.push_back(entry.digest);
    } else if (!held.HasObject(entry.digest)) {
      result.missing.push_back(entry.digest);
    }
  }
  if (!result.missing.empty()) return result;

  auto content = std::make_shared<DesiredContent>();
  content->digest = digest;
  content->objects.reserve(listing->objects.size());
  HeldObjects held_objects(key, held);
  uint64_t bytes = 0;
  for (const Listing::Entry& entry : listing->objects) {
    std::string json;
    if (stash.Has(entry.digest)) {
      json = stash.Read(entry.digest);
      result.rejection = VerifyObject(entry, json);
    } else if (const std::string* found = held_objects.Find(entry.digest)) {
      json = *found;
    } else {
      result.rejection = MakeError(Reason::kInternal, "held content: an object is missing in it");
    }
    bytes += json.size();
    if (result.rejection.ok() && bytes > kBundleBytesMax) {
      result.rejection = MakeError(Reason::kLimitExceeded,
                                   absl::StrCat("bundle: at most ", kBundleBytesMax, " bytes"));
    }
    if (!result.rejection.ok()) return result;
    content->objects.push_back(std::move(json));
  }
  content->listing = *std::move(listing);
  result.content = std::move(content);
  return result;
}

}  // namespace nave
