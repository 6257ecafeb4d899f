// What requests to an API server look like: paths, queries and bodies. Pure.
#ifndef NAVE_AGENT_KUBE_REST_H_
#define NAVE_AGENT_KUBE_REST_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/kube/kube_client.h"

namespace nave {

// "apps/v1", or "v1" for the core group.
std::string ApiVersionOf(const ResourceType& type);

// Path of all objects of a type, in one namespace or (empty `ns`, or a cluster-scoped type) in all.
std::string CollectionPath(const ResourceType& type, absl::string_view ns);

// Path of one object. INVALID_ARGUMENT for what would address something else: no name (that is the
// collection), a name that is no path segment, a namespaced type without a namespace, a
// cluster-scoped one with one.
absl::StatusOr<std::string> ObjectPath(const ResourceType& type, absl::string_view ns,
                                       absl::string_view name);

// Path and query of each request.
absl::StatusOr<std::string> ApplyPath(const ApplyRequest& request);
absl::StatusOr<std::string> PatchPath(const PatchRequest& request);
std::string ListPath(const ListRequest& request);
std::string WatchPath(const WatchRequest& request, absl::Duration timeout);

// DeleteOptions. All options travel in the body: a body hides every query option.
std::string DeleteBody(const DeleteRequest& request);

// Percent-encoding of everything but unreserved characters.
std::string EscapeForUrl(absl::string_view text);

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_REST_H_
