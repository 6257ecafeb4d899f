// Bundles, their revisions and assignments.
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"
#include "common/model/violations.h"
#include "common/wire/api.h"
#include "common/wire/scalars.h"
#include "nave/v1/assignment.pb.h"
#include "nave/v1/bundle.pb.h"

namespace nave {
namespace {

v1::Adoption AdoptionToProto(Adoption adoption) {
  switch (adoption) {
    case Adoption::kIfNoDiff:
      return v1::ADOPTION_IF_NO_DIFF;
    case Adoption::kAlways:
      return v1::ADOPTION_ALWAYS;
    case Adoption::kNever:
      return v1::ADOPTION_NEVER;
  }
  return v1::ADOPTION_UNSPECIFIED;
}

void WriteManifest(const Manifest& manifest, v1::Manifest* out) {
  out->set_path(MakeUtf8(manifest.path));
  out->set_content(manifest.content);
  if (!manifest.digest.IsNone()) out->set_digest(manifest.digest.Hex());
  out->set_size(manifest.size);
}

absl::Status ReadManifest(absl::string_view path, const v1::Manifest& proto, Manifest* out) {
  out->path = proto.path();
  out->content = proto.content();
  if (!out->content.empty()) {
    out->digest = Sha256(out->content);
    out->size = out->content.size();
    return absl::OkStatus();
  }
  if (proto.digest().empty()) return absl::OkStatus();
  auto digest = Digest::FromHex(proto.digest());
  if (!digest.has_value()) {
    return FieldError(absl::StrCat(path, ".digest"), "must be 64 hexadecimal digits in lower case");
  }
  out->digest = *digest;
  return absl::OkStatus();
}

void WriteBundleSpec(const BundleSpec& spec, v1::BundleSpec* out) {
  for (const Manifest& manifest : spec.manifests) WriteManifest(manifest, out->add_manifests());
  out->set_default_namespace(spec.default_namespace);
  out->set_create_namespace(spec.create_namespace);
  if (spec.placement.has_value()) {
    v1::PlacementSpec* placement = out->mutable_placement();
    for (const std::string& set : spec.placement->cluster_sets) placement->add_cluster_sets(set);
    for (const std::string& name : spec.placement->names) placement->add_names(name);
    if (spec.placement->selector.has_value()) placement->set_selector(*spec.placement->selector);
    for (const std::string& name : spec.placement->exclude) placement->add_exclude(name);
  }
  out->set_adoption(AdoptionToProto(spec.adoption));
  out->set_allow_empty(spec.allow_empty);
}

void WriteBundleStatus(const BundleStatus& status, v1::BundleStatus* out) {
  out->set_observed_generation(status.observed_generation);
  out->set_revision(status.revision);
  out->set_health(static_cast<v1::Health>(ToProtoNumber(status.health)));
  v1::BundleCounts* counts = out->mutable_counts();
  counts->set_clusters(status.counts.clusters);
  counts->set_applied(status.counts.applied);
  counts->set_ready(status.counts.ready);
  counts->set_failed(status.counts.failed);
  counts->set_pending(status.counts.pending);
  counts->set_disconnected(status.counts.disconnected);
  counts->set_removing(status.counts.removing);
  for (const Condition& condition : status.conditions) ToProto(condition, out->add_conditions());
  if (!status.held_hash.IsNone()) out->set_held_hash(status.held_hash.Hex());
  for (const std::string& cluster : status.held_clusters) out->add_held_clusters(cluster);
  out->set_orphan(status.orphan);
}

}  // namespace

int ToProtoNumber(Phase phase) {
  switch (phase) {
    case Phase::kPending:
      return v1::ASSIGNMENT_PHASE_PENDING;
    case Phase::kApplying:
      return v1::ASSIGNMENT_PHASE_APPLYING;
    case Phase::kApplied:
      return v1::ASSIGNMENT_PHASE_APPLIED;
    case Phase::kFailed:
      return v1::ASSIGNMENT_PHASE_FAILED;
    case Phase::kPruneWaiting:
      return v1::ASSIGNMENT_PHASE_PRUNE_WAITING;
    case Phase::kRemovalHeld:
      return v1::ASSIGNMENT_PHASE_REMOVAL_HELD;
    case Phase::kRemoving:
      return v1::ASSIGNMENT_PHASE_REMOVING;
    case Phase::kRemoved:
      return v1::ASSIGNMENT_PHASE_REMOVED;
    case Phase::kNotDesired:
      return v1::ASSIGNMENT_PHASE_NOT_DESIRED;
    case Phase::kRejected:
      return v1::ASSIGNMENT_PHASE_REJECTED;
  }
  return v1::ASSIGNMENT_PHASE_UNSPECIFIED;
}

void ToProto(const Bundle& bundle, v1::Bundle* out) {
  out->set_name(BundleName(bundle.project, bundle.id));
  ToProto(bundle.meta, out->mutable_metadata());
  WriteBundleSpec(bundle.spec, out->mutable_spec());
  WriteBundleStatus(bundle.status, out->mutable_status());
  out->set_etag(EtagOf(bundle));
}

absl::Status FromProto(const v1::Bundle& proto, Bundle* out) {
  if (!proto.name().empty()) {
    ASSIGN_OR_RETURN(BundleRef ref, ParseBundleName("name", proto.name()));
    out->project = ref.project;
    out->id = ref.bundle;
  }
  out->meta.labels = StringMap(proto.metadata().labels().begin(), proto.metadata().labels().end());
  out->meta.annotations =
      StringMap(proto.metadata().annotations().begin(), proto.metadata().annotations().end());
  const v1::BundleSpec& spec = proto.spec();
  out->spec = BundleSpec{};
  for (int i = 0; i < spec.manifests_size(); ++i) {
    RETURN_IF_ERROR(ReadManifest(absl::StrCat("spec.manifests[", i, "]"), spec.manifests(i),
                                 &out->spec.manifests.emplace_back()));
  }
  if (!spec.default_namespace().empty()) out->spec.default_namespace = spec.default_namespace();
  if (spec.has_create_namespace()) out->spec.create_namespace = spec.create_namespace();
  if (spec.has_placement()) {
    const v1::PlacementSpec& placement = spec.placement();
    PlacementSpec& read = out->spec.placement.emplace();
    read.cluster_sets.assign(placement.cluster_sets().begin(), placement.cluster_sets().end());
    read.names.assign(placement.names().begin(), placement.names().end());
    if (placement.has_selector()) read.selector = placement.selector();
    read.exclude.assign(placement.exclude().begin(), placement.exclude().end());
  }
  out->spec.allow_empty = spec.allow_empty();
  if (spec.adoption() != v1::ADOPTION_UNSPECIFIED && spec.adoption() != v1::ADOPTION_IF_NO_DIFF) {
    return FieldError("spec.adoption", "must be IfNoDiff in this release",
                      Reason::kNotSupportedYet);
  }
  return absl::OkStatus();
}

void ToProto(const BundleRevision& revision, v1::BundleRevision* out) {
  out->set_name(RevisionName(revision.project, revision.bundle, revision.number));
  ToProto(revision.meta, out->mutable_metadata());
  v1::BundleRevisionSpec* spec = out->mutable_spec();
  spec->set_number(revision.number);
  spec->set_bundle_uid(revision.bundle_uid.ToString());
  for (const Manifest& manifest : revision.manifests)
    WriteManifest(manifest, spec->add_manifests());
  spec->set_default_namespace(revision.default_namespace);
  spec->set_create_namespace(revision.create_namespace);
  spec->set_adoption(AdoptionToProto(revision.adoption));
  out->mutable_status()->set_listing_digest(revision.listing.Hex());
  out->mutable_status()->set_objects(revision.objects);
  out->mutable_status()->set_bytes(revision.bytes);
  out->set_etag(ComputeEtag(revision.meta));
}

void ToProto(const ObjectStatus& status, absl::string_view cluster, v1::ObjectState* out) {
  out->set_group(status.group);
  out->set_version(status.version);
  out->set_kind(status.kind);
  out->set_namespace_(status.ns);
  out->set_name(status.name);
  out->set_health(static_cast<v1::Health>(ToProtoNumber(status.health)));
  out->set_applied(status.applied);
  out->set_reason(status.reason);
  out->set_message(MakeUtf8(status.message));
  if (!TimeToProto(status.since, out->mutable_since())) out->clear_since();
  out->set_cluster(cluster.data(), cluster.size());
}

void ToProto(const ObjectCounts& counts, v1::ObjectCounts* out) {
  out->set_total(counts.total);
  out->set_applied(counts.applied);
  out->set_healthy(counts.healthy);
  out->set_not_ok(counts.not_ok);
}

}  // namespace nave
