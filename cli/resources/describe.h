// A resource and what belongs to it, for people. Pure.
#ifndef NAVE_CLI_RESOURCES_DESCRIBE_H_
#define NAVE_CLI_RESOURCES_DESCRIBE_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/output/style.h"
#include "nave/v1/assignment.pb.h"
#include "nave/v1/event.pb.h"

namespace nave::cli {

struct DescribeInput {
  const google::protobuf::Message* resource = nullptr;
  // Of bundles (one per cluster) and clusters (one per bundle), with the objects that are not
  // right.
  std::vector<v1::Assignment> assignments;
  // Of a bundle, with --objects: every object.
  std::vector<v1::ObjectState> objects;
  // About it, oldest first.
  std::vector<v1::Event> events;
};

std::string FormatDescription(const DescribeInput& input, const Style& style, absl::Time now);

// The assignments as a table with their not-right objects below each.
std::string FormatAssignments(const std::vector<v1::Assignment>& assignments, bool by_cluster,
                              const Style& style, absl::Time now);

}  // namespace nave::cli

#endif  // NAVE_CLI_RESOURCES_DESCRIBE_H_
