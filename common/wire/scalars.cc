#include "common/wire/scalars.h"

#include <google/protobuf/stubs/logging.h>

#include <cstdint>

namespace nave {
namespace {

constexpr int64_t kTimestampSecondsMin = -62135596800;  // 0001-01-01T00:00:00Z.
constexpr int64_t kTimestampSecondsMax = 253402300799;  // 9999-12-31T23:59:59Z.
constexpr int64_t kDurationSecondsMax = 315576000000;   // 10,000 years.

// Bytes of the valid character at the start of `text`, 0 when there is none.
size_t CharacterBytes(absl::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what is beyond U+10FFFF.
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) > 0x9f) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;
  return size;
}

}  // namespace

bool TimeToProto(absl::Time time, google::protobuf::Timestamp* out) {
  if (time == absl::InfinitePast() || time == absl::InfiniteFuture()) return false;
  int64_t seconds = absl::ToUnixSeconds(time);
  if (seconds < kTimestampSecondsMin || seconds > kTimestampSecondsMax) return false;
  out->set_seconds(seconds);
  out->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  return true;
}

absl::Time TimeFromProto(const google::protobuf::Timestamp& proto) {
  if (proto.seconds() < kTimestampSecondsMin || proto.seconds() > kTimestampSecondsMax ||
      proto.nanos() < 0 || proto.nanos() > 999999999) {
    return absl::InfinitePast();
  }
  return absl::FromUnixSeconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

void DurationToProto(absl::Duration duration, google::protobuf::Duration* out) {
  absl::Duration max = absl::Seconds(kDurationSecondsMax);
  if (duration > max) duration = max;
  if (duration < -max) duration = -max;
  absl::Duration rest;
  out->set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  out->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
}

std::optional<absl::Duration> DurationFromProto(const google::protobuf::Duration& proto) {
  if (proto.seconds() < -kDurationSecondsMax || proto.seconds() > kDurationSecondsMax ||
      proto.nanos() < -999999999 || proto.nanos() > 999999999 ||
      (proto.seconds() > 0 && proto.nanos() < 0) || (proto.seconds() < 0 && proto.nanos() > 0)) {
    return std::nullopt;
  }
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    size_t size = CharacterBytes(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string MakeUtf8(absl::string_view text) {
  if (IsUtf8(text)) return std::string(text);
  std::string result;
  while (!text.empty()) {
    size_t size = CharacterBytes(text);
    if (size == 0) {
      result += "\xef\xbf\xbd";
      text.remove_prefix(1);
    } else {
      result.append(text.data(), size);
      text.remove_prefix(size);
    }
  }
  return result;
}

std::string CutUtf8(absl::string_view text, size_t max) {
  if (text.size() <= max) return std::string(text);
  size_t end = max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end));
}

void SilenceProtobufLog() { google::protobuf::SetLogHandler(nullptr); }

}  // namespace nave
