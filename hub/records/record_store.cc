#include "hub/records/record_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"

namespace nave {
namespace {

// The hub's history: agents that last called longer ago than so many starts hold.
constexpr size_t kTermsMax = 10000;
// Of those over, so many go with one new term.
constexpr size_t kTermsDroppedMax = 50;
constexpr int kBeginTermTries = 20;
// Numbers of one term's events, below those of the next.
constexpr int kTermNumberShift = 40;

absl::StatusOr<std::optional<KeyValue>> Find(Store& store, absl::string_view key) {
  absl::StatusOr<KeyValue> found = store.Get(key);
  if (found.ok()) return std::optional<KeyValue>(*std::move(found));
  if (absl::IsNotFound(found.status())) return std::optional<KeyValue>();
  return found.status();
}

Revision ModRevision(const std::optional<KeyValue>& kv) {
  return kv.has_value() ? kv->mod_revision : 0;
}

absl::StatusOr<std::string> RequireText(Store& store, absl::string_view key) {
  ASSIGN_OR_RETURN(std::optional<KeyValue> found, Find(store, key));
  if (!found.has_value())
    return MakeError(Reason::kStoreCorrupt, absl::StrCat("store: ", key, " is missing"));
  absl::StatusOr<std::string> text = DecodeText(found->value);
  if (!text.ok()) return Prepend(text.status(), key);
  return text;
}

absl::Status HeadMissing() {
  return MakeError(Reason::kStoreCorrupt, absl::StrCat("store: ", kHeadKey, " is missing"));
}

absl::Status CheckSchema(const KeyValue& schema) {
  absl::StatusOr<SchemaRecord> record = DecodeRecord<SchemaRecord>(schema.value);
  if (!record.ok()) return Prepend(record.status(), schema.key);
  if (record->format <= kStoreFormat) return absl::OkStatus();
  return MakeError(Reason::kStoreTooNew,
                   absl::StrCat("store: want format ", kStoreFormat, " at most, got ",
                                record->format, ", made by version ", record->written_by),
                   {{"format", absl::StrCat(record->format)}, {"written_by", record->written_by}});
}

absl::Status CheckFeatureLevel(Store& store) {
  ASSIGN_OR_RETURN(std::string level, RequireText(store, kFeatureLevelKey));
  if (level == absl::StrCat(kFeatureLevel)) return absl::OkStatus();
  return MakeError(Reason::kFeatureLevelUnsupported,
                   absl::StrCat("store: want feature level ", kFeatureLevel, ", got ", level),
                   {{"level", level}});
}

// An offset means that the store was moved here by a hub that can do so, which this one cannot.
absl::Status CheckOffset(Store& store) {
  ASSIGN_OR_RETURN(std::optional<KeyValue> offset, Find(store, kOffsetKey));
  if (!offset.has_value()) return absl::OkStatus();
  return MakeError(Reason::kStoreTooNew, "store: want no offset of revisions, it has one");
}

absl::Status CheckHubId(Store& store, const std::string& hub_id) {
  ASSIGN_OR_RETURN(std::string stored, RequireText(store, kHubKey));
  if (stored == hub_id) return absl::OkStatus();
  return MakeError(Reason::kHubIdMismatch,
                   absl::StrCat("store: want one of hub ", hub_id, ", got one of hub ", stored),
                   {{"want", hub_id}, {"got", stored}});
}

// Not OK: a store without schema that holds something is not ours to fill.
absl::Status CheckEmpty(Store& store) {
  ASSIGN_OR_RETURN(RangePage page, store.Range(kStorePrefix, "", 1, 0));
  if (page.items.empty()) return absl::OkStatus();
  return MakeError(
      Reason::kStoreCorrupt,
      absl::StrCat("store: ", kSchemaKey, " is missing, yet there is ", page.items[0].key));
}

absl::StatusOr<std::vector<TermRecord>> ReadTerms(Store& store) {
  std::vector<TermRecord> terms;
  RETURN_IF_ERROR(
      ForEachRecord(store, KindPrefix(KeyKind::kTerm), 0, [&](const KeyValue& kv) -> absl::Status {
        absl::StatusOr<TermRecord> term = DecodeRecord<TermRecord>(kv.value);
        if (!term.ok()) return Prepend(term.status(), kv.key);
        terms.push_back(*std::move(term));
        return absl::OkStatus();
      }));
  return terms;
}

}  // namespace

absl::Status ForEachRecord(Store& store, absl::string_view prefix, Revision at,
                           const std::function<absl::Status(const KeyValue&)>& on_item) {
  std::string after;
  while (true) {
    ASSIGN_OR_RETURN(RangePage page, store.Range(prefix, after, 0, at));
    for (const KeyValue& kv : page.items) RETURN_IF_ERROR(on_item(kv));
    if (!page.more || page.items.empty()) return absl::OkStatus();
    after = page.items.back().key;
    at = page.revision;
  }
}

absl::StatusOr<std::optional<std::string>> ReadStoreHubId(Store& store) {
  ASSIGN_OR_RETURN(std::optional<KeyValue> schema, Find(store, kSchemaKey));
  if (!schema.has_value()) {
    RETURN_IF_ERROR(CheckEmpty(store));
    return std::optional<std::string>();
  }
  RETURN_IF_ERROR(CheckSchema(*schema));
  ASSIGN_OR_RETURN(std::string hub_id, RequireText(store, kHubKey));
  return std::optional<std::string>(std::move(hub_id));
}

absl::StatusOr<std::unique_ptr<RecordStore>> RecordStore::Open(std::unique_ptr<Store> store,
                                                               RecordStoreOptions options) {
  std::unique_ptr<RecordStore> opened(new RecordStore(std::move(store), std::move(options)));
  RETURN_IF_ERROR(opened->BeginTerm());
  return opened;
}

absl::Status RecordStore::BeginTerm() {
  for (int i = 0; i < kBeginTermTries; ++i) {
    ASSIGN_OR_RETURN(bool begun, TryBeginTerm());
    if (begun) return absl::OkStatus();
  }
  return MakeError(Reason::kStoreUnavailable,
                   "store: other hub processes begin terms all the time");
}

absl::StatusOr<bool> RecordStore::TryBeginTerm() {
  ASSIGN_OR_RETURN(std::optional<KeyValue> schema, Find(*store_, kSchemaKey));
  ASSIGN_OR_RETURN(std::optional<KeyValue> head, Find(*store_, kHeadKey));
  if (schema.has_value()) {
    RETURN_IF_ERROR(CheckSchema(*schema));
    RETURN_IF_ERROR(CheckOffset(*store_));
    RETURN_IF_ERROR(CheckFeatureLevel(*store_));
    RETURN_IF_ERROR(CheckHubId(*store_, options_.hub_id));
    if (!head.has_value()) return HeadMissing();
  } else {
    RETURN_IF_ERROR(CheckEmpty(*store_));
  }
  ASSIGN_OR_RETURN(std::vector<TermRecord> terms, ReadTerms(*store_));
  TermRecord term;
  term.number = terms.empty() ? 1 : terms.back().number + 1;
  term.nonce = options_.make_uuid();
  term.after = ModRevision(head);
  term.start_time = options_.now();

  Txn txn;
  // Whoever begins a term writes the head, so of two only one finds it as it was.
  txn.compares = {{std::string(kSchemaKey), ModRevision(schema)},
                  {std::string(kHeadKey), ModRevision(head)}};
  if (!schema.has_value()) {
    txn.writes.push_back(
        {std::string(kSchemaKey), EncodeRecord(SchemaRecord{kStoreFormat, options_.version}), 0});
    txn.writes.push_back({std::string(kHubKey), EncodeText(options_.hub_id), 0});
    txn.writes.push_back({std::string(kFeatureLevelKey), EncodeNumber(kFeatureLevel), 0});
  }
  txn.writes.push_back({TermKey(term.number), EncodeRecord(term), 0});
  txn.writes.push_back(
      {std::string(kHeadKey), EncodeRecord(HeadRecord{term.number, term.nonce, 0}), 0});
  size_t over =
      terms.size() + 1 > kTermsMax ? std::min(terms.size() + 1 - kTermsMax, kTermsDroppedMax) : 0;
  for (size_t i = 0; i < over; ++i)
    txn.writes.push_back({TermKey(terms[i].number), std::nullopt, 0});
  ASSIGN_OR_RETURN(TxnResult result, store_->Commit(std::move(txn)));
  if (!result.succeeded) return false;
  terms.erase(terms.begin(), terms.begin() + over);
  terms.push_back(std::move(term));
  terms_ = std::move(terms);
  made_ = !schema.has_value();
  return true;
}

absl::StatusOr<Revision> RecordStore::HeadRevision() const {
  absl::StatusOr<KeyValue> head = store_->Get(kHeadKey);
  if (head.ok()) return head->mod_revision;
  if (!absl::IsNotFound(head.status())) return head.status();
  return HeadMissing();
}

std::string RecordStore::NextTimeOrderedId(absl::Time now) {
  std::lock_guard<std::mutex> lock(mutex_);
  // A clock that was set back does not set ids back.
  newest_id_us_ = std::max(newest_id_us_, absl::ToUnixMicros(now));
  return TimeOrderedId(newest_id_us_, (term().number << kTermNumberShift) + ++ids_);
}

Txn RecordStore::Complete(RecordTxn txn) {
  absl::Time now = options_.now();
  Txn complete{std::move(txn.compares), std::move(txn.writes)};
  auto put = [&](std::string key, std::string value) {
    complete.writes.push_back({std::move(key), std::move(value), 0});
  };
  for (Event& event : txn.events) {
    if (event.id.empty()) event.id = NextTimeOrderedId(now);
    if (event.meta.uid.IsNone()) event.meta.uid = options_.make_uuid();
    if (event.meta.create_time == absl::InfinitePast()) event.meta.create_time = now;
    if (event.last_time == absl::InfinitePast()) event.last_time = now;
    put(EventKey(event.project, event.id), EncodeRecord(event));
  }
  if (txn.audit.has_value()) {
    if (txn.audit->time == absl::Time()) txn.audit->time = now;
    put(AuditKey(NextTimeOrderedId(now)), EncodeRecord(*txn.audit));
  }
  put(std::string(kHeadKey), EncodeRecord(HeadRecord{term().number, term().nonce, ++sequence_}));
  return complete;
}

namespace {

RecordStore::CommitResult ToCommitResult(absl::StatusOr<TxnResult> result) {
  if (!result.ok()) return std::move(result).status();
  if (!result->succeeded) return std::optional<Revision>();
  return std::optional<Revision>(result->revision);
}

}  // namespace

void RecordStore::CommitAsync(RecordTxn txn, CommitCallback done) {
  store_->TxnAsync(Complete(std::move(txn)),
                   [done = std::move(done)](absl::StatusOr<TxnResult> result) mutable {
                     std::move(done)(ToCommitResult(std::move(result)));
                   });
}

RecordStore::CommitResult RecordStore::Commit(RecordTxn txn) {
  return ToCommitResult(store_->Commit(Complete(std::move(txn))));
}

}  // namespace nave
