// Rules of what users may write, with their texts. Pure: whether things that are named exist is
// checked by the hub. All functions add to `violations`; paths are those of the file form.
#ifndef NAVE_COMMON_MODEL_VALIDATE_H_
#define NAVE_COMMON_MODEL_VALIDATE_H_

#include "absl/strings/string_view.h"
#include "common/model/bundle.h"
#include "common/model/cluster.h"
#include "common/model/meta.h"
#include "common/model/tenancy.h"
#include "common/model/violations.h"

namespace nave {

inline constexpr size_t kLabelsMax = 64;
inline constexpr size_t kAnnotationsBytesMax = 64 << 10;
inline constexpr size_t kManifestsMax = 5000;
inline constexpr size_t kPathBytesMax = 512;
inline constexpr size_t kNamesMax = 2000;
inline constexpr absl::Duration kTokenTtlMin = absl::Minutes(1);
inline constexpr absl::Duration kTokenTtlMax = absl::Hours(24 * 7);

// "must be an RFC 1123 label …" when it is not.
void ValidateId(absl::string_view field, absl::string_view id, Violations* violations);
void ValidateMeta(const ObjectMeta& meta, Violations* violations);
void Validate(const Project& project, Violations* violations);
void Validate(const ClusterSet& cluster_set, Violations* violations);
void Validate(const Cluster& cluster, Violations* violations);
void Validate(const RoleBinding& binding, Violations* violations);
void Validate(const JoinToken& token, Violations* violations);
// All but the content of manifests, which the manifest parser judges.
void Validate(const Bundle& bundle, Violations* violations);

}  // namespace nave

#endif  // NAVE_COMMON_MODEL_VALIDATE_H_
