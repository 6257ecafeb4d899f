// Manifest input: the rules of what a bundle may hold, one parser for CLI, hub and agent.
#ifndef NAVE_COMMON_MANIFEST_PARSE_H_
#define NAVE_COMMON_MANIFEST_PARSE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/manifest/object_key.h"
#include "common/value/value.h"

namespace nave {

// One object of a manifest file, ready to be sent: server-owned fields, status and nulls in
// metadata stripped, lists flattened.
struct ManifestObject {
  ObjectKey key;
  std::string version;
  Value object;
  // Where it came from, for messages: "web.yaml document 2 (line 14)".
  std::string origin;
};

// Reads one file. Errors carry MANIFEST_INVALID, DUPLICATE_KEY, DUPLICATE_OBJECT, OBJECT_TOO_LARGE
// and name path, document, line and field. `warnings` may be null.
absl::StatusOr<std::vector<ManifestObject>> ParseManifestFile(absl::string_view path,
                                                              absl::string_view content,
                                                              std::vector<std::string>* warnings);

// What a bundle delivers: canonical objects and their listing.
struct RenderedObject {
  ObjectKey key;  // As listed: before namespace defaulting.
  std::string json;
  Digest digest;
};
struct RenderedBundle {
  std::vector<RenderedObject> objects;  // Sorted by key.
  std::string listing;                  // Canonical JSON, see FormatListing.
  Digest listing_digest;
  uint64_t bytes = 0;  // Listing and objects.
};

// Options that are part of the listing.
struct ListingOptions {
  std::string adoption = "IfNoDiff";
  std::string default_namespace = "default";
  bool operator==(const ListingOptions&) const = default;
};

// One file of a bundle.
struct ManifestFile {
  std::string path;
  std::string content;
};

// Canonical objects + listing + digests of a bundle at feature level 1. Adds a Namespace object
// `default_namespace` when `create_namespace`, unless it is "default" or "kube-*" or one of the
// files has it. Errors as ParseManifestFile's, and DUPLICATE_OBJECT over files, LIMIT_EXCEEDED,
// BUNDLE_EMPTY (unless `allow_empty`). Pure. Overrides per cluster will be a step between parsing
// and canonical form.
absl::StatusOr<RenderedBundle> RenderBundle(const std::vector<ManifestFile>& files,
                                            const ListingOptions& options, bool create_namespace,
                                            bool allow_empty, std::vector<std::string>* warnings);

// A listing as the agent reads it. Refuses what FormatListing would not have written
// (CONTENT_INVALID).
struct Listing {
  ListingOptions options;
  struct Entry {
    ObjectKey key;
    Digest digest;
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> objects;  // Sorted by key, no duplicates.
  bool operator==(const Listing&) const = default;
};
std::string FormatListing(const Listing& listing);
absl::StatusOr<Listing> ParseListing(absl::string_view json);

}  // namespace nave

#endif  // NAVE_COMMON_MANIFEST_PARSE_H_
