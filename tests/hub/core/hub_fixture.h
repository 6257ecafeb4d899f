// A hub without ports over a store in memory, moved by hand, and agents that say what a test makes
// them say.
#ifndef NAVE_TESTS_HUB_CORE_HUB_FIXTURE_H_
#define NAVE_TESTS_HUB_CORE_HUB_FIXTURE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/runtime/executor.h"
#include "hub/core/hub_core.h"
#include "hub/records/blobs.h"
#include "hub/records/record_store.h"
#include "hub/store/sqlite_store.h"

namespace nave {

class HubFixture;

// A store that can be made to answer no transaction for a while: they are carried out when it goes
// on.
class StallingStore : public Store {
 public:
  explicit StallingStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}
  void Stall() { stalled_ = true; }
  void GoOn();

  absl::StatusOr<KeyValue> Get(absl::string_view key) override { return store_->Get(key); }
  absl::StatusOr<RangePage> Range(absl::string_view prefix, absl::string_view after, size_t limit,
                                  Revision at) override {
    return store_->Range(prefix, after, limit, at);
  }
  void TxnAsync(Txn txn, TxnCallback done) override;
  absl::StatusOr<TxnResult> Commit(Txn txn) override { return store_->Commit(std::move(txn)); }
  std::unique_ptr<StoreWatch> Watch(absl::string_view prefix, Revision after,
                                    WatchCallback on_batch) override {
    return store_->Watch(prefix, after, std::move(on_batch));
  }
  absl::StatusOr<LeaseId> GrantLease(absl::Duration ttl) override {
    return store_->GrantLease(ttl);
  }
  absl::Status KeepLease(LeaseId lease) override { return store_->KeepLease(lease); }
  absl::Status RevokeLease(LeaseId lease) override { return store_->RevokeLease(lease); }
  absl::Status Compact(Revision revision) override { return store_->Compact(revision); }
  absl::StatusOr<Revision> Head() override { return store_->Head(); }

 private:
  const std::unique_ptr<Store> store_;
  bool stalled_ = false;
  std::vector<std::pair<Txn, TxnCallback>> waiting_;
};

// One agent's stream. Keeps what the hub wrote; writes complete when the executor runs.
class TestAgent : public AgentStream, public std::enable_shared_from_this<TestAgent> {
 public:
  TestAgent(HubFixture* hub, const Cluster& cluster, uint32_t generation);

  // Opens the stream and says Hello with what was committed before.
  void Dial();
  void Say(AgentFrame frame);
  void HangUp();

  // Whole last frame of a type; nullopt: none came.
  template <typename T>
  std::optional<T> Last() const {
    for (auto it = frames.rbegin(); it != frames.rend(); ++it) {
      if (const T* body = std::get_if<T>(&it->body)) return *body;
    }
    return std::nullopt;
  }
  // The newest batch, acknowledged: its keys are held from now on. False: there is none that was
  // not acknowledged yet.
  bool AcceptBatch();
  // A full status that says of every key held that it is applied and healthy, of removed ones that
  // they are gone.
  void ReportAll();

  void Write(HubFrame frame) override;
  void Close() override;

  PeerIdentity peer;
  Hello hello;
  std::vector<HubFrame> frames;
  std::map<Uuid, Upsert> held;
  std::map<Uuid, Tombstone> removing;
  bool closed = false;

 private:
  HubFixture* const hub_;
  StreamId id_ = 0;
  uint64_t acknowledged_ = 0;
  uint64_t seq_ = 0;
};

class HubFixture {
 public:
  // `image`: the content of a store, as Image() gave it; empty: a new one. `load`: its index is
  // loaded at once.
  explicit HubFixture(std::string image = "", bool load = true);
  ~HubFixture();

  // Runs what is due, and `by` more of time.
  void Run(absl::Duration by = absl::ZeroDuration());
  void Load();
  // The store as bytes.
  std::string Image();

  // An accepted cluster, as Enroll and accept leave it.
  Cluster AddCluster(const std::string& id);
  // A bundle of one ConfigMap for clusters by name; a new revision when it is there.
  void ApplyBundle(const std::string& id, const std::string& value,
                   const std::vector<std::string>& clusters);
  void DeleteBundle(const std::string& id);
  template <typename Record>
  void Put(const std::string& key, const Record& record) {
    RecordTxn txn;
    txn.Put(key, EncodeRecord(record));
    Commit(std::move(txn));
  }
  void Commit(RecordTxn txn);
  std::shared_ptr<TestAgent> MakeAgent(const Cluster& cluster, uint32_t generation = 1);
  std::optional<Cluster> FindCluster(const std::string& id);
  std::optional<Bundle> FindBundle(const std::string& id);

  ManualExecutor executor{absl::FromUnixSeconds(1800000000)};
  SqliteStore* store = nullptr;
  StallingStore* stalling = nullptr;
  std::unique_ptr<RecordStore> records;
  std::unique_ptr<BlobStore> blobs;
  std::unique_ptr<BlobReader> reader;
  std::unique_ptr<HubCore> core;
};

}  // namespace nave

#endif  // NAVE_TESTS_HUB_CORE_HUB_FIXTURE_H_
