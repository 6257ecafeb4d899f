#include "hub/store/sqlite_db.h"

#include <errno.h>
#include <sqlite3.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"

namespace nave {

absl::Status SqliteError(int code, int system_errno, absl::string_view message) {
  std::string text = absl::StrCat("store: ", message);
  if (system_errno != 0) absl::StrAppend(&text, " (", strerror(system_errno), ")");
  bool no_space = system_errno == ENOSPC || system_errno == EDQUOT;
  bool no_right = system_errno == EACCES || system_errno == EROFS || system_errno == EPERM;
  switch (code & 0xff) {
    case SQLITE_FULL:
      return MakeError(Reason::kDiskFull, text);
    case SQLITE_READONLY:
      return MakeError(Reason::kStoreReadOnly, text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return MakeError(Reason::kStoreCorrupt, text);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      if (no_space) return MakeError(Reason::kDiskFull, text);
      if (no_right) return MakeError(Reason::kStoreReadOnly, text);
      break;
    default:
      break;
  }
  return MakeError(Reason::kStoreUnavailable, text, {{"sqlite", absl::StrCat(code)}});
}

SqliteStatement::SqliteStatement(SqliteStatement&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)) {}

SqliteStatement& SqliteStatement::operator=(SqliteStatement&& other) noexcept {
  std::swap(statement_, other.statement_);
  return *this;
}

SqliteStatement::~SqliteStatement() { sqlite3_finalize(statement_); }

void SqliteStatement::BindInt(int parameter, int64_t value) {
  sqlite3_bind_int64(statement_, parameter, value);
}

void SqliteStatement::BindBlob(int parameter, absl::string_view value) {
  // A null pointer would bind NULL instead of an empty blob.
  const char* data = value.data() != nullptr ? value.data() : "";
  sqlite3_bind_blob64(statement_, parameter, data, value.size(), SQLITE_STATIC);
}

void SqliteStatement::BindNull(int parameter) { sqlite3_bind_null(statement_, parameter); }

absl::StatusOr<bool> SqliteStatement::Step() {
  int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  sqlite3* db = sqlite3_db_handle(statement_);
  return SqliteError(sqlite3_extended_errcode(db), sqlite3_system_errno(db), sqlite3_errmsg(db));
}

absl::Status SqliteStatement::Run() {
  absl::StatusOr<bool> row = Step();
  Reset();
  return row.status();
}

void SqliteStatement::Reset() { sqlite3_reset(statement_); }

int64_t SqliteStatement::Int(int column) const { return sqlite3_column_int64(statement_, column); }

absl::string_view SqliteStatement::Blob(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  size_t size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return absl::string_view(static_cast<const char*>(data), size);
}

bool SqliteStatement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

absl::StatusOr<std::unique_ptr<SqliteDb>> SqliteDb::Open(const Options& options) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_READWRITE;
  if (options.create) flags |= SQLITE_OPEN_CREATE;
  std::string path = options.path;
  if (options.immutable) {
    flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    path =
        absl::StrCat("file:", absl::StrReplaceAll(path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}}),
                     "?immutable=1");
  }
  sqlite3* handle = nullptr;
  int code = sqlite3_open_v2(path.c_str(), &handle, flags,
                             options.vfs.empty() ? nullptr : options.vfs.c_str());
  if (handle == nullptr) return MakeError(Reason::kStoreUnavailable, "store: out of memory");
  std::unique_ptr<SqliteDb> db(new SqliteDb(handle));
  if (code != SQLITE_OK) return Prepend(db->LastError(), options.path);
  // Checkpoints by us and copies by others hold locks for moments only.
  sqlite3_busy_timeout(handle, 5000);
  if (!options.read_only && sqlite3_db_readonly(handle, "main") == 1) {
    return MakeError(Reason::kStoreReadOnly,
                     absl::StrCat("store: ", options.path, " cannot be written"));
  }
  return db;
}

SqliteDb::~SqliteDb() { sqlite3_close_v2(db_); }

absl::Status SqliteDb::LastError() {
  return SqliteError(sqlite3_extended_errcode(db_), sqlite3_system_errno(db_), sqlite3_errmsg(db_));
}

absl::Status SqliteDb::Execute(const std::string& sql) {
  if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK)
    return absl::OkStatus();
  return LastError();
}

absl::StatusOr<int64_t> SqliteDb::QueryInt(const std::string& sql) {
  ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  ASSIGN_OR_RETURN(bool row, statement.Step());
  if (!row) return MakeError(Reason::kStoreCorrupt, absl::StrCat("store: no row for ", sql));
  return statement.Int(0);
}

absl::StatusOr<std::string> SqliteDb::QueryText(const std::string& sql) {
  ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  ASSIGN_OR_RETURN(bool row, statement.Step());
  if (!row) return MakeError(Reason::kStoreCorrupt, absl::StrCat("store: no row for ", sql));
  return std::string(statement.Blob(0));
}

absl::StatusOr<SqliteStatement> SqliteDb::Prepare(absl::string_view sql) {
  SqliteStatement statement;
  int code = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()),
                                SQLITE_PREPARE_PERSISTENT, &statement.statement_, nullptr);
  if (code != SQLITE_OK) return LastError();
  return statement;
}

void SqliteDb::Rollback() {
  if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

absl::StatusOr<std::string> SqliteDb::Serialize() {
  sqlite3_int64 size = 0;
  unsigned char* data = sqlite3_serialize(db_, "main", &size, 0);
  if (data == nullptr) return MakeError(Reason::kStoreUnavailable, "store: out of memory");
  std::string image(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
  sqlite3_free(data);
  return image;
}

absl::Status SqliteDb::Deserialize(absl::string_view image) {
  auto* data = static_cast<unsigned char*>(sqlite3_malloc64(image.size()));
  if (data == nullptr) return MakeError(Reason::kStoreUnavailable, "store: out of memory");
  std::memcpy(data, image.data(), image.size());
  // The database owns `data` from here, also when the call fails.
  int code = sqlite3_deserialize(db_, "main", data, static_cast<sqlite3_int64>(image.size()),
                                 static_cast<sqlite3_int64>(image.size()),
                                 SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  return code == SQLITE_OK ? absl::OkStatus() : LastError();
}

absl::Status SqliteDb::CopyTo(absl::string_view path) {
  ASSIGN_OR_RETURN(SqliteStatement statement, Prepare("VACUUM INTO ?1"));
  sqlite3_bind_text64(statement.statement_, 1, path.data(), path.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
  return statement.Run();
}

}  // namespace nave
