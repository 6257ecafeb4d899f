#include "hub/core/record_ports.h"

#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "hub/records/keys.h"

namespace nave {
namespace {

uint64_t RevisionOf(const auto& found) { return found.has_value() ? found->mod_revision : 0; }

class RecordSessionStore : public SessionStore {
 public:
  explicit RecordSessionStore(RecordStore* records) : records_(records) {}

  absl::StatusOr<AdmissionRecords> ReadRecords(const Uuid& cluster) override {
    AdmissionRecords read;
    ASSIGN_OR_RETURN(read.session, FindRecord<SessionRecord>(*records_, SessionKey(cluster)));
    ASSIGN_OR_RETURN(read.retired, FindRecord<RetiredRecord>(*records_, RetiredKey(cluster)));
    ASSIGN_OR_RETURN(read.cluster, FindCluster(*records_, cluster));
    return read;
  }

  absl::StatusOr<uint64_t> ReadHead() override { return records_->HeadRevision(); }

  void CommitSession(const SessionRecord& session, const std::optional<Cluster>& cluster,
                     const AdmissionRecords& read, CommitCallback done) override {
    RecordTxn txn;
    txn.Compare(SessionKey(session.cluster), RevisionOf(read.session));
    txn.Compare(ClusterKey(read.cluster->value.id), RevisionOf(read.cluster));
    txn.Put(SessionKey(session.cluster), EncodeRecord(session));
    if (cluster.has_value()) txn.Put(ClusterKey(cluster->id), EncodeRecord(*cluster));
    records_->CommitAsync(std::move(txn), std::move(done));
  }

  void CommitStatuses(std::vector<StatusWrite> batch, CommitCallback done) override {
    RecordTxn txn;
    for (const StatusWrite& write : batch) {
      txn.Compare(SessionKey(write.cluster), write.session_revision);
      txn.Put(StatusKey(write.cluster), EncodeRecord(write.summary));
      for (const auto& [bundle, revision] : write.tombstones_done) {
        txn.Compare(TombstoneKey(write.cluster, bundle), revision);
        txn.Delete(TombstoneKey(write.cluster, bundle));
      }
    }
    records_->CommitAsync(std::move(txn), std::move(done));
  }

  void CommitLock(const Cluster& cluster, uint64_t revision, bool locked,
                  CommitCallback done) override {
    Cluster next = cluster;
    next.status.locked = locked;
    RecordTxn txn;
    txn.Compare(ClusterKey(cluster.id), revision);
    txn.Put(ClusterKey(cluster.id), EncodeRecord(next));
    records_->CommitAsync(std::move(txn), std::move(done));
  }

 private:
  RecordStore* const records_;
};

class RecordControlStore : public ControlStore {
 public:
  explicit RecordControlStore(RecordStore* records) : records_(records) {}

  absl::StatusOr<std::optional<uint64_t>> Commit(ControlTxn txn) override {
    return records_->Commit(ToRecordTxn(std::move(txn)));
  }

 private:
  RecordStore* const records_;
};

}  // namespace

RecordTxn ToRecordTxn(ControlTxn txn) {
  RecordTxn converted;
  for (auto& [key, revision] : txn.compares) converted.Compare(std::move(key), revision);
  for (auto& [key, bytes] : txn.puts) converted.Put(std::move(key), std::move(bytes));
  for (std::string& key : txn.deletes) converted.Delete(std::move(key));
  converted.events = std::move(txn.events);
  converted.audit = std::move(txn.audit);
  return converted;
}

std::unique_ptr<SessionStore> MakeSessionStore(RecordStore* records) {
  return std::make_unique<RecordSessionStore>(records);
}

std::unique_ptr<ControlStore> MakeControlStore(RecordStore* records) {
  return std::make_unique<RecordControlStore>(records);
}

absl::StatusOr<std::optional<Versioned<Cluster>>> FindCluster(const RecordStore& records,
                                                              const Uuid& cluster) {
  absl::StatusOr<KeyValue> name = records.Get(ByUidKey(UidKind::kCluster, cluster));
  if (absl::IsNotFound(name.status())) return std::optional<Versioned<Cluster>>();
  if (!name.ok()) return name.status();
  ASSIGN_OR_RETURN(std::string id, DecodeText(name->value));
  ASSIGN_OR_RETURN(std::optional<Versioned<Cluster>> found,
                   FindRecord<Cluster>(records, ClusterKey(id)));
  // The name was given to another one meanwhile.
  if (found.has_value() && found->value.meta.uid != cluster) found.reset();
  return found;
}

}  // namespace nave
