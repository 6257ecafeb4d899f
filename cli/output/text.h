// Words for quantities. Pure.
#ifndef NAVE_CLI_OUTPUT_TEXT_H_
#define NAVE_CLI_OUTPUT_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace nave::cli {

// A span in at most two units, as kubectl shows ages: 5s, 4m12s, 23m, 3h5m, 12h, 3d4h, 210d, 2y.
// Negative counts as 0.
std::string FormatAge(absl::Duration age);
// Of a moment; "-" for InfinitePast.
std::string FormatAgeOf(absl::Time time, absl::Time now);
// "14m ago"; "never" for InfinitePast.
std::string FormatAgo(absl::Time time, absl::Time now);
// 512B, 1.5KiB, 20MiB.
std::string FormatBytes(uint64_t bytes);
// Thousandths of a CPU: 340 or 0.5.
std::string FormatCpu(uint64_t millis);
// "1 cluster", "3 clusters". `many` empty: `one` with an s.
std::string Count(uint64_t number, absl::string_view one, absl::string_view many = "");

// Text that came over the wire, safe for a terminal: control characters become spaces or '?'.
std::string PrintableText(absl::string_view text);
// Columns that a text takes on a terminal: its code points.
size_t TextWidth(absl::string_view text);

// A duration in seconds or with units: "30", "30s", "5m", "-1s". Returns false when it is none.
bool ParseTimeSpan(absl::string_view text, absl::Duration* out);

}  // namespace nave::cli

#endif  // NAVE_CLI_OUTPUT_TEXT_H_
