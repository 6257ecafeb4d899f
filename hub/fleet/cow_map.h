// A map whose copies share what did not change.
#ifndef NAVE_HUB_FLEET_COW_MAP_H_
#define NAVE_HUB_FLEET_COW_MAP_H_

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>

namespace nave {

// Uuid -> shared_ptr<const Value>, in 64 shards; a copy costs 64 pointers, a change copies one
// shard of its owner. Snapshots keep copies. Iteration is by shard, then by key: deterministic, but
// not sorted as a whole.
template <typename Key, typename Value>
class CowMap {
 public:
  using Pointer = std::shared_ptr<const Value>;

  // nullptr when absent.
  Pointer Find(const Key& key) const {
    const ShardPtr& shard = shards_[ShardOf(key)];
    if (shard == nullptr) return nullptr;
    auto it = shard->find(key);
    return it == shard->end() ? nullptr : it->second;
  }

  void Set(const Key& key, Pointer value) {
    auto [it, inserted] = Own(ShardOf(key))->insert_or_assign(key, std::move(value));
    if (inserted) ++size_;
  }

  void Erase(const Key& key) {
    if (Find(key) == nullptr) return;
    Own(ShardOf(key))->erase(key);
    --size_;
  }

  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const ShardPtr& shard : shards_) {
      if (shard == nullptr) continue;
      for (const auto& [key, value] : *shard) visit(key, *value);
    }
  }

  size_t size() const { return size_; }

 private:
  static constexpr size_t kShards = 64;
  using Shard = std::map<Key, Pointer>;
  using ShardPtr = std::shared_ptr<Shard>;

  // The last byte of a random uid is as good as a hash, and the same in every process.
  static size_t ShardOf(const Key& key) { return key.bytes.back() % kShards; }

  // A shard that no copy shares.
  Shard* Own(size_t index) {
    ShardPtr& shard = shards_[index];
    if (shard == nullptr) {
      shard = std::make_shared<Shard>();
    } else if (shard.use_count() > 1) {
      shard = std::make_shared<Shard>(*shard);
    }
    return shard.get();
  }

  std::array<ShardPtr, kShards> shards_;
  size_t size_ = 0;
};

}  // namespace nave

#endif  // NAVE_HUB_FLEET_COW_MAP_H_
