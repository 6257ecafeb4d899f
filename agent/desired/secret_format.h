// The form of the agent's Secrets: their names, and what is in them. Pure.
#ifndef NAVE_AGENT_DESIRED_SECRET_FORMAT_H_
#define NAVE_AGENT_DESIRED_SECRET_FORMAT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/desired/desired.h"
#include "common/value/value.h"

namespace nave {

inline constexpr char kStateSecretName[] = "nave-state";
// What one Secret holds at most: half of what an API server takes, so that a part that is read,
// changed and written does not need megabytes.
inline constexpr size_t kSecretPartBytesMax = 512 << 10;
// The format that this agent writes. What carries a higher one was written by a later agent and is
// not touched.
inline constexpr int kSecretFormat = 1;

struct SecretName {
  enum class Kind { kState, kContent, kInventory };
  Kind kind = Kind::kState;
  Uuid key;                  // Content and inventory.
  std::string digest_start;  // Content: 12 hexadecimal digits.
  uint32_t count = 0;        // Inventory: number of its shards.
  uint32_t index = 0;
  bool operator==(const SecretName&) const = default;
};
std::string ContentSecretName(const Uuid& key, const Digest& digest, uint32_t index);
std::string InventorySecretName(const Uuid& key, uint32_t count, uint32_t index);
// nullopt: no Secret of the agent's state (nave-identity is none).
std::optional<SecretName> ParseSecretName(absl::string_view name);

// The data of a Secret, not yet in base64.
using SecretData = std::map<std::string, std::string, std::less<>>;

SecretData FormatState(const AgentState& state);
SecretData FormatInventoryShard(const Inventory& entries);
// `index` of `count` parts of a packed content.
SecretData FormatContentPart(const Digest& digest, absl::string_view part, uint32_t count);

// The format that is named; nullopt when there is none that can be read.
std::optional<int> FormatOf(const SecretData& data);
// CONTENT_INVALID from all of these: not what the functions above make.
absl::StatusOr<AgentState> ParseState(const SecretData& data);
absl::StatusOr<Inventory> ParseInventoryShard(const SecretData& data);
struct ContentPart {
  Digest digest;
  uint32_t count = 0;
  std::string data;
};
absl::StatusOr<ContentPart> ParseContentPart(const SecretData& data);

// A content as one compressed text, and back. UnpackContent verifies every digest.
std::string PackContent(const DesiredContent& content);
absl::StatusOr<DesiredContentPtr> UnpackContent(absl::string_view packed, const Digest& digest);
// `text` in pieces of at most `bytes_max`, at least one.
std::vector<std::string> CutIntoParts(absl::string_view text, size_t bytes_max);

// The shards of an inventory: all keys are in the shard that the hash of their name says.
std::vector<Inventory> SplitInventory(const Inventory& inventory, uint32_t count);
// The least number of shards, `at_least` or more, none of which is over `bytes_max` when formatted.
uint32_t ShardsFor(const Inventory& inventory, uint32_t at_least, size_t bytes_max);
size_t DataBytes(const SecretData& data);

// The object that an API server stores. `writer` tells the agent's own writes from those of others.
Value MakeSecretObject(absl::string_view ns, absl::string_view name, absl::string_view writer,
                       const SecretData& data, bool immutable);
// The data and the writer of such an object; data that is no base64 is left out.
SecretData SecretDataOf(const Value& secret);
std::string SecretWriterOf(const Value& secret);

}  // namespace nave

#endif  // NAVE_AGENT_DESIRED_SECRET_FORMAT_H_
