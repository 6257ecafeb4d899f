#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "hub/store/sqlite_tables.h"

namespace nave {
namespace {

constexpr int64_t kApplicationId = 0x6e617665;  // "nave"

// Pages of 8 KiB hold three values of 2 KB, the size of a status summary; in pages of 4 KiB each
// would fill one alone.
constexpr char kCreateTables[] = R"(
BEGIN IMMEDIATE;
CREATE TABLE hist(id INTEGER PRIMARY KEY, prev INTEGER NOT NULL, created INTEGER NOT NULL,
                  lease INTEGER NOT NULL, key BLOB NOT NULL, value BLOB);
CREATE TABLE cur(key BLOB PRIMARY KEY, id INTEGER NOT NULL, created INTEGER NOT NULL,
                 lease INTEGER NOT NULL, deleted INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX cur_lease ON cur(lease) WHERE lease != 0;
CREATE TABLE lease(id INTEGER PRIMARY KEY, ttl_ms INTEGER NOT NULL);
CREATE TABLE state(one INTEGER PRIMARY KEY CHECK (one = 1), head INTEGER NOT NULL,
                   compacted INTEGER NOT NULL, swept INTEGER NOT NULL, opened INTEGER NOT NULL);
INSERT INTO state VALUES(1, 0, 0, 0, 0);
)";

absl::Status CheckPages(SqliteDb& db) {
  ASSIGN_OR_RETURN(std::string verdict, db.QueryText("PRAGMA quick_check(1)"));
  if (verdict == "ok") return absl::OkStatus();
  return MakeError(Reason::kStoreCorrupt, absl::StrCat("store: ", verdict));
}

}  // namespace

absl::Status PrepareSchema(SqliteDb& db, bool check_pages) {
  ASSIGN_OR_RETURN(int64_t tables, db.QueryInt("SELECT count(*) FROM sqlite_schema"));
  if (tables == 0) {
    absl::Status made =
        db.Execute(absl::StrCat(kCreateTables, "PRAGMA application_id=", kApplicationId,
                                ";PRAGMA user_version=", kSqliteSchemaVersion, ";COMMIT"));
    if (!made.ok()) db.Rollback();
    return made;
  }
  ASSIGN_OR_RETURN(int64_t application, db.QueryInt("PRAGMA application_id"));
  if (application != kApplicationId) {
    return MakeError(Reason::kStoreCorrupt, "store: the file is the database of another program");
  }
  ASSIGN_OR_RETURN(int64_t version, db.QueryInt("PRAGMA user_version"));
  if (version > kSqliteSchemaVersion) {
    return MakeError(Reason::kStoreTooNew,
                     absl::StrCat("store: want tables of version ", kSqliteSchemaVersion,
                                  " at most, got ", version));
  }
  return check_pages ? CheckPages(db) : absl::OkStatus();
}

absl::StatusOr<StoreState> ReadStoreState(SqliteDb& db) {
  ASSIGN_OR_RETURN(SqliteStatement statement,
                   db.Prepare("SELECT head, compacted, swept, opened FROM state WHERE one = 1"));
  ASSIGN_OR_RETURN(bool row, statement.Step());
  if (!row) return MakeError(Reason::kStoreCorrupt, "store: the row of its state is missing");
  return StoreState{
      static_cast<Revision>(statement.Int(0)), static_cast<Revision>(statement.Int(1)),
      static_cast<Revision>(statement.Int(2)), static_cast<uint64_t>(statement.Int(3))};
}

}  // namespace nave
