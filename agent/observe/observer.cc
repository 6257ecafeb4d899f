#include "agent/observe/observer.h"

#include <utility>

#include "agent/plan/marks.h"

namespace nave {

// One kind's informer, with what it told of before its first list was complete.
class Observer::KindWatch : public InformerHandler {
 public:
  KindWatch(Observer& observer, GroupKind kind, const ResourceType& type)
      : observer_(observer),
        kind_(std::move(kind)),
        informer_(observer.kube_, observer.executor_, OptionsFor(observer, type), *this) {
    informer_.Start();
  }

  const Informer& informer() const { return informer_; }

  void OnUpsert(Value object) override {
    if (!informer_.is_synced()) listed_.insert(KeyOf(object));
    observer_.callbacks_.on_object(object);
  }
  void OnDelete(Value object) override {
    const ObjectKey key = KeyOf(object);
    listed_.erase(key);
    observer_.callbacks_.on_gone(key);
  }
  void OnSynced() override {
    if (std::exchange(told_, true)) return;
    observer_.callbacks_.on_synced(kind_, std::exchange(listed_, {}));
  }
  void OnTrouble(const KubeError& error) override { observer_.callbacks_.on_trouble(kind_, error); }

 private:
  static InformerOptions OptionsFor(Observer& observer, const ResourceType& type) {
    InformerOptions options;
    options.type = type;
    options.label_selector = std::string(kAssignmentLabel);
    options.seed = observer.seed_++;
    return options;
  }

  Observer& observer_;
  const GroupKind kind_;
  std::set<ObjectKey> listed_;
  bool told_ = false;
  Informer informer_;
};

Observer::Observer(KubeClient& kube, Executor& executor, const Catalog& catalog, uint64_t seed,
                   Callbacks callbacks)
    : kube_(kube),
      executor_(executor),
      catalog_(catalog),
      seed_(seed),
      callbacks_(std::move(callbacks)) {}

Observer::~Observer() = default;

void Observer::SetKinds(const std::map<GroupKind, std::string>& kinds) {
  for (auto it = kinds_.begin(); it != kinds_.end();) {
    auto wanted = kinds.find(it->first);
    const ResourceType* type =
        wanted == kinds.end() ? nullptr
                              : catalog_.FindFor(it->first.first, it->first.second, wanted->second);
    // Another version is served under another address.
    const bool keep = type != nullptr && *type == it->second->informer().options().type;
    it = keep ? std::next(it) : kinds_.erase(it);
  }
  for (const auto& [kind, version] : kinds) {
    if (kinds_.contains(kind)) continue;
    const ResourceType* type = catalog_.FindFor(kind.first, kind.second, version);
    if (type == nullptr || !type->Can("list") || !type->Can("watch")) continue;
    kinds_[kind] = std::make_unique<KindWatch>(*this, kind, *type);
  }
}

bool Observer::IsSynced(const GroupKind& kind) const {
  auto it = kinds_.find(kind);
  return it != kinds_.end() && it->second->informer().is_synced();
}

std::optional<absl::Time> Observer::TroubleSince(const GroupKind& kind) const {
  auto it = kinds_.find(kind);
  if (it == kinds_.end()) return std::nullopt;
  return it->second->informer().TroubleSince();
}

}  // namespace nave
