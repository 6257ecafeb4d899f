// The blobs that versions consist of, encoded once for all clusters.
#ifndef NAVE_HUB_SESSION_CONTENT_CACHE_H_
#define NAVE_HUB_SESSION_CONTENT_CACHE_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/model/stream.h"
#include "common/runtime/executor.h"
#include "hub/session/agent_session.h"

namespace nave {

// Where blobs come from. Thread-safe; blocks.
class BlobReader {
 public:
  virtual ~BlobReader() = default;
  virtual absl::StatusOr<BlobPtr> GetCompressed(const Digest& digest) = 0;
};

// The digests that one listing names, the listing's own first. Blocks: call it off the loop.
absl::StatusOr<std::vector<Digest>> DigestsOfListing(BlobReader* blobs, const Digest& listing);

// What an agent that holds the blobs `held` lacks of `wanted`, in the order of `wanted`.
std::vector<Digest> MissingDigests(const std::vector<Digest>& held,
                                   const std::vector<Digest>& wanted);

// Loop thread only; loads on `reader`. Keeps what was used last, up to `bytes_max` of encoded
// content.
class ContentCache : public BlobSetSource {
 public:
  // `on_loaded` runs on the loop when something that was asked for is there.
  ContentCache(Executor* loop, Executor* reader, BlobReader* blobs, std::function<void()> on_loaded,
               size_t bytes_max = 64 << 20);

  std::optional<BlobSetPtr> Delta(const Digest& from, const Digest& to) override;

 private:
  using Pair = std::pair<Digest, Digest>;
  struct Entry {
    bool ready = false;
    BlobSetPtr set;
    std::list<Pair>::iterator used;
  };
  void OnReady(const Pair& pair, absl::StatusOr<BlobSetPtr> set);
  void Evict();

  Executor* loop_;
  Executor* reader_;
  BlobReader* blobs_;
  std::function<void()> on_loaded_;
  const size_t bytes_max_;
  size_t bytes_ = 0;
  std::map<Pair, Entry> entries_;
  std::list<Pair> recent_;  // Newest first.
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace nave

#endif  // NAVE_HUB_SESSION_CONTENT_CACHE_H_
