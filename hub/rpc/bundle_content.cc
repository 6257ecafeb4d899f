#include "hub/rpc/bundle_content.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/violations.h"
#include "common/value/codec.h"
#include "hub/records/codec.h"

namespace nave {
namespace {

constexpr char kMask[] = "********";

absl::Status FillList(const ApiCall& call, const Digest& list, std::vector<Manifest>* manifests) {
  if (!manifests->empty() || list.IsNone()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::string content, call.store().GetBlob(list));
  ASSIGN_OR_RETURN(*manifests, DecodeManifestList(content));
  return absl::OkStatus();
}

bool MaskValues(Value* object) {
  if (object->StringAt("kind") != "Secret" || object->StringAt("apiVersion") != "v1") return false;
  for (const char* field : {"data", "stringData"}) {
    Value& values = (*object)[field];
    Object* map = values.mutable_object();
    if (map == nullptr) {
      object->mutable_object()->erase(field);
      continue;
    }
    for (auto& [key, value] : *map) value = kMask;
  }
  return true;
}

// Digest -> size of every file that the present record or a kept revision of the bundle has.
absl::StatusOr<std::map<Digest, uint64_t>> KnownFiles(const ApiCall& call, const Bundle& bundle) {
  std::vector<Digest> lists{bundle.spec.manifest_list};
  auto revisions = call.snapshot().revisions.Find(bundle.meta.uid);
  if (revisions != nullptr) {
    for (const auto& [number, revision] : *revisions) lists.push_back(revision.manifest_list);
  }
  std::map<Digest, uint64_t> known;
  Digest last;
  for (const Digest& list : lists) {
    if (list.IsNone() || list == last) continue;
    last = list;
    std::vector<Manifest> files;
    RETURN_IF_ERROR(FillList(call, list, &files));
    for (const Manifest& file : files) known[file.digest] = file.size;
  }
  return known;
}

absl::Status ResolveDigests(const ApiCall& call, const Bundle* bundle,
                            std::vector<Manifest>* manifests) {
  std::map<Digest, uint64_t> known;
  bool read = false;
  for (size_t i = 0; i < manifests->size(); ++i) {
    Manifest& manifest = (*manifests)[i];
    if (!manifest.content.empty()) continue;
    if (!read && bundle != nullptr) {
      ASSIGN_OR_RETURN(known, KnownFiles(call, *bundle));
      read = true;
    }
    auto file = known.find(manifest.digest);
    if (file == known.end()) {
      return FieldError(
          absl::StrCat("spec.manifests[", i, "].digest"),
          absl::StrCat("must be of content that a kept revision of this bundle has, none has ",
                       manifest.digest.Hex()),
          Reason::kUnknownDigest);
    }
    manifest.size = file->second;
    ASSIGN_OR_RETURN(manifest.content, call.store().GetBlob(manifest.digest));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FillManifests(const ApiCall& call, Bundle* bundle) {
  return FillList(call, bundle->spec.manifest_list, &bundle->spec.manifests);
}

absl::Status FillManifests(const ApiCall& call, BundleRevision* revision) {
  return FillList(call, revision->manifest_list, &revision->manifests);
}

std::string MaskSecrets(const std::string& path, const std::string& content) {
  auto objects = ParseManifestFile(path, content, nullptr);
  // What cannot be read any more may hold anything.
  if (!objects.ok()) return kMask;
  std::string masked;
  bool any = false;
  for (ManifestObject& object : *objects) {
    any = MaskValues(&object.object) || any;
    absl::StrAppend(&masked, masked.empty() ? "" : "---\n", FormatYaml(object.object));
  }
  return any ? masked : content;
}

absl::Status FillContents(const ApiCall& call, bool masked, std::vector<Manifest>* manifests) {
  for (Manifest& manifest : *manifests) {
    ASSIGN_OR_RETURN(manifest.content, call.store().GetBlob(manifest.digest));
    if (masked) manifest.content = MaskSecrets(manifest.path, manifest.content);
  }
  return absl::OkStatus();
}

absl::StatusOr<BundleContent> RenderContent(const ApiCall& call, const Bundle* bundle,
                                            const BundleSpec& spec) {
  BundleContent content;
  content.manifests = spec.manifests;
  RETURN_IF_ERROR(ResolveDigests(call, bundle, &content.manifests));
  content.manifest_list = EncodeManifestList(content.manifests);
  std::vector<ManifestFile> files;
  for (const Manifest& manifest : content.manifests)
    files.push_back({manifest.path, manifest.content});
  ListingOptions options;
  options.default_namespace = spec.default_namespace;
  ASSIGN_OR_RETURN(content.rendered, RenderBundle(files, options, spec.create_namespace,
                                                  spec.allow_empty, &content.warnings));
  return content;
}

absl::Status PutContent(const ApiCall& call, const BundleContent& content, ControlTxn* txn) {
  std::vector<absl::string_view> blobs{content.manifest_list, content.rendered.listing};
  for (const Manifest& manifest : content.manifests) blobs.push_back(manifest.content);
  for (const RenderedObject& object : content.rendered.objects) blobs.push_back(object.json);
  return call.store().PutBlobs(blobs, txn);
}

absl::StatusOr<Listing> ReadListing(const ApiCall& call, const Digest& digest) {
  ASSIGN_OR_RETURN(std::string json, call.store().GetBlob(digest));
  return ParseListing(json);
}

}  // namespace nave
