// Conversions that every message needs: times, durations, ids, texts. Total: what is out of range
// is clamped or absent.
#ifndef NAVE_COMMON_WIRE_SCALARS_H_
#define NAVE_COMMON_WIRE_SCALARS_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace nave {

// InfinitePast ("none") and times that Timestamp cannot say leave `out` as it is and return false.
bool TimeToProto(absl::Time time, google::protobuf::Timestamp* out);
// InfinitePast for a timestamp outside the years 1 to 9999.
absl::Time TimeFromProto(const google::protobuf::Timestamp& proto);

// Clamped to the range of Duration (10,000 years).
void DurationToProto(absl::Duration duration, google::protobuf::Duration* out);
// nullopt when out of range or with mixed signs.
std::optional<absl::Duration> DurationFromProto(const google::protobuf::Duration& proto);

// `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD.
std::string MakeUtf8(absl::string_view text);
bool IsUtf8(absl::string_view text);
// At most `max` bytes of `text`, cut at a character's border.
std::string CutUtf8(absl::string_view text, size_t max);

// Protobuf writes a line to stderr for every bad message; the error that the caller gets says it
// already. Programs call this once at their start.
void SilenceProtobufLog();

}  // namespace nave

#endif  // NAVE_COMMON_WIRE_SCALARS_H_
