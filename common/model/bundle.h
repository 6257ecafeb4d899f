// Bundles, their revisions, and the state of a bundle on a cluster.
#ifndef NAVE_COMMON_MODEL_BUNDLE_H_
#define NAVE_COMMON_MODEL_BUNDLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/model/health.h"
#include "common/model/meta.h"

namespace nave {

struct Manifest {
  // Path of the file as the user had it; unique in the bundle. For people and errors.
  std::string path;
  // The file as it came. Empty in stored records: the content is a blob named by `digest`.
  std::string content;
  Digest digest;
  uint64_t size = 0;
  bool operator==(const Manifest&) const = default;
};

struct PlacementSpec {
  std::vector<std::string> cluster_sets;
  std::vector<std::string> names;
  // Kubernetes selector grammar. Set but empty names every candidate.
  std::optional<std::string> selector;
  std::vector<std::string> exclude;
  bool operator==(const PlacementSpec&) const = default;
};

enum class Adoption { kIfNoDiff, kAlways, kNever };

struct BundleSpec {
  // Empty in what the store gives: the list is a blob named by `manifest_list`.
  std::vector<Manifest> manifests;
  // SHA-256 of the stored list of manifests; none while it has not been stored.
  Digest manifest_list;
  std::string default_namespace = "default";
  bool create_namespace = true;
  // Absent: delivered nowhere, `NotPlaced`.
  std::optional<PlacementSpec> placement;
  Adoption adoption = Adoption::kIfNoDiff;
  bool allow_empty = false;
  bool operator==(const BundleSpec&) const = default;
};

// Numbers of clusters by state of the bundle on them.
struct BundleCounts {
  uint32_t clusters = 0;
  // Applied the desired digest.
  uint32_t applied = 0;
  // Applied and healthy.
  uint32_t ready = 0;
  uint32_t failed = 0;
  // Desired digest not yet reported.
  uint32_t pending = 0;
  uint32_t disconnected = 0;
  uint32_t removing = 0;
  bool operator==(const BundleCounts&) const = default;
};

struct BundleStatus {
  // Stored.
  uint64_t observed_generation = 0;
  // Newest revision number; 0 = none yet.
  uint64_t revision = 0;
  std::vector<Condition> conditions;
  // A shrink that waits for confirmation: hash of the list, and the cluster ids.
  Digest held_hash;
  std::vector<std::string> held_clusters;
  // The confirmed shrink: stands for one switch only.
  Digest confirmed_hash;
  // Set by delete.
  bool orphan = false;
  bool delete_confirmed = false;

  // Filled in when read.
  Health health = Health::kUnknown;
  BundleCounts counts;
  bool operator==(const BundleStatus&) const = default;
};

struct Bundle {
  std::string project;
  std::string id;
  ObjectMeta meta;
  BundleSpec spec;
  BundleStatus status;
  bool operator==(const Bundle&) const = default;
};

// An immutable snapshot of what a bundle delivers.
struct BundleRevision {
  std::string project;
  std::string bundle;
  Uuid bundle_uid;
  uint64_t number = 0;
  ObjectMeta meta;
  // Digest of the listing: the assignment's digest for clusters without overrides.
  Digest listing;
  // Manifests as they came (blobs), for `view=FULL` and roll-back. Empty in what the store gives,
  // see BundleSpec.
  std::vector<Manifest> manifests;
  Digest manifest_list;
  std::string default_namespace;
  bool create_namespace = true;
  Adoption adoption = Adoption::kIfNoDiff;
  uint32_t objects = 0;
  // Bytes of listing and objects together.
  uint64_t bytes = 0;
  bool operator==(const BundleRevision&) const = default;
};

}  // namespace nave

#endif  // NAVE_COMMON_MODEL_BUNDLE_H_
