// The inventory of one key as it will be once everything that happened is written.
#ifndef NAVE_AGENT_APPLY_LEDGER_H_
#define NAVE_AGENT_APPLY_LEDGER_H_

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "agent/desired/desired.h"
#include "common/base/uuid.h"

namespace nave {

// Collects changes over what DesiredStore holds and writes them in one piece. Loop thread only;
// `store` outlives it.
class InventoryLedger {
 public:
  InventoryLedger(DesiredStore& store, const Uuid& key) : store_(store), key_(key) {}
  InventoryLedger(const InventoryLedger&) = delete;
  InventoryLedger& operator=(const InventoryLedger&) = delete;

  // With every change; nullptr when there is none. Valid until the next change or write.
  const InventoryEntry* Find(const ObjectKey& object) const;
  // Whether the entry is durable, in whatever state.
  bool IsDurable(const ObjectKey& object) const;
  // No change for an equal entry.
  void Put(InventoryEntry entry);
  void Erase(const ObjectKey& object);

  // The whole inventory with every change. Valid until the next change or write.
  const Inventory& View() const;
  bool IsEmpty() const;
  size_t size() const;
  // Whether something waits to be written.
  bool dirty() const { return !next_.empty(); }
  bool writing() const { return writing_; }

  // Writes what waits, after the write on its way if there is one. `done` runs when everything that
  // was put before this call is durable, or with the error of the first write that failed (what
  // waits then still waits).
  void Flush(absl::AnyInvocable<void(absl::Status) &&> done);

 private:
  using Changes = std::map<ObjectKey, std::optional<InventoryEntry>>;
  using Done = absl::AnyInvocable<void(absl::Status) &&>;

  void Write();
  void OnWritten(absl::Status status);

  DesiredStore& store_;
  const Uuid key_;
  Changes flying_;  // In the write on its way.
  Changes next_;
  bool writing_ = false;
  std::vector<Done> flying_done_;
  std::vector<Done> next_done_;
  mutable Inventory merged_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave

#endif  // NAVE_AGENT_APPLY_LEDGER_H_
