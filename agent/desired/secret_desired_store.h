// DesiredStore in Secrets of the agent's namespace.
#ifndef NAVE_AGENT_DESIRED_SECRET_DESIRED_STORE_H_
#define NAVE_AGENT_DESIRED_SECRET_DESIRED_STORE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "agent/desired/desired.h"
#include "agent/desired/secret_writer.h"
#include "agent/desired/state_loader.h"
#include "agent/desired/stored.h"
#include "agent/kube/kube_client.h"
#include "common/runtime/executor.h"

namespace nave {

struct SecretStoreOptions {
  // Both must outlive the store.
  KubeClient* client = nullptr;
  Executor* executor = nullptr;
  std::string ns = "nave-system";
  // Names this process in what it writes: random, never used again.
  std::string writer;
  uint64_t seed = 1;
  // Between two writes of nave-state, which every agent of a fleet makes at the same moment.
  absl::Duration commit_interval = absl::Seconds(1);
  size_t part_bytes_max = kSecretPartBytesMax;
};

// As the contract says. Content is kept compressed in memory too. Two things of one key never
// happen at once.
class SecretDesiredStore final : public DesiredStore {
 public:
  explicit SecretDesiredStore(SecretStoreOptions options);
  ~SecretDesiredStore() override;

  void Load(std::string kube_system_uid, absl::AnyInvocable<void(LoadOutcome) &&> done) override;
  const AgentState& state() const override { return state_; }
  const Inventory& inventory(const Uuid& key) const override;
  void WriteContent(const Uuid& key, DesiredContentPtr content, Done done) override;
  void AbandonContent(const Uuid& key) override;
  void Commit(AgentState next, Done done) override;
  void WriteInventory(const Uuid& key, Inventory next, Done done) override;

  DesiredContentPtr content(const Uuid& key) const override;
  bool HasObject(const Digest& object) const override { return objects_.contains(object); }
  DesiredContentPtr FindObject(const Digest& object) const override;

  // Nothing is under way or waits. For tests.
  bool idle() const;

 private:
  // A content that is on the server, or on its way there.
  struct Held {
    StoredContent stored;
    // When its writer was told, by `clock_`; 0: not yet. A commit that was asked for later and does
    // not name it gives it up.
    uint64_t told_at = 0;
    bool abandoned = false;
  };
  struct Record {
    std::map<Digest, Held> contents;
    StoredInventory inventory;
    // The shards of another number that are written, for the next nave-state to name.
    std::vector<SecretRef> next_shards;
    std::deque<absl::AnyInvocable<void()>> queue;
    bool busy = false;
  };
  struct CommitOp {
    AgentState state;
    uint64_t asked_at = 0;
    std::vector<Done> dones;
    bool has_state = false;  // Else only the numbers of shards change.
  };
  struct ContentOp {
    Uuid key;
    Digest digest;
    std::vector<std::string> parts;
    Held held;
    Done done;
  };
  struct InventoryOp {
    Uuid key;
    Inventory next;
    std::vector<Inventory> shards;
    std::vector<SecretRef> refs;
    std::vector<Digest> written;
    size_t at = 0;
    // The commit that waits for it names the new shards.
    bool rebuild = false;
    Done done;
  };

  void OnLoaded(LoadedState loaded, absl::AnyInvocable<void(LoadOutcome) &&> done);
  void SweepNext();

  // The key's next task, after those before it; it must end with Next(key).
  void Enqueue(const Uuid& key, absl::AnyInvocable<void()> task);
  void RunNext(const Uuid& key);
  void Next(const Uuid& key);
  void DeleteAll(const Uuid& key, std::vector<SecretRef> refs);
  void DeleteOneByOne(const Uuid& key, std::shared_ptr<std::vector<SecretRef>> refs);

  void BeginContent(std::shared_ptr<ContentOp> op, const DesiredContent& content);
  void WritePart(std::shared_ptr<ContentOp> op);
  void WriteEmptyInventory(std::shared_ptr<ContentOp> op);
  void EndContent(const std::shared_ptr<ContentOp>& op, const absl::Status& status);
  void EraseContent(const Uuid& key, const Digest& digest);
  void AddObjects(const StoredContent& stored);
  void RemoveObjects(const StoredContent& stored);
  DesiredContentPtr Unpack(const Digest& digest, const StoredContent& stored) const;

  void BeginInventory(std::shared_ptr<InventoryOp> op);
  void WriteShard(std::shared_ptr<InventoryOp> op);
  void OnShardsWritten(std::shared_ptr<InventoryOp> op);
  void OnShardsNamed(const std::shared_ptr<InventoryOp>& op, const absl::Status& status);
  void EndInventory(const std::shared_ptr<InventoryOp>& op, const absl::Status& status);

  void PumpCommit();
  void WriteRebuiltInventories();
  void BeginRebuild(std::shared_ptr<InventoryOp> op);
  void WriteState();
  absl::Status FillShards(AgentState* state) const;
  void OnStateWritten(absl::StatusOr<SecretRef> written);
  void EndCommit(const absl::Status& status);
  void CollectGarbage(uint64_t asked_at);
  void CollectGarbageOf(const Uuid& key, uint64_t asked_at);
  bool IsNamed(const Uuid& key, const Digest& digest) const;

  // Notes a lost race for good.
  void NoteFence(const absl::Status& status);
  template <typename F>
  auto Guarded(F task);
  void PostDone(Done done, absl::Status status);

  const SecretStoreOptions options_;
  Executor& executor_;
  SecretWriter writer_;
  std::unique_ptr<StateLoader> loader_;

  AgentState state_;
  SecretRef state_ref_;
  std::map<Uuid, Record> records_;
  // How many of the contents that are held list an object.
  absl::flat_hash_map<Digest, uint32_t> objects_;
  // Made for a caller of this very task, who often asks again.
  mutable DesiredContentPtr recent_;

  uint64_t clock_ = 0;
  std::optional<CommitOp> waiting_;
  std::optional<CommitOp> running_;
  size_t rebuilding_ = 0;
  absl::Status rebuild_status_;
  absl::Time commit_after_ = absl::InfinitePast();
  TimerId commit_timer_ = 0;
  std::vector<SecretRef> unnamed_;
  bool sweeping_ = false;
  absl::Status fenced_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave

#endif  // NAVE_AGENT_DESIRED_SECRET_DESIRED_STORE_H_
