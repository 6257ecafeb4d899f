#include "hub/records/blob_collector.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/manifest/parse.h"
#include "hub/records/blob_plan.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"

namespace nave {
namespace {

// Deletions of one transaction; the head and the collector's own key come with them.
constexpr size_t kDeletesMax = kTxnWritesMax - 2;

// What records name themselves; what the lists name is found in the lists.
struct NamedLists {
  std::set<Digest> manifest_lists;
  std::set<Digest> listings;
};

template <typename Record, typename Visit>
absl::Status VisitAll(RecordStore& records, absl::string_view prefix, Revision at, Visit visit) {
  return ForEachRecord(*records.store(), prefix, at, [&](const KeyValue& kv) -> absl::Status {
    Record record;
    absl::Status status = DecodeRecord(kv.value, &record);
    if (!status.ok()) return Prepend(status, kv.key);
    visit(record);
    return absl::OkStatus();
  });
}

absl::StatusOr<NamedLists> ReadNamedLists(RecordStore& records, Revision at) {
  NamedLists named;
  RETURN_IF_ERROR(VisitAll<Bundle>(
      records, KindPrefix(KeyKind::kBundle), at,
      [&](const Bundle& bundle) { named.manifest_lists.insert(bundle.spec.manifest_list); }));
  RETURN_IF_ERROR(VisitAll<BundleRevision>(records, KindPrefix(KeyKind::kRevision), at,
                                           [&](const BundleRevision& revision) {
                                             named.manifest_lists.insert(revision.manifest_list);
                                             named.listings.insert(revision.listing);
                                           }));
  named.manifest_lists.erase(Digest());
  named.listings.erase(Digest());
  return named;
}

absl::StatusOr<std::set<Digest>> ReadNamed(RecordStore& records, BlobStore& blobs, Revision at) {
  ASSIGN_OR_RETURN(NamedLists lists, ReadNamedLists(records, at));
  std::set<Digest> named = lists.manifest_lists;
  named.insert(lists.listings.begin(), lists.listings.end());
  for (const Digest& digest : lists.manifest_lists) {
    ASSIGN_OR_RETURN(std::string content, blobs.Get(digest));
    absl::StatusOr<std::vector<Manifest>> manifests = DecodeManifestList(content);
    if (!manifests.ok()) return Prepend(manifests.status(), absl::StrCat("blob ", digest.Hex()));
    for (const Manifest& manifest : *manifests) named.insert(manifest.digest);
  }
  for (const Digest& digest : lists.listings) {
    ASSIGN_OR_RETURN(std::string content, blobs.Get(digest));
    absl::StatusOr<Listing> listing = ParseListing(content);
    if (!listing.ok()) return Prepend(listing.status(), absl::StrCat("blob ", digest.Hex()));
    for (const Listing::Entry& entry : listing->objects) named.insert(entry.digest);
  }
  return named;
}

// The keys of every blob that is there, remains of unfinished ones too.
absl::StatusOr<std::map<Digest, std::vector<std::string>>> ReadStored(RecordStore& records) {
  std::map<Digest, std::vector<std::string>> stored;
  RETURN_IF_ERROR(
      ForEachRecord(*records.store(), KindPrefix(KeyKind::kBlob), 0, [&](const KeyValue& kv) {
        std::optional<StoreKey> key = ParseStoreKey(kv.key);
        if (key.has_value()) stored[key->digest].push_back(kv.key);
        return absl::OkStatus();
      }));
  return stored;
}

absl::StatusOr<Revision> ModRevision(RecordStore& records, absl::string_view key) {
  absl::StatusOr<KeyValue> found = records.Get(key);
  if (found.ok()) return found->mod_revision;
  if (absl::IsNotFound(found.status())) return Revision{0};
  return found.status();
}

}  // namespace

absl::StatusOr<BlobCollection> BlobCollector::Collect(absl::Time now) {
  // Read before everything else: who names a blob later raises it.
  ASSIGN_OR_RETURN(Revision refs, ModRevision(*records_, kRefsKey));
  ASSIGN_OR_RETURN(auto stored, ReadStored(*records_));
  ASSIGN_OR_RETURN(Revision at, records_->store()->Head());
  ASSIGN_OR_RETURN(std::set<Digest> named, ReadNamed(*records_, *blobs_, at));
  std::set<Digest> digests;
  for (const auto& [digest, keys] : stored) digests.insert(digest);
  BlobPlan plan = PlanBlobs(digests, named, unnamed_since_, now, grace_);
  unnamed_since_ = std::move(plan.unnamed_since);

  BlobCollection result;
  result.stored = stored.size();
  result.unnamed = unnamed_since_.size();
  size_t next = 0;
  while (next < plan.remove.size()) {
    RecordTxn txn;
    size_t end = next;
    // All chunks of a blob in one transaction; a blob has fewer than the limit.
    for (; end < plan.remove.size(); ++end) {
      const std::vector<std::string>& keys = stored[plan.remove[end]];
      if (!txn.writes.empty() && txn.writes.size() + keys.size() > kDeletesMax) break;
      for (const std::string& key : keys) txn.Delete(key);
    }
    txn.Compare(std::string(kRefsKey), refs);
    txn.Put(std::string(kGcKey), EncodeNumber(refs));  // Only its mod revision counts.
    ASSIGN_OR_RETURN(std::optional<Revision> revision, records_->Commit(std::move(txn)));
    if (!revision.has_value()) break;
    for (; next < end; ++next) unnamed_since_.erase(plan.remove[next]);
    result.removed = next;
  }
  return result;
}

}  // namespace nave
