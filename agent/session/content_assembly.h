// Puts the content of an assignment together from blobs that came and content that is held.
#ifndef NAVE_AGENT_SESSION_CONTENT_ASSEMBLY_H_
#define NAVE_AGENT_SESSION_CONTENT_ASSEMBLY_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/desired/desired.h"
#include "common/base/digest.h"

namespace nave {

// Blobs as they came, compressed, by the digest of what is in them. Bounded. Not thread-safe.
class BlobStash {
 public:
  // Decompresses to learn the digest, which is returned; "none" for what cannot be decompressed
  // within the limits. Blobs beyond the bound are not kept (they will be fetched when their turn
  // comes).
  Digest Add(absl::string_view compressed);
  // Adds a blob that must be `wanted`; false (and nothing is kept) when it is something else.
  bool AddWanted(const Digest& wanted, std::string compressed);
  bool Has(const Digest& digest) const { return blobs_.contains(digest); }
  // The content; Has must be true.
  std::string Read(const Digest& digest) const;
  // Drops what `wanted` does not name.
  void KeepOnly(const std::function<bool(const Digest&)>& wanted);
  void Clear();
  bool empty() const { return blobs_.empty(); }

 private:
  std::map<Digest, std::string> blobs_;
  size_t unasked_bytes_ = 0;
};

// What came of one try.
struct AssemblyResult {
  // An error that a retry does not cure: the upsert is rejected. Its reason is the code.
  absl::Status rejection;
  // What has to be fetched first. Empty, with content set: done.
  std::vector<Digest> missing;
  // The blobs of the stash that it takes.
  std::vector<Digest> needs;
  DesiredContentPtr content;
};

// The content named `digest` from `stash` and `held` (of which the key's own content is looked at
// first). Verifies every object that was not held before: canonical size, readable, and the one
// that the listing names. Pure.
AssemblyResult AssembleContent(const Digest& digest, const Uuid& key, const BlobStash& stash,
                               const ContentSource& held);

}  // namespace nave

#endif  // NAVE_AGENT_SESSION_CONTENT_ASSEMBLY_H_
