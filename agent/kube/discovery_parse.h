// Reads what an API server says about the kinds that it serves. Pure.
#ifndef NAVE_AGENT_KUBE_DISCOVERY_PARSE_H_
#define NAVE_AGENT_KUBE_DISCOVERY_PARSE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/kube/kube_client.h"
#include "common/value/value.h"

namespace nave {

// One group-version and its kinds; `failed`: its backend is down, so `types` says nothing.
struct GroupVersionTypes {
  std::string group;
  std::string version;
  bool failed = false;
  std::vector<ResourceType> types;
};

// True when the document is an APIGroupDiscoveryList (v2 or v2beta1).
bool IsAggregatedDiscovery(const Value& document);

// Group-versions of an APIGroupDiscoveryList, in the server's order of preference. Sub-resources
// and resources without a kind are left out.
std::vector<GroupVersionTypes> ParseAggregatedDiscovery(const Value& document);

// The older form: the versions of /api (APIVersions) or the group-versions of /apis (APIGroupList,
// the preferred version of each group first), without types.
std::vector<GroupVersionTypes> ParseGroupVersions(const Value& document);

// The kinds of one APIResourceList.
std::vector<ResourceType> ParseResourceList(const Value& document, const std::string& group,
                                            const std::string& version);

// Puts group-versions together; those that failed keep what `known` (an earlier result) has of them
// and their groups are named in failed_groups.
KubeClient::Discovery MergeDiscovery(const std::vector<GroupVersionTypes>& found,
                                     const std::vector<ResourceType>& known);

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_DISCOVERY_PARSE_H_
