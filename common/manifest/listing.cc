#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/manifest/parse.h"
#include "common/value/codec.h"

namespace nave {
namespace {

constexpr int64_t kListingFormat = 1;

absl::Status Bad(absl::string_view what) {
  return MakeError(Reason::kContentInvalid, absl::StrCat("listing: ", what));
}

absl::StatusOr<Listing::Entry> ParseEntry(const Value& item) {
  const Array* parts = item.array();
  if (parts == nullptr || parts->size() != 5) return Bad("an object is not a list of five");
  for (const Value& part : *parts) {
    if (!part.is_string()) return Bad("an object has a part that is no string");
  }
  auto text = [&](int i) { return *(*parts)[i].string(); };
  std::optional<Digest> digest = Digest::FromHex(text(4));
  if (!digest.has_value()) return Bad("an object has no digest");
  Listing::Entry entry{{text(0), text(1), text(2), text(3)}, *digest};
  if (entry.key.kind.empty() || entry.key.name.empty())
    return Bad("an object has no kind or no name");
  return entry;
}

absl::Status ParseOptions(const Value* options, ListingOptions* out) {
  if (options == nullptr) return Bad("options are missing");
  out->adoption = options->StringAt("adoption");
  out->default_namespace = options->StringAt("default_namespace");
  bool known = out->adoption == "IfNoDiff" || out->adoption == "Always" || out->adoption == "Never";
  if (!known) return Bad(absl::StrCat("unknown adoption \"", out->adoption, "\""));
  if (out->default_namespace.empty()) return Bad("default_namespace is missing");
  return absl::OkStatus();
}

}  // namespace

std::string FormatListing(const Listing& listing) {
  Value options;
  options["adoption"] = listing.options.adoption;
  options["default_namespace"] = listing.options.default_namespace;
  Array objects;
  for (const Listing::Entry& entry : listing.objects) {
    objects.push_back(
        Array{entry.key.group, entry.key.kind, entry.key.ns, entry.key.name, entry.digest.Hex()});
  }
  Value value;
  value["v"] = kListingFormat;
  value["options"] = std::move(options);
  value["objects"] = std::move(objects);
  return FormatJson(value);
}

absl::StatusOr<Listing> ParseListing(absl::string_view json) {
  absl::StatusOr<Value> value = ParseJson(json);
  if (!value.ok()) return Bad(value.status().message());
  const Value* version = value->Find("v");
  if (version == nullptr || version->IntOr(0) != kListingFormat) return Bad("unknown format");
  Listing listing;
  RETURN_IF_ERROR(ParseOptions(value->Find("options"), &listing.options));
  const Value* objects = value->Find("objects");
  if (objects == nullptr || !objects->is_array()) return Bad("objects are missing");
  for (const Value& item : *objects->array()) {
    ASSIGN_OR_RETURN(Listing::Entry entry, ParseEntry(item));
    if (!listing.objects.empty() && !(listing.objects.back().key < entry.key)) {
      return Bad(absl::StrCat("objects are not sorted at ", entry.key.ToString()));
    }
    listing.objects.push_back(std::move(entry));
  }
  // Unknown fields and other spellings would be lost on the way back: one listing, one text.
  if (FormatListing(listing) != json) return Bad("not in canonical form");
  return listing;
}

}  // namespace nave
