// Queues and stages, apply tasks and what becomes of their outcomes.
#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/apply/engine_impl.h"
#include "agent/apply/retry.h"
#include "agent/plan/body.h"
#include "common/base/log.h"

namespace nave {
namespace {

// How often something that is being deleted is looked at, should its watch say nothing.
constexpr absl::Duration kGoneMax = absl::Seconds(30);
// Objects of others, and fields of others: whether they still stand in the way.
constexpr absl::Duration kRefusedMin = absl::Seconds(15);
constexpr absl::Duration kRefusedMax = absl::Minutes(5);
constexpr absl::Duration kLeftOutMin = absl::Minutes(1);
constexpr absl::Duration kLeftOutMax = absl::Minutes(10);
// Tries of a kind of failure that usually passes before the object counts as failed.
constexpr int kPatience = 3;

bool UsuallyPasses(KubeErrorClass error_class) {
  switch (error_class) {
    case KubeErrorClass::kUnreachable:
    case KubeErrorClass::kThrottled:
    case KubeErrorClass::kServerError:
    case KubeErrorClass::kConflict:
    case KubeErrorClass::kNamespaceMissing:
    case KubeErrorClass::kNamespaceTerminating:
    case KubeErrorClass::kKindNotServed:
    case KubeErrorClass::kAdmissionRefused:
      return true;
    default:
      return false;
  }
}

}  // namespace

void Engine::Queue(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, bool first) {
  if (r.step == Step::kQueued) return;
  if (r.step == Step::kRunning) {
    r.rerun = true;
    return;
  }
  CancelTimer(r.timer);
  r.step = Step::kQueued;
  auto& queue = (r.removing ? k.removal_queue : k.apply_queue)[static_cast<size_t>(r.stage)];
  if (first) {
    queue.push_front(object);
  } else {
    queue.push_back(object);
  }
  WantPump();
}

void Engine::Unqueue(KeyRecord& k, const ObjectKey& object, ObjectRecord& r) {
  if (r.step != Step::kQueued) return;
  auto& queue = (r.removing ? k.removal_queue : k.apply_queue)[static_cast<size_t>(r.stage)];
  queue.erase(std::remove(queue.begin(), queue.end(), object), queue.end());
  r.step = Step::kIdle;
}

void Engine::Delay(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, absl::Duration delay) {
  Unqueue(k, object, r);
  CancelTimer(r.timer);
  r.step = Step::kDelayed;
  r.timer = After(delay, [this, key = k.key, object] {
    KeyRecord* record = FindKey(key);
    ObjectRecord* delayed = record == nullptr ? nullptr : FindObject(*record, object);
    if (delayed == nullptr) return;
    delayed->timer = 0;
    if (delayed->step != Step::kDelayed) return;
    delayed->step = Step::kIdle;
    Queue(*record, object, *delayed);
  });
}

void Engine::Block(ObjectRecord& r, Reason reason, std::string message) {
  CancelTimer(r.timer);
  r.step = Step::kBlocked;
  r.problem = Word(reason);
  r.message = std::move(message);
}

// One start per key and round, so that a long assignment does not starve the others.
void Engine::Pump() {
  bool progress = true;
  while (progress && tasks_ < options_.concurrency) {
    progress = false;
    std::vector<Uuid> order;
    for (auto it = keys_.upper_bound(next_key_); it != keys_.end(); ++it)
      order.push_back(it->first);
    for (auto it = keys_.begin(); it != keys_.end() && it->first <= next_key_; ++it) {
      order.push_back(it->first);
    }
    for (const Uuid& key : order) {
      if (tasks_ >= options_.concurrency) break;
      KeyRecord* k = FindKey(key);
      if (k == nullptr || !PumpKey(*k)) continue;
      next_key_ = key;
      progress = true;
    }
  }
}

bool Engine::PumpKey(KeyRecord& k) { return PumpApply(k) || PumpRemovals(k); }

bool Engine::PumpApply(KeyRecord& k) {
  for (size_t stage = 0; stage < kStages; ++stage) {
    while (!k.apply_queue[stage].empty()) {
      const ObjectKey object = std::move(k.apply_queue[stage].front());
      k.apply_queue[stage].pop_front();
      ObjectRecord* r = FindObject(k, object);
      if (r == nullptr || r->step != Step::kQueued) continue;
      r->step = Step::kIdle;
      if (StartApply(k, object, *r)) return true;
    }
    if (k.applying[stage] > 0) return false;
  }
  return false;
}

bool Engine::IsBlockedByNamespace(KeyRecord& k, const ObjectKey& object, ObjectRecord& r) {
  if (object.ns.empty()) return false;
  const ObjectKey ns{"", "Namespace", "", object.ns};
  const ObjectRecord* owner = FindObject(k, ns);
  if (owner == nullptr || owner->index < 0 || owner->applied || owner->exists) return false;
  Block(r, Reason::kWaitingForDependency, absl::StrCat("waits for ", ns.ToString()));
  return true;
}

bool Engine::StartApply(KeyRecord& k, const ObjectKey& object, ObjectRecord& r) {
  if (r.index < 0 || !k.content || IsBlockedByNamespace(k, object, r)) return false;
  Value manifest = ManifestAt(k.content, r.index);
  if (manifest.is_null()) {
    Block(r, Reason::kContentInvalid, "the stored manifest cannot be read");
    r.failed = true;
    return false;
  }
  const GroupVersion gv = ParseApiVersion(manifest.StringAt("apiVersion"));
  const ResourceType* type = catalog_->Find(gv.group, object.kind, gv.version);
  if (type == nullptr) {
    KubeError error;
    error.error_class = KubeErrorClass::kKindNotServed;
    error.message = absl::StrCat("the API server does not serve ", object.kind, " in ",
                                 manifest.StringAt("apiVersion"));
    TakeFailure(k, object, r, std::move(error));
    return false;
  }
  ApplyJob job;
  job.type = *type;
  job.key = object;
  job.claimant = ClaimantFor(k.key);
  job.manager = manager_;
  job.bare_namespace = IsBareNamespace(manifest);
  job.body =
      BuildBody(std::move(manifest), {.who = job.claimant.who, .bundle = k.key, .key = object});
  if (const InventoryEntry* entry = k.ledger.Find(object); entry && k.ledger.IsDurable(object)) {
    job.entry = *entry;
    if (!entry->sent.IsNone() && entry->sent != r.body) job.previous = PreviousBody(k, object);
  }
  job.must_read = std::exchange(r.must_read, false);
  job.handed_over = r.handed_over;
  job.contested = r.contested;
  job.retry_left_out = std::exchange(r.retry_left_out, false);
  r.step = Step::kRunning;
  r.rerun = false;
  r.seen_while_running.reset();
  r.task = next_task_++;
  ++k.applying[static_cast<size_t>(r.stage)];
  ++tasks_;
  auto may_write = [this, key = k.key, object, body = r.body] {
    KeyRecord* record = FindKey(key);
    ObjectRecord* wanted = record == nullptr ? nullptr : FindObject(*record, object);
    const Assignment* assignment = FindAssignment(key);
    return MayWrite() && wanted != nullptr && wanted->index >= 0 && wanted->body == body &&
           assignment != nullptr && assignment->state != KeyState::kRemoving;
  };
  // Posted, because a task may end within Start.
  auto done = [this, key = k.key, object, task = r.task](ApplyOutcome outcome) {
    Post([this, key, object, task, outcome = std::move(outcome)]() mutable {
      OnApplied(key, object, task, std::move(outcome));
    });
  };
  r.apply_task =
      ApplyTask::Start(*options_.kube, std::move(job), std::move(may_write), std::move(done));
  return true;
}

void Engine::OnApplied(const Uuid& key, const ObjectKey& object, uint64_t task,
                       ApplyOutcome outcome) {
  KeyRecord* k = FindKey(key);
  ObjectRecord* found = k == nullptr ? nullptr : FindObject(*k, object);
  if (found == nullptr || found->task != task || !found->apply_task) return;
  ObjectRecord& r = *found;
  r.apply_task.reset();
  --k->applying[static_cast<size_t>(r.stage)];
  --tasks_;
  r.step = Step::kIdle;
  switch (outcome.kind) {
    case ApplyOutcome::Kind::kApplied:
      TakeApplied(*k, object, r, outcome);
      break;
    case ApplyOutcome::Kind::kUsedAsIs:
      TakeUsedAsIs(*k, object, r, outcome.live);
      break;
    case ApplyOutcome::Kind::kWaitGone:
      r.applied = false;
      r.exists = r.must_read = true;
      r.problem = Word(Reason::kTerminating);
      r.message = DescribeTerminating(outcome.live);
      Delay(*k, object, r, RetryDelay(kLookMin, kGoneMax, r.failures++, random_.Uniform()));
      break;
    case ApplyOutcome::Kind::kNotOwned:
    case ApplyOutcome::Kind::kOwnedByOther:
      TakeRefusal(*k, object, r, outcome);
      break;
    case ApplyOutcome::Kind::kNeedsIntention:
      r.applied = r.used_as_is = false;
      r.rerun = true;
      break;
    case ApplyOutcome::Kind::kFailed:
      TakeFailure(*k, object, r, std::move(outcome.error));
      break;
    case ApplyOutcome::Kind::kAbandoned:
      r.must_read = true;
      if (MayWrite()) {
        r.rerun = true;
      } else {
        Delay(*k, object, r, kMayNotWrite);
      }
      break;
  }
  if (std::exchange(r.rerun, false)) WantPlan(*k);
  AfterTask(*k);
}

void Engine::TakeApplied(KeyRecord& k, const ObjectKey& object, ObjectRecord& r,
                         ApplyOutcome& outcome) {
  const std::string version = outcome.entry.resource_version;
  const std::optional<std::string> seen = std::exchange(r.seen_while_running, std::nullopt);
  if (r.handed_over) DropOthers(k, object);
  r.applied = outcome.entry.sent == r.body;
  r.exists = r.seen = r.present = true;
  r.handed_over = r.contested = r.used_as_is = r.failed = r.unchecked = false;
  r.failures = 0;
  r.baseline = TakeBaseline(outcome.live, manager_);
  k.ledger.Put(std::move(outcome.entry));
  r.flawed = !outcome.dropped.empty() || !outcome.conflict.empty();
  if (!outcome.conflict.empty()) {
    r.problem = Word(Reason::kFieldManagerConflict);
    r.message = std::move(outcome.conflict);
    // Whether the other manager has let go.
    r.retry_left_out = true;
    Delay(k, object, r,
          RetryDelay(kLeftOutMin, kLeftOutMax, r.left_out_tries++, random_.Uniform()));
  } else {
    r.left_out_tries = 0;
    r.problem = outcome.dropped.empty() ? "" : Word(Reason::kFieldDropped);
    r.message =
        outcome.dropped.empty() ? "" : absl::StrCat("the API server dropped ", outcome.dropped);
  }
  LookAtHealth(k, object, r, outcome.live);
  if (IsNamespace(object)) WakeNamespace(object.name);
  if (seen && *seen != version) {
    // Something was seen while the task ran, and nobody knows whether before or after what was
    // answered.
    r.must_read = true;
    Queue(k, object, r);
  }
}

// The object bears the marks of `k`: the keys that had it and do not want it let go.
void Engine::DropOthers(const KeyRecord& k, const ObjectKey& object) {
  for (auto& [key, other] : keys_) {
    if (key == k.key || other->ledger.Find(object) == nullptr || Lists(*other, object)) continue;
    DropEntry(*other, object);
    MaybeFlush(*other);
  }
}

void Engine::TakeUsedAsIs(KeyRecord& k, const ObjectKey& object, ObjectRecord& r,
                          const Value& live) {
  r.applied = r.used_as_is = r.exists = r.seen = r.present = true;
  r.flawed = r.failed = false;
  r.failures = 0;
  r.problem.clear();
  r.message.clear();
  // It is not ours, so the inventory must not say that we mean to make it.
  k.ledger.Erase(object);
  LookAtHealth(k, object, r, live);
  WakeNamespace(object.name);
}

void Engine::TakeFailure(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, KubeError error) {
  const RetryAdvice advice = AdviseRetry(error, r.failures++, random_.Uniform());
  r.applied = false;
  r.failed = !UsuallyPasses(error.error_class) || r.failures >= kPatience;
  r.problem = Word(advice.reason);
  r.message = std::move(error.message);
  if (advice.rediscover) catalog_->Refresh();
  if (error.error_class == KubeErrorClass::kUnreachable) {
    // A write whose answer was lost may have happened, or may happen yet.
    r.must_read = true;
    r.in_doubt_until = Now() + kInDoubt;
  }
  if (error.error_class == KubeErrorClass::kNamespaceMissing ||
      error.error_class == KubeErrorClass::kNamespaceTerminating) {
    // A namespace that was there is not any more; nobody watches one that is not ours.
    const ObjectKey ns{"", "Namespace", "", object.ns};
    ObjectRecord* owner = FindObject(k, ns);
    if (owner != nullptr && owner->index >= 0 && owner->used_as_is && owner->step == Step::kIdle) {
      owner->applied = owner->used_as_is = owner->exists = false;
      owner->must_read = true;
      Queue(k, ns, *owner);
    }
  }
  Delay(k, object, r, advice.delay);
}

void Engine::TakeRefusal(KeyRecord& k, const ObjectKey& object, ObjectRecord& r,
                         ApplyOutcome& outcome) {
  const bool other = outcome.kind == ApplyOutcome::Kind::kOwnedByOther;
  r.applied = r.used_as_is = false;
  r.exists = r.failed = true;
  // What stands there is not ours, whatever was meant to be made.
  k.ledger.Erase(object);
  r.problem = Word(other ? Reason::kOwnedByOther : Reason::kNotOwned);
  r.message = std::move(outcome.detail);
  absl::string_view uid = r.message;
  if (other && absl::ConsumePrefix(&uid, "bundle ")) {
    const std::optional<Uuid> owner = Uuid::Parse(uid);
    const Assignment* assignment = owner ? FindAssignment(*owner) : nullptr;
    if (assignment != nullptr) r.message = assignment->name;
  }
  if (other) {
    r.message = absl::StrCat("owned by ", r.message);
  }
  if (IsNamespace(object)) WakeNamespace(object.name);
  Delay(k, object, r, RetryDelay(kRefusedMin, kRefusedMax, r.failures++, random_.Uniform()));
}

void Engine::AfterTask(KeyRecord& k) {
  MaybeFlush(k);
  WantStatus(k);
  WantPump();
  if (k.IsWorking()) return;
  if (k.previous && AllApplied(k)) k.previous.reset();
  if (k.removals > 0) WantRemovals();
  WantWatches();
}

// The namespace is there (again).
void Engine::WakeNamespace(const std::string& ns) {
  for (auto& [key, k] : keys_) {
    for (auto& [object, r] : k->objects) {
      if (object.ns != ns || r.removing) continue;
      const bool waits =
          (r.step == Step::kBlocked && r.problem == Camel(Reason::kWaitingForDependency)) ||
          (r.step == Step::kDelayed && (r.problem == Camel(Reason::kNamespaceMissing) ||
                                        r.problem == Camel(Reason::kNamespaceTerminating)));
      if (!waits) continue;
      r.problem.clear();
      r.message.clear();
      CancelTimer(r.timer);
      r.step = Step::kIdle;
      Queue(*k, object, r);
    }
  }
}

}  // namespace nave
