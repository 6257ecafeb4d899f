// Projects, role bindings and join tokens: who may do what where.
#ifndef NAVE_COMMON_MODEL_TENANCY_H_
#define NAVE_COMMON_MODEL_TENANCY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/model/meta.h"

namespace nave {

struct Project {
  std::string id;
  ObjectMeta meta;
  // Cluster sets whose clusters the project's bundles may name.
  std::vector<std::string> cluster_sets;
  // Filled in when read.
  uint32_t bundles = 0;
  bool operator==(const Project&) const = default;
};

enum class Role { kViewer, kEditor, kAdmin };

struct RoleBinding {
  std::string id;
  ObjectMeta meta;
  // "user:x" or "group:y".
  std::vector<std::string> subjects;
  Role role = Role::kViewer;
  // At most one of the two; neither = the whole hub.
  std::string project;
  std::string cluster_set;
  bool operator==(const RoleBinding&) const = default;
};

struct JoinToken {
  // Random; the public part of the token's text.
  std::string id;
  ObjectMeta meta;
  // Empty: the agent joins under a name that the hub makes from the token's id.
  std::string cluster;
  absl::Duration ttl = absl::Minutes(30);
  bool rejoin = false;
  bool auto_accept = false;
  StringMap labels;
  std::string cluster_set = "default";

  // Stored, never shown: SHA-256 of the secret part.
  Digest secret_hash;
  absl::Time expire_time = absl::InfinitePast();
  // SHA-256 of the SPKI of the key that spent it; none: unspent.
  Digest spent_by_key;
  // Cluster that it made or re-joined.
  Uuid spent_for_cluster;
  // Certificate generation that it gave: a repeat with the same key is answered only while this is
  // the cluster's own.
  uint32_t spent_generation = 0;
  bool voided = false;
  bool operator==(const JoinToken&) const = default;
};

struct Event {
  std::string id;
  ObjectMeta meta;
  // Empty: of a cluster or the hub.
  std::string project;
  // "bundles/b", "clusters/c" or "hub".
  std::string about;
  // Also set when the event is about a bundle on one cluster.
  std::string cluster;
  bool warning = false;
  std::string reason;
  std::string message;
  // Coalesced: how often, and the last time.
  uint32_t count = 1;
  absl::Time last_time = absl::InfinitePast();
  bool operator==(const Event&) const = default;
};

}  // namespace nave

#endif  // NAVE_COMMON_MODEL_TENANCY_H_
