#include "cli/view/status_screen.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "cli/resources/target.h"
#include "cli/resources/words.h"

namespace nave::cli {
namespace {

// Something a person should look at, with the command that says more.
struct Finding {
  std::string what;
  StateWord state;
  std::string next;
};

bool Waits(const StateWord& state) { return state.tone == Tone::kBad; }

std::vector<Finding> FindingsOf(const StatusInput& input) {
  std::vector<Finding> bad;
  std::vector<Finding> busy;
  for (const v1::Cluster* cluster : input.clusters) {
    StateWord state = StateOf(*cluster);
    if (state.tone == Tone::kGood) continue;
    std::string id = IdOf(cluster->name());
    std::string next = absl::StrCat("navectl cluster why ", id);
    if (cluster->status().phase() == v1::CLUSTER_PHASE_PENDING &&
        cluster->status().has_certificate_not_after()) {
      next = absl::StrCat("navectl cluster accept ", id);
    }
    (Waits(state) ? bad : busy).push_back({absl::StrCat("cluster/", id), state, next});
  }
  for (const v1::Bundle* bundle : input.bundles) {
    StateWord state = StateOf(*bundle);
    if (state.tone == Tone::kGood) continue;
    std::string name = ShortName(*FindKind("bundle"), bundle->name(), input.project);
    std::string next = absl::StrCat("navectl why ", name);
    if (!bundle->status().held_hash().empty()) {
      state.reason =
          absl::StrCat("leaves ", Count(bundle->status().held_clusters_size(), "cluster"), ": ",
                       absl::StrJoin(bundle->status().held_clusters(), ", "));
      next = absl::StrCat("navectl confirm ", name);
    }
    (Waits(state) ? bad : busy).push_back({name, state, next});
  }
  bad.insert(bad.end(), busy.begin(), busy.end());
  return bad;
}

std::string CountsOf(const std::map<std::string, int>& states) {
  std::vector<std::string> parts;
  for (const auto& [word, count] : states) parts.push_back(absl::StrCat(count, " ", word));
  return parts.empty() ? "" : absl::StrCat(": ", absl::StrJoin(parts, ", "));
}

std::string FormatHub(const StatusInput& input, const Style& style, absl::Time now) {
  const v1::Hub& hub = input.hub;
  const v1::Condition* ready = FindCondition(hub.conditions(), "Ready");
  bool good = ready == nullptr || ready->status() == v1::CONDITION_STATUS_TRUE;
  Tone tone = good ? Tone::kGood : Tone::kBad;
  std::string text = absl::StrCat(
      style.Paint(Tone::kStrong, "Hub"), "       ", style.Paint(tone, good ? "Ready" : "Not ready"),
      " ", style.Paint(tone, style.Mark(tone)), "   version ", PrintableText(hub.version()),
      "   up ", FormatAgeOf(TimeOf(hub.has_term_start_time(), hub.term_start_time()), now),
      "   term ", hub.term(), "   revision ", hub.revision(), "\n");
  for (const v1::Condition& condition : hub.conditions()) {
    if (condition.type() == "Ready" || condition.status() == v1::CONDITION_STATUS_TRUE) continue;
    absl::StrAppend(&text, "          ", style.Paint(Tone::kBad, style.Mark(Tone::kBad)), " ",
                    PrintableText(condition.type()), " is ",
                    condition.status() == v1::CONDITION_STATUS_FALSE ? "False" : "Unknown", ": ",
                    PrintableText(condition.reason()), condition.message().empty() ? "" : ": ",
                    PrintableText(condition.message()), "\n");
  }
  return text;
}

std::string FormatUnknown(const StatusInput& input, const Style& style, absl::Time now) {
  if (input.hub.unknown_clusters_total() == 0) return "";
  std::string text = absl::StrCat("\n", style.Paint(Tone::kStrong, "Unknown to this hub"), " (",
                                  input.hub.unknown_clusters_total(), ")\n");
  Table table({});
  size_t rows = 0;
  for (const v1::UnknownCluster& cluster : input.hub.unknown_clusters()) {
    if (++rows > input.rows_max) break;
    table.Add({Cell(std::string(style.Mark(Tone::kBad)), Tone::kBad), cluster.certificate_name(),
               cluster.address(),
               absl::StrCat("seen ",
                            FormatAgo(TimeOf(cluster.has_last_seen(), cluster.last_seen()), now)),
               absl::StrCat("navectl cluster accept ", cluster.certificate_name())});
  }
  return absl::StrCat(text, table.Format(style, false, 2),
                      "  After a lost database: navectl hub adopt --accept-unknown\n");
}

}  // namespace

bool IsWell(const StatusInput& input) {
  const v1::Condition* ready = FindCondition(input.hub.conditions(), "Ready");
  bool good = ready == nullptr || ready->status() == v1::CONDITION_STATUS_TRUE;
  return good && input.hub.unknown_clusters_total() == 0 && FindingsOf(input).empty();
}

std::string FormatStatus(const StatusInput& input, const Style& style, absl::Time now) {
  std::string text = FormatHub(input, style, now);
  std::map<std::string, int> clusters;
  std::map<std::string, int> versions;
  for (const v1::Cluster* cluster : input.clusters) {
    ++clusters[StateOf(*cluster).word];
    if (!cluster->status().agent_version().empty()) ++versions[cluster->status().agent_version()];
  }
  std::map<std::string, int> bundles;
  for (const v1::Bundle* bundle : input.bundles) ++bundles[StateOf(*bundle).word];
  absl::StrAppend(&text, style.Paint(Tone::kStrong, "Clusters"), "  ", input.clusters.size(),
                  CountsOf(clusters), "\n");
  absl::StrAppend(&text, style.Paint(Tone::kStrong, "Bundles"), "   ", input.bundles.size(),
                  CountsOf(bundles), "\n");
  std::string agents = CountsOf(versions);
  absl::StrAppend(&text, style.Paint(Tone::kStrong, "Agents"), "    ", input.hub.sessions(),
                  " connected", agents.empty() ? "" : absl::StrCat("; versions", agents), "\n");
  std::vector<Finding> findings = FindingsOf(input);
  if (!findings.empty()) {
    absl::StrAppend(&text, "\n", style.Paint(Tone::kStrong, "Not ready"), "\n");
    Table table({});
    for (size_t i = 0; i < findings.size() && i < input.rows_max; ++i) {
      const StateWord& state = findings[i].state;
      std::string since = state.since == absl::InfinitePast()
                              ? ""
                              : absl::StrCat("for ", FormatAge(now - state.since));
      table.Add({Cell(std::string(style.Mark(state.tone)), state.tone), findings[i].what,
                 Cell(state.word, state.tone), state.reason == state.word ? "" : state.reason,
                 since, findings[i].next});
    }
    absl::StrAppend(&text, table.Format(style, false, 2));
    if (findings.size() > input.rows_max) {
      absl::StrAppend(&text, "  and ", findings.size() - input.rows_max,
                      " more: navectl get clusters, navectl get bundles -A\n");
    }
  }
  return absl::StrCat(text, FormatUnknown(input, style, now));
}

}  // namespace nave::cli
