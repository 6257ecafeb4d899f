// The steps of a cluster that joins, ticked off as its record changes. Pure.
#ifndef NAVE_CLI_VIEW_JOIN_STEPS_H_
#define NAVE_CLI_VIEW_JOIN_STEPS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/output/style.h"
#include "nave/v1/cluster.pb.h"

namespace nave::cli {

class JoinSteps {
 public:
  explicit JoinSteps(absl::Time begin) : begin_(begin) {}

  // The lines of the steps that this state of the record completes; each step once, in order.
  std::vector<std::string> OnCluster(const v1::Cluster& cluster, const Style& style,
                                     absl::Time now);

  // The cluster is Ready, or will not be without somebody's doing.
  bool done() const { return done_; }
  // REJECTED or REVOKED when that is what ended it.
  const absl::Status& error() const { return error_; }

 private:
  enum class Step { kIdentity, kAccepted, kConnected, kInventory, kReady };
  // Whether it was not said before.
  bool First(Step step);

  const absl::Time begin_;
  std::vector<Step> said_;
  bool hinted_ = false;
  std::string last_reason_;
  bool done_ = false;
  absl::Status error_;
};

}  // namespace nave::cli

#endif  // NAVE_CLI_VIEW_JOIN_STEPS_H_
