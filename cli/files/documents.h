// What files say: resources of nave.dev/v1, and plain Kubernetes manifests that can make up a
// bundle. Everything is read and checked before anything is sent, with errors that name file,
// document and line.
#ifndef NAVE_CLI_FILES_DOCUMENTS_H_
#define NAVE_CLI_FILES_DOCUMENTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/files/input.h"
#include "cli/resources/requests.h"
#include "common/wire/kinds.h"
#include "nave/v1/bundle.pb.h"

namespace nave::cli {

struct FileResource {
  const KindInfo* kind = nullptr;
  MessagePtr message;
  // "shop.yaml document 2 (line 14)".
  std::string origin;
};

struct Documents {
  // Sorted so that what others name comes first: sets, projects, clusters, role bindings, bundles.
  std::vector<FileResource> resources;
  // Files with nothing of nave.dev in them, and at least one object.
  std::vector<InputFile> plain;
  // What is suspicious but accepted.
  std::vector<std::string> warnings;
};

// A file's `kind: List` is taken apart. A file must be of one sort. Bundles: a manifest with
// neither content nor digest is read from its path, relative to the file's folder (a folder stands
// for its files); then all is checked as the hub will check it. MANIFEST_INVALID, DUPLICATE_KEY,
// INVALID_FIELD, UNKNOWN_FIELD, NOT_SUPPORTED_YET, FILE_UNREADABLE and so on.
absl::StatusOr<Documents> ReadDocuments(const std::vector<InputFile>& files,
                                        absl::string_view default_project);

// Makes `files` the manifests of `bundle` and checks them.
absl::Status FillBundle(const std::vector<InputFile>& files, v1::Bundle* bundle,
                        std::vector<std::string>* warnings);

}  // namespace nave::cli

#endif  // NAVE_CLI_FILES_DOCUMENTS_H_
