// A DesiredStore without Secrets: what is durable survives the death of the one who wrote it.
#ifndef NAVE_TESTS_AGENT_APPLY_MEMORY_STORE_H_
#define NAVE_TESTS_AGENT_APPLY_MEMORY_STORE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "agent/desired/desired.h"
#include "common/runtime/executor.h"

namespace nave {

class MemoryStore : public DesiredStore {
 public:
  explicit MemoryStore(Executor& executor) : executor_(executor) {}

  // Set by tests: fails writes of inventories.
  absl::Status write_error;
  // Called at each write that becomes durable.
  std::function<void(const Uuid&, const Inventory&)> on_write;
  size_t inventory_writes = 0;

  // The writer died: what was on its way is lost, and nobody is told.
  void LoseWrites() { ++life_; }
  AgentState& mutable_state() { return state_; }
  void SetContent(const Uuid& key, DesiredContentPtr content) {
    contents_[key] = std::move(content);
  }
  Inventory& mutable_inventory(const Uuid& key) { return inventories_[key]; }
  void Forget(const Uuid& key) {
    state_.assignments.erase(key);
    contents_.erase(key);
    inventories_.erase(key);
  }

  void Load(std::string, absl::AnyInvocable<void(LoadOutcome) &&> done) override {
    executor_.Post([done = std::move(done)]() mutable { std::move(done)(LoadOutcome::kOk); });
  }
  const AgentState& state() const override { return state_; }
  const Inventory& inventory(const Uuid& key) const override {
    static const Inventory& none = *new Inventory;
    auto it = inventories_.find(key);
    return it == inventories_.end() ? none : it->second;
  }
  DesiredContentPtr content(const Uuid& key) const override {
    auto it = contents_.find(key);
    return it == contents_.end() ? nullptr : it->second;
  }
  bool HasObject(const Digest&) const override { return false; }
  DesiredContentPtr FindObject(const Digest&) const override { return nullptr; }
  void WriteContent(const Uuid& key, DesiredContentPtr content, Done done) override {
    contents_[key] = std::move(content);
    executor_.Post([done = std::move(done)]() mutable { std::move(done)(absl::OkStatus()); });
  }
  void AbandonContent(const Uuid&) override {}
  void Commit(AgentState next, Done done) override {
    state_ = std::move(next);
    executor_.Post([done = std::move(done)]() mutable { std::move(done)(absl::OkStatus()); });
  }
  void WriteInventory(const Uuid& key, Inventory next, Done done) override {
    executor_.PostAfter(absl::Milliseconds(2), [this, key, next = std::move(next), life = life_,
                                                done = std::move(done)]() mutable {
      if (life != life_) return;
      absl::Status status = write_error;
      if (status.ok() && !state_.assignments.contains(key)) {
        status = absl::NotFoundError("no such key");
      }
      if (status.ok()) {
        ++inventory_writes;
        if (on_write) on_write(key, next);
        inventories_[key] = std::move(next);
      }
      std::move(done)(std::move(status));
    });
  }

 private:
  Executor& executor_;
  AgentState state_;
  std::map<Uuid, DesiredContentPtr> contents_;
  std::map<Uuid, Inventory> inventories_;
  int life_ = 0;
};

}  // namespace nave

#endif  // NAVE_TESTS_AGENT_APPLY_MEMORY_STORE_H_
