// What etcd and the watch cache are to a real server: objects under one revision counter, and the
// history of changes.
#ifndef NAVE_TESTS_KUBESIM_STORE_H_
#define NAVE_TESTS_KUBESIM_STORE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave::kubesim {

using ObjectPtr = std::shared_ptr<const Value>;
// Namespace and name; the order of lists.
using ObjectName = std::pair<std::string, std::string>;
using ObjectMap = std::map<ObjectName, ObjectPtr>;

// One change. `before` is null for a creation, `after` for a deletion; `last` is what a DELETED
// event shows.
struct StoreEvent {
  int64_t revision = 0;
  std::string resource;  // "deployments.apps"
  ObjectName name;
  ObjectPtr before;
  ObjectPtr after;
  ObjectPtr last;
};

// Not thread-safe; deterministic.
class ObjectStore {
 public:
  // Events beyond `history` are forgotten, oldest first.
  explicit ObjectStore(size_t history) : history_limit_(history) {}

  int64_t revision() const { return revision_; }
  // Events up to and including this revision are gone.
  int64_t compacted() const { return compacted_; }
  ObjectPtr Find(absl::string_view resource, const ObjectName& name) const;
  // Everything of one resource; an empty map when there is nothing.
  const ObjectMap& All(absl::string_view resource) const;
  const std::map<std::string, ObjectMap, std::less<>>& resources() const { return objects_; }

  // Stores with the next revision as metadata.resourceVersion. Returns what was stored.
  ObjectPtr Put(absl::string_view resource, const ObjectName& name, Value object);
  void Erase(absl::string_view resource, const ObjectName& name);

  // The objects of `resource` as of `revision`; nullopt when that is compacted.
  std::optional<ObjectMap> At(absl::string_view resource, int64_t revision) const;
  // Calls `visit` for each change after `revision` in order. The revision must not be compacted.
  void VisitSince(int64_t revision, const std::function<void(const StoreEvent&)>& visit) const;
  void Compact(int64_t revision);

  // Called with each change right after it happened. May be empty.
  std::function<void(const StoreEvent&)> on_change;

 private:
  void Record(StoreEvent event);

  size_t history_limit_;
  int64_t revision_ = 1;
  int64_t compacted_ = 0;
  std::map<std::string, ObjectMap, std::less<>> objects_;
  std::deque<StoreEvent> history_;
};

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_STORE_H_
