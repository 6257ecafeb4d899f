// What is reported of each assignment.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/apply/engine_impl.h"

namespace nave {
namespace {

// Reports of one assignment are at least this far apart.
constexpr absl::Duration kStatusInterval = absl::Milliseconds(250);

}  // namespace

void Engine::WantStatus(KeyRecord& k) {
  if (!running_ || k.status_timer != 0) return;
  const absl::Duration wait =
      std::max(k.status_sent + kStatusInterval - Now(), absl::ZeroDuration());
  k.status_timer = After(wait, [this, key = k.key] { SendStatus(key); });
}

void Engine::SendStatus(const Uuid& key) {
  KeyRecord* k = FindKey(key);
  if (k == nullptr) return;
  k->status_timer = 0;
  if (FindAssignment(key) == nullptr) return;
  AssignmentStatus status = MakeStatus(*k);
  if (k->has_reported && status == k->reported) return;
  k->has_reported = true;
  k->reported = status;
  k->status_sent = Now();
  if (on_status_) on_status_(status);
}

AssignmentStatus Engine::MakeStatus(KeyRecord& k) const {
  const Assignment& assignment = *FindAssignment(k.key);
  KeyView view;
  view.key = k.key;
  view.name = assignment.name;
  view.revision = assignment.revision;
  view.digest = assignment.content_digest;
  view.state = assignment.state;
  view.on_hold = hold_;
  view.planned = k.planned && k.state == assignment.state;
  view.removals = k.removals;
  view.gate = k.gate;
  view.hold_text = k.hold_text;
  view.retained = k.retained;
  view.owns_nothing = options_.store->inventory(k.key).empty() && k.ledger.IsEmpty();
  for (auto& [object, r] : k.objects) {
    if (r.index < 0 && k.ledger.Find(object) == nullptr) continue;
    view.objects.push_back(ViewOf(k, object, r));
  }
  AssignmentStatus status = BuildStatus(view);
  const bool same = k.has_reported && status.phase == k.reported.phase &&
                    status.health == k.reported.health && status.reason == k.reported.reason &&
                    status.digest == k.reported.digest;
  status.since = same ? k.reported.since : Now();
  return status;
}

ObjectView Engine::ViewOf(const KeyRecord& k, const ObjectKey& object, ObjectRecord& r) const {
  ObjectView view;
  ObjectStatus& status = view.status;
  status.group = object.group;
  const InventoryEntry* entry = k.ledger.Find(object);
  if (entry != nullptr) status.version = entry->version;
  if (status.version.empty()) {
    const ResourceType* type = catalog_->FindAny(object.group, object.kind);
    if (type != nullptr) status.version = type->version;
  }
  status.kind = object.kind;
  status.ns = object.ns;
  status.name = object.name;
  status.applied = r.applied;
  const bool owned_only = k.state == KeyState::kNotDesired && entry != nullptr;
  const bool done = entry != nullptr && entry->finished && r.seen && !r.present;
  const std::optional<absl::Time> trouble = observer_->TroubleSince({object.group, object.kind});

  if (r.health.known) {
    status.health = r.health.health;
    status.reason = r.health.reason;
    status.message = r.health.message;
  } else {
    status.health = Health::kUnknown;
    status.reason = Word(Reason::kStatusUnknown);
  }
  if (done) {
    status.health = r.health.known ? r.health.health : Health::kHealthy;
    if (status.health == Health::kHealthy) status.reason.clear();
  } else if (r.seen && !r.present && !r.used_as_is) {
    status.health = Health::kMissing;
    status.reason = Word(Reason::kMissing);
    status.message.clear();
  } else if (trouble && Now() - *trouble > kTroubleMax) {
    status.health = Worse(Health::kUnknown, status.health);
    status.reason = Word(Reason::kApiServerUnavailable);
    status.message = "its changes cannot be watched";
  }

  if (r.index < 0 && !owned_only) {
    view.standing = Standing::kRemoving;
    status.health = Health::kTerminating;
    status.reason = r.problem.empty() ? Word(Reason::kRemoving) : r.problem;
    status.message = r.message;
  } else if (r.applied && r.flawed) {
    view.standing = Standing::kFlawed;
    status.reason = r.problem;
    status.message = r.message;
  } else if (r.applied || (owned_only && r.index < 0)) {
    view.standing = Standing::kApplied;
    status.applied = true;
  } else {
    view.standing = r.failed ? Standing::kFailed : Standing::kWaiting;
    if (r.failed) {
      status.health = Health::kDegraded;
    } else if (!r.health.known || status.health == Health::kHealthy) {
      status.health = Health::kProgressing;
    }
    status.reason = r.problem.empty() ? Word(Reason::kApplying) : r.problem;
    status.message = r.message;
  }
  status.message = ClampMessage(status.message);
  if (r.since == absl::InfinitePast() || status.health != r.reported_health ||
      status.applied != r.reported_applied || status.reason != r.reported_reason) {
    r.since = Now();
    r.reported_health = status.health;
    r.reported_applied = status.applied;
    r.reported_reason = status.reason;
  }
  status.since = r.since;
  return view;
}

}  // namespace nave
