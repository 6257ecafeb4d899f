#include "tests/kubesim/store.h"

#include "absl/strings/str_cat.h"

namespace nave::kubesim {

ObjectPtr ObjectStore::Find(absl::string_view resource, const ObjectName& name) const {
  const ObjectMap& all = All(resource);
  auto it = all.find(name);
  return it == all.end() ? nullptr : it->second;
}

const ObjectMap& ObjectStore::All(absl::string_view resource) const {
  static const ObjectMap* const empty = new ObjectMap();
  auto it = objects_.find(resource);
  return it == objects_.end() ? *empty : it->second;
}

ObjectPtr ObjectStore::Put(absl::string_view resource, const ObjectName& name, Value object) {
  ++revision_;
  object["metadata"]["resourceVersion"] = Value(absl::StrCat(revision_));
  auto stored = std::make_shared<const Value>(std::move(object));
  ObjectPtr& slot = objects_[std::string(resource)][name];
  StoreEvent event{revision_, std::string(resource), name, slot, stored, nullptr};
  slot = stored;
  Record(std::move(event));
  return stored;
}

void ObjectStore::Erase(absl::string_view resource, const ObjectName& name) {
  auto all = objects_.find(resource);
  if (all == objects_.end()) return;
  auto it = all->second.find(name);
  if (it == all->second.end()) return;
  ++revision_;
  Value last = *it->second;
  last["metadata"]["resourceVersion"] = Value(absl::StrCat(revision_));
  StoreEvent event{revision_, std::string(resource),
                   name,      it->second,
                   nullptr,   std::make_shared<const Value>(std::move(last))};
  all->second.erase(it);
  Record(std::move(event));
}

void ObjectStore::Record(StoreEvent event) {
  history_.push_back(event);
  while (history_.size() > history_limit_) {
    compacted_ = history_.front().revision;
    history_.pop_front();
  }
  if (on_change) on_change(event);
}

std::optional<ObjectMap> ObjectStore::At(absl::string_view resource, int64_t revision) const {
  if (revision < compacted_) return std::nullopt;
  ObjectMap out = All(resource);
  for (auto event = history_.rbegin(); event != history_.rend(); ++event) {
    if (event->revision <= revision) break;
    if (event->resource != resource) continue;
    if (event->before == nullptr) {
      out.erase(event->name);
    } else {
      out[event->name] = event->before;
    }
  }
  return out;
}

void ObjectStore::VisitSince(int64_t revision,
                             const std::function<void(const StoreEvent&)>& visit) const {
  for (const StoreEvent& event : history_) {
    if (event.revision > revision) visit(event);
  }
}

void ObjectStore::Compact(int64_t revision) {
  if (revision > revision_) revision = revision_;
  if (revision > compacted_) compacted_ = revision;
  while (!history_.empty() && history_.front().revision <= compacted_) history_.pop_front();
}

}  // namespace nave::kubesim
