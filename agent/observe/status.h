// The status of one assignment from what is known of its objects. Pure.
#ifndef NAVE_AGENT_OBSERVE_STATUS_H_
#define NAVE_AGENT_OBSERVE_STATUS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/plan/plan.h"
#include "common/model/assignment.h"
#include "common/model/stream.h"

namespace nave {

// How far one object is from what is asked.
enum class Standing {
  kApplied,  // As asked.
  kFlawed,   // Applied, but something of it is not as asked (a field of others, one that the server
             // dropped).
  kWaiting,  // On its way, or waits for something.
  kFailed,   // Refused; tried again with back-off.
  kRemoving,  // To go.
};

// One object of the assignment.
struct ObjectView {
  ObjectStatus status;  // Health, reason, message and since as they will be reported.
  Standing standing = Standing::kWaiting;
};

struct KeyView {
  Uuid key;
  std::string name;
  uint64_t revision = 0;
  Digest digest;
  KeyState state = KeyState::kPresent;
  bool on_hold = false;
  // Whether anything has been planned yet.
  bool planned = false;
  // Objects that wait to be removed, and whether they may be.
  uint32_t removals = 0;
  RemovalGate gate = RemovalGate::kGo;
  // For kHeld: DescribeHold.
  std::string hold_text;
  // What stayed behind and why, "Namespace shop: ConfigMap shop/x and 3 more are in it".
  std::vector<ObjectStatus> retained;
  // Whether the key owns nothing (durably).
  bool owns_nothing = false;
  std::vector<ObjectView> objects;
};

// Phase, roll-up, counts and the objects that are not right, worst first. `reason` is never empty
// unless everything is right. `since` is left for the caller.
AssignmentStatus BuildStatus(const KeyView& view);

}  // namespace nave

#endif  // NAVE_AGENT_OBSERVE_STATUS_H_
