#include "hub/store/sqlite_engine.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/uuid.h"
#include "hub/store/limits.h"

namespace nave {
namespace {

// Rows that a batch sweeps beside its own work. Larger pieces touch fewer pages for each row.
constexpr size_t kSweepRows = 4000;
// Compaction by age moves in steps of at least so many revisions.
constexpr Revision kCompactStep = 256;
constexpr uint64_t kTicksPerContinuityCheck = 10;

uint64_t RandomNumber() {
  uint64_t number = 0;
  std::string bytes = RandomBytes(sizeof(number));
  std::memcpy(&number, bytes.data(), sizeof(number));
  // SQLite's integers are signed.
  return (number >> 1) | 1;
}

absl::Status NoLease(LeaseId lease) {
  return MakeError(Reason::kNotFound, absl::StrCat("lease ", lease, ": not known or run out"));
}

absl::Status SetUpConnection(SqliteDb& db, const SqliteStoreOptions& options) {
  RETURN_IF_ERROR(db.Execute("PRAGMA page_size = 8192"));
  // Nobody else may look at the file of an inline store, which then needs no shared memory beside
  // it.
  if (options.inline_mode) RETURN_IF_ERROR(db.Execute("PRAGMA locking_mode = EXCLUSIVE"));
  if (!options.path.empty()) {
    ASSIGN_OR_RETURN(std::string mode, db.QueryText("PRAGMA journal_mode = WAL"));
    if (mode != "wal") {
      return MakeError(Reason::kStoreUnavailable,
                       absl::StrCat("store: want journal mode wal, got ", mode));
    }
  }
  RETURN_IF_ERROR(
      db.Execute(absl::StrCat("PRAGMA wal_autocheckpoint = ", options.checkpoint_pages)));
  return db.Execute(
      "PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864;"
      "PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON");
}

}  // namespace

SqliteEngine::SqliteEngine(const SqliteStoreOptions& options) : options_(options) {}

absl::StatusOr<std::unique_ptr<SqliteEngine>> SqliteEngine::Open(
    const SqliteStoreOptions& options) {
  std::unique_ptr<SqliteEngine> engine(new SqliteEngine(options));
  RETURN_IF_ERROR(engine->OpenFile());
  ASSIGN_OR_RETURN(engine->writer_, StoreWriter::Make(*engine->db_));
  engine->opened_ = options.incarnation != 0 ? options.incarnation : RandomNumber();
  RETURN_IF_ERROR(engine->Transact([&] {
    engine->writer_->SetOpened(engine->opened_);
    return absl::OkStatus();
  }));
  RETURN_IF_ERROR(engine->MarkFile());
  // Ids of this process's leases never meet those of an earlier one.
  engine->next_lease_ = static_cast<LeaseId>((engine->opened_ & 0x3fffffff) << 32);
  RETURN_IF_ERROR(engine->LoadLeases());
  engine->head_ = engine->writer_->state().head;
  return engine;
}

absl::Status SqliteEngine::OpenFile() {
  if (has_file()) {
    bool exists = access(options_.path.c_str(), F_OK) == 0;
    if (!exists && !options_.create) {
      return MakeError(Reason::kNotFound, absl::StrCat("store: no file ", options_.path));
    }
    ASSIGN_OR_RETURN(guard_, FileGuard::Lock(options_.path));
  }
  SqliteDb::Options open{options_.path.empty() ? ":memory:" : options_.path, options_.vfs,
                         options_.create};
  ASSIGN_OR_RETURN(db_, SqliteDb::Open(open));
  if (!options_.image.empty()) RETURN_IF_ERROR(db_->Deserialize(options_.image));
  absl::Status ready = SetUpConnection(*db_, options_);
  if (ready.ok()) ready = PrepareSchema(*db_, options_.check_pages);
  if (!ready.ok()) return options_.path.empty() ? ready : Prepend(ready, options_.path);
  if (guard_ != nullptr) RETURN_IF_ERROR(guard_->Identify());
  bool shared = options_.path.empty() || options_.inline_mode;
  open.create = false;
  readers_ = shared ? std::make_unique<ReaderPool>(db_.get()) : std::make_unique<ReaderPool>(open);
  return absl::OkStatus();
}

absl::Status SqliteEngine::MarkFile() {
  if (guard_ == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(guard_->IdentifyLog());
  if (options_.inline_mode) return absl::OkStatus();
  RETURN_IF_ERROR(db_->Execute("PRAGMA wal_checkpoint(PASSIVE)"));
  ASSIGN_OR_RETURN(StoreState state, ReadFileWithoutLog());
  // Somebody else who reads the file may hold the move up; then this is as it was.
  file_marked_ = state.opened == opened_;
  file_head_ = state.head;
  return absl::OkStatus();
}

absl::Status SqliteEngine::LoadLeases() {
  ASSIGN_OR_RETURN(auto leases, writer_->ReadLeases());
  absl::Time now = options_.clock();
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [lease, ttl_ms] : leases) {
    absl::Duration ttl = absl::Milliseconds(ttl_ms);
    leases_[lease] = {ttl, now + ttl};
  }
  return absl::OkStatus();
}

absl::Status SqliteEngine::Alive() const {
  if (!went_back_.load()) return absl::OkStatus();
  std::lock_guard<std::mutex> lock(mutex_);
  return went_back_status_;
}

absl::Status SqliteEngine::ReportWentBack(absl::Status status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (went_back_.load()) return went_back_status_;
    went_back_status_ = status;
    went_back_.store(true);
  }
  LogError("store went back", {{"error", status.message()}});
  if (options_.on_went_back) options_.on_went_back(status);
  return status;
}

absl::Status SqliteEngine::CheckFile() {
  RETURN_IF_ERROR(Alive());
  if (guard_ == nullptr) return absl::OkStatus();
  absl::Status same = guard_->Check();
  return same.ok() ? same : ReportWentBack(std::move(same));
}

absl::Status SqliteEngine::CheckContinuity() {
  Revision seen = head();
  RETURN_IF_ERROR(CheckFile());
  // The one connection of an inline store locks all others out.
  if (guard_ == nullptr || options_.inline_mode) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::unique_ptr<SqliteDb> db, SqliteDb::Open({options_.path, "", false, true}));
  RETURN_IF_ERROR(CheckState(ReadStoreState(*db), seen));
  return CheckFileWithoutLog();
}

absl::StatusOr<StoreState> SqliteEngine::ReadFileWithoutLog() {
  ASSIGN_OR_RETURN(std::unique_ptr<SqliteDb> db,
                   SqliteDb::Open({options_.path, "", false, true, true}));
  return ReadStoreState(*db);
}

// A file that was written over while its log stayed has pages of two states, of which the log hides
// some.
absl::Status SqliteEngine::CheckFileWithoutLog() {
  std::lock_guard<std::mutex> lock(check_mutex_);
  if (!file_marked_) return absl::OkStatus();
  absl::StatusOr<StoreState> state = ReadFileWithoutLog();
  // Read without locks, maybe while it was written; what is wrong with it is so twice.
  if (!state.ok() || state->opened != opened_) state = ReadFileWithoutLog();
  if (!state.ok() && ErrorReason(state.status()) != "STORE_CORRUPT") return state.status();
  RETURN_IF_ERROR(CheckState(state, file_head_));
  file_head_ = state->head;
  return absl::OkStatus();
}

absl::Status SqliteEngine::CheckState(const absl::StatusOr<StoreState>& state, Revision seen) {
  if (state.ok() && state->opened == opened_ && state->head >= seen) return absl::OkStatus();
  if (!state.ok() && ErrorReason(state.status()) != "STORE_CORRUPT") return state.status();
  return ReportWentBack(MakeError(
      Reason::kStoreWentBack,
      !state.ok() || state->opened != opened_
          ? absl::StrCat("store: ", options_.path, " holds a state that this process did not write")
          : absl::StrCat("store: ", options_.path, " is at revision ", state->head,
                         ", this process has seen ", seen)));
}

absl::Status SqliteEngine::Transact(const std::function<absl::Status()>& change) {
  std::unique_lock<std::mutex> lock = readers_->WriterLock();
  absl::Status done = writer_->Begin();
  if (done.ok()) done = change();
  if (done.ok()) done = writer_->Commit();
  if (!done.ok()) writer_->Rollback();
  return done;
}

absl::Status SqliteEngine::CheckLeases(const Txn& txn) {
  for (const Write& write : txn.writes) {
    if (write.lease == 0 || !write.value.has_value()) continue;
    absl::Time now = options_.clock();
    std::lock_guard<std::mutex> lock(mutex_);
    auto it = leases_.find(write.lease);
    if (it == leases_.end() || it->second.expire_time <= now) return NoLease(write.lease);
  }
  return absl::OkStatus();
}

absl::Status SqliteEngine::CommitBatch(TxnRequest* begin, TxnRequest* end) {
  absl::Status done = Transact([&]() -> absl::Status {
    bool wrote = false;
    for (TxnRequest* request = begin; request != end; ++request) {
      absl::Status leases = CheckLeases(request->txn);
      if (!leases.ok()) {
        request->outcome = leases;
        request->applied = {};
        continue;
      }
      ASSIGN_OR_RETURN(request->applied, writer_->Apply(request->txn));
      request->outcome = request->applied.result;
      wrote = wrote || !request->applied.writes.empty();
    }
    // It costs no sync of its own here.
    return wrote && writer_->SweepIsDue() ? writer_->Sweep(kSweepRows) : absl::OkStatus();
  });
  if (done.ok()) {
    head_ = writer_->state().head;
    return done;
  }
  for (TxnRequest* request = begin; request != end; ++request) {
    request->outcome = done;
    request->applied = {};
  }
  return done;
}

void SqliteEngine::RunBatch(std::vector<TxnRequest>& batch) {
  absl::Status same = CheckFile();
  if (!same.ok()) {
    for (TxnRequest& request : batch) request.outcome = same;
    return;
  }
  absl::Status done = CommitBatch(batch.data(), batch.data() + batch.size());
  if (!done.ok() && batch.size() > 1) {
    for (TxnRequest& request : batch) CommitBatch(&request, &request + 1).IgnoreError();
  }
  PublishBatch(batch);
}

void SqliteEngine::PublishBatch(std::vector<TxnRequest>& batch) {
  std::vector<std::shared_ptr<const RevisionEvents>> revisions;
  for (TxnRequest& request : batch) {
    if (request.applied.writes.empty()) continue;
    auto events = std::make_shared<RevisionEvents>();
    events->revision = request.applied.result.revision;
    events->events.reserve(request.applied.writes.size());
    for (const AppliedWrite& applied : request.applied.writes) {
      Write& write = request.txn.writes[applied.index];
      WatchEvent event;
      event.kv.key = std::move(write.key);
      event.kv.mod_revision = events->revision;
      event.deleted = !write.value.has_value();
      if (!event.deleted) {
        event.kv.value = *std::move(write.value);
        event.kv.create_revision = applied.create_revision;
        event.kv.lease = write.lease;
      }
      events->bytes += event.kv.key.size() + event.kv.value.size();
      events->events.push_back(std::move(event));
    }
    bytes_written_ += events->bytes;
    revisions.push_back(std::move(events));
  }
  if (!revisions.empty() && publish_) publish_(std::move(revisions));
}

absl::StatusOr<LeaseId> SqliteEngine::GrantLease(absl::Duration ttl) {
  RETURN_IF_ERROR(CheckLeaseTtl(ttl));
  RETURN_IF_ERROR(CheckFile());
  LeaseId lease = ++next_lease_;
  RETURN_IF_ERROR(
      Transact([&] { return writer_->AddLease(lease, absl::ToInt64Milliseconds(ttl)); }));
  absl::Time now = options_.clock();
  std::lock_guard<std::mutex> lock(mutex_);
  leases_[lease] = {ttl, now + ttl};
  return lease;
}

absl::Status SqliteEngine::KeepLease(LeaseId lease) {
  RETURN_IF_ERROR(Alive());
  absl::Time now = options_.clock();
  std::lock_guard<std::mutex> lock(mutex_);
  auto it = leases_.find(lease);
  if (it == leases_.end() || it->second.expire_time <= now) return NoLease(lease);
  it->second.expire_time = now + it->second.ttl;
  return absl::OkStatus();
}

absl::Status SqliteEngine::RevokeLease(LeaseId lease) {
  RETURN_IF_ERROR(CheckFile());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (leases_.erase(lease) == 0) return NoLease(lease);
  }
  dying_leases_.insert(lease);
  RETURN_IF_ERROR(DropLease(lease));
  dying_leases_.erase(lease);
  return absl::OkStatus();
}

absl::Status SqliteEngine::DropLease(LeaseId lease) {
  while (true) {
    std::unique_lock<std::mutex> lock = readers_->WriterLock();
    absl::StatusOr<std::vector<std::string>> keys = writer_->ReadLeaseKeys(lease, kTxnWritesMax);
    if (lock.owns_lock()) lock.unlock();
    RETURN_IF_ERROR(keys.status());
    if (keys->empty()) break;
    std::vector<TxnRequest> batch(1);
    for (std::string& key : *keys) batch[0].txn.writes.push_back({std::move(key), std::nullopt, 0});
    RunBatch(batch);
    RETURN_IF_ERROR(batch[0].outcome.status());
  }
  return Transact([&] { return writer_->RemoveLease(lease); });
}

void SqliteEngine::DropDyingLeases() {
  absl::Time now = options_.clock();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = leases_.begin(); it != leases_.end();) {
      if (it->second.expire_time > now) {
        ++it;
        continue;
      }
      dying_leases_.insert(it->first);
      it = leases_.erase(it);
    }
  }
  for (auto it = dying_leases_.begin(); it != dying_leases_.end();) {
    absl::Status dropped = DropLease(*it);
    if (!dropped.ok()) {
      LogWarning("lease not removed", {{"lease", *it}, {"error", dropped.message()}});
      return;
    }
    it = dying_leases_.erase(it);
  }
}

absl::Status SqliteEngine::Compact(Revision revision) {
  RETURN_IF_ERROR(CheckFile());
  return Transact([&] {
    writer_->SetCompacted(revision);
    return absl::OkStatus();
  });
}

void SqliteEngine::CompactByAge() {
  if (options_.history_revisions == 0) return;
  absl::Time now = options_.clock();
  Revision head = writer_->state().head;
  if (marks_.empty() || marks_.back().head != head) marks_.push_back({now, head, bytes_written_});
  Revision target = 0;
  while (!marks_.empty() && (now - marks_.front().time >= options_.history_age ||
                             bytes_written_ - marks_.front().bytes > options_.history_bytes)) {
    target = marks_.front().head;
    // The newest mark stays: a head that does not move is marked once.
    if (marks_.size() == 1) break;
    marks_.pop_front();
  }
  if (head < options_.history_revisions) return;
  target = std::min(target, head - options_.history_revisions);
  if (target < writer_->state().compacted + kCompactStep) return;
  absl::Status done = Compact(target);
  if (!done.ok()) LogWarning("history not compacted", {{"error", done.message()}});
}

void SqliteEngine::Tick() {
  if (!CheckFile().ok()) return;
  DropDyingLeases();
  CompactByAge();
  if (++ticks_ % kTicksPerContinuityCheck != 0) return;
  absl::Status same = CheckContinuity();
  if (!same.ok()) LogWarning("store not checked", {{"error", same.message()}});
}

bool SqliteEngine::SweepSome() {
  if (!writer_->SweepIsDue() || !Alive().ok()) return false;
  absl::Status done = Transact([&] { return writer_->Sweep(kSweepRows); });
  if (!done.ok()) LogWarning("history not swept", {{"error", done.message()}});
  return done.ok() && writer_->SweepIsDue();
}

absl::Status SqliteEngine::CopyTo(absl::string_view path) {
  RETURN_IF_ERROR(CheckFile());
  {
    std::unique_lock<std::mutex> lock = readers_->WriterLock();
    RETURN_IF_ERROR(db_->CopyTo(path));
  }
  // Put in this file's place, the copy is known for one.
  ASSIGN_OR_RETURN(std::unique_ptr<SqliteDb> copy,
                   SqliteDb::Open({std::string(path), options_.vfs}));
  return copy->Execute("UPDATE state SET opened = 0");
}

absl::StatusOr<std::string> SqliteEngine::Serialize() {
  std::unique_lock<std::mutex> lock = readers_->WriterLock();
  return db_->Serialize();
}

}  // namespace nave
