#include "tests/kubesim/managed_fields.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/kubesim/typed.h"

namespace nave::kubesim {
namespace {

// Fields that nobody owns.
const FieldSet& ServerFields() {
  static const FieldSet* const fields = [] {
    auto* set = new FieldSet();
    set->Insert({"f:apiVersion"});
    set->Insert({"f:kind"});
    set->Insert({"f:metadata"});
    for (const char* name : {"name", "namespace", "creationTimestamp", "selfLink", "uid",
                             "generation", "managedFields", "resourceVersion"}) {
      set->Insert({"f:metadata", FieldElement(name)});
    }
    return set;
  }();
  return *fields;
}

FieldSet Ownable(const FieldSet& set, const FieldSet& reset) {
  return RecursiveDifference(Difference(set, ServerFields()), reset);
}

bool SameManager(const ManagedEntry& a, const ManagedEntry& b) {
  return a.manager == b.manager && a.apply == b.apply && a.subresource == b.subresource &&
         (a.apply || a.api_version == b.api_version);
}

ManagedEntry* FindEntry(ManagedEntries* entries, const ManagedEntry& like) {
  for (ManagedEntry& entry : *entries) {
    if (SameManager(entry, like)) return &entry;
  }
  return nullptr;
}

Value WithoutManagedFields(const Value& object) {
  Value out = object;
  if (Object* metadata = out["metadata"].mutable_object()) metadata->erase("managedFields");
  return out;
}

// Takes what a write changed from the entries of others; returns what they lose by modification.
std::vector<FieldConflict> Yield(const Comparison& changes, const ManagedEntry& self,
                                 ManagedEntries* entries) {
  std::vector<FieldConflict> conflicts;
  FieldSet touched = Union(changes.modified, changes.added);
  for (ManagedEntry& entry : *entries) {
    if (SameManager(entry, self)) continue;
    FieldSet lost = Intersection(entry.fields, touched);
    if (!lost.Empty()) {
      entry.fields = Difference(entry.fields, lost);
      conflicts.push_back({entry});
      conflicts.back().owner.fields = std::move(lost);
    }
    entry.fields = Difference(entry.fields, changes.removed);
  }
  return conflicts;
}

void DropEmpty(ManagedEntries* entries) {
  entries->erase(std::remove_if(entries->begin(), entries->end(),
                                [](const ManagedEntry& entry) { return entry.fields.Empty(); }),
                 entries->end());
}

// `merged` without what this manager applied before, does not apply now, and nobody owns.
Value Prune(const Value& merged, const FieldSet& before, const ManagedEntries& entries,
            const Schema& schema) {
  FieldSet owned;
  for (const ManagedEntry& entry : entries) owned = Union(owned, entry.fields);
  FieldSet abandoned =
      Difference(WithNamedParents(before, schema), WithNamedParents(owned, schema));
  // Named parents reach up to the root's own members, which nobody may remove.
  abandoned = Difference(abandoned, ServerFields());
  return abandoned.Empty() ? merged : RemoveFields(merged, abandoned, schema);
}

bool IsResetRequest(const Value& object) {
  const Value* fields = object.Find("metadata", "managedFields");
  if (fields == nullptr || fields->array() == nullptr || fields->array()->size() != 1) return false;
  const Object* only = (*fields->array())[0].object();
  return only != nullptr && only->empty();
}

}  // namespace

std::string FormatRfc3339(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

ManagedEntries ReadManagedFields(const Value& object) {
  ManagedEntries out;
  const Value* fields = object.Find("metadata", "managedFields");
  if (fields == nullptr || fields->array() == nullptr) return out;
  for (const Value& item : *fields->array()) {
    ManagedEntry entry;
    std::string operation = item.StringAt("operation");
    if (operation != "Apply" && operation != "Update") continue;
    entry.apply = operation == "Apply";
    entry.manager = item.StringAt("manager");
    entry.api_version = item.StringAt("apiVersion");
    entry.subresource = item.StringAt("subresource");
    entry.time = item.StringAt("time");
    if (const Value* set = item.Find("fieldsV1")) entry.fields = ParseFieldsV1(*set);
    if (ManagedEntry* known = FindEntry(&out, entry)) {
      known->fields = Union(known->fields, entry.fields);
    } else {
      out.push_back(std::move(entry));
    }
  }
  return out;
}

void WriteManagedFields(ManagedEntries entries, Value* object) {
  DropEmpty(&entries);
  std::sort(entries.begin(), entries.end(), [](const ManagedEntry& a, const ManagedEntry& b) {
    return std::make_tuple(!a.apply, a.time, a.manager, a.api_version, a.subresource) <
           std::make_tuple(!b.apply, b.time, b.manager, b.api_version, b.subresource);
  });
  Object* metadata = (*object)["metadata"].mutable_object();
  if (entries.empty()) {
    if (metadata != nullptr) metadata->erase("managedFields");
    return;
  }
  Array out;
  for (const ManagedEntry& entry : entries) {
    Object item{{"manager", Value(entry.manager)},
                {"operation", Value(entry.apply ? "Apply" : "Update")},
                {"apiVersion", Value(entry.api_version)},
                {"fieldsType", Value("FieldsV1")},
                {"fieldsV1", FormatFieldsV1(entry.fields)}};
    if (!entry.time.empty()) item.emplace("time", Value(entry.time));
    if (!entry.subresource.empty()) item.emplace("subresource", Value(entry.subresource));
    out.push_back(Value(std::move(item)));
  }
  (*object)["metadata"]["managedFields"] = Value(std::move(out));
}

ApplyOutcome ApplyFields(const Value& live, bool exists, const Value& config, const Schema& schema,
                         const FieldWriter& writer) {
  ApplyOutcome out;
  Value bare_live = WithoutManagedFields(live);
  Value bare_config = WithoutManagedFields(config);
  // resourceVersion and uid were preconditions, not content.
  if (Object* metadata = bare_config["metadata"].mutable_object()) {
    metadata->erase("resourceVersion");
    metadata->erase("creationTimestamp");
  }
  bare_config = RemoveFields(bare_config, writer.reset, schema);

  ManagedEntries entries = ReadManagedFields(live);
  if (exists && entries.empty()) {
    ManagedEntry before;
    before.manager = "before-first-apply";
    before.api_version = writer.api_version;
    before.time = FormatRfc3339(writer.now);
    before.fields = Ownable(FieldsOf(bare_live, schema), writer.reset);
    entries.push_back(std::move(before));
  }
  ManagedEntry self;
  self.manager = writer.manager;
  self.apply = true;
  self.api_version = writer.api_version;
  self.subresource = writer.subresource;
  self.time = FormatRfc3339(writer.now);
  self.fields = Ownable(FieldsOf(bare_config, schema), writer.reset);
  FieldSet last;
  std::string last_time;
  if (ManagedEntry* mine = FindEntry(&entries, self)) {
    last = mine->fields;
    last_time = mine->time;
    *mine = self;
  } else {
    entries.push_back(self);
  }
  Value merged = MergeTyped(bare_live, bare_config, schema);
  if (!last.Empty()) merged = Prune(merged, last, entries, schema);
  // Who only comes to own what is there already bears no time of its own.
  if (exists && merged == bare_live) FindEntry(&entries, self)->time = last_time;

  Comparison changes = CompareTyped(bare_live, merged, schema);
  std::vector<FieldConflict> conflicts = Yield(changes, self, &entries);
  if (!writer.force && !conflicts.empty()) {
    out.conflicts = std::move(conflicts);
    return out;
  }
  out.object = std::move(merged);
  WriteManagedFields(std::move(entries), &out.object);
  return out;
}

Value UpdateFields(const Value& live, Value written, const Schema& schema,
                   const FieldWriter& writer) {
  bool created = live.is_null();
  ManagedEntries entries;
  if (!IsResetRequest(written)) {
    // Managed fields in the request count; a client that knows nothing of them must not delete
    // them.
    if (writer.subresource.empty()) entries = ReadManagedFields(written);
    if (entries.empty() && !created) entries = ReadManagedFields(live);
  }
  Value after = WithoutManagedFields(written);
  if (entries.empty() && !created) {
    // An object whose fields are not tracked stays untracked until its first apply.
    return after;
  }
  Value before = created ? Value(Object()) : WithoutManagedFields(live);
  Comparison changes = CompareTyped(before, after, schema);
  ManagedEntry self;
  self.manager = writer.manager;
  self.api_version = writer.api_version;
  self.subresource = writer.subresource;
  self.time = FormatRfc3339(writer.now);
  Yield(changes, self, &entries);
  ManagedEntry* mine = FindEntry(&entries, self);
  FieldSet old = mine == nullptr ? FieldSet() : mine->fields;
  FieldSet owned = Difference(Union(old, Union(changes.modified, changes.added)), changes.removed);
  owned = Ownable(owned, writer.reset);
  if (mine == nullptr) {
    self.fields = std::move(owned);
    entries.push_back(std::move(self));
  } else if (mine->fields != owned) {
    mine->fields = std::move(owned);
    mine->time = self.time;
  }
  WriteManagedFields(std::move(entries), &after);
  return after;
}

bool SameButTimes(const Value& a, const Value& b) {
  auto neutral = [](const Value& object) {
    Value out = object;
    Object* metadata = out["metadata"].mutable_object();
    if (metadata == nullptr) return out;
    metadata->erase("resourceVersion");
    auto fields = metadata->find("managedFields");
    if (fields == metadata->end() || !fields->second.is_array()) return out;
    for (Value& entry : *fields->second.mutable_array()) {
      if (Object* object = entry.mutable_object()) object->erase("time");
    }
    // The order depends on the times.
    std::sort(fields->second.mutable_array()->begin(), fields->second.mutable_array()->end(),
              [](const Value& x, const Value& y) {
                return std::make_tuple(x.StringAt("manager"), x.StringAt("operation"),
                                       x.StringAt("apiVersion"), x.StringAt("subresource")) <
                       std::make_tuple(y.StringAt("manager"), y.StringAt("operation"),
                                       y.StringAt("apiVersion"), y.StringAt("subresource"));
              });
    return out;
  };
  return neutral(a) == neutral(b);
}

std::string FormatOwner(const ManagedEntry& owner) {
  std::string out = absl::StrCat("\"", owner.manager, "\"");
  if (!owner.subresource.empty()) {
    absl::StrAppend(&out, " with subresource \"", owner.subresource, "\"");
  }
  if (!owner.apply) absl::StrAppend(&out, " using ", owner.api_version);
  return out;
}

std::string FormatConflicts(const std::vector<FieldConflict>& conflicts) {
  size_t total = 0;
  for (const FieldConflict& conflict : conflicts) total += conflict.owner.fields.Paths().size();
  std::string out =
      absl::StrCat("Apply failed with ", total, total == 1 ? " conflict: " : " conflicts: ");
  bool first = true;
  for (const FieldConflict& conflict : conflicts) {
    std::vector<FieldPath> paths = conflict.owner.fields.Paths();
    if (!first) out += "\n";
    first = false;
    if (paths.size() == 1) {
      absl::StrAppend(&out, "conflict with ", FormatOwner(conflict.owner), ": ",
                      FormatPath(paths[0]));
      continue;
    }
    absl::StrAppend(&out, "conflicts with ", FormatOwner(conflict.owner), ":");
    for (const FieldPath& path : paths) absl::StrAppend(&out, "\n- ", FormatPath(path));
  }
  return out;
}

}  // namespace nave::kubesim
