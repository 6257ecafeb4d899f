// Watching with resumption, and what is built on it.
#ifndef NAVE_CLI_COMMANDS_FOLLOW_H_
#define NAVE_CLI_COMMANDS_FOLLOW_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/commands/session.h"
#include "cli/resources/requests.h"
#include "cli/resources/target.h"

namespace nave::cli {

// kRestart, all items, kSynced, then changes, until `on_event` returns false (OK) or `deadline`
// passes (TIMEOUT). A stream that breaks is taken up again where it ended; when that is no longer
// possible everything comes anew, from kRestart on. A hub that cannot be reached at all is an error
// at once.
absl::Status Follow(Session& session, const KindInfo& kind, const ListOptions& options,
                    absl::Time deadline, absl::FunctionRef<bool(const WatchEvent&)> on_event);

// One resource: `on_state` gets its present state and each later one, null when it does not exist.
absl::Status FollowOne(Session& session, const Target& target, absl::Time deadline,
                       absl::FunctionRef<bool(const google::protobuf::Message*)> on_state);

// Parent that lists and watches of the target's kind need; empty for kinds without one.
std::string ParentOf(const Target& target);

}  // namespace nave::cli

#endif  // NAVE_CLI_COMMANDS_FOLLOW_H_
