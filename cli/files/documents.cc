#include "cli/files/documents.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/resources/target.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/manifest/object_key.h"
#include "common/manifest/parse.h"
#include "common/model/violations.h"
#include "common/value/codec.h"
#include "common/wire/file_form.h"

namespace nave::cli {
namespace {

constexpr absl::string_view kGroup = "nave.dev";

// One document of a file, or one item of a list in it.
struct Document {
  Value value;
  std::string origin;
  bool ours = false;
};

bool IsOurs(const Value& value) {
  std::string version = value.StringAt("apiVersion");
  if (version.empty()) version = value.StringAt("api_version");
  return ParseApiVersion(version).group == std::string(kGroup);
}

// Lists are taken apart when they hold resources of ours: a list of Kubernetes objects is the
// manifest parser's.
void AddDocument(Value value, const std::string& origin, std::vector<Document>* out) {
  const Value* items = value.Find("items");
  bool list = value.StringAt("kind") == "List" && items != nullptr && items->is_array();
  if (list && (IsOurs(value) || (!items->array()->empty() && IsOurs(items->array()->front())))) {
    for (size_t i = 0; i < items->array()->size(); ++i) {
      const Value& item = (*items->array())[i];
      out->push_back({item, absl::StrCat(origin, " item ", i + 1), IsOurs(item)});
    }
    return;
  }
  bool ours = IsOurs(value);
  out->push_back({std::move(value), origin, ours});
}

absl::StatusOr<std::vector<Document>> SplitFile(const InputFile& file,
                                                std::vector<std::string>* warnings) {
  std::vector<std::string> found;
  auto documents = ParseYamlStream(file.content, &found);
  if (!documents.ok()) return Prepend(documents.status(), file.path);
  for (const std::string& warning : found)
    warnings->push_back(absl::StrCat(file.path, ": ", warning));
  std::vector<Document> out;
  for (size_t i = 0; i < documents->size(); ++i) {
    YamlDocument& document = (*documents)[i];
    std::string origin =
        absl::StrCat(file.path, " document ", i + 1, " (line ", document.line, ")");
    if (!document.value.is_object()) {
      return MakeError(Reason::kManifestInvalid,
                       absl::StrCat(origin, ": must be a mapping with apiVersion and kind"));
    }
    AddDocument(std::move(document.value), origin, &out);
  }
  return out;
}

int OrderOf(const KindInfo& kind) {
  static constexpr absl::string_view kOrder[] = {"ClusterSet",  "Project",   "Cluster",
                                                 "RoleBinding", "JoinToken", "Bundle"};
  for (size_t i = 0; i < std::size(kOrder); ++i) {
    if (kOrder[i] == kind.kind) return static_cast<int>(i);
  }
  return static_cast<int>(std::size(kOrder));
}

std::string Join(const std::string& folder, const std::string& path) {
  return folder.empty() || absl::StartsWith(path, "/") ? path : absl::StrCat(folder, "/", path);
}

// Manifests of the bundle's file that are only paths get the files' content.
absl::Status ReadManifests(const std::string& folder, v1::Bundle* bundle) {
  google::protobuf::RepeatedPtrField<v1::Manifest> manifests;
  for (v1::Manifest& manifest : *bundle->mutable_spec()->mutable_manifests()) {
    if (!manifest.content().empty() || !manifest.digest().empty() || manifest.path().empty()) {
      manifests.Add(std::move(manifest));
      continue;
    }
    std::string path = Join(folder, manifest.path());
    ASSIGN_OR_RETURN(std::vector<InputFile> files,
                     ReadInputs({path}, true, [] { return std::string(); }));
    for (InputFile& file : files) {
      v1::Manifest* read = manifests.Add();
      // The path as the bundle's file says it, so that it does not change with the folder that one
      // calls from.
      bool below = !folder.empty() && absl::StartsWith(file.path, folder + "/");
      read->set_path(below ? file.path.substr(folder.size() + 1) : file.path);
      read->set_content(std::move(file.content));
    }
  }
  bundle->mutable_spec()->mutable_manifests()->Swap(&manifests);
  return absl::OkStatus();
}

// As the hub will check it; not when a content is known to the hub only.
absl::Status CheckBundle(const v1::Bundle& bundle, std::vector<std::string>* warnings) {
  std::vector<ManifestFile> files;
  for (const v1::Manifest& manifest : bundle.spec().manifests()) {
    if (manifest.content().empty() && !manifest.digest().empty()) return absl::OkStatus();
    files.push_back({manifest.path(), manifest.content()});
  }
  ListingOptions options;
  if (!bundle.spec().default_namespace().empty())
    options.default_namespace = bundle.spec().default_namespace();
  bool create = !bundle.spec().has_create_namespace() || bundle.spec().create_namespace();
  return RenderBundle(files, options, create, bundle.spec().allow_empty(), warnings).status();
}

absl::Status AddResource(const Document& document, const InputFile& file,
                         absl::string_view default_project, Documents* out) {
  auto message = FromFile(document.value, default_project);
  if (!message.ok()) return Prepend(message.status(), document.origin);
  FileResource resource{KindOf(**message), *std::move(message), document.origin};
  if (!resource.kind->writable) {
    return MakeError(Reason::kInvalidField,
                     absl::StrCat(document.origin, ": a ", resource.kind->kind,
                                  " is made by the hub, it cannot be applied"));
  }
  // Made and checked here, so that the name in an error is not the first thing that the hub sees.
  auto target = ParseTarget(NameOf(*resource.message), default_project);
  if (!target.ok()) {
    return Prepend(FieldError("metadata.name", target.status().message()), document.origin);
  }
  if (resource.kind->kind == "Bundle") {
    auto* bundle = static_cast<v1::Bundle*>(resource.message.get());
    absl::Status status = ReadManifests(file.folder, bundle);
    if (status.ok()) status = CheckBundle(*bundle, &out->warnings);
    if (!status.ok())
      return Prepend(status,
                     absl::StrCat(document.origin, ": bundle \"", IdOf(bundle->name()), "\""));
  }
  out->resources.push_back(std::move(resource));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Documents> ReadDocuments(const std::vector<InputFile>& files,
                                        absl::string_view default_project) {
  Documents out;
  for (const InputFile& file : files) {
    ASSIGN_OR_RETURN(std::vector<Document> documents, SplitFile(file, &out.warnings));
    if (documents.empty()) continue;
    bool ours =
        std::any_of(documents.begin(), documents.end(), [](const Document& d) { return d.ours; });
    if (!ours) {
      out.plain.push_back(file);
      continue;
    }
    for (const Document& document : documents) {
      if (!document.ours) {
        return MakeError(Reason::kManifestInvalid,
                         absl::StrCat(document.origin, ": `apiVersion`: must be '", kApiVersion,
                                      "' as in the rest of the file, got '",
                                      document.value.StringAt("apiVersion"), "'"),
                         {{"help",
                           "Put Kubernetes objects into spec.manifests of a Bundle, or into a file "
                           "of their own."}});
      }
      RETURN_IF_ERROR(AddResource(document, file, default_project, &out));
    }
  }
  std::stable_sort(out.resources.begin(), out.resources.end(),
                   [](const FileResource& a, const FileResource& b) {
                     return OrderOf(*a.kind) < OrderOf(*b.kind);
                   });
  return out;
}

absl::Status FillBundle(const std::vector<InputFile>& files, v1::Bundle* bundle,
                        std::vector<std::string>* warnings) {
  for (const InputFile& file : files) {
    v1::Manifest* manifest = bundle->mutable_spec()->add_manifests();
    manifest->set_path(file.path == "stdin" ? "stdin.yaml" : file.path);
    manifest->set_content(file.content);
  }
  return CheckBundle(*bundle, warnings);
}

}  // namespace nave::cli
