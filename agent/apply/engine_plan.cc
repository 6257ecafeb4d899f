// What each object needs, and the intentions that must be durable before it gets it.
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/apply/engine_impl.h"
#include "agent/apply/retry.h"
#include "agent/plan/body.h"
#include "common/base/log.h"
#include "common/value/codec.h"

namespace nave {
namespace {

constexpr absl::Duration kKindRetryMin = absl::Seconds(2);
constexpr absl::Duration kKindRetryMax = absl::Minutes(1);

}  // namespace

void Engine::OnCatalog() {
  for (auto& [key, k] : keys_) {
    bool unresolved = !k->planned;
    for (const auto& [object, r] : k->objects) unresolved |= r.index >= 0 && !r.resolved;
    if (unresolved) WantPlan(*k);
  }
  WantWatches();
  WantPump();
}

void Engine::TakeContent(KeyRecord& k, const Assignment& assignment) {
  // What is to be removed asks for nothing.
  DesiredContentPtr content =
      assignment.state == KeyState::kRemoving ? nullptr : options_.store->content(k.key);
  auto digest_of = [](const DesiredContentPtr& c) { return c ? c->digest : Digest(); };
  const bool other_content = digest_of(k.content) != digest_of(content);
  const bool changed = !k.planned || other_content || k.state != assignment.state;
  if (content && k.content && other_content) {
    // The version before says which fields were ours. A version that never got through is not kept
    // instead of it.
    if (!k.previous || AllApplied(k)) k.previous = k.content;
    k.retained.clear();
  }
  k.content = std::move(content);
  k.state = assignment.state;
  if (!changed) return;
  // What this key claims may have become free, or the other way round.
  for (auto& [key, other] : keys_) {
    if (key != k.key && other->planned) WantPlan(*other);
  }
}

std::vector<ListedObject> Engine::ResolveListing(KeyRecord& k) {
  std::vector<ListedObject> listed;
  k.duplicates.clear();
  if (!k.content) return listed;
  std::set<ObjectKey> seen;
  for (size_t i = 0; i < k.content->listing.objects.size(); ++i) {
    ListedObject object = ResolveOne(k, i);
    const ObjectKey& as_listed = k.content->listing.objects[i].key;
    if (!seen.insert(object.key).second) {
      k.duplicates[as_listed] = object.key;
      object = {.key = as_listed, .resolved = false, .body = {}};
      seen.insert(as_listed);
    }
    listed.push_back(std::move(object));
  }
  return listed;
}

ListedObject Engine::ResolveOne(KeyRecord& k, size_t index) {
  const Listing::Entry& entry = k.content->listing.objects[index];
  ListedObject object{.key = entry.key, .resolved = false, .body = {}};
  const ResourceType* any = catalog_->FindAny(entry.key.group, entry.key.kind);
  if (any == nullptr) return object;
  ObjectKey resolved = entry.key;
  if (!any->namespaced) {
    resolved.ns.clear();
  } else if (resolved.ns.empty()) {
    resolved.ns = k.content->listing.options.default_namespace;
  }
  const ObjectRecord* known = FindObject(k, resolved);
  if (known != nullptr && known->source == entry.digest && !known->body.IsNone()) {
    return {.key = std::move(resolved), .resolved = true, .body = known->body};
  }
  Value body = BodyFor(k, resolved, k.content, static_cast<int32_t>(index));
  const GroupVersion gv = ParseApiVersion(body.StringAt("apiVersion"));
  if (catalog_->Find(gv.group, entry.key.kind, gv.version) == nullptr) return object;
  object.key = std::move(resolved);
  object.resolved = true;
  object.body = BodyDigest(body);
  return object;
}

Value Engine::BodyFor(const KeyRecord& k, const ObjectKey& object, const DesiredContentPtr& content,
                      int32_t index) const {
  Value manifest = ManifestAt(content, index);
  if (manifest.is_null()) return {};
  return BuildBody(std::move(manifest),
                   {.who = ClaimantFor(k.key).who, .bundle = k.key, .key = object});
}

Value Engine::ManifestAt(const DesiredContentPtr& content, int32_t index) {
  if (!content || index < 0 || static_cast<size_t>(index) >= content->objects.size()) return {};
  auto manifest = ParseJsonLenient(content->objects[static_cast<size_t>(index)]);
  return manifest.ok() ? *std::move(manifest) : Value();
}

Value Engine::PreviousBody(const KeyRecord& k, const ObjectKey& object) const {
  if (!k.previous) return {};
  const std::vector<Listing::Entry>& listed = k.previous->listing.objects;
  for (size_t i = 0; i < listed.size(); ++i) {
    ObjectKey key = listed[i].key;
    if (key.ns.empty() && !object.ns.empty())
      key.ns = k.previous->listing.options.default_namespace;
    if (object.ns.empty()) key.ns.clear();
    if (key == object) return BodyFor(k, object, k.previous, static_cast<int32_t>(i));
  }
  return {};
}

void Engine::SyncRecords(KeyRecord& k, const std::vector<ListedObject>& listed) {
  for (auto& [object, r] : k.objects) r.index = -1;
  for (size_t i = 0; i < listed.size(); ++i) {
    const ListedObject& object = listed[i];
    ObjectRecord& r = k.objects[object.key];
    r.index = static_cast<int32_t>(i);
    r.resolved = object.resolved;
    r.stage = StageOf(object.key);
    r.source = k.content->listing.objects[i].digest;
    if (r.body == object.body) continue;
    // Something else is asked: what stood in the way of the old body says nothing about the new
    // one.
    r.body = object.body;
    r.applied = r.flawed = r.failed = false;
    r.failures = 0;
    r.problem.clear();
    r.message.clear();
    if (r.step == Step::kDelayed && !r.removing) {
      CancelTimer(r.timer);
      r.step = Step::kIdle;
    }
  }
  for (const auto& [object, entry] : k.ledger.View()) {
    ObjectRecord& r = k.objects[object];
    r.stage = StageOf(object);
    // The one before us may have sent it and died.
    if (!k.planned && entry.uid.empty()) r.in_doubt_until = started_ + kInDoubt;
  }
  std::vector<ObjectKey> stale;
  for (const auto& [object, r] : k.objects) {
    if (r.index < 0 && k.ledger.Find(object) == nullptr && r.step != Step::kRunning) {
      stale.push_back(object);
    }
  }
  for (const ObjectKey& object : stale) EraseRecord(k, object);
}

void Engine::Plan(KeyRecord& k) {
  const Assignment* assignment = FindAssignment(k.key);
  if (assignment == nullptr || !catalog_->known()) return;
  manager_ = FieldManagerName(options_.store->state().hub_id);
  TakeContent(k, *assignment);
  const std::vector<ListedObject> listed = ResolveListing(k);
  SyncRecords(k, listed);
  k.planned = true;
  auto owner = [this, &k](const ObjectKey& object) { return FindOwner(k.key, object); };
  auto wanter = [this, &k](const ObjectKey& object) { return FindWanter(k.key, object); };
  PlanInput input{.assignment = assignment,
                  .listed = k.content ? &listed : nullptr,
                  .owned = &k.ledger.View(),
                  .agent_namespace = options_.agent_namespace,
                  .owner = owner,
                  .wanter = wanter};
  const std::vector<ApplyItem> items = PlanApply(input);
  std::set<ObjectKey> followed;
  std::vector<ObjectKey> intentions;
  for (const ApplyItem& item : items) {
    followed.insert(listed[item.index].key);
    Follow(k, listed, item, intentions);
  }
  for (auto& [object, r] : k.objects) {
    if (followed.contains(object) || r.removing) continue;
    // Nothing is to be applied here (any more); a task that runs notices before its next write.
    Unqueue(k, object, r);
    CancelTimer(r.timer);
    if (r.step != Step::kRunning) r.step = Step::kIdle;
  }
  WriteIntentions(k, std::move(intentions));
  if (k.previous && AllApplied(k)) k.previous.reset();
  WantRemovals();
  WantWatches();
  WantPump();
  WantStatus(k);
}

void Engine::Follow(KeyRecord& k, const std::vector<ListedObject>& listed, const ApplyItem& item,
                    std::vector<ObjectKey>& intentions) {
  const ObjectKey& object = listed[item.index].key;
  ObjectRecord& r = *FindObject(k, object);
  const bool waits = item.action == ApplyItem::Action::kWaitKind ||
                     item.action == ApplyItem::Action::kTakeOver ||
                     item.action == ApplyItem::Action::kOwnedByOther;
  if (r.removal_task || (r.apply_task && waits)) {
    // Planned again when the task has ended; a removal does not start its next write.
    r.removing = false;
    r.rerun = true;
    return;
  }
  if (r.removing) {
    // It was to go, and is wanted again.
    Unqueue(k, object, r);
    r.removing = false;
    if (r.step == Step::kDelayed || r.step == Step::kBlocked) {
      CancelTimer(r.timer);
      r.step = Step::kIdle;
    }
    r.problem.clear();
    r.message.clear();
  }
  r.contested = item.action == ApplyItem::Action::kContested;
  switch (item.action) {
    case ApplyItem::Action::kKeep:
      FollowKeep(k, r, object);
      return;
    case ApplyItem::Action::kApply:
    case ApplyItem::Action::kContested:
      r.must_read |= r.contested;
      FollowApply(k, r, object, intentions);
      return;
    case ApplyItem::Action::kTakeOver:
      TakeOver(k, r, object, *item.other, intentions);
      return;
    case ApplyItem::Action::kWaitKind: {
      r.applied = false;
      auto duplicate = k.duplicates.find(object);
      if (duplicate != k.duplicates.end()) {
        Block(r, Reason::kDuplicateObject,
              absl::StrCat("the bundle lists ", duplicate->second.ToString(), " twice"));
        r.failed = true;
        return;
      }
      if (r.step == Step::kBlocked && r.timer != 0) return;
      Unqueue(k, object, r);
      Block(r, Reason::kUnknownKind,
            absl::StrCat(catalog_->IsUncertain(object.group) ? "the API group does not answer: "
                                                             : "the API server does not serve ",
                         object.kind, object.group.empty() ? "" : ".", object.group));
      // Other objects of the bundle may be about to bring it.
      r.failed = r.failures > 2;
      r.timer = After(RetryDelay(kKindRetryMin, kKindRetryMax, r.failures++, random_.Uniform()),
                      [this, key = k.key, object] {
                        KeyRecord* record = FindKey(key);
                        ObjectRecord* waits =
                            record == nullptr ? nullptr : FindObject(*record, object);
                        if (waits == nullptr) return;
                        waits->timer = 0;
                        catalog_->Refresh();
                      });
      return;
    }
    case ApplyItem::Action::kOwnedByOther:
      r.applied = false;
      r.exists = true;
      Unqueue(k, object, r);
      Block(r, Reason::kOwnedByOther, absl::StrCat("owned by ", item.other->name));
      r.failed = true;
      return;
  }
}

void Engine::FollowKeep(KeyRecord& k, ObjectRecord& r, const ObjectKey& object) {
  // A heal or a wait may be on its way.
  if (r.applied || r.step == Step::kRunning || r.step == Step::kQueued ||
      r.step == Step::kDelayed) {
    return;
  }
  r.applied = true;
  r.failed = false;
  r.step = Step::kIdle;
  r.problem.clear();
  r.message.clear();
  if (k.ledger.Find(object)->finished) return;
  const bool went = r.seen && !r.present;
  if (went || r.unchecked || (!r.seen && observer_->IsSynced({object.group, object.kind}))) {
    r.applied = !went;
    r.must_read = true;
    Queue(k, object, r);
  }
}

void Engine::FollowApply(KeyRecord& k, ObjectRecord& r, const ObjectKey& object,
                         std::vector<ObjectKey>& intentions) {
  if (r.used_as_is && r.applied) return;
  if (r.step == Step::kRunning) {
    r.rerun = true;
    return;
  }
  // Its turn comes by its timer: a plan that asks for the same is no reason to hurry.
  if (r.step == Step::kQueued || r.step == Step::kDelayed) return;
  if (k.ledger.Find(object) == nullptr) {
    InventoryEntry entry;
    entry.key = object;
    const ResourceType* type = catalog_->FindAny(object.group, object.kind);
    if (type != nullptr) entry.version = type->version;
    k.ledger.Put(std::move(entry));
    intentions.push_back(object);
  } else if (!k.ledger.IsDurable(object)) {
    intentions.push_back(object);
  } else {
    Queue(k, object, r);
    return;
  }
  Block(r, Reason::kApplying, "");
}

// The key that has the object and does not want it keeps its entry until the marks are ours:
// whoever dies in between, the object stays in the inventory of the key whose mark it bears.
void Engine::TakeOver(KeyRecord& k, ObjectRecord& r, const ObjectKey& object, const OtherKey& other,
                      std::vector<ObjectKey>& intentions) {
  KeyRecord* from = FindKey(other.key);
  const InventoryEntry* entry = from == nullptr ? nullptr : from->ledger.Find(object);
  if (entry == nullptr) return;
  r.handed_over = r.must_read = true;
  r.applied = r.used_as_is = false;
  if (k.ledger.Find(object) == nullptr) {
    InventoryEntry moved = *entry;
    moved.progress = InventoryEntry::Progress::kIntended;
    moved.sent = Digest();
    k.ledger.Put(std::move(moved));
  }
  if (r.step == Step::kDelayed && r.problem == Camel(Reason::kOwnedByOther)) {
    CancelTimer(r.timer);
    r.step = Step::kIdle;
  }
  FollowApply(k, r, object, intentions);
}

void Engine::WriteIntentions(KeyRecord& k, std::vector<ObjectKey> intentions) {
  if (intentions.empty()) return;
  k.ledger.Flush([this, alive = std::weak_ptr<bool>(alive_), key = k.key,
                  intentions = std::move(intentions)](absl::Status status) {
    if (!alive.expired()) OnIntended(key, intentions, status);
  });
}

void Engine::OnIntended(const Uuid& key, const std::vector<ObjectKey>& intentions,
                        const absl::Status& status) {
  KeyRecord* k = FindKey(key);
  if (k == nullptr) return;
  if (!status.ok()) {
    OnFlushed(key, status);
    return;
  }
  k->flush_failures = 0;
  for (const ObjectKey& object : intentions) {
    ObjectRecord* r = FindObject(*k, object);
    if (r == nullptr || r->index < 0) continue;
    if (r->step == Step::kBlocked && r->problem == Camel(Reason::kApplying)) Queue(*k, object, *r);
  }
}

bool Engine::Lists(const KeyRecord& k, const ObjectKey& object) const {
  if (k.state != KeyState::kPresent) return false;
  // Before it was planned nobody knows what it lists: then it keeps what it has.
  if (!k.planned) return true;
  auto it = k.objects.find(object);
  return it != k.objects.end() && it->second.index >= 0;
}

std::optional<OtherKey> Engine::FindOwner(const Uuid& asking, const ObjectKey& object) {
  std::optional<OtherKey> found;
  for (const auto& [key, k] : keys_) {
    if (key == asking || k->ledger.Find(object) == nullptr) continue;
    const Assignment* assignment = FindAssignment(key);
    if (assignment == nullptr) continue;
    // The committed state counts, also while its plan is still to come.
    const bool lists = assignment->state == KeyState::kPresent && Lists(*k, object);
    if (!found || lists) found = OtherKey{.key = key, .name = assignment->name, .lists = lists};
  }
  return found;
}

std::optional<OtherKey> Engine::FindWanter(const Uuid& asking, const ObjectKey& object) {
  for (const auto& [key, k] : keys_) {
    if (key == asking || !k->planned || k->state != KeyState::kPresent) continue;
    auto it = k->objects.find(object);
    if (it == k->objects.end() || it->second.index < 0 || !it->second.resolved) continue;
    const Assignment* assignment = FindAssignment(key);
    if (assignment == nullptr || assignment->state != KeyState::kPresent) continue;
    return OtherKey{.key = key, .name = assignment->name, .lists = true};
  }
  return std::nullopt;
}

bool Engine::AllApplied(const KeyRecord& k) const {
  if (!k.planned || !k.content) return false;
  for (const auto& [object, r] : k.objects) {
    if (r.index >= 0 && !r.applied) return false;
  }
  return true;
}

}  // namespace nave
