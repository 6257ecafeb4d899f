#include "agent/observe/status.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/reasons.h"

namespace nave {
namespace {

std::string Word(Reason reason) { return std::string(Camel(reason)); }

std::string NameOf(const ObjectStatus& object) {
  return ObjectKey{object.group, object.kind, object.ns, object.name}.ToString();
}

bool IsRight(const ObjectView& view) {
  return view.standing == Standing::kApplied && view.status.health == Health::kHealthy;
}

struct Tally {
  Health worst = Health::kHealthy;
  uint32_t waiting = 0;
  uint32_t failed = 0;
  uint32_t flawed = 0;
  const ObjectStatus* first_failed = nullptr;
  const ObjectStatus* first_waiting = nullptr;
};

std::string Describe(const ObjectStatus& object, uint32_t count) {
  std::string text = absl::StrCat(NameOf(object), ": ", object.reason);
  if (!object.message.empty()) absl::StrAppend(&text, ": ", object.message);
  if (count > 1) absl::StrAppend(&text, " (and ", count - 1, " more)");
  return text;
}

Tally Count(const KeyView& view, AssignmentStatus& status) {
  Tally tally;
  for (const ObjectView& object : view.objects) {
    if (object.standing == Standing::kRemoving && view.state != KeyState::kRemoving) {
      // Not listed any more: shown only for what keeps it from going.
      status.not_ok.push_back(object.status);
      continue;
    }
    ++status.counts.total;
    if (object.status.applied) ++status.counts.applied;
    if (object.status.health == Health::kHealthy && object.status.applied) ++status.counts.healthy;
    tally.worst = Worse(tally.worst, object.status.health);
    if (object.standing == Standing::kFlawed) ++tally.flawed;
    if (object.standing == Standing::kFailed && tally.failed++ == 0) {
      tally.first_failed = &object.status;
    }
    if (object.standing == Standing::kWaiting && tally.waiting++ == 0) {
      tally.first_waiting = &object.status;
    }
    if (IsRight(object)) continue;
    ++status.counts.not_ok;
    status.not_ok.push_back(object.status);
  }
  return tally;
}

void SortWorstFirst(AssignmentStatus& status) {
  auto rank = [](const ObjectStatus& o) {
    return std::make_tuple(-static_cast<int>(o.health), o.applied, NameOf(o));
  };
  std::sort(status.not_ok.begin(), status.not_ok.end(),
            [&](const ObjectStatus& a, const ObjectStatus& b) { return rank(a) < rank(b); });
  status.not_ok_total = static_cast<uint32_t>(status.not_ok.size());
  if (status.not_ok.size() > kStatusObjectsMax) status.not_ok.resize(kStatusObjectsMax);
}

void Say(AssignmentStatus& status, Phase phase, Reason reason, std::string message) {
  status.phase = phase;
  status.reason = Word(reason);
  status.message = std::move(message);
}

void DescribeRemoval(const KeyView& view, AssignmentStatus& status) {
  status.health = Health::kTerminating;
  if (view.owns_nothing) {
    status.health = Health::kHealthy;
    if (view.retained.empty()) {
      Say(status, Phase::kRemoved, Reason::kRemoved, "");
    } else {
      Say(status, Phase::kRemoved, Reason::kRetained,
          Describe(view.retained.front(), static_cast<uint32_t>(view.retained.size())));
    }
    return;
  }
  if (view.gate == RemovalGate::kOnHold) {
    Say(status, Phase::kRemoving, Reason::kOnHold, "the removal goes on after the hold");
  } else if (view.gate == RemovalGate::kHeld) {
    Say(status, Phase::kRemovalHeld, Reason::kRemovalHeld, view.hold_text);
  } else {
    Say(status, Phase::kRemoving, Reason::kRemoving, "");
    if (!status.not_ok.empty()) {
      const ObjectStatus& first = status.not_ok.front();
      status.message = Describe(first, status.not_ok_total);
    }
  }
}

void DescribePresent(const KeyView& view, const Tally& tally, AssignmentStatus& status) {
  if (!view.planned) {
    Say(status, Phase::kPending, Reason::kApplying, "not looked at yet");
    status.health = Worse(status.health, Health::kProgressing);
    return;
  }
  if (tally.failed > 0) {
    const bool prune = view.removals > 0;
    Say(status, prune ? Phase::kPruneWaiting : Phase::kFailed,
        prune ? Reason::kPruneWaiting : Reason::kApplyFailed,
        Describe(*tally.first_failed, tally.failed));
    if (!prune) status.reason = tally.first_failed->reason;
    return;
  }
  if (tally.waiting > 0) {
    Say(status, Phase::kApplying, Reason::kApplying, Describe(*tally.first_waiting, tally.waiting));
    return;
  }
  if (view.removals > 0) {
    if (view.gate == RemovalGate::kHeld) {
      Say(status, Phase::kRemovalHeld, Reason::kRemovalHeld, view.hold_text);
    } else if (view.gate == RemovalGate::kOnHold) {
      Say(status, Phase::kApplied, Reason::kOnHold,
          absl::StrCat(view.removals, " objects are removed after the hold"));
    } else {
      Say(status, Phase::kApplying, Reason::kRemoving,
          absl::StrCat(view.removals, " objects are being removed"));
    }
    return;
  }
  status.phase = Phase::kApplied;
  if (!status.not_ok.empty()) {
    status.reason = status.not_ok.front().reason;
    status.message = Describe(status.not_ok.front(), status.not_ok_total);
  } else if (!view.retained.empty()) {
    Say(status, Phase::kApplied, Reason::kRetained,
        Describe(view.retained.front(), static_cast<uint32_t>(view.retained.size())));
  }
}

}  // namespace

AssignmentStatus BuildStatus(const KeyView& view) {
  AssignmentStatus status;
  status.key = view.key;
  status.name = view.name;
  status.revision = view.on_hold ? 0 : view.revision;
  status.digest = view.digest;
  const Tally tally = Count(view, status);
  status.health = tally.worst;
  if (view.state == KeyState::kRemoving) {
    for (const ObjectStatus& object : view.retained) status.not_ok.push_back(object);
    SortWorstFirst(status);
    DescribeRemoval(view, status);
  } else {
    SortWorstFirst(status);
    DescribePresent(view, tally, status);
    if (view.state == KeyState::kNotDesired) {
      status.phase = Phase::kNotDesired;
      if (status.not_ok.empty()) {
        status.reason = Word(Reason::kNotDesired);
        status.message.clear();
      }
    }
  }
  // A parent that is not right must say why, whatever its children left out.
  const bool right = status.phase == Phase::kApplied && status.health == Health::kHealthy;
  if (!right && status.reason.empty()) status.reason = Word(Reason::kApplying);
  status.message = ClampMessage(status.message);
  return status;
}

}  // namespace nave
