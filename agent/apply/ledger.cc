#include "agent/apply/ledger.h"

#include <utility>

namespace nave {

const InventoryEntry* InventoryLedger::Find(const ObjectKey& object) const {
  for (const Changes* changes : {&next_, &flying_}) {
    auto it = changes->find(object);
    if (it != changes->end()) return it->second ? &*it->second : nullptr;
  }
  const Inventory& stored = store_.inventory(key_);
  auto it = stored.find(object);
  return it == stored.end() ? nullptr : &it->second;
}

bool InventoryLedger::IsDurable(const ObjectKey& object) const {
  return store_.inventory(key_).contains(object);
}

void InventoryLedger::Put(InventoryEntry entry) {
  const InventoryEntry* present = Find(entry.key);
  if (present != nullptr && *present == entry) return;
  ObjectKey object = entry.key;
  next_[std::move(object)] = std::move(entry);
}

void InventoryLedger::Erase(const ObjectKey& object) {
  if (Find(object) != nullptr) next_[object] = std::nullopt;
}

const Inventory& InventoryLedger::View() const {
  const Inventory& stored = store_.inventory(key_);
  if (flying_.empty() && next_.empty()) return stored;
  merged_ = stored;
  for (const Changes* changes : {&flying_, &next_}) {
    for (const auto& [object, entry] : *changes) {
      if (entry) {
        merged_[object] = *entry;
      } else {
        merged_.erase(object);
      }
    }
  }
  return merged_;
}

bool InventoryLedger::IsEmpty() const {
  return flying_.empty() && next_.empty() ? store_.inventory(key_).empty() : View().empty();
}

size_t InventoryLedger::size() const {
  return flying_.empty() && next_.empty() ? store_.inventory(key_).size() : View().size();
}

void InventoryLedger::Flush(Done done) {
  next_done_.push_back(std::move(done));
  if (!writing_) Write();
}

void InventoryLedger::Write() {
  flying_done_ = std::exchange(next_done_, {});
  flying_ = std::exchange(next_, {});
  writing_ = true;
  if (flying_.empty()) {
    OnWritten(absl::OkStatus());
    return;
  }
  Inventory next = View();
  merged_.clear();
  store_.WriteInventory(key_, std::move(next),
                        [this, alive = std::weak_ptr<bool>(alive_)](absl::Status status) {
                          if (!alive.expired()) OnWritten(std::move(status));
                        });
}

void InventoryLedger::OnWritten(absl::Status status) {
  writing_ = false;
  if (!status.ok()) {
    // Newer changes of the same object win.
    for (auto& [object, entry] : flying_) next_.try_emplace(object, std::move(entry));
  }
  flying_.clear();
  std::vector<Done> done = std::exchange(flying_done_, {});
  std::weak_ptr<bool> alive = alive_;
  for (Done& each : done) {
    std::move(each)(status);
    if (alive.expired()) return;
  }
  if (!next_done_.empty() && !writing_) Write();
}

}  // namespace nave
