#include "cli/view/diagnosis.h"

#include "absl/strings/str_cat.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "cli/resources/target.h"
#include "cli/resources/words.h"

namespace nave::cli {

bool IsWell(const v1::Diagnosis& diagnosis) {
  return diagnosis.state() == "Ready" || diagnosis.state() == "Healthy";
}

std::string FormatDiagnosis(const v1::Diagnosis& diagnosis, const Style& style, absl::Time now) {
  Tone tone = IsWell(diagnosis) ? Tone::kGood : Tone::kBad;
  std::string text =
      absl::StrCat(style.Paint(Tone::kStrong, PrintableText(IdOf(diagnosis.subject()))), " is ",
                   style.Paint(tone, PrintableText(diagnosis.state())));
  if (!diagnosis.reason().empty() && diagnosis.reason() != diagnosis.state()) {
    absl::StrAppend(&text, ", cause ", PrintableText(diagnosis.reason()));
  }
  absl::Time since = TimeOf(diagnosis.has_since(), diagnosis.since());
  if (since != absl::InfinitePast()) absl::StrAppend(&text, ", for ", FormatAge(now - since));
  absl::StrAppend(&text, "\n");
  if (!diagnosis.cause().empty())
    absl::StrAppend(&text, "  ", PrintableText(diagnosis.cause()), "\n");
  Table evidence({});
  for (int i = 0; i < diagnosis.evidence_size(); ++i) {
    const auto& item = diagnosis.evidence(i);
    absl::Time time = TimeOf(item.has_time(), item.time());
    evidence.Add({absl::StrCat(i + 1), item.source(), item.text(),
                  Cell(time == absl::InfinitePast() ? "" : FormatAgo(time, now), Tone::kFaint)});
  }
  absl::StrAppend(&text, evidence.Format(style, false, 1));
  for (int i = 0; i < diagnosis.next_steps_size(); ++i) {
    const auto& step = diagnosis.next_steps(i);
    absl::StrAppend(&text, i == 0 ? "Next:  " : "       ");
    if (step.command().empty()) {
      absl::StrAppend(&text, PrintableText(step.text()), "\n");
    } else {
      absl::StrAppend(&text, style.Paint(Tone::kStrong, PrintableText(step.command())),
                      step.text().empty() ? "" : absl::StrCat("   # ", PrintableText(step.text())),
                      "\n");
    }
  }
  return text;
}

}  // namespace nave::cli
