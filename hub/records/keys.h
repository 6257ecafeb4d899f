// Where records stand in the store: builders and one parser of keys. Numbers are padded with zeros,
// so that keys sort as numbers do. Pure.
//
//   /v1/{kind}/{project or -}/{id}                    records of the public API, and the audit
//   /v1/revision/{project}/{bundle uid}/{number}      revisions of a bundle
//   /v1/by-uid/{kind}/{uid}                           name of the record with that uid, "id" or
//   "project/id" /v1/blob/{sha256}/{chunk}                         content /v1/decision/{bundle
//   uid}/head, …/{head number}-{page} /v1/tombstone/{cluster uid}/{bundle uid} /v1/term/{number}
//   /v1/request/{uuid}   /v1/{session | status | retired}/{cluster uid} /v1/meta/{schema | hub |
//   head | offset | adopt | feature_level | gc | refs}
#ifndef NAVE_HUB_RECORDS_KEYS_H_
#define NAVE_HUB_RECORDS_KEYS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/base/uuid.h"

namespace nave {

inline constexpr absl::string_view kStorePrefix = "/v1/";

inline constexpr absl::string_view kSchemaKey = "/v1/meta/schema";
inline constexpr absl::string_view kHubKey = "/v1/meta/hub";  // The hub id as text.
inline constexpr absl::string_view kHeadKey = "/v1/meta/head";
inline constexpr absl::string_view kOffsetKey =
    "/v1/meta/offset";  // Decimal text, as the next three.
inline constexpr absl::string_view kFeatureLevelKey = "/v1/meta/feature_level";
inline constexpr absl::string_view kGcKey = "/v1/meta/gc";      // Put when blobs go,
inline constexpr absl::string_view kRefsKey = "/v1/meta/refs";  // and when blobs are named.
inline constexpr absl::string_view kAdoptKey = "/v1/meta/adopt";

// What stands under a key.
enum class KeyKind {
  kProject,
  kCluster,
  kClusterSet,
  kRoleBinding,
  kJoinToken,
  kBundle,
  kRevision,
  kEvent,
  kAudit,
  kByUid,
  kBlob,
  kDecisionHead,
  kDecisionPage,
  kTombstone,
  kTerm,
  kSession,
  kStatus,
  kRequest,
  kRetired,
  kMeta,
};

// Kinds that are found by uid.
enum class UidKind { kCluster, kBundle };

// Projects and ids are RFC 1123 labels (checked where they come in), so they hold no slash.
std::string ProjectKey(absl::string_view id);
std::string ClusterKey(absl::string_view id);
std::string ClusterSetKey(absl::string_view id);
std::string RoleBindingKey(absl::string_view id);
std::string JoinTokenKey(absl::string_view id);
std::string BundleKey(absl::string_view project, absl::string_view id);
std::string RevisionKey(absl::string_view project, const Uuid& bundle, uint64_t number);
// `project` empty: of a cluster or the hub.
std::string EventKey(absl::string_view project, absl::string_view id);
std::string AuditKey(absl::string_view id);
std::string ByUidKey(UidKind kind, const Uuid& uid);
std::string BlobKey(const Digest& digest, uint32_t chunk);
std::string DecisionHeadKey(const Uuid& bundle);
std::string DecisionPageKey(const Uuid& bundle, uint64_t head, uint32_t page);
std::string TombstoneKey(const Uuid& cluster, const Uuid& bundle);
std::string TermKey(uint64_t number);
std::string SessionKey(const Uuid& cluster);
std::string StatusKey(const Uuid& cluster);
std::string RequestKey(const Uuid& request);
std::string RetiredKey(const Uuid& cluster);

// Prefix of all keys of a kind, with the slash at its end. kDecisionHead and kDecisionPage share
// theirs.
absl::string_view KindPrefix(KeyKind kind);
// Bundles or events of one project (empty: the hub's events), all revisions of a project's bundles.
std::string ProjectPrefix(KeyKind kind, absl::string_view project);
std::string RevisionPrefix(absl::string_view project, const Uuid& bundle);
std::string DecisionPrefix(const Uuid& bundle);
std::string TombstonePrefix(const Uuid& cluster);
std::string BlobPrefix(const Digest& digest);

// Id of an event or audit record: sorts by time, then by `number`, of which the caller makes no two
// equal at one time.
std::string TimeOrderedId(int64_t time_us, uint64_t number);

// A key taken apart. Only what the kind has is set.
struct StoreKey {
  KeyKind kind = KeyKind::kMeta;
  std::string project;  // kBundle, kRevision, kEvent (empty: none).
  // Id of the record; the last word of a kMeta key.
  std::string id;
  // Cluster, bundle, request, or the uid looked up: kRevision, kByUid, kDecision…, kTombstone
  // (cluster), kSession, kStatus, kRequest, kRetired.
  Uuid uid;
  Uuid bundle;                           // kTombstone.
  UidKind uid_kind = UidKind::kCluster;  // kByUid.
  Digest digest;                         // kBlob.
  uint64_t number = 0;                   // kRevision, kTerm; kDecisionPage: of the head.
  uint32_t page = 0;                     // kDecisionPage; kBlob: chunk.
};

// nullopt for a key that none of the above made.
std::optional<StoreKey> ParseStoreKey(absl::string_view key);

}  // namespace nave

#endif  // NAVE_HUB_RECORDS_KEYS_H_
