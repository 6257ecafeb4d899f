// Tables of resources: which columns a kind has and what a resource says in them. Pure.
#ifndef NAVE_CLI_RESOURCES_COLUMNS_H_
#define NAVE_CLI_RESOURCES_COLUMNS_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/output/table.h"
#include "common/wire/kinds.h"
#include "nave/v1/hub.pb.h"

namespace nave::cli {

struct ColumnOptions {
  bool wide = false;
  bool show_project = false;
  bool show_labels = false;
  absl::Time now;
};

std::vector<std::string> Headers(const KindInfo& kind, const ColumnOptions& options);
// As many cells as headers. `resource` must be of that kind.
Row MakeRow(const KindInfo& kind, const google::protobuf::Message& resource,
            const ColumnOptions& options);
// A cluster that the hub has no record of, as a row of clusters.
Row MakeRow(const v1::UnknownCluster& cluster, const ColumnOptions& options);

// "3 clusters: 1 Ready, 1 Degraded, 1 Disconnected." for stderr; empty for other kinds.
std::string Summary(const KindInfo& kind,
                    const std::vector<const google::protobuf::Message*>& resources);

// "a=b,c=d".
std::string FormatLabels(const google::protobuf::Map<std::string, std::string>& labels);

}  // namespace nave::cli

#endif  // NAVE_CLI_RESOURCES_COLUMNS_H_
