// Resources and answers as text for -o json, yaml and name. Pure.
#ifndef NAVE_CLI_RESOURCES_PRINT_H_
#define NAVE_CLI_RESOURCES_PRINT_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave::cli {

// JSON: the one resource when it was asked for by name (`single`), else {apiVersion, kind: List,
// items}. Both can be applied again.
std::string FormatAsJson(const std::vector<const google::protobuf::Message*>& resources,
                         bool single);
// YAML: a document each.
std::string FormatAsYaml(const std::vector<const google::protobuf::Message*>& resources);
// A line each: bundle/web.
std::string FormatAsNames(const std::vector<const google::protobuf::Message*>& resources,
                          absl::string_view project);

}  // namespace nave::cli

#endif  // NAVE_CLI_RESOURCES_PRINT_H_
