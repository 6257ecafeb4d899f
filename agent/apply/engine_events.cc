// What the watches tell: drift, disappearance, health.
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/apply/engine_impl.h"
#include "agent/plan/fields.h"
#include "agent/plan/marks.h"
#include "common/base/log.h"

namespace nave {
namespace {

// How often something that is being deleted is looked at, should its watch say nothing.
constexpr absl::Duration kTerminatingLook = absl::Seconds(10);

bool IsEstablished(const Value& crd) {
  const Value* conditions = crd.Find("status", "conditions");
  if (conditions == nullptr || conditions->array() == nullptr) return false;
  for (const Value& condition : *conditions->array()) {
    if (condition.StringAt("type") == "Established") return condition.StringAt("status") == "True";
  }
  return false;
}

}  // namespace

KeyRecord* Engine::OwnerOf(const ObjectKey& object, const Value* live) {
  if (live != nullptr) {
    // The label is no proof, but it says where to look first.
    const auto uid = Uuid::Parse(live->StringAt("metadata", "labels", kAssignmentLabel));
    KeyRecord* k = uid ? FindKey(*uid) : nullptr;
    if (k != nullptr && k->ledger.Find(object) != nullptr) return k;
  }
  for (auto& [key, k] : keys_) {
    if (k->ledger.Find(object) != nullptr) return k.get();
  }
  return nullptr;
}

void Engine::OnObject(const Value& live) {
  const ObjectKey object = KeyOf(live);
  KeyRecord* k = OwnerOf(object, &live);
  ObjectRecord* r = k == nullptr ? nullptr : FindObject(*k, object);
  if (r != nullptr) Look(*k, object, *r, live);
}

void Engine::OnGone(const ObjectKey& object) {
  KeyRecord* k = OwnerOf(object, nullptr);
  ObjectRecord* r = k == nullptr ? nullptr : FindObject(*k, object);
  if (r != nullptr) SeenAbsent(*k, object, *r);
}

void Engine::OnSynced(const GroupKind& kind, const std::set<ObjectKey>& all) {
  for (auto& [key, k] : keys_) {
    std::vector<ObjectKey> absent;
    for (const auto& [object, r] : k->objects) {
      const bool of_kind = object.group == kind.first && object.kind == kind.second;
      if (!of_kind || all.contains(object) || k->ledger.Find(object) == nullptr) continue;
      if (r.applied || r.removing || r.index < 0) absent.push_back(object);
    }
    for (const ObjectKey& object : absent) SeenAbsent(*k, object, *FindObject(*k, object));
    WantStatus(*k);
  }
}

void Engine::OnTrouble(const GroupKind& kind, const KubeError& error) {
  if (error.error_class == KubeErrorClass::kKindNotServed) catalog_->Refresh();
  // What is known of the kind becomes unknown later, unless the watch comes back.
  After(kTroubleMax + absl::Seconds(1), [this, kind] {
    for (auto& [key, k] : keys_) WantStatus(*k);
  });
}

void Engine::Look(KeyRecord& k, const ObjectKey& object, ObjectRecord& r, const Value& live) {
  if (r.apply_task) {
    r.seen_while_running = live.StringAt("metadata", "resourceVersion");
    return;
  }
  const InventoryEntry* entry = k.ledger.Find(object);
  const bool ours =
      entry != nullptr && (entry->uid.empty() || entry->uid == live.StringAt("metadata", "uid"));
  r.seen = true;
  if (ours) {
    r.present = true;
    LookAtHealth(k, object, r, live);
    if (entry != nullptr && !entry->finished && RanToItsEnd(live)) {
      InventoryEntry finished = *entry;
      finished.finished = true;
      k.ledger.Put(std::move(finished));
      MaybeFlush(k);
    }
  }
  if (!r.removing && r.index >= 0 && r.applied) {
    LookForDrift(k, object, r, live);
  } else {
    r.unchecked = true;
  }
}

Baseline Engine::BaselineFrom(const InventoryEntry& entry) const {
  return {.uid = entry.uid,
          .resource_version = entry.resource_version,
          .generation = entry.generation,
          .fields = entry.fields,
          .meta = 0};
}

void Engine::LookForDrift(KeyRecord& k, const ObjectKey& object, ObjectRecord& r,
                          const Value& live) {
  const InventoryEntry* entry = k.ledger.Find(object);
  if (entry == nullptr) return;
  if (r.baseline.uid.empty()) r.baseline = BaselineFrom(*entry);
  switch (ClassifyChange(live, r.baseline, manager_)) {
    case Change::kNone:
    case Change::kBenign:
      r.baseline = TakeBaseline(live, manager_);
      return;
    case Change::kSuspect: {
      Value body = BodyFor(k, object, k.content, r.index);
      for (const std::string& path : entry->left_out) (void)RemovePath(path, body);
      if (SettleSuspect(live, body, r.baseline, manager_)) {
        r.baseline = TakeBaseline(live, manager_);
        return;
      }
      LogInfo("drift", {{"object", object.ToString()}});
      Heal(k, object, r);
      return;
    }
    case Change::kReplaced:
      r.present = false;
      Heal(k, object, r);
      return;
    case Change::kTerminating:
      r.applied = false;
      r.must_read = true;
      r.problem = Word(Reason::kTerminating);
      r.message = DescribeTerminating(live);
      Delay(k, object, r, kTerminatingLook);
      WantStatus(k);
      return;
  }
}

void Engine::Heal(KeyRecord& k, const ObjectKey& object, ObjectRecord& r) {
  r.applied = false;
  // What was seen may be older than what was applied last: no write before a look.
  r.must_read = true;
  const absl::Duration wait = r.budget.Take(Now());
  if (wait == absl::ZeroDuration()) {
    r.problem.clear();
    r.message.clear();
    Queue(k, object, r, /*first=*/true);
  } else {
    r.problem = Word(Reason::kFieldManagerConflict);
    r.message = "another writer changes it again and again; it is corrected less often";
    Delay(k, object, r, wait);
  }
  WantStatus(k);
}

void Engine::SeenAbsent(KeyRecord& k, const ObjectKey& object, ObjectRecord& r) {
  if (r.apply_task) {
    r.seen_while_running = "";
    return;
  }
  r.seen = true;
  r.present = false;
  if (r.removing) {
    // Only a read proves it: the label may have gone, not the object.
    Queue(k, object, r, /*first=*/true);
    return;
  }
  const InventoryEntry* entry = k.ledger.Find(object);
  if (entry == nullptr || r.index < 0) {
    r.health = {};
    WantStatus(k);
    return;
  }
  // It ran, and was cleaned up: that is no reason to run it again.
  if (entry->finished && entry->sent == r.body) return;
  r.must_read = true;
  if (r.applied) {
    Heal(k, object, r);
    if (r.problem.empty()) r.problem = Word(Reason::kMissing);
  } else if (r.step == Step::kDelayed) {
    // What it waited for to go has gone, perhaps.
    r.step = Step::kIdle;
    Queue(k, object, r, /*first=*/true);
  }
}

void Engine::LookAtHealth(KeyRecord& k, const ObjectKey& object, ObjectRecord& r,
                          const Value& live) {
  if (TrackHealth(live, Now(), r.health)) WantStatus(k);
  CancelTimer(r.recheck);
  if (r.health.recheck != absl::InfiniteFuture()) {
    r.recheck = options_.executor->PostAt(
        r.health.recheck, [this, alive = std::weak_ptr<bool>(alive_), key = k.key, object] {
          if (!alive.expired()) Recheck(key, object);
        });
  }
  if (!IsCrd(object) || !IsEstablished(live)) return;
  const Value* versions = live.Find("spec", "versions");
  if (versions == nullptr || versions->array() == nullptr) return;
  for (const Value& version : *versions->array()) {
    const Value* served = version.Find("served");
    if (served != nullptr && served->BoolOr(false) &&
        catalog_->Find(live.StringAt("spec", "group"), live.StringAt("spec", "names", "kind"),
                       version.StringAt("name")) == nullptr) {
      catalog_->Refresh();
      return;
    }
  }
}

// The verdict changes by the passing of time, and live objects are not kept.
void Engine::Recheck(const Uuid& key, const ObjectKey& object) {
  KeyRecord* k = FindKey(key);
  ObjectRecord* r = k == nullptr ? nullptr : FindObject(*k, object);
  if (r == nullptr) return;
  r->recheck = 0;
  const InventoryEntry* entry = k->ledger.Find(object);
  const ResourceType* type =
      catalog_->FindFor(object.group, object.kind, entry == nullptr ? "" : entry->version);
  if (type == nullptr) return;
  options_.kube->Get(*type, object.ns, object.name,
                     [this, alive = std::weak_ptr<bool>(alive_), key, object](KubeResult result) {
                       if (alive.expired() || !result.error.ok()) return;
                       KeyRecord* owner = FindKey(key);
                       ObjectRecord* seen = owner == nullptr ? nullptr : FindObject(*owner, object);
                       if (seen != nullptr) Look(*owner, object, *seen, result.object);
                     });
}

}  // namespace nave
