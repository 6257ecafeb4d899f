// Whether what is to go may go now, removal tasks and what becomes of their outcomes.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/apply/engine_impl.h"
#include "agent/apply/retry.h"
#include "common/base/log.h"
#include "common/guard/removal_guard.h"

namespace nave {
namespace {

// How long the objects of a stage are waited for before those that they may need go too.
constexpr absl::Duration kStageWait = absl::Minutes(2);
// How often something that is being deleted is looked at, should its watch say nothing.
constexpr absl::Duration kGoneLookMax = absl::Seconds(15);
constexpr absl::Duration kCheckMax = absl::Seconds(10);
// For how long a Namespace or CRD that cannot be checked is tried before it stays.
constexpr absl::Duration kCheckPatience = absl::Minutes(5);

}  // namespace

void Engine::EvaluateRemovals() {
  // A key that is not planned yet may want what another one is about to remove.
  for (const auto& [key, k] : keys_) {
    if (!k->planned) return;
  }
  struct Planned {
    KeyRecord* k;
    const Assignment* assignment;
    std::vector<RemoveItem> items;
  };
  std::vector<Planned> all;
  std::vector<RemovalOrder> orders;
  uint64_t owned = 0;
  for (auto& [key, k] : keys_) {
    const Assignment* assignment = FindAssignment(key);
    if (assignment == nullptr) continue;
    auto owner = [](const ObjectKey&) -> std::optional<OtherKey> { return std::nullopt; };
    auto wanter = [this, uid = key](const ObjectKey& object) { return FindWanter(uid, object); };
    const std::vector<ListedObject> listed = ListedNow(*k);
    const Inventory& inventory = k->ledger.View();
    owned += inventory.size();
    PlanInput input{.assignment = assignment,
                    .listed = k->content ? &listed : nullptr,
                    .owned = &inventory,
                    .agent_namespace = options_.agent_namespace,
                    .owner = owner,
                    .wanter = wanter};
    Planned planned{.k = k.get(), .assignment = assignment, .items = PlanRemovals(input)};
    RemovalOrder order{.key = key,
                       .confirmed = assignment->confirmed,
                       .orphan = assignment->state == KeyState::kRemoving &&
                                 assignment->propagation == Propagation::kOrphan,
                       .objects = 0,
                       .volumes = {}};
    for (const RemoveItem& item : planned.items) {
      if (item.deletes) CountRemoval(item.key, order);
    }
    if (order.objects > 0) orders.push_back(std::move(order));
    all.push_back(std::move(planned));
  }
  const RemovalVerdict verdict = EvaluateRemovalGuard(orders, owned);
  for (Planned& planned : all) {
    KeyRecord& k = *planned.k;
    const RemovalHold* held = verdict.Find(k.key);
    const RemovalGate gate = DecideRemovals({.state = planned.assignment->state,
                                             .all_applied = AllApplied(k),
                                             .held = held != nullptr,
                                             .on_hold = hold_,
                                             .pending = k.pending});
    k.hold_text = held == nullptr ? "" : DescribeHold(*held, verdict);
    FollowRemovals(k, planned.items, gate);
  }
}

// The listing as it was planned last.
std::vector<ListedObject> Engine::ListedNow(const KeyRecord& k) const {
  std::vector<ListedObject> listed;
  for (const auto& [object, r] : k.objects) {
    if (r.index >= 0) listed.push_back({.key = object, .resolved = r.resolved, .body = r.body});
  }
  return listed;
}

void Engine::FollowRemovals(KeyRecord& k, const std::vector<RemoveItem>& items, RemovalGate gate) {
  const uint32_t before = k.removals;
  const RemovalGate gate_before = k.gate;
  k.gate = gate;
  k.removals = 0;
  std::set<ObjectKey> going;
  for (const RemoveItem& item : items) {
    // The key that wants it takes it when it is planned.
    if (item.action == RemoveItem::Action::kHandOver) continue;
    ++k.removals;
    going.insert(item.key);
    ObjectRecord& r = k.objects[item.key];
    r.stage = StageOf(item.key);
    if (r.apply_task) {
      r.rerun = true;
      continue;
    }
    if (gate != RemovalGate::kGo || r.removing) continue;
    if (r.removal_task) {
      // It had to stop, and may go on.
      r.removing = true;
      continue;
    }
    Unqueue(k, item.key, r);
    CancelTimer(r.timer);
    r.step = Step::kIdle;
    r.removing = true;
    r.failed = false;
    r.failures = 0;
    r.problem.clear();
    r.message.clear();
    Queue(k, item.key, r);
  }
  for (auto& [object, r] : k.objects) {
    if (!r.removing || (gate == RemovalGate::kGo && going.contains(object))) continue;
    // Stops where it is; a task that runs asks before it writes.
    Unqueue(k, object, r);
    CancelTimer(r.timer);
    r.removing = false;
    if (r.step != Step::kRunning) r.step = Step::kIdle;
  }
  if (before != k.removals || gate_before != gate) {
    WantStatus(k);
    WantPump();
  }
}

bool Engine::PumpRemovals(KeyRecord& k) {
  for (size_t stage = kStages; stage-- > 0;) {
    while (!k.removal_queue[stage].empty()) {
      const ObjectKey object = std::move(k.removal_queue[stage].front());
      k.removal_queue[stage].pop_front();
      ObjectRecord* r = FindObject(k, object);
      if (r == nullptr || r->step != Step::kQueued) continue;
      r->step = Step::kIdle;
      if (StartRemoval(k, object, *r)) return true;
    }
    if (k.removing[stage] > 0) return false;
    if (k.leaving[stage] > 0 && Now() < k.leaving_until[stage]) {
      if (gate_timer_ == 0) {
        gate_timer_ = After(k.leaving_until[stage] - Now(), [this] {
          gate_timer_ = 0;
          WantPump();
        });
      }
      return false;
    }
  }
  return false;
}

bool Engine::StartRemoval(KeyRecord& k, const ObjectKey& object, ObjectRecord& r) {
  const InventoryEntry* entry = k.ledger.Find(object);
  const Assignment* assignment = FindAssignment(k.key);
  if (entry == nullptr || assignment == nullptr) {
    r.removing = false;
    return false;
  }
  const ResourceType* type = catalog_->FindFor(object.group, object.kind, entry->version);
  if (type == nullptr) {
    // Gone with its CRD, if a discovery that began after the removal says so too.
    if (r.failures++ > 0 && !catalog_->IsUncertain(object.group)) {
      DropEntry(k, object);
      MaybeFlush(k);
      return false;
    }
    catalog_->Refresh();
    r.problem = Word(Reason::kUnknownKind);
    r.message = "the API group does not answer";
    Delay(k, object, r, RetryDelay(2 * kLookMin, kGoneLookMax, r.failures, random_.Uniform()));
    return false;
  }
  if (MustOutlive(k, object)) {
    r.problem = Word(Reason::kWaitingForDependency);
    r.message = "waits for what is in it to go";
    Delay(k, object, r, kGoneLookMax);
    return false;
  }
  RemovalJob job;
  job.type = *type;
  job.entry = *entry;
  job.claimant = ClaimantFor(k.key);
  job.propagation =
      assignment->state == KeyState::kRemoving ? assignment->propagation : Propagation::kDelete;
  job.give_up_check =
      Now() - r.check_failed > kCheckPatience && r.check_failed != absl::InfinitePast();
  r.step = Step::kRunning;
  r.rerun = false;
  r.task = next_task_++;
  ++k.removing[static_cast<size_t>(r.stage)];
  ++tasks_;
  auto may_remove = [this, key = k.key, object] { return MayRemove(key, object); };
  auto is_leaving = [this](const ObjectKey& other) { return IsLeaving(other); };
  auto done = [this, key = k.key, object, task = r.task](RemovalOutcome outcome) {
    Post([this, key, object, task, outcome = std::move(outcome)]() mutable {
      OnRemoved(key, object, task, std::move(outcome));
    });
  };
  r.removal_task =
      RemovalTask::Start(*options_.kube, *catalog_, std::move(job), std::move(may_remove),
                         std::move(is_leaving), std::move(done));
  return true;
}

// A container goes after what of this assignment is in it, so that its check finds only what others
// put there.
bool Engine::MustOutlive(const KeyRecord& k, const ObjectKey& container) const {
  const bool is_namespace = IsNamespace(container);
  if (!is_namespace && !IsCrd(container)) return false;
  for (const auto& [object, r] : k.objects) {
    if (object == container || k.ledger.Find(object) == nullptr) continue;
    if (is_namespace) {
      if (object.ns == container.name) return true;
      continue;
    }
    if (object.group.empty() || !absl::EndsWith(container.name, absl::StrCat(".", object.group))) {
      continue;
    }
    const ResourceType* type = catalog_->FindAny(object.group, object.kind);
    if (type != nullptr && container.name == absl::StrCat(type->plural, ".", type->group)) {
      return true;
    }
  }
  return false;
}

bool Engine::MayRemove(const Uuid& key, const ObjectKey& object) {
  KeyRecord* k = FindKey(key);
  ObjectRecord* r = k == nullptr ? nullptr : FindObject(*k, object);
  return MayWrite() && r != nullptr && r->removing && k->gate == RemovalGate::kGo && !hold_ &&
         !k->pending;
}

bool Engine::IsLeaving(const ObjectKey& object) {
  return std::any_of(keys_.begin(), keys_.end(), [&](const auto& key_and_record) {
    ObjectRecord* r = FindObject(*key_and_record.second, object);
    return r != nullptr && r->removing;
  });
}

void Engine::OnRemoved(const Uuid& key, const ObjectKey& object, uint64_t task,
                       RemovalOutcome outcome) {
  KeyRecord* k = FindKey(key);
  ObjectRecord* found = k == nullptr ? nullptr : FindObject(*k, object);
  if (found == nullptr || found->task != task || !found->removal_task) return;
  ObjectRecord& r = *found;
  r.removal_task.reset();
  --k->removing[static_cast<size_t>(r.stage)];
  --tasks_;
  r.step = Step::kIdle;
  const bool again = std::exchange(r.rerun, false);
  switch (outcome.kind) {
    case RemovalOutcome::Kind::kGone:
      TakeGone(*k, object, r);
      break;
    case RemovalOutcome::Kind::kReleased:
    case RemovalOutcome::Kind::kForgotten:
      DropEntry(*k, object);
      break;
    case RemovalOutcome::Kind::kRetained:
      Retain(*k, object, std::move(outcome.detail));
      DropEntry(*k, object);
      break;
    case RemovalOutcome::Kind::kWaiting:
      TakeLeaving(*k, object, r, std::move(outcome.detail));
      break;
    case RemovalOutcome::Kind::kUnchecked:
      if (r.check_failed == absl::InfinitePast()) r.check_failed = Now();
      // A kind that cannot be listed may have gone.
      catalog_->Refresh();
      r.problem = Word(Reason::kRemoving);
      r.message = absl::StrCat("cannot tell yet whether it is empty: ", outcome.detail);
      Delay(*k, object, r, RetryDelay(kLookMin, kCheckMax, r.failures++, random_.Uniform()));
      break;
    case RemovalOutcome::Kind::kFailed: {
      const RetryAdvice advice = AdviseRetry(outcome.error, r.failures++, random_.Uniform());
      if (advice.rediscover) catalog_->Refresh();
      r.failed = true;
      r.problem = Word(advice.reason);
      r.message = std::move(outcome.error.message);
      Delay(*k, object, r, advice.delay);
      break;
    }
    case RemovalOutcome::Kind::kAbandoned:
      if (r.removing && !MayWrite()) {
        Delay(*k, object, r, kMayNotWrite);
      } else {
        r.removing = false;
        WantRemovals();
      }
      break;
  }
  if (again) WantPlan(*k);
  AfterTask(*k);
}

void Engine::TakeGone(KeyRecord& k, const ObjectKey& object, ObjectRecord& r) {
  const InventoryEntry* entry = k.ledger.Find(object);
  if (r.removing && entry != nullptr && entry->uid.empty() && Now() < r.in_doubt_until) {
    r.problem = Word(Reason::kRemoving);
    r.message = "its creation may still be on the way";
    Delay(k, object, r, r.in_doubt_until - Now());
    return;
  }
  DropEntry(k, object);
}

void Engine::TakeLeaving(KeyRecord& k, const ObjectKey& object, ObjectRecord& r,
                         std::string detail) {
  if (!r.removing) {
    // It is wanted again, and is made again when it is gone.
    r.applied = false;
    r.must_read = true;
    WantPlan(k);
    return;
  }
  const auto stage = static_cast<size_t>(r.stage);
  if (r.removal_sent == absl::InfinitePast()) {
    r.removal_sent = Now();
    ++k.leaving[stage];
    k.leaving_until[stage] = Now() + kStageWait;
    if (const InventoryEntry* entry = k.ledger.Find(object)) {
      InventoryEntry deleting = *entry;
      deleting.progress = InventoryEntry::Progress::kDeleting;
      k.ledger.Put(std::move(deleting));
    }
  }
  r.problem = Word(Reason::kTerminating);
  r.message = std::move(detail);
  Delay(k, object, r, RetryDelay(kLookMin, kGoneLookMax, r.failures++, random_.Uniform()));
}

// The object is not ours any more, or not there.
void Engine::DropEntry(KeyRecord& k, const ObjectKey& object) {
  k.ledger.Erase(object);
  if (IsCrd(object)) catalog_->Refresh();
  ObjectRecord* r = FindObject(k, object);
  if (r != nullptr) {
    if (r->removing && k.removals > 0) --k.removals;
    if (r->index < 0) {
      EraseRecord(k, object);
    } else {
      if (r->removal_sent != absl::InfinitePast()) --k.leaving[static_cast<size_t>(r->stage)];
      r->removal_sent = absl::InfinitePast();
      r->removing = r->applied = r->exists = false;
      r->problem.clear();
      r->message.clear();
    }
  }
  // What waits for it to go.
  for (auto& [container, waiting] : k.objects) {
    const bool holds = IsCrd(container) || (IsNamespace(container) && container.name == object.ns);
    if (holds && waiting.removing && waiting.step == Step::kDelayed) Queue(k, container, waiting);
  }
  WantStatus(k);
}

void Engine::Retain(KeyRecord& k, const ObjectKey& object, std::string detail) {
  ObjectStatus status;
  status.group = object.group;
  if (const InventoryEntry* entry = k.ledger.Find(object)) status.version = entry->version;
  status.kind = object.kind;
  status.ns = object.ns;
  status.name = object.name;
  status.health = Health::kHealthy;
  status.reason = Word(Reason::kRetained);
  status.message = ClampMessage(detail);
  status.since = Now();
  k.retained.push_back(std::move(status));
}

}  // namespace nave
