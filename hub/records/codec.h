// Records to stored bytes and back. Stored values are envelopes around messages of
// proto/nave/store/v1/records.proto. Encoding is deterministic. What a record derives when it is
// read (health, counts, phases, connection) is not stored, and is as in a new record after
// decoding. Thread-safe.
#ifndef NAVE_HUB_RECORDS_CODEC_H_
#define NAVE_HUB_RECORDS_CODEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/model/bundle.h"
#include "common/model/cluster.h"
#include "common/model/tenancy.h"
#include "hub/records/records.h"

namespace nave {

std::string EncodeRecord(const Project& record);
std::string EncodeRecord(const Cluster& record);
std::string EncodeRecord(const ClusterSet& record);
std::string EncodeRecord(const RoleBinding& record);
std::string EncodeRecord(const JoinToken& record);
// Manifests are not stored with bundle and revision but as a blob, whose content is
// EncodeManifestList; here stands its digest: that of `manifests` when there are any, else
// `manifest_list` as it is.
std::string EncodeRecord(const Bundle& record);
std::string EncodeRecord(const BundleRevision& record);
std::string EncodeRecord(const Event& record);
std::string EncodeRecord(const SchemaRecord& record);
std::string EncodeRecord(const TermRecord& record);
std::string EncodeRecord(const HeadRecord& record);
std::string EncodeRecord(const AdoptRecord& record);
std::string EncodeRecord(const SessionRecord& record);
std::string EncodeRecord(const TombstoneRecord& record);
std::string EncodeRecord(const DecisionHead& record);
std::string EncodeRecord(const DecisionPage& record);
std::string EncodeRecord(const StatusSummary& record);
std::string EncodeRecord(const RetiredRecord& record);
std::string EncodeRecord(const AuditRecord& record);
std::string EncodeRecord(const RequestRecord& record);

// STORE_TOO_NEW for a newer envelope, STORE_CORRUPT for what EncodeRecord did not write; `record`
// is then undefined.
absl::Status DecodeRecord(absl::string_view value, Project* record);
absl::Status DecodeRecord(absl::string_view value, Cluster* record);
absl::Status DecodeRecord(absl::string_view value, ClusterSet* record);
absl::Status DecodeRecord(absl::string_view value, RoleBinding* record);
absl::Status DecodeRecord(absl::string_view value, JoinToken* record);
absl::Status DecodeRecord(absl::string_view value, Bundle* record);
absl::Status DecodeRecord(absl::string_view value, BundleRevision* record);
absl::Status DecodeRecord(absl::string_view value, Event* record);
absl::Status DecodeRecord(absl::string_view value, SchemaRecord* record);
absl::Status DecodeRecord(absl::string_view value, TermRecord* record);
absl::Status DecodeRecord(absl::string_view value, HeadRecord* record);
absl::Status DecodeRecord(absl::string_view value, AdoptRecord* record);
absl::Status DecodeRecord(absl::string_view value, SessionRecord* record);
absl::Status DecodeRecord(absl::string_view value, TombstoneRecord* record);
absl::Status DecodeRecord(absl::string_view value, DecisionHead* record);
absl::Status DecodeRecord(absl::string_view value, DecisionPage* record);
absl::Status DecodeRecord(absl::string_view value, StatusSummary* record);
absl::Status DecodeRecord(absl::string_view value, RetiredRecord* record);
absl::Status DecodeRecord(absl::string_view value, AuditRecord* record);
absl::Status DecodeRecord(absl::string_view value, RequestRecord* record);

template <typename Record>
absl::StatusOr<Record> DecodeRecord(absl::string_view value) {
  Record record;
  absl::Status status = DecodeRecord(value, &record);
  if (!status.ok()) return status;
  return record;
}

// Values of /v1/meta that are one word or number, and of /v1/by-uid.
std::string EncodeText(absl::string_view text);
absl::StatusOr<std::string> DecodeText(absl::string_view value);
std::string EncodeNumber(uint64_t number);
absl::StatusOr<uint64_t> DecodeNumber(absl::string_view value);

// Content of the blob that lists a bundle's files, without their content. Not an envelope.
// CONTENT_INVALID.
std::string EncodeManifestList(const std::vector<Manifest>& manifests);
absl::StatusOr<std::vector<Manifest>> DecodeManifestList(absl::string_view content);

}  // namespace nave

#endif  // NAVE_HUB_RECORDS_CODEC_H_
