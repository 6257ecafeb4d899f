#include "agent/desired/secret_format.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/compress/zstd.h"

namespace nave {
namespace {

constexpr char kContentPrefix[] = "nave-desired-";
constexpr char kInventoryPrefix[] = "nave-inventory-";
constexpr char kWriterAnnotation[] = "nave.dev/writer";
constexpr size_t kUuidChars = 36;
constexpr size_t kDigestChars = 12;
// A bundle of 16 MiB and its listing.
constexpr size_t kContentBytesMax = 32 << 20;

absl::Status Invalid(absl::string_view what) { return MakeError(Reason::kContentInvalid, what); }

bool TakeNumber(absl::string_view text, uint32_t* number) {
  // The text that we write, and no other: "01" is another name.
  return absl::SimpleAtoi(text, number) && absl::StrCat(*number) == text;
}

}  // namespace

std::string ContentSecretName(const Uuid& key, const Digest& digest, uint32_t index) {
  return absl::StrCat(kContentPrefix, key.ToString(), "-", digest.Hex().substr(0, kDigestChars),
                      "-", index);
}

std::string InventorySecretName(const Uuid& key, uint32_t count, uint32_t index) {
  return absl::StrCat(kInventoryPrefix, key.ToString(), "-", count, "-", index);
}

std::optional<SecretName> ParseSecretName(absl::string_view name) {
  SecretName parsed;
  if (name == kStateSecretName) return parsed;
  if (absl::ConsumePrefix(&name, kContentPrefix)) {
    parsed.kind = SecretName::Kind::kContent;
  } else if (absl::ConsumePrefix(&name, kInventoryPrefix)) {
    parsed.kind = SecretName::Kind::kInventory;
  } else {
    return std::nullopt;
  }
  if (name.size() < kUuidChars + 1 || name[kUuidChars] != '-') return std::nullopt;
  std::optional<Uuid> key = Uuid::Parse(name.substr(0, kUuidChars));
  if (!key.has_value()) return std::nullopt;
  parsed.key = *key;
  std::vector<absl::string_view> rest = absl::StrSplit(name.substr(kUuidChars + 1), '-');
  if (rest.size() != 2 || !TakeNumber(rest[1], &parsed.index)) return std::nullopt;
  if (parsed.kind == SecretName::Kind::kContent) {
    parsed.digest_start = std::string(rest[0]);
    return rest[0].size() == kDigestChars ? std::optional(parsed) : std::nullopt;
  }
  return TakeNumber(rest[0], &parsed.count) ? std::optional(parsed) : std::nullopt;
}

std::optional<int> FormatOf(const SecretData& data) {
  auto it = data.find("format");
  int format = 0;
  if (it == data.end() || !absl::SimpleAtoi(it->second, &format)) return std::nullopt;
  return format;
}

SecretData FormatContentPart(const Digest& digest, absl::string_view part, uint32_t count) {
  SecretData data;
  data["format"] = absl::StrCat(kSecretFormat);
  data["digest"] = digest.Hex();
  data["parts"] = absl::StrCat(count);
  data["content"] = std::string(part);
  return data;
}

absl::StatusOr<ContentPart> ParseContentPart(const SecretData& data) {
  auto digest = data.find("digest");
  auto parts = data.find("parts");
  auto content = data.find("content");
  if (digest == data.end() || parts == data.end() || content == data.end()) {
    return Invalid("content: a key is missing");
  }
  ContentPart part;
  std::optional<Digest> named = Digest::FromHex(digest->second);
  if (!named.has_value() || !TakeNumber(parts->second, &part.count)) {
    return Invalid("content: digest or parts cannot be read");
  }
  part.digest = *named;
  part.data = content->second;
  return part;
}

std::string PackContent(const DesiredContent& content) {
  // Canonical JSON has no line breaks.
  std::string text = FormatListing(content.listing);
  for (const std::string& object : content.objects) absl::StrAppend(&text, "\n", object);
  return ZstdCompress(text);
}

absl::StatusOr<DesiredContentPtr> UnpackContent(absl::string_view packed, const Digest& digest) {
  ASSIGN_OR_RETURN(std::string text, ZstdDecompress(packed, kContentBytesMax));
  auto content = std::make_shared<DesiredContent>();
  content->digest = digest;
  size_t end = std::min(text.find('\n'), text.size());
  absl::string_view listing = absl::string_view(text).substr(0, end);
  if (Sha256(listing) != digest) return Invalid("content: the listing has another digest");
  ASSIGN_OR_RETURN(content->listing, ParseListing(listing));
  content->objects.reserve(content->listing.objects.size());
  for (const Listing::Entry& entry : content->listing.objects) {
    if (end >= text.size()) return Invalid("content: an object is missing");
    size_t begin = end + 1;
    end = std::min(text.find('\n', begin), text.size());
    content->objects.push_back(text.substr(begin, end - begin));
    if (Sha256(content->objects.back()) != entry.digest) {
      return Invalid(absl::StrCat("content: ", entry.key.ToString(), " has another digest"));
    }
  }
  if (end != text.size()) return Invalid("content: more objects than the listing has");
  return DesiredContentPtr(std::move(content));
}

std::vector<std::string> CutIntoParts(absl::string_view text, size_t bytes_max) {
  std::vector<std::string> parts;
  do {
    parts.emplace_back(text.substr(0, bytes_max));
    text.remove_prefix(parts.back().size());
  } while (!text.empty());
  return parts;
}

std::vector<Inventory> SplitInventory(const Inventory& inventory, uint32_t count) {
  std::vector<Inventory> shards(std::max<uint32_t>(1, count));
  for (const auto& [key, entry] : inventory) {
    uint32_t hash = 0;
    if (count > 1) {
      Digest name = Sha256(absl::StrCat(key.group, "\n", key.kind, "\n", key.ns, "\n", key.name));
      for (int i = 0; i < 4; ++i) hash = hash << 8 | name.bytes[i];
    }
    shards[hash % shards.size()].emplace(key, entry);
  }
  return shards;
}

size_t DataBytes(const SecretData& data) {
  size_t bytes = 0;
  for (const auto& [key, value] : data) bytes += key.size() + value.size();
  return bytes;
}

uint32_t ShardsFor(const Inventory& inventory, uint32_t at_least, size_t bytes_max) {
  for (uint32_t count = std::max<uint32_t>(1, at_least);; ++count) {
    bool fits = true;
    for (const Inventory& shard : SplitInventory(inventory, count)) {
      // One entry alone is what it is.
      fits = fits && (shard.size() <= 1 || DataBytes(FormatInventoryShard(shard)) <= bytes_max);
    }
    if (fits) return count;
  }
}

Value MakeSecretObject(absl::string_view ns, absl::string_view name, absl::string_view writer,
                       const SecretData& data, bool immutable) {
  Value secret{Object{}};
  secret["apiVersion"] = "v1";
  secret["kind"] = "Secret";
  secret["type"] = "Opaque";
  Value& metadata = secret["metadata"];
  metadata["name"] = name;
  metadata["namespace"] = ns;
  metadata["labels"]["app.kubernetes.io/part-of"] = "nave";
  metadata["annotations"][kWriterAnnotation] = writer;
  if (immutable) secret["immutable"] = true;
  secret["data"] = Object{};
  for (const auto& [key, value] : data) secret["data"][key] = absl::Base64Escape(value);
  return secret;
}

SecretData SecretDataOf(const Value& secret) {
  SecretData data;
  const Value* encoded = secret.Find("data");
  if (encoded == nullptr || encoded->object() == nullptr) return data;
  for (const auto& [key, value] : *encoded->object()) {
    std::string decoded;
    const std::string* text = value.string();
    if (text != nullptr && absl::Base64Unescape(*text, &decoded)) data[key] = std::move(decoded);
  }
  return data;
}

std::string SecretWriterOf(const Value& secret) {
  return secret.StringAt("metadata", "annotations", kWriterAnnotation);
}

}  // namespace nave
