// SQLite behind values and absl::Status: connections, prepared statements, errors by reason.
#ifndef NAVE_HUB_STORE_SQLITE_DB_H_
#define NAVE_HUB_STORE_SQLITE_DB_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct sqlite3;
struct sqlite3_stmt;

namespace nave {

// The error of SQLite's extended result `code`; `system_errno` is the system call's, 0 if none.
// FULL → DISK_FULL, READONLY and refused opens → STORE_READ_ONLY, CORRUPT and NOTADB →
// STORE_CORRUPT, all others → STORE_UNAVAILABLE.
absl::Status SqliteError(int code, int system_errno, absl::string_view message);

// A prepared statement of one connection, which must outlive it. Not thread-safe.
// Use: Bind…, then Step until it answers false, then Reset (Run does all of that for statements
// without rows). Bound and read blobs are not copied: they must live until Reset, or until the next
// Step.
class SqliteStatement {
 public:
  SqliteStatement() = default;
  SqliteStatement(SqliteStatement&& other) noexcept;
  SqliteStatement& operator=(SqliteStatement&& other) noexcept;
  ~SqliteStatement();

  // Parameters and columns are numbered from 1 and from 0, as in SQLite.
  void BindInt(int parameter, int64_t value);
  void BindBlob(int parameter, absl::string_view value);
  void BindNull(int parameter);
  // Whether there is a row.
  absl::StatusOr<bool> Step();
  absl::Status Run();
  void Reset();
  int64_t Int(int column) const;
  absl::string_view Blob(int column) const;
  bool IsNull(int column) const;

 private:
  friend class SqliteDb;
  sqlite3_stmt* statement_ = nullptr;
};

// One connection. Not thread-safe: its user serialises calls.
class SqliteDb {
 public:
  struct Options {
    // ":memory:" for a database that ends with the connection.
    std::string path;
    // Name of a registered VFS; empty: the system's.
    std::string vfs;
    bool create = false;
    // May the file be opened without the right to write? If not: STORE_READ_ONLY.
    bool read_only = false;
    // Only what is in the file itself, without locks and without the log beside it. Needs
    // `read_only`.
    bool immutable = false;
  };
  static absl::StatusOr<std::unique_ptr<SqliteDb>> Open(const Options& options);
  ~SqliteDb();
  SqliteDb(const SqliteDb&) = delete;
  SqliteDb& operator=(const SqliteDb&) = delete;

  // Runs statements that answer nothing of interest.
  absl::Status Execute(const std::string& sql);
  // First column of the first row, as an integer or as text.
  absl::StatusOr<int64_t> QueryInt(const std::string& sql);
  absl::StatusOr<std::string> QueryText(const std::string& sql);
  absl::StatusOr<SqliteStatement> Prepare(absl::string_view sql);
  // Rolls back what is open; harmless when nothing is.
  void Rollback();

  // The whole database as one file's bytes, and its replacement by such bytes (in-memory
  // databases).
  absl::StatusOr<std::string> Serialize();
  absl::Status Deserialize(absl::string_view image);
  // A consistent copy as a new file.
  absl::Status CopyTo(absl::string_view path);

 private:
  explicit SqliteDb(sqlite3* db) : db_(db) {}
  absl::Status LastError();

  sqlite3* db_;
};

}  // namespace nave

#endif  // NAVE_HUB_STORE_SQLITE_DB_H_
