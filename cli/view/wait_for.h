// What `wait --for` waits for. Pure.
#ifndef NAVE_CLI_VIEW_WAIT_FOR_H_
#define NAVE_CLI_VIEW_WAIT_FOR_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave::cli {

// One of: "delete", "create", "Ready" or another state or condition, "condition=NAME[=VALUE]",
// "jsonpath={.path}[=VALUE]".
struct WaitFor {
  enum class Kind { kDelete, kCreate, kWord, kCondition, kPath };
  Kind kind = Kind::kWord;
  std::string name;
  // Of conditions True unless said otherwise; of a path empty: anything that is there.
  std::string value;
  // kPath: member names and list indexes.
  std::vector<std::string> path;
};

// USAGE_INVALID.
absl::StatusOr<WaitFor> ParseWaitFor(absl::string_view text);

// Of a resource that exists. A condition or state that speaks of an older generation does not
// count.
bool Holds(const WaitFor& wait, const google::protobuf::Message& resource);

// "Degraded (ApplyFailed)": what is the case instead, for the error when time runs out. May be
// empty.
std::string PresentState(const google::protobuf::Message& resource);

}  // namespace nave::cli

#endif  // NAVE_CLI_VIEW_WAIT_FOR_H_
