// Goal: what people read is exact: ages, tables, colour only where it belongs, the shape of errors,
// the exit codes. Method: tables of inputs and the text that must come out.
#include <gtest/gtest.h>

#include "cli/output/error_text.h"
#include "cli/output/exit_code.h"
#include "cli/output/style.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "common/base/error.h"
#include "common/value/codec.h"

// Tables name the members that matter.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace nave::cli {
namespace {

TEST(Text, Ages) {
  struct Case {
    int64_t seconds;
    const char* want;
  };
  for (const Case& c :
       {Case{-5, "0s"}, Case{0, "0s"}, Case{119, "119s"}, Case{120, "2m"}, Case{252, "4m12s"},
        Case{600, "10m"}, Case{10799, "179m"}, Case{10800, "3h"}, Case{11100, "3h5m"},
        Case{28800, "8h"}, Case{172799, "47h"}, Case{172800, "2d"}, Case{273600, "3d4h"},
        Case{691200, "8d"}, Case{18144000, "210d"}, Case{63072000, "2y"}}) {
    EXPECT_EQ(FormatAge(absl::Seconds(c.seconds)), c.want) << c.seconds;
  }
  EXPECT_EQ(FormatAgo(absl::InfinitePast(), absl::Now()), "never");
  EXPECT_EQ(FormatAgeOf(absl::InfinitePast(), absl::Now()), "-");
}

TEST(Text, Quantities) {
  EXPECT_EQ(FormatBytes(0), "0B");
  EXPECT_EQ(FormatBytes(1023), "1023B");
  EXPECT_EQ(FormatBytes(1024), "1KiB");
  EXPECT_EQ(FormatBytes(1536), "1.5KiB");
  EXPECT_EQ(FormatBytes(20 << 20), "20MiB");
  EXPECT_EQ(FormatCpu(500), "0.5");
  EXPECT_EQ(FormatCpu(4000), "4");
  EXPECT_EQ(FormatCpu(340900), "340");
  EXPECT_EQ(Count(1, "cluster"), "1 cluster");
  EXPECT_EQ(Count(0, "cluster"), "0 clusters");
  EXPECT_EQ(Count(2, "entry", "entries"), "2 entries");
}

TEST(Text, NothingFromTheWireControlsTheTerminal) {
  EXPECT_EQ(PrintableText("a\x1b[31mb\x07\nc\xc2\x9b"), "a?[31mb? c?");
  EXPECT_EQ(PrintableText("grün ✔"), "grün ✔");
}

TEST(Text, TimeSpans) {
  absl::Duration span;
  EXPECT_TRUE(ParseTimeSpan("30", &span));
  EXPECT_EQ(span, absl::Seconds(30));
  EXPECT_TRUE(ParseTimeSpan("-1s", &span));
  EXPECT_EQ(span, -absl::Seconds(1));
  EXPECT_TRUE(ParseTimeSpan("1h30m", &span));
  EXPECT_EQ(span, absl::Minutes(90));
  EXPECT_FALSE(ParseTimeSpan("soon", &span));
  EXPECT_FALSE(ParseTimeSpan("inf", &span));
}

TEST(TableText, ColumnsLineUpAndLinesHaveNoTail) {
  Table table({"NAME", "STATE", "REASON"});
  table.Add({"eu-01", Cell("Ready", Tone::kGood), ""});
  table.Add({"größe", "Disconnected", "Revoked"});
  EXPECT_EQ(table.Format(Style()),
            "NAME   STATE         REASON\n"
            "eu-01  Ready         -\n"
            "größe  Disconnected  Revoked\n");
  EXPECT_EQ(table.Format(Style(), false, 2),
            "  eu-01  Ready         -\n  größe  Disconnected  Revoked\n");
  EXPECT_EQ(table.FormatMore({"x", "Syncing"}, Style()), "x      Syncing\n");
}

TEST(TableText, ColourDoesNotMoveColumns) {
  Table table({"NAME", "STATE", "AGE"});
  table.Add({"a", Cell("Ready", Tone::kGood), "1s"});
  EXPECT_EQ(table.Format(Style(true, false), false), "a  \x1b[32mReady\x1b[0m  1s\n");
}

TEST(TableText, WithoutHeadersEmptyCellsAreEmpty) {
  Table table({});
  table.Add({"a", "", "b"});
  table.Add({"ccc", "d", ""});
  EXPECT_EQ(table.Format(Style()), "a       b\nccc  d\n");
}

TEST(StyleChoice, ColourPerStream) {
  struct Case {
    const char* name;
    StyleInput input;
    bool color;
  };
  const StyleInput terminal{.is_terminal = true, .term = "xterm"};
  auto with = [&](auto change) {
    StyleInput input = terminal;
    change(&input);
    return input;
  };
  const Case cases[] = {
      {"terminal", terminal, true},
      {"pipe", with([](StyleInput* i) { i->is_terminal = false; }), false},
      {"NO_COLOR", with([](StyleInput* i) { i->no_color = "1"; }), false},
      {"dumb", with([](StyleInput* i) { i->term = "dumb"; }), false},
      {"never", with([](StyleInput* i) { i->color = ColorChoice::kNever; }), false},
      {"always beats NO_COLOR",
       with([](StyleInput* i) { i->color = ColorChoice::kAlways, i->no_color = "1"; }), true},
      {"FORCE_COLOR in a pipe",
       with([](StyleInput* i) { i->is_terminal = false, i->force_color = "1"; }), true},
      {"NO_COLOR beats FORCE_COLOR",
       with([](StyleInput* i) { i->no_color = "1", i->force_color = "1"; }), false},
  };
  for (const Case& c : cases) EXPECT_EQ(Style::Decide(c.input).color(), c.color) << c.name;
}

TEST(StyleChoice, GlyphsNeedUtf8) {
  EXPECT_FALSE(Style::Decide({.locale = "C"}).unicode());
  EXPECT_FALSE(Style::Decide({.locale = ""}).unicode());
  EXPECT_TRUE(Style::Decide({.locale = "de_DE.UTF-8"}).unicode());
  EXPECT_TRUE(Style::Decide({.locale = "C.utf8"}).unicode());
  EXPECT_FALSE(Style::Decide({.ascii = true, .locale = "C.utf8"}).unicode());
  EXPECT_EQ(Style(false, false).Mark(Tone::kGood), "+");
}

TEST(ErrorText, WhatWhyNextCode) {
  absl::Status error = MakeError(
      Reason::kNotFound, "cluster \"edge-17\" does not exist",
      {{"help", "navectl get clusters"}, {"request_id", "4f0c"}, {"resource", "clusters/edge-17"}});
  EXPECT_EQ(FormatError(error, Style()),
            "Error: cluster \"edge-17\" does not exist (NOT_FOUND)\n"
            "  There is no record of that name.\n"
            "  Next:  navectl get clusters\n"
            "  Docs:  navectl explain-error NOT_FOUND     request-id 4f0c\n");
}

TEST(ErrorText, OwnNextStepWhenTheErrorHasNone) {
  std::string text = FormatError(MakeError(Reason::kRemovalHeld, "held"), Style());
  EXPECT_NE(text.find("  Next:  " + std::string(GetReasonInfo(Reason::kRemovalHeld).next)),
            std::string::npos)
      << text;
}

TEST(ErrorText, EveryFieldIsNamedOnce) {
  absl::Status error =
      MakeError(Reason::kInvalidField, "`spec.role`: must be set",
                {{"field:spec.role", "must be set"}, {"field:spec.subjects", "must not be empty"}});
  std::string text = FormatError(error, Style());
  EXPECT_NE(text.find("  - `spec.subjects`: must not be empty\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("spec.role"), text.rfind("spec.role")) << text;
}

TEST(ErrorText, AsJson) {
  absl::Status error =
      MakeError(Reason::kEtagMismatch, "changed",
                {{"field:etag", "must be the present one"}, {"resource", "clusters/a"}});
  EXPECT_EQ(FormatJson(ErrorToValue(error)),
            "{\"error\":{\"code\":\"ABORTED\",\"fields\":{\"etag\":\"must be the present "
            "one\"},\"message\":\"changed\","
            "\"metadata\":{\"resource\":\"clusters/a\"},\"next\":[\"Read the record again and "
            "repeat the change.\"],"
            "\"reason\":\"ETAG_MISMATCH\",\"why\":\"The record changed since it was read.\"}}");
}

TEST(ErrorText, EveryReasonExplainsItself) {
#define NAVE_REASON(camel, upper, code, summary, next)                                       \
  EXPECT_NE(ExplainReason(GetReasonInfo(Reason::k##camel)).find(summary), std::string::npos) \
      << #upper;
#include "common/base/reasons.def"
#undef NAVE_REASON
}

TEST(ExitCodes, ByCanonicalCode) {
  struct Case {
    absl::StatusCode code;
    int want;
  };
  for (const Case& c :
       {Case{absl::StatusCode::kOk, 0}, Case{absl::StatusCode::kInvalidArgument, 2},
        Case{absl::StatusCode::kUnauthenticated, 3}, Case{absl::StatusCode::kPermissionDenied, 3},
        Case{absl::StatusCode::kNotFound, 4}, Case{absl::StatusCode::kAborted, 5},
        Case{absl::StatusCode::kAlreadyExists, 5}, Case{absl::StatusCode::kFailedPrecondition, 5},
        Case{absl::StatusCode::kOutOfRange, 5}, Case{absl::StatusCode::kResourceExhausted, 5},
        Case{absl::StatusCode::kUnavailable, 6}, Case{absl::StatusCode::kDeadlineExceeded, 7},
        Case{absl::StatusCode::kInternal, 70}, Case{absl::StatusCode::kUnknown, 70},
        Case{absl::StatusCode::kDataLoss, 70}, Case{absl::StatusCode::kCancelled, 130}}) {
    EXPECT_EQ(static_cast<int>(ExitCodeOf(absl::Status(c.code, "x"))), c.want)
        << static_cast<int>(c.code);
  }
}

}  // namespace
}  // namespace nave::cli
