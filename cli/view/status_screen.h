// `status`: the hub and its fleet on one screen. Pure.
#ifndef NAVE_CLI_VIEW_STATUS_SCREEN_H_
#define NAVE_CLI_VIEW_STATUS_SCREEN_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/output/style.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"
#include "nave/v1/hub.pb.h"

namespace nave::cli {

struct StatusInput {
  v1::Hub hub;
  std::vector<const v1::Cluster*> clusters;
  std::vector<const v1::Bundle*> bundles;
  std::string client_version;
  // Bundles of it are named without it.
  std::string project;
  // Lines of each list; the rest is counted.
  size_t rows_max = 12;
};

std::string FormatStatus(const StatusInput& input, const Style& style, absl::Time now);

// Everything is Ready and nothing waits for a person.
bool IsWell(const StatusInput& input);

}  // namespace nave::cli

#endif  // NAVE_CLI_VIEW_STATUS_SCREEN_H_
