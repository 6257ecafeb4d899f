#include "common/base/error.h"

#include <cstdint>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace nave {
namespace {

constexpr absl::string_view kReasonPayload = "nave.dev/reason";
constexpr absl::string_view kMetadataPayload = "nave.dev/metadata";

// Metadata as length-prefixed strings: keys and values may hold any byte.
std::string Pack(const ErrorMetadata& metadata) {
  std::string packed;
  for (const auto& [key, value] : metadata) {
    absl::StrAppend(&packed, key.size(), ":", key, value.size(), ":", value);
  }
  return packed;
}

bool TakeString(absl::string_view* rest, std::string* out) {
  size_t size = 0;
  size_t at = 0;
  while (at < rest->size() && (*rest)[at] != ':') size = size * 10 + ((*rest)[at++] - '0');
  if (at >= rest->size() || rest->size() - at - 1 < size) return false;
  *out = std::string(rest->substr(at + 1, size));
  rest->remove_prefix(at + 1 + size);
  return true;
}

}  // namespace

absl::Status MakeError(Reason reason, absl::string_view message, ErrorMetadata metadata) {
  const ReasonInfo& info = GetReasonInfo(reason);
  return ErrorFromWire(info.code, message, info.upper, std::move(metadata));
}

absl::Status ErrorFromWire(absl::StatusCode code, absl::string_view message,
                           absl::string_view reason, ErrorMetadata metadata) {
  absl::Status status(code, message);
  status.SetPayload(kReasonPayload, absl::Cord(reason));
  if (!metadata.empty()) status.SetPayload(kMetadataPayload, absl::Cord(Pack(metadata)));
  return status;
}

std::string ErrorReason(const absl::Status& status) {
  if (status.ok()) return "";
  auto payload = status.GetPayload(kReasonPayload);
  return payload.has_value() ? std::string(*payload) : "INTERNAL";
}

ErrorMetadata ErrorMetadataOf(const absl::Status& status) {
  ErrorMetadata metadata;
  auto payload = status.GetPayload(kMetadataPayload);
  if (!payload.has_value()) return metadata;
  std::string packed(*payload);
  absl::string_view rest = packed;
  std::string key;
  std::string value;
  while (TakeString(&rest, &key) && TakeString(&rest, &value)) metadata.emplace_back(key, value);
  return metadata;
}

absl::Status Prepend(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  absl::Status result(status.code(), absl::StrCat(context, ": ", status.message()));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { result.SetPayload(url, payload); });
  return result;
}

}  // namespace nave
