#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/manifest/duplicates.h"
#include "common/manifest/normalize.h"
#include "common/manifest/parse.h"
#include "common/model/assignment.h"
#include "common/value/codec.h"

namespace nave {
namespace {

RenderedObject Render(ObjectKey key, const Value& object) {
  RenderedObject rendered;
  rendered.key = std::move(key);
  rendered.json = FormatJson(object);
  rendered.digest = Sha256(rendered.json);
  return rendered;
}

bool WantsNamespace(absl::string_view name) {
  return name != "default" && !absl::StartsWith(name, "kube-");
}

absl::Status CheckBundleLimits(const RenderedBundle& bundle) {
  if (bundle.objects.size() > kBundleObjectsMax) {
    return MakeError(Reason::kLimitExceeded,
                     absl::StrCat("bundle: want at most ", kBundleObjectsMax, " objects, got ",
                                  bundle.objects.size()));
  }
  if (bundle.bytes > kBundleBytesMax) {
    return MakeError(Reason::kLimitExceeded, absl::StrCat("bundle: want at most ", kBundleBytesMax,
                                                          " bytes of JSON, got ", bundle.bytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckDuplicates(const std::vector<ManifestObject>& objects,
                             absl::string_view default_namespace) {
  std::map<ObjectKey, const ManifestObject*> seen;
  for (const ManifestObject& object : objects) {
    ObjectKey key = object.key;
    if (key.ns.empty()) key.ns = std::string(default_namespace);
    auto [first, is_new] = seen.emplace(std::move(key), &object);
    if (is_new) continue;
    return MakeError(Reason::kDuplicateObject,
                     absl::StrCat(object.key.ToString(), " is there twice: ", first->second->origin,
                                  " and ", object.origin));
  }
  return absl::OkStatus();
}

absl::StatusOr<RenderedBundle> RenderBundle(const std::vector<ManifestFile>& files,
                                            const ListingOptions& options, bool create_namespace,
                                            bool allow_empty, std::vector<std::string>* warnings) {
  const std::string& default_namespace = options.default_namespace;
  if (!IsNamespaceName(default_namespace)) {
    return MakeError(
        Reason::kInvalidField,
        absl::StrCat("default_namespace: want an RFC 1123 label, got \"", default_namespace, "\""));
  }
  std::vector<ManifestObject> objects;
  for (const ManifestFile& file : files) {
    ASSIGN_OR_RETURN(std::vector<ManifestObject> parsed,
                     ParseManifestFile(file.path, file.content, warnings));
    for (ManifestObject& object : parsed) objects.push_back(std::move(object));
  }
  if (objects.empty() && !allow_empty) {
    return MakeError(Reason::kBundleEmpty, "bundle: want at least one object, got none");
  }
  RETURN_IF_ERROR(CheckDuplicates(objects, default_namespace));

  RenderedBundle bundle;
  ObjectKey namespace_key{"", "Namespace", "", default_namespace};
  bool has_namespace = false;
  for (const ManifestObject& object : objects) {
    has_namespace = has_namespace || object.key == namespace_key;
    bundle.objects.push_back(Render(object.key, object.object));
  }
  // An empty bundle stays empty: its last version removes the namespace that an earlier one
  // brought.
  if (create_namespace && !has_namespace && !objects.empty() && WantsNamespace(default_namespace)) {
    Value object;
    object["apiVersion"] = "v1";
    object["kind"] = "Namespace";
    object["metadata"]["name"] = default_namespace;
    bundle.objects.push_back(Render(namespace_key, object));
  }
  std::sort(bundle.objects.begin(), bundle.objects.end(),
            [](const RenderedObject& a, const RenderedObject& b) { return a.key < b.key; });

  Listing listing;
  listing.options = options;
  for (const RenderedObject& object : bundle.objects) {
    listing.objects.push_back({object.key, object.digest});
    bundle.bytes += object.json.size();
  }
  bundle.listing = FormatListing(listing);
  bundle.listing_digest = Sha256(bundle.listing);
  bundle.bytes += bundle.listing.size();
  RETURN_IF_ERROR(CheckBundleLimits(bundle));
  return bundle;
}

}  // namespace nave
