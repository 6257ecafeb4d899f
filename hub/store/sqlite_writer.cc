#include <algorithm>
#include <utility>

#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "hub/store/sqlite_ids.h"
#include "hub/store/sqlite_tables.h"

namespace nave {

absl::StatusOr<std::unique_ptr<StoreWriter>> StoreWriter::Make(SqliteDb& db) {
  std::unique_ptr<StoreWriter> writer(new StoreWriter(db));
  RETURN_IF_ERROR(writer->PrepareAll());
  ASSIGN_OR_RETURN(writer->state_, ReadStoreState(db));
  writer->stored_ = writer->state_;
  return writer;
}

absl::Status StoreWriter::PrepareAll() {
  struct {
    SqliteStatement* statement;
    absl::string_view sql;
  } const statements[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&find_, "SELECT id, created, deleted FROM cur WHERE key = ?1"},
      {&append_,
       "INSERT INTO hist(id, prev, created, lease, key, value) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"},
      {&set_cur_,
       "INSERT INTO cur(key, id, created, lease, deleted) VALUES(?1, ?2, ?3, ?4, ?5) ON "
       "CONFLICT(key) "
       "DO UPDATE SET id = ?2, created = ?3, lease = ?4, deleted = ?5"},
      {&set_state_,
       "UPDATE state SET head = ?1, compacted = ?2, swept = ?3, opened = ?4 WHERE one = 1"},
      {&swept_rows_,
       "SELECT id, prev, value IS NULL, key FROM hist WHERE id BETWEEN ?1 AND ?2 ORDER BY id"},
      {&drop_row_, "DELETE FROM hist WHERE id = ?1"},
      {&drop_cur_, "DELETE FROM cur WHERE key = ?1 AND id = ?2"},
      {&add_lease_, "INSERT INTO lease(id, ttl_ms) VALUES(?1, ?2)"},
      {&remove_lease_, "DELETE FROM lease WHERE id = ?1"},
      {&lease_keys_, "SELECT key FROM cur WHERE lease = ?1 AND lease != 0 LIMIT ?2"},
  };
  for (const auto& [statement, sql] : statements) {
    ASSIGN_OR_RETURN(*statement, db_.Prepare(sql));
  }
  return absl::OkStatus();
}

absl::Status StoreWriter::Begin() { return begin_.Run(); }

absl::Status StoreWriter::Commit() {
  RETURN_IF_ERROR(PutState());
  RETURN_IF_ERROR(commit_.Run());
  stored_ = state_;
  return absl::OkStatus();
}

void StoreWriter::Rollback() {
  db_.Rollback();
  state_ = stored_;
}

absl::Status StoreWriter::PutState() {
  bool same = state_.head == stored_.head && state_.compacted == stored_.compacted &&
              state_.swept == stored_.swept && state_.opened == stored_.opened;
  if (same) return absl::OkStatus();
  set_state_.BindInt(1, static_cast<int64_t>(state_.head));
  set_state_.BindInt(2, static_cast<int64_t>(state_.compacted));
  set_state_.BindInt(3, static_cast<int64_t>(state_.swept));
  set_state_.BindInt(4, static_cast<int64_t>(state_.opened));
  return set_state_.Run();
}

absl::StatusOr<bool> StoreWriter::ComparesHold(const Txn& txn) {
  for (const Compare& compare : txn.compares) {
    find_.BindBlob(1, compare.key);
    absl::StatusOr<bool> row = find_.Step();
    bool exists = row.ok() && *row && find_.Int(2) == 0;
    Revision revision = exists ? RevisionOfId(find_.Int(0)) : 0;
    find_.Reset();
    RETURN_IF_ERROR(row.status());
    if (revision != compare.mod_revision) return false;
  }
  return true;
}

absl::StatusOr<AppliedTxn> StoreWriter::Apply(const Txn& txn) {
  AppliedTxn applied;
  applied.result.revision = state_.head;
  ASSIGN_OR_RETURN(applied.result.succeeded, ComparesHold(txn));
  if (!applied.result.succeeded) return applied;
  Revision revision = state_.head + 1;
  applied.writes.reserve(txn.writes.size());
  for (size_t i = 0; i < txn.writes.size(); ++i) {
    bool changed = false;
    AppliedWrite write{i, 0};
    RETURN_IF_ERROR(ApplyWrite(txn.writes[i], FirstIdOf(revision) + static_cast<int64_t>(i),
                               &changed, &write.create_revision));
    if (changed) applied.writes.push_back(write);
  }
  if (applied.writes.empty()) return applied;
  state_.head = revision;
  applied.result.revision = revision;
  return applied;
}

absl::Status StoreWriter::ApplyWrite(const Write& write, int64_t id, bool* changed,
                                     Revision* create_revision) {
  find_.BindBlob(1, write.key);
  absl::StatusOr<bool> row = find_.Step();
  bool known = row.ok() && *row;
  int64_t prev = known ? find_.Int(0) : 0;
  int64_t created = known ? find_.Int(1) : 0;
  bool exists = known && find_.Int(2) == 0;
  find_.Reset();
  RETURN_IF_ERROR(row.status());
  bool deletion = !write.value.has_value();
  if (deletion && !exists) return absl::OkStatus();
  if (!exists) created = static_cast<int64_t>(RevisionOfId(id));
  LeaseId lease = deletion ? 0 : write.lease;

  append_.BindInt(1, id);
  append_.BindInt(2, prev);
  append_.BindInt(3, created);
  append_.BindInt(4, lease);
  append_.BindBlob(5, write.key);
  if (deletion) {
    append_.BindNull(6);
  } else {
    append_.BindBlob(6, *write.value);
  }
  RETURN_IF_ERROR(append_.Run());
  set_cur_.BindBlob(1, write.key);
  set_cur_.BindInt(2, id);
  set_cur_.BindInt(3, created);
  set_cur_.BindInt(4, lease);
  set_cur_.BindInt(5, deletion ? 1 : 0);
  *changed = true;
  *create_revision = static_cast<Revision>(created);
  return set_cur_.Run();
}

void StoreWriter::SetCompacted(Revision revision) {
  state_.compacted = std::max(state_.compacted, std::min(revision, state_.head));
}

// A row is superseded when its key has a newer change up to `compacted`; each such newer change
// names it as prev. A deletion is itself of no use there.
absl::Status StoreWriter::Sweep(size_t rows_max) {
  // Read first, delete then: a cursor over rows that vanish is no fun to reason about.
  struct Row {
    int64_t id, prev;
    bool deletion;
    std::string key;
  };
  std::vector<Row> rows;
  Revision through = state_.compacted;
  swept_rows_.BindInt(1, FirstIdOf(state_.swept + 1));
  swept_rows_.BindInt(2, LastIdOf(state_.compacted));
  while (true) {
    absl::StatusOr<bool> row = swept_rows_.Step();
    if (!row.ok()) swept_rows_.Reset();
    RETURN_IF_ERROR(row.status());
    if (!*row) break;
    int64_t id = swept_rows_.Int(0);
    bool new_revision = rows.empty() || RevisionOfId(rows.back().id) != RevisionOfId(id);
    if (rows.size() >= rows_max && new_revision) {
      through = RevisionOfId(rows.back().id);
      break;
    }
    bool deletion = swept_rows_.Int(2) != 0;
    rows.push_back({id, swept_rows_.Int(1), deletion,
                    deletion ? std::string(swept_rows_.Blob(3)) : std::string()});
  }
  swept_rows_.Reset();
  for (const Row& row : rows) {
    if (row.prev != 0) {
      drop_row_.BindInt(1, row.prev);
      RETURN_IF_ERROR(drop_row_.Run());
    }
    if (!row.deletion) continue;
    drop_row_.BindInt(1, row.id);
    RETURN_IF_ERROR(drop_row_.Run());
    drop_cur_.BindBlob(1, row.key);
    drop_cur_.BindInt(2, row.id);
    RETURN_IF_ERROR(drop_cur_.Run());
  }
  state_.swept = through;
  return absl::OkStatus();
}

absl::Status StoreWriter::AddLease(LeaseId lease, int64_t ttl_ms) {
  add_lease_.BindInt(1, lease);
  add_lease_.BindInt(2, ttl_ms);
  return add_lease_.Run();
}

absl::Status StoreWriter::RemoveLease(LeaseId lease) {
  remove_lease_.BindInt(1, lease);
  return remove_lease_.Run();
}

absl::StatusOr<std::vector<std::pair<LeaseId, int64_t>>> StoreWriter::ReadLeases() {
  ASSIGN_OR_RETURN(SqliteStatement leases, db_.Prepare("SELECT id, ttl_ms FROM lease"));
  std::vector<std::pair<LeaseId, int64_t>> result;
  while (true) {
    ASSIGN_OR_RETURN(bool row, leases.Step());
    if (!row) return result;
    result.emplace_back(leases.Int(0), leases.Int(1));
  }
}

absl::StatusOr<std::vector<std::string>> StoreWriter::ReadLeaseKeys(LeaseId lease, size_t limit) {
  lease_keys_.BindInt(1, lease);
  lease_keys_.BindInt(2, static_cast<int64_t>(limit));
  std::vector<std::string> keys;
  absl::StatusOr<bool> row = lease_keys_.Step();
  for (; row.ok() && *row; row = lease_keys_.Step()) keys.emplace_back(lease_keys_.Blob(0));
  lease_keys_.Reset();
  RETURN_IF_ERROR(row.status());
  return keys;
}

}  // namespace nave
