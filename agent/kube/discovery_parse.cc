#include "agent/kube/discovery_parse.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace nave {
namespace {

const Array& ItemsOf(const Value& value, absl::string_view key) {
  static const Array& empty = *new Array();
  const Value* found = value.Find(key);
  return found == nullptr || found->array() == nullptr ? empty : *found->array();
}

std::vector<std::string> StringsOf(const Value& value, absl::string_view key) {
  std::vector<std::string> strings;
  for (const Value& item : ItemsOf(value, key)) {
    if (item.string() != nullptr) strings.push_back(*item.string());
  }
  return strings;
}

std::pair<std::string, std::string> SplitGroupVersion(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('/', 1));
  if (parts.size() == 1) return {"", parts[0]};
  return {parts[0], parts[1]};
}

}  // namespace

bool IsAggregatedDiscovery(const Value& document) {
  return document.StringAt("kind") == "APIGroupDiscoveryList" &&
         absl::StartsWith(document.StringAt("apiVersion"), "apidiscovery.k8s.io/");
}

std::vector<GroupVersionTypes> ParseAggregatedDiscovery(const Value& document) {
  std::vector<GroupVersionTypes> found;
  for (const Value& item : ItemsOf(document, "items")) {
    const std::string group = item.StringAt("metadata", "name");
    for (const Value& version : ItemsOf(item, "versions")) {
      GroupVersionTypes one{group, version.StringAt("version"), false, {}};
      one.failed = version.StringAt("freshness") == "Stale";
      for (const Value& resource : ItemsOf(version, "resources")) {
        ResourceType type{group,
                          one.version,
                          resource.StringAt("responseKind", "kind"),
                          resource.StringAt("resource"),
                          resource.StringAt("scope") == "Namespaced",
                          StringsOf(resource, "verbs")};
        if (type.kind.empty() || type.plural.empty() || absl::StrContains(type.plural, '/')) {
          continue;
        }
        one.types.push_back(std::move(type));
      }
      found.push_back(std::move(one));
    }
  }
  return found;
}

std::vector<GroupVersionTypes> ParseGroupVersions(const Value& document) {
  std::vector<GroupVersionTypes> found;
  for (const std::string& version : StringsOf(document, "versions")) {
    found.push_back({"", version, false, {}});
  }
  for (const Value& group : ItemsOf(document, "groups")) {
    const std::string preferred = group.StringAt("preferredVersion", "groupVersion");
    const size_t begin = found.size();
    for (const Value& version : ItemsOf(group, "versions")) {
      const std::string text = version.StringAt("groupVersion");
      auto [name, number] = SplitGroupVersion(text);
      GroupVersionTypes one{std::move(name), std::move(number), false, {}};
      const auto at = text == preferred ? found.begin() + static_cast<long>(begin) : found.end();
      found.insert(at, std::move(one));
    }
  }
  return found;
}

std::vector<ResourceType> ParseResourceList(const Value& document, const std::string& group,
                                            const std::string& version) {
  std::vector<ResourceType> types;
  for (const Value& resource : ItemsOf(document, "resources")) {
    const Value* namespaced = resource.Find("namespaced");
    ResourceType type{group,
                      version,
                      resource.StringAt("kind"),
                      resource.StringAt("name"),
                      namespaced != nullptr && namespaced->BoolOr(false),
                      StringsOf(resource, "verbs")};
    if (type.kind.empty() || type.plural.empty() || absl::StrContains(type.plural, '/')) continue;
    types.push_back(std::move(type));
  }
  return types;
}

KubeClient::Discovery MergeDiscovery(const std::vector<GroupVersionTypes>& found,
                                     const std::vector<ResourceType>& known) {
  KubeClient::Discovery discovery;
  for (const GroupVersionTypes& one : found) {
    if (!one.failed) {
      discovery.types.insert(discovery.types.end(), one.types.begin(), one.types.end());
      continue;
    }
    for (const ResourceType& type : known) {
      if (type.group == one.group && type.version == one.version) discovery.types.push_back(type);
    }
    std::vector<std::string>& failed = discovery.failed_groups;
    if (std::find(failed.begin(), failed.end(), one.group) == failed.end()) {
      failed.push_back(one.group);
    }
  }
  return discovery;
}

}  // namespace nave
