#include "hub/decide/placement.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/reasons.h"
#include "common/model/selector.h"

namespace nave {
namespace {

using Candidate = PlacementCandidate;

bool Contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Names one step of the filter and tells whether a cluster passes; `why` is shown for one that does
// not.
struct Filter {
  std::string name;
  // An incumbent leaves only when one of these says so; the others decide about new clusters.
  bool evicts = true;
  std::function<bool(const Candidate&)> passes;
  std::function<std::string(const Candidate&)> why;
};

std::string LabelsOf(const Candidate& cluster) {
  return absl::StrJoin(cluster.labels, ",", absl::PairFormatter("="));
}

std::vector<Filter> Filters(const PlacementInput& input) {
  const PlacementSpec& spec = *input.spec;
  std::vector<Filter> filters;
  filters.push_back({"accepted", true, [](const Candidate& c) { return c.accepted; },
                     [](const Candidate&) { return "not accepted"; }});
  filters.push_back({"not being removed", true, [](const Candidate& c) { return !c.removing; },
                     [](const Candidate&) { return "being removed"; }});
  filters.push_back(
      {"set bound to the project", true,
       [&input](const Candidate& c) { return input.bound_sets.count(c.cluster_set) > 0; },
       [](const Candidate& c) { return absl::StrCat("set ", c.cluster_set); }});
  if (!spec.cluster_sets.empty()) {
    filters.push_back(
        {absl::StrCat("clusterSets ", absl::StrJoin(spec.cluster_sets, ",")), true,
         [&spec](const Candidate& c) { return Contains(spec.cluster_sets, c.cluster_set); },
         [](const Candidate& c) { return absl::StrCat("set ", c.cluster_set); }});
  }
  if (!spec.names.empty()) {
    filters.push_back({"names", true,
                       [&spec](const Candidate& c) { return Contains(spec.names, c.id); },
                       [](const Candidate&) { return "not named"; }});
  }
  if (spec.selector.has_value()) {
    auto selector = Selector::Parse("spec.placement.selector", *spec.selector);
    filters.push_back(
        {absl::StrCat("selector ", spec.selector->empty() ? "(all)" : *spec.selector), true,
         [selector](const Candidate& c) { return selector.ok() && selector->Matches(c.labels); },
         [](const Candidate& c) { return c.labels.empty() ? "no labels" : LabelsOf(c); }});
  }
  if (!spec.exclude.empty()) {
    filters.push_back({"exclude", true,
                       [&spec](const Candidate& c) { return !Contains(spec.exclude, c.id); },
                       [](const Candidate&) { return "excluded"; }});
  }
  filters.push_back({"not cordoned", false, [](const Candidate& c) { return !c.cordoned; },
                     [](const Candidate&) { return "cordoned"; }});
  return filters;
}

// The first filter that drops `cluster`, or nullptr.
const Filter* DroppedBy(const std::vector<Filter>& filters, const Candidate& cluster,
                        bool incumbent) {
  for (const Filter& filter : filters) {
    if (incumbent && !filter.evicts) continue;
    if (!filter.passes(cluster)) return &filter;
  }
  return nullptr;
}

std::vector<PlacementStep> CountSteps(const std::vector<Filter>& filters,
                                      const PlacementInput& input) {
  std::vector<PlacementStep> steps;
  std::vector<const Candidate*> left;
  for (const Candidate& cluster : input.clusters) left.push_back(&cluster);
  for (const Filter& filter : filters) {
    PlacementStep step{filter.name, static_cast<uint32_t>(left.size()), 0, ""};
    std::vector<const Candidate*> next;
    for (const Candidate* cluster : left) {
      bool stays = !filter.evicts && input.incumbents.count(cluster->uid) > 0;
      if (stays || filter.passes(*cluster)) {
        next.push_back(cluster);
      } else if (step.example.empty()) {
        step.example = absl::StrCat(cluster->id, " (", filter.why(*cluster), ")");
      }
    }
    left = std::move(next);
    step.out = static_cast<uint32_t>(left.size());
    steps.push_back(std::move(step));
  }
  return steps;
}

Leaver MakeLeaver(const Uuid& uid, const std::string& id, const Candidate* cluster, bool deleting) {
  Leaver leaver{uid, id, std::string(Camel(Reason::kLeftDecision)), false, false};
  if (cluster == nullptr) {
    leaver.forgotten = true;
    leaver.ordered = true;
  } else if (deleting) {
    leaver.reason = std::string(Camel(Reason::kBundleDeleted));
    leaver.ordered = true;
  } else if (cluster->removing) {
    leaver.reason = std::string(Camel(Reason::kClusterRemoved));
    leaver.ordered = true;
  }
  return leaver;
}

// Keeps the leavers that nobody ordered while there are too many of them.
void GuardShrink(const PlacementInput& input, PlacementResult* result) {
  std::vector<std::string> unordered;
  for (const Leaver& leaver : result->leavers) {
    if (!leaver.ordered) unordered.push_back(leaver.id);
  }
  if (unordered.empty()) return;
  Digest hash = HashShrink(unordered);
  bool names_changed =
      !input.previous_names.IsNone() && input.previous_names != HashNames(input.spec);
  bool confirmed = !input.confirmed_shrink.IsNone() && input.confirmed_shrink == hash;
  if (names_changed || confirmed) {
    for (Leaver& leaver : result->leavers) leaver.ordered |= confirmed;
    result->confirm_used = confirmed;
    return;
  }
  if (unordered.size() <= ShrinkAllowed(input.incumbents.size())) return;
  std::vector<Leaver> going;
  for (Leaver& leaver : result->leavers) {
    if (leaver.ordered) {
      going.push_back(std::move(leaver));
    } else {
      result->chosen[leaver.uid] = leaver.id;
    }
  }
  result->leavers = std::move(going);
  result->held = std::move(unordered);
  result->held_hash = hash;
  result->reason = std::string(Camel(Reason::kRemovalHeld));
  result->message = absl::StrCat(result->held.size(), " of ", input.incumbents.size(),
                                 " clusters would lose the bundle; next: navectl confirm");
}

// An empty result never replaces a decision: everybody who has a choice stays.
void KeepWhenEmpty(const PlacementInput& input, PlacementResult* result) {
  if (!result->chosen.empty() || input.deleting) return;
  std::vector<Leaver> going;
  for (Leaver& leaver : result->leavers) {
    if (leaver.ordered) {
      going.push_back(std::move(leaver));
    } else {
      result->chosen[leaver.uid] = leaver.id;
    }
  }
  result->leavers = std::move(going);
  result->reason = std::string(Camel(Reason::kNoClusterMatches));
  result->message =
      result->chosen.empty()
          ? "no cluster fits the placement"
          : absl::StrCat("no cluster fits the placement any more; the ", result->chosen.size(),
                         " of the last decision keep the bundle");
}

}  // namespace

size_t ShrinkAllowed(size_t incumbents) { return std::max<size_t>(1, incumbents / 5); }

Digest HashNames(const std::optional<PlacementSpec>& spec) {
  std::vector<std::string> names;
  if (spec.has_value()) names = spec->names;
  std::sort(names.begin(), names.end());
  return Sha256(absl::StrCat("names:", absl::StrJoin(names, "\n")));
}

Digest HashShrink(const std::vector<std::string>& ids) {
  std::vector<std::string> sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  return Sha256(absl::StrCat("shrink:", absl::StrJoin(sorted, "\n")));
}

PlacementResult DecidePlacement(const PlacementInput& input) {
  PlacementResult result;
  result.reason = std::string(Camel(Reason::kPlaced));
  bool nowhere = input.deleting || !input.spec.has_value();
  std::vector<Filter> filters = nowhere ? std::vector<Filter>{} : Filters(input);
  std::map<Uuid, const Candidate*> known;
  for (const Candidate& cluster : input.clusters) {
    known[cluster.uid] = &cluster;
    bool incumbent = input.incumbents.count(cluster.uid) > 0;
    if (!nowhere && DroppedBy(filters, cluster, incumbent) == nullptr)
      result.chosen[cluster.uid] = cluster.id;
  }
  for (const auto& [uid, id] : input.incumbents) {
    if (result.chosen.count(uid) > 0) continue;
    auto found = known.find(uid);
    result.leavers.push_back(
        MakeLeaver(uid, id, found == known.end() ? nullptr : found->second, input.deleting));
  }
  std::sort(result.leavers.begin(), result.leavers.end(),
            [](const Leaver& a, const Leaver& b) { return a.id < b.id; });
  if (!nowhere) result.steps = CountSteps(filters, input);
  KeepWhenEmpty(input, &result);
  if (!input.deleting && !input.spec.has_value()) {
    result.reason = std::string(Camel(Reason::kNotPlaced));
    result.message = "spec.placement is not set";
  }
  if (!input.deleting) GuardShrink(input, &result);
  return result;
}

std::string ExplainCluster(const PlacementInput& input, const std::string& id) {
  if (!input.spec.has_value()) return "the bundle says nothing about where: set spec.placement";
  auto cluster = std::find_if(input.clusters.begin(), input.clusters.end(),
                              [&](const Candidate& c) { return c.id == id; });
  if (cluster == input.clusters.end()) return absl::StrCat("there is no cluster ", id);
  std::vector<Filter> filters = Filters(input);
  const Filter* dropped = DroppedBy(filters, *cluster, input.incumbents.count(cluster->uid) > 0);
  if (dropped == nullptr) return "";
  return absl::StrCat("dropped by ", dropped->name, ": ", dropped->why(*cluster));
}

}  // namespace nave
