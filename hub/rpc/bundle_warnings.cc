#include "hub/rpc/bundle_warnings.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "hub/controllers/bundle_controller.h"
#include "hub/decide/placement.h"
#include "hub/rpc/bundle_content.h"

namespace nave {
namespace {

constexpr size_t kNamedMax = 10;

std::string Enumerate(const std::vector<std::string>& names) {
  std::vector<std::string> shown(names.begin(), names.begin() + std::min(names.size(), kNamedMax));
  std::string more =
      names.size() > kNamedMax ? absl::StrCat(" and ", names.size() - kNamedMax, " more") : "";
  return absl::StrCat(absl::StrJoin(shown, ", "), more);
}

std::string Counted(size_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace

absl::Status AddRemovalWarnings(const ApiCall& call, const Bundle& bundle, const Digest& before,
                                const RenderedBundle& next, std::vector<std::string>* warnings) {
  ASSIGN_OR_RETURN(Listing listing, ReadListing(call, before));
  std::set<ObjectKey> kept;
  for (const RenderedObject& object : next.objects) kept.insert(object.key);
  std::vector<std::string> gone;
  for (const Listing::Entry& entry : listing.objects) {
    if (kept.count(entry.key) == 0) gone.push_back(entry.key.ToString());
  }
  if (gone.empty()) return absl::OkStatus();
  auto decision = call.snapshot().decisions.Find(bundle.meta.uid);
  size_t clusters = decision == nullptr ? 0 : decision->entries.size();
  warnings->push_back(absl::StrCat("removes ", Counted(gone.size(), "object"), " on ",
                                   Counted(clusters, "cluster"), ": ", Enumerate(gone)));
  return absl::OkStatus();
}

void AddPlacementWarnings(const ApiCall& call, const Bundle* before, const Bundle& after,
                          std::vector<std::string>* warnings) {
  PlacementResult result = DecidePlacement(MakePlacementInput(call.snapshot(), after));
  std::vector<std::string> leaving;
  for (const Leaver& leaver : result.leavers) leaving.push_back(leaver.id);
  if (!leaving.empty()) {
    bool stays = after.meta.deleting() && after.status.orphan;
    warnings->push_back(absl::StrCat(stays ? "leaves its objects behind on " : "is removed from ",
                                     Counted(leaving.size(), "cluster"), ": ", Enumerate(leaving)));
  }
  if (!result.held.empty()) {
    warnings->push_back(absl::StrCat("would leave ", Counted(result.held.size(), "cluster"),
                                     ", which waits for a confirm: ", Enumerate(result.held)));
  }
  bool nowhere = before == nullptr && result.chosen.empty();
  if (nowhere) warnings->push_back(absl::StrCat("runs on no cluster: ", result.message));
}

}  // namespace nave
