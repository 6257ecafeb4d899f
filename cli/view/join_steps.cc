#include "cli/view/join_steps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/output/text.h"
#include "cli/resources/target.h"
#include "cli/resources/words.h"
#include "common/base/error.h"

namespace nave::cli {
namespace {

std::string Line(const Style& style, Tone tone, absl::string_view what, absl::string_view detail) {
  std::string padded(what);
  padded.resize(std::max<size_t>(padded.size(), 20), ' ');
  return absl::StrCat("  ", style.Paint(tone, style.Mark(tone)), " ", padded, "  ",
                      PrintableText(detail), "\n");
}

}  // namespace

bool JoinSteps::First(Step step) {
  if (std::find(said_.begin(), said_.end(), step) != said_.end()) return false;
  said_.push_back(step);
  return true;
}

std::vector<std::string> JoinSteps::OnCluster(const v1::Cluster& cluster, const Style& style,
                                              absl::Time now) {
  std::vector<std::string> lines;
  const v1::ClusterStatus& status = cluster.status();
  std::string id = IdOf(cluster.name());
  bool enrolled = status.has_certificate_not_after();
  if (enrolled && First(Step::kIdentity)) {
    absl::Time end = TimeOf(true, status.certificate_not_after());
    lines.push_back(Line(style, Tone::kGood, "identity verified",
                         absl::StrCat("certificate signed, expires in ", FormatAge(end - now),
                                      ", renews by itself")));
  }
  bool accepted = status.admission() == v1::CLUSTER_ADMISSION_ACCEPTED;
  if (enrolled && accepted && First(Step::kAccepted))
    lines.push_back(Line(style, Tone::kGood, "accepted", ""));
  if (enrolled && status.admission() == v1::CLUSTER_ADMISSION_PENDING && !hinted_) {
    hinted_ = true;
    lines.push_back(
        Line(style, Tone::kBusy, "waits for you", absl::StrCat("navectl cluster accept ", id)));
  }
  if (status.connected() && First(Step::kConnected)) {
    lines.push_back(
        Line(style, Tone::kGood, "agent dialled in",
             absl::StrCat(status.agent_address(), "   agent ", status.agent_version())));
  }
  const v1::ClusterFacts& facts = status.facts();
  if (!facts.kubernetes_version().empty() && First(Step::kInventory)) {
    lines.push_back(
        Line(style, Tone::kGood, "inventory received",
             absl::StrCat(facts.kubernetes_version(), ", ", Count(facts.nodes(), "node"), ", ",
                          FormatCpu(facts.cpu_millis()), " CPU")));
  }
  switch (status.phase()) {
    case v1::CLUSTER_PHASE_READY:
      if (First(Step::kReady))
        lines.push_back(
            Line(style, Tone::kGood, "Ready", absl::StrCat("in ", FormatAge(now - begin_))));
      done_ = true;
      break;
    case v1::CLUSTER_PHASE_REJECTED:
      error_ = MakeError(Reason::kRejected, absl::StrCat("cluster \"", id, "\" was rejected"));
      done_ = true;
      break;
    case v1::CLUSTER_PHASE_REVOKED:
      error_ = MakeError(Reason::kRevoked,
                         absl::StrCat("the certificates of cluster \"", id, "\" are revoked"));
      done_ = true;
      break;
    case v1::CLUSTER_PHASE_DEGRADED:
    case v1::CLUSTER_PHASE_ON_HOLD: {
      // It joined; what is wrong now is not the joining.
      StateWord state = StateOf(cluster);
      if (state.reason != last_reason_) {
        lines.push_back(Line(style, Tone::kBad, state.word,
                             absl::StrCat(state.reason, "   navectl cluster why ", id)));
      }
      last_reason_ = state.reason;
      break;
    }
    default:
      break;
  }
  return lines;
}

}  // namespace nave::cli
