#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "hub/store/limits.h"
#include "hub/store/sqlite_ids.h"
#include "hub/store/sqlite_tables.h"

namespace nave {
namespace {

absl::Status Compacted(Revision wanted, Revision compacted) {
  return MakeError(
      Reason::kRevisionCompacted,
      absl::StrCat("store: revision ", wanted, " is before ", compacted, ", the oldest one kept"),
      {{"compacted", absl::StrCat(compacted)}});
}

// Rolls a read transaction back to its end; statements of it that still have rows are reset first.
class ReadTransaction {
 public:
  ReadTransaction(SqliteDb& db, SqliteStatement& end) : db_(db), end_(end) {}
  ~ReadTransaction() {
    if (!end_.Run().ok()) db_.Rollback();
  }

 private:
  SqliteDb& db_;
  SqliteStatement& end_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StoreReader>> StoreReader::Make(SqliteDb& db) {
  std::unique_ptr<StoreReader> reader(new StoreReader(db));
  struct {
    SqliteStatement* statement;
    absl::string_view sql;
  } const statements[] = {
      {&reader->begin_, "BEGIN"},
      {&reader->end_, "COMMIT"},
      {&reader->state_, "SELECT head, compacted FROM state WHERE one = 1"},
      {&reader->get_,
       "SELECT hist.id, hist.created, hist.lease, hist.value FROM cur JOIN hist ON hist.id = "
       "cur.id "
       "WHERE cur.key = ?1 AND cur.deleted = 0"},
      {&reader->keys_,
       "SELECT key, id FROM cur WHERE key > ?1 AND key >= ?2 AND key < ?3 ORDER BY key"},
      {&reader->keys_open_, "SELECT key, id FROM cur WHERE key > ?1 AND key >= ?2 ORDER BY key"},
      {&reader->version_, "SELECT prev, created, lease, value FROM hist WHERE id = ?1"},
      {&reader->history_,
       "SELECT id, created, lease, key, value FROM hist WHERE id >= ?1 ORDER BY id"},
  };
  for (const auto& [statement, sql] : statements) {
    ASSIGN_OR_RETURN(*statement, db.Prepare(sql));
  }
  return reader;
}

absl::StatusOr<StoreState> StoreReader::ReadState() {
  ASSIGN_OR_RETURN(bool row, state_.Step());
  if (!row) return MakeError(Reason::kStoreCorrupt, "store: the row of its state is missing");
  StoreState state;
  state.head = static_cast<Revision>(state_.Int(0));
  state.compacted = static_cast<Revision>(state_.Int(1));
  state_.Reset();
  return state;
}

absl::StatusOr<KeyValue> StoreReader::Get(absl::string_view key) {
  get_.BindBlob(1, key);
  absl::StatusOr<bool> row = get_.Step();
  KeyValue kv;
  if (row.ok() && *row) {
    kv = {std::string(key), std::string(get_.Blob(3)), static_cast<Revision>(get_.Int(1)),
          RevisionOfId(get_.Int(0)), get_.Int(2)};
  }
  get_.Reset();
  RETURN_IF_ERROR(row.status());
  if (!*row) return MakeError(Reason::kNotFound, absl::StrCat("store: no key ", key));
  return kv;
}

absl::StatusOr<RangePage> StoreReader::Range(absl::string_view prefix, absl::string_view after,
                                             size_t limit, Revision at) {
  RETURN_IF_ERROR(begin_.Run());
  ReadTransaction transaction(db_, end_);
  absl::StatusOr<RangePage> page = RangeInTransaction(prefix, after, limit, at);
  state_.Reset();
  keys_.Reset();
  keys_open_.Reset();
  version_.Reset();
  return page;
}

absl::StatusOr<RangePage> StoreReader::RangeInTransaction(absl::string_view prefix,
                                                          absl::string_view after, size_t limit,
                                                          Revision at) {
  ASSIGN_OR_RETURN(StoreState state, ReadState());
  RangePage page;
  page.revision = at == 0 ? state.head : at;
  if (page.revision < state.compacted) return Compacted(at, state.compacted);
  if (page.revision > state.head) {
    return MakeError(Reason::kInvalidField, absl::StrCat("range: revision ", at,
                                                         " is after the newest one, ", state.head));
  }
  std::string end = PrefixEnd(prefix);
  SqliteStatement& keys = end.empty() ? keys_open_ : keys_;
  keys.BindBlob(1, after);
  keys.BindBlob(2, prefix);
  if (!end.empty()) keys.BindBlob(3, end);
  size_t bytes = 0;
  while (true) {
    ASSIGN_OR_RETURN(bool row, keys.Step());
    if (!row) return page;
    KeyValue kv;
    ASSIGN_OR_RETURN(bool existed, ReadVersion(keys.Int(1), LastIdOf(page.revision), &kv));
    if (!existed) continue;
    kv.key = std::string(keys.Blob(0));
    bytes += kv.key.size() + kv.value.size();
    bool full = (limit != 0 && page.items.size() == limit) || bytes > kRangePageBytesMax;
    if (full && !page.items.empty()) {
      page.more = true;
      return page;
    }
    page.items.push_back(std::move(kv));
  }
}

absl::StatusOr<bool> StoreReader::ReadVersion(int64_t id, int64_t last_id, KeyValue* kv) {
  while (id != 0) {
    version_.Reset();
    version_.BindInt(1, id);
    ASSIGN_OR_RETURN(bool row, version_.Step());
    // Swept: nothing readable needs it, so at this revision the key did not exist.
    if (!row) return false;
    if (id <= last_id) {
      if (version_.IsNull(3)) return false;
      kv->create_revision = static_cast<Revision>(version_.Int(1));
      kv->mod_revision = RevisionOfId(id);
      kv->lease = version_.Int(2);
      kv->value = std::string(version_.Blob(3));
      return true;
    }
    id = version_.Int(0);
  }
  return false;
}

absl::StatusOr<HistoryPage> StoreReader::History(absl::string_view prefix, Revision after,
                                                 size_t bytes_max, size_t rows_max) {
  RETURN_IF_ERROR(begin_.Run());
  ReadTransaction transaction(db_, end_);
  absl::StatusOr<HistoryPage> page = HistoryInTransaction(prefix, after, bytes_max, rows_max);
  state_.Reset();
  history_.Reset();
  return page;
}

absl::StatusOr<HistoryPage> StoreReader::HistoryInTransaction(absl::string_view prefix,
                                                              Revision after, size_t bytes_max,
                                                              size_t rows_max) {
  ASSIGN_OR_RETURN(StoreState state, ReadState());
  if (after < state.compacted) return Compacted(after, state.compacted);
  HistoryPage page;
  page.through = state.head;
  history_.BindInt(1, FirstIdOf(after + 1));
  size_t bytes = 0;
  size_t rows = 0;
  Revision last = after;
  while (true) {
    ASSIGN_OR_RETURN(bool row, history_.Step());
    if (!row) return page;
    Revision revision = RevisionOfId(history_.Int(0));
    if (revision != last && (bytes >= bytes_max || rows >= rows_max)) {
      page.through = last;
      return page;
    }
    last = revision;
    ++rows;
    absl::string_view key = history_.Blob(3);
    if (!absl::StartsWith(key, prefix)) continue;
    WatchEvent event;
    event.kv.key = std::string(key);
    event.kv.mod_revision = revision;
    event.deleted = history_.IsNull(4);
    if (!event.deleted) {
      event.kv.create_revision = static_cast<Revision>(history_.Int(1));
      event.kv.lease = history_.Int(2);
      event.kv.value = std::string(history_.Blob(4));
    }
    bytes += event.kv.key.size() + event.kv.value.size();
    page.events.push_back(std::move(event));
  }
}

}  // namespace nave
