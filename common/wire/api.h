// nave.v1 to and from common/model. Total and pure.
//
// ToProto gives everything, what is filled in when read included. FromProto takes the user's part
// only: name, labels, annotations and spec; what is output only is the hub's and never believed.
// Absent fields get the defaults that the .proto files state. FromProto refuses: a bad name or
// digest (INVALID_FIELD), an enum value of a later version (NOT_SUPPORTED_YET). Rules beyond form
// are those of common/model/validate.h.
#ifndef NAVE_COMMON_WIRE_API_H_
#define NAVE_COMMON_WIRE_API_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/model/assignment.h"
#include "common/model/bundle.h"
#include "common/model/cluster.h"
#include "common/model/tenancy.h"

namespace nave {

namespace v1 {
class Bundle;
class BundleRevision;
class Cluster;
class ClusterSet;
class Condition;
class Event;
class JoinToken;
class ObjectCounts;
class ObjectMeta;
class ObjectState;
class Project;
class RoleBinding;
}  // namespace v1

// Changes with what people decide: uid, generation, labels, annotations, deletion, and `decided`
// (verbs' results). Quoted, as AIP-154 wants it.
std::string ComputeEtag(const ObjectMeta& meta, absl::string_view decided = "");
std::string EtagOf(const Project& project);
std::string EtagOf(const ClusterSet& cluster_set);
std::string EtagOf(const Cluster& cluster);
std::string EtagOf(const RoleBinding& binding);
std::string EtagOf(const JoinToken& token);
std::string EtagOf(const Bundle& bundle);

void ToProto(const ObjectMeta& meta, v1::ObjectMeta* out);
void ToProto(const Condition& condition, v1::Condition* out);
void ToProto(const Project& project, v1::Project* out);
void ToProto(const ClusterSet& cluster_set, v1::ClusterSet* out);
void ToProto(const Cluster& cluster, v1::Cluster* out);
void ToProto(const RoleBinding& binding, v1::RoleBinding* out);
// `now` decides whether it is expired.
void ToProto(const JoinToken& token, absl::Time now, v1::JoinToken* out);
void ToProto(const Bundle& bundle, v1::Bundle* out);
void ToProto(const BundleRevision& revision, v1::BundleRevision* out);
void ToProto(const Event& event, v1::Event* out);
void ToProto(const ObjectStatus& status, absl::string_view cluster, v1::ObjectState* out);
void ToProto(const ObjectCounts& counts, v1::ObjectCounts* out);

// v1::Health and v1::AssignmentPhase as numbers, so that this header needs no generated one.
int ToProtoNumber(Health health);
int ToProtoNumber(Phase phase);

absl::Status FromProto(const v1::Project& proto, Project* out);
absl::Status FromProto(const v1::ClusterSet& proto, ClusterSet* out);
absl::Status FromProto(const v1::Cluster& proto, Cluster* out);
absl::Status FromProto(const v1::RoleBinding& proto, RoleBinding* out);
absl::Status FromProto(const v1::JoinToken& proto, JoinToken* out);
// Contents stay in the model's manifests; their digests are computed. Fields of later releases: see
// CheckSupported.
absl::Status FromProto(const v1::Bundle& proto, Bundle* out);

}  // namespace nave

#endif  // NAVE_COMMON_WIRE_API_H_
