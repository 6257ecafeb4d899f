#include "agent/observe/observer.h"

#include "agent/plan/marks.h"

namespace nave {

Observer::Observer(KubeClient& kube, Executor& executor, const Catalog& catalog,
                   Callbacks callbacks)
    : kube_(kube), executor_(executor), catalog_(catalog), callbacks_(std::move(callbacks)) {}

void Observer::SetKinds(const std::map<GroupKind, std::string>& kinds) {
  for (auto it = kinds_.begin(); it != kinds_.end();) {
    auto wanted = kinds.find(it->first);
    const ResourceType* type =
        wanted == kinds.end()
            ? nullptr
            : catalog_.FindFor(it->first.first, it->first.second, wanted->second);
    // Another version is served under another address.
    const bool keep = type != nullptr && *type == it->second.watch->type();
    it = keep ? std::next(it) : kinds_.erase(it);
  }
  for (const auto& [kind, version] : kinds) {
    if (kinds_.contains(kind)) continue;
    const ResourceType* type = catalog_.FindFor(kind.first, kind.second, version);
    if (type == nullptr || !type->Can("list") || !type->Can("watch")) continue;
    kinds_[kind].watch = MakeWatch(kind, *type);
  }
}

std::unique_ptr<KindWatch> Observer::MakeWatch(const GroupKind& kind, const ResourceType& type) {
  KindWatch::Callbacks callbacks;
  callbacks.on_object = callbacks_.on_object;
  callbacks.on_gone = [this](const Value& last) { callbacks_.on_gone(KeyOf(last)); };
  callbacks.on_synced = [this, kind](const std::set<ObjectKey>& all) {
    kinds_[kind].synced = true;
    callbacks_.on_synced(kind, all);
  };
  callbacks.on_unserved = callbacks_.on_unserved;
  return std::make_unique<KindWatch>(kube_, executor_, type, "", std::string(kAssignmentLabel),
                                     std::move(callbacks));
}

bool Observer::IsSynced(const GroupKind& kind) const {
  auto it = kinds_.find(kind);
  return it != kinds_.end() && it->second.synced;
}

void Observer::Stop() { kinds_.clear(); }

}  // namespace nave
