// What a bundle delivers: its files as people gave them, what is rendered from them, and where the
// store keeps both.
#ifndef NAVE_HUB_RPC_BUNDLE_CONTENT_H_
#define NAVE_HUB_RPC_BUNDLE_CONTENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/manifest/parse.h"
#include "common/model/bundle.h"
#include "hub/controllers/control_store.h"
#include "hub/rpc/api_call.h"

namespace nave {

// Reads the stored list of files: path, digest and size of each. Nothing happens when there are
// files already.
absl::Status FillManifests(const ApiCall& call, Bundle* bundle);
absl::Status FillManifests(const ApiCall& call, BundleRevision* revision);

// Reads the files' content. `masked`: values of Secrets are replaced; a file that has any is then
// rendered anew.
absl::Status FillContents(const ApiCall& call, bool masked, std::vector<Manifest>* manifests);

// `content` with the values of its Secrets replaced; as it came when it has none. Pure.
std::string MaskSecrets(const std::string& path, const std::string& content);

// The content of one version of a bundle, ready to be stored.
struct BundleContent {
  // With content.
  std::vector<Manifest> manifests;
  std::string manifest_list;  // Stored form of the list.
  RenderedBundle rendered;
  // What is suspicious in the files.
  std::vector<std::string> warnings;
};

// Renders the files of `spec`. A file without content gets that of its digest from `bundle` (the
// present record; may be null) or one of its revisions. UNKNOWN_DIGEST, and RenderBundle's errors.
absl::StatusOr<BundleContent> RenderContent(const ApiCall& call, const Bundle* bundle,
                                            const BundleSpec& spec);

// Makes the content durable and has `txn` name it.
absl::Status PutContent(const ApiCall& call, const BundleContent& content, ControlTxn* txn);

// The rendered listing of a revision.
absl::StatusOr<Listing> ReadListing(const ApiCall& call, const Digest& digest);

}  // namespace nave

#endif  // NAVE_HUB_RPC_BUNDLE_CONTENT_H_
