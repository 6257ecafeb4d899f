#include "tests/kubesim/http/documents.h"

#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/kubesim/http/route.h"

namespace nave::kubesim {
namespace {

Value Strings(const std::vector<std::string>& texts) {
  Array out;
  for (const std::string& text : texts) out.push_back(Value(text));
  return Value(std::move(out));
}

Value Verbs() {
  return Strings(
      {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"});
}

Value SubresourceVerbs() { return Strings({"get", "patch", "update"}); }

std::string GroupVersion(const std::string& group, const std::string& version) {
  return group.empty() ? version : absl::StrCat(group, "/", version);
}

// Versions of each group in the order of preference.
std::vector<std::pair<std::string, std::vector<std::string>>> Groups(
    const std::vector<const KindInfo*>& kinds) {
  std::vector<std::pair<std::string, std::vector<std::string>>> out;
  for (const KindInfo* kind : kinds) {
    auto it = out.begin();
    while (it != out.end() && it->first != kind->group) ++it;
    if (it == out.end()) it = out.insert(it, {kind->group, {}});
    bool known = false;
    for (const std::string& version : it->second) known = known || version == kind->version;
    if (!known) it->second.push_back(kind->version);
  }
  return out;
}

Value AggregatedResource(const KindInfo& kind) {
  Value response(Object{
      {"group", Value(kind.group)}, {"version", Value(kind.version)}, {"kind", Value(kind.kind)}});
  Value out(Object{{"resource", Value(kind.plural)},
                   {"responseKind", response},
                   {"scope", Value(kind.namespaced ? "Namespaced" : "Cluster")},
                   {"singularResource", Value(kind.singular)},
                   {"verbs", Verbs()}});
  if (!kind.short_names.empty()) out["shortNames"] = Strings(kind.short_names);
  if (!kind.categories.empty()) out["categories"] = Strings(kind.categories);
  if (kind.status) {
    out["subresources"] = Value(Array{Value(Object{{"subresource", Value("status")},
                                                   {"responseKind", response},
                                                   {"verbs", SubresourceVerbs()}})});
  }
  return out;
}

// Of the core group, or of all others.
Value Aggregated(const std::vector<const KindInfo*>& kinds, bool core) {
  Array items;
  for (const auto& [group, versions] : Groups(kinds)) {
    if (group.empty() != core) continue;
    Array served;
    for (const std::string& version : versions) {
      Array resources;
      for (const KindInfo* kind : kinds) {
        if (kind->group == group && kind->version == version) {
          resources.push_back(AggregatedResource(*kind));
        }
      }
      served.push_back(Value(Object{{"version", Value(version)},
                                    {"freshness", Value("Current")},
                                    {"resources", Value(std::move(resources))}}));
    }
    Object metadata{{"creationTimestamp", Value()}};
    if (!group.empty()) metadata.emplace("name", Value(group));
    items.push_back(Value(
        Object{{"metadata", Value(std::move(metadata))}, {"versions", Value(std::move(served))}}));
  }
  return Value(Object{{"kind", Value("APIGroupDiscoveryList")},
                      {"apiVersion", Value("apidiscovery.k8s.io/v2")},
                      {"metadata", Value(Object())},
                      {"items", Value(std::move(items))}});
}

Value GroupDocument(const std::string& group, const std::vector<std::string>& versions) {
  Array served;
  for (const std::string& version : versions) {
    served.push_back(Value(Object{{"groupVersion", Value(GroupVersion(group, version))},
                                  {"version", Value(version)}}));
  }
  Value preferred = served[0];
  return Value(Object{{"name", Value(group)},
                      {"versions", Value(std::move(served))},
                      {"preferredVersion", std::move(preferred)}});
}

Value GroupList(const std::vector<const KindInfo*>& kinds) {
  Array groups;
  for (const auto& [group, versions] : Groups(kinds)) {
    if (!group.empty()) groups.push_back(GroupDocument(group, versions));
  }
  return Value(Object{{"kind", Value("APIGroupList")},
                      {"apiVersion", Value("v1")},
                      {"groups", Value(std::move(groups))}});
}

Value CoreVersions() {
  return Value(Object{{"kind", Value("APIVersions")},
                      {"versions", Value(Array{Value("v1")})},
                      {"serverAddressByClientCIDRs", Value(Array())}});
}

Value ResourceList(const std::vector<const KindInfo*>& kinds, const std::string& group,
                   const std::string& version) {
  Array resources;
  for (const KindInfo* kind : kinds) {
    if (kind->group != group || kind->version != version) continue;
    Object resource{{"name", Value(kind->plural)},
                    {"singularName", Value(kind->singular)},
                    {"namespaced", Value(kind->namespaced)},
                    {"kind", Value(kind->kind)},
                    {"verbs", Verbs()}};
    if (!kind->short_names.empty()) resource.emplace("shortNames", Strings(kind->short_names));
    if (!kind->categories.empty()) resource.emplace("categories", Strings(kind->categories));
    resources.push_back(Value(std::move(resource)));
    if (!kind->status) continue;
    resources.push_back(Value(Object{{"name", Value(kind->plural + "/status")},
                                     {"singularName", Value("")},
                                     {"namespaced", Value(kind->namespaced)},
                                     {"kind", Value(kind->kind)},
                                     {"verbs", SubresourceVerbs()}}));
  }
  if (resources.empty()) return Value();
  return Value(Object{{"kind", Value("APIResourceList")},
                      {"apiVersion", Value("v1")},
                      {"groupVersion", Value(GroupVersion(group, version))},
                      {"resources", Value(std::move(resources))}});
}

Value Version(const std::string& git_version) {
  // "v1.34.0"
  std::vector<std::string> parts = absl::StrSplit(git_version, '.');
  return Value(Object{{"major", Value(parts[0].substr(1))},
                      {"minor", Value(parts.size() > 1 ? parts[1] : "0")},
                      {"gitVersion", Value(git_version)},
                      {"gitCommit", Value("")},
                      {"gitTreeState", Value("clean")},
                      {"buildDate", Value("1970-01-01T00:00:00Z")},
                      {"goVersion", Value("none")},
                      {"compiler", Value("none")},
                      {"platform", Value("linux/amd64")}});
}

}  // namespace

SimResponse Document(const DocumentRequest& request, std::string* content_type) {
  SimResponse out;
  *content_type = "application/json";
  const std::string& path = request.path;
  if (path == "/version") {
    out.body = Version(request.git_version);
    return out;
  }
  if (path == "/healthz" || path == "/livez" || path == "/readyz") {
    *content_type = "text/plain; charset=utf-8";
    out.text = "ok";
    return out;
  }
  std::vector<std::string> parts = absl::StrSplit(path, '/', absl::SkipEmpty());
  bool core = !parts.empty() && parts[0] == "api";
  if (!core && (parts.empty() || parts[0] != "apis")) return UnknownPath();
  if (parts.size() == 1) {
    if (Accepts(request.accept, "application/json",
                {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"})) {
      *content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
      out.body = Aggregated(request.kinds, core);
    } else {
      out.body = core ? CoreVersions() : GroupList(request.kinds);
    }
    return out;
  }
  if (!core && parts.size() == 2) {
    for (const auto& [group, versions] : Groups(request.kinds)) {
      if (group != parts[1]) continue;
      out.body = GroupDocument(group, versions);
      out.body["kind"] = Value("APIGroup");
      out.body["apiVersion"] = Value("v1");
      return out;
    }
    return UnknownPath();
  }
  out.body = core && parts.size() == 2    ? ResourceList(request.kinds, "", parts[1])
             : !core && parts.size() == 3 ? ResourceList(request.kinds, parts[1], parts[2])
                                          : Value();
  return out.body.is_null() ? UnknownPath() : out;
}

}  // namespace nave::kubesim
