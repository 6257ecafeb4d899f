// Handlers that are the same for all kinds: get, list, create, update, delete.
#ifndef NAVE_HUB_RPC_RECORD_HANDLERS_H_
#define NAVE_HUB_RPC_RECORD_HANDLERS_H_

#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/repeated_ptr_field.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/selector.h"
#include "common/model/validate.h"
#include "common/model/violations.h"
#include "common/wire/api.h"
#include "hub/records/codec.h"
#include "hub/rpc/api_call.h"
#include "hub/rpc/kinds.h"
#include "hub/rpc/page_token.h"
#include "hub/rpc/record_rules.h"
#include "hub/rpc/update_mask.h"

namespace nave {

// A page of a list ends when it has so many bytes, so that it fits the message limit that gRPC
// clients begin with.
inline constexpr size_t kPageBytesMax = 3 << 20;

template <typename Record>
absl::Status NotFound(const RecordRef& ref) {
  std::string name = RecordName(Kind<Record>::kKey, ref);
  return MakeError(Reason::kNotFound,
                   absl::StrCat(Kind<Record>::kNoun, " \"", ref.id, "\": does not exist"),
                   {{"resource", name}});
}

inline absl::Status CheckEtag(const std::string& given, const std::string& present,
                              const std::string& resource) {
  if (given.empty() || given == present) return absl::OkStatus();
  return MakeError(Reason::kEtagMismatch,
                   absl::StrCat("etag: must be the present one, ", present, ", got ", given),
                   {{"etag", present}, {"resource", resource}});
}

// --- Reading.

// The record of a name, if the caller may see it.
template <typename Record>
absl::StatusOr<Versioned<Record>> ReadRecord(const ApiCall& call, absl::string_view name) {
  ASSIGN_OR_RETURN(RecordRef ref, ParseRecordName(Kind<Record>::kKey, "name", name));
  // Whoever may not see a project is not told either what is not in it.
  if (!ref.project.empty()) {
    RETURN_IF_ERROR(call.rights().Check(Role::kViewer, Scope::OfProject(ref.project), "read it"));
  }
  ASSIGN_OR_RETURN(std::optional<Versioned<Record>> record, FindRecord<Record>(call, ref));
  if (!record.has_value()) return NotFound<Record>(ref);
  RETURN_IF_ERROR(CheckRead(call, record->value));
  return *std::move(record);
}

template <typename Record, typename Request>
absl::Status GetRecord(ApiCall* call, const Request& request,
                       typename Kind<Record>::Proto* response) {
  ASSIGN_OR_RETURN(Versioned<Record> record, ReadRecord<Record>(*call, request.name()));
  return ToApi(*call, record, response);
}

// Pages by any sorted key. `arguments`: the request; its page size and token are not part of what a
// token is bound to.
template <typename Request>
class Pager {
 public:
  static absl::StatusOr<Pager> Begin(const ApiCall& call, Request request) {
    Pager pager;
    ASSIGN_OR_RETURN(pager.size_, PageSize(request.page_size()));
    std::string token = request.page_token();
    request.clear_page_size();
    request.clear_page_token();
    pager.secret_ = call.snapshot().hub_id;
    pager.arguments_ = absl::StrCat(call.method(), "\n", SerializeDeterministic(request));
    ASSIGN_OR_RETURN(pager.after_, ReadPageToken(pager.secret_, pager.arguments_, token));
    return pager;
  }

  // Key after which the page begins; empty: from the first.
  const std::string& after() const { return after_; }
  // Whether one more item goes on this page. False: `next_page_token` is for the item that was
  // taken last.
  bool Fits() const { return count_ < size_ && bytes_ < kPageBytesMax; }
  void Took(std::string key, size_t bytes) {
    last_ = std::move(key);
    ++count_;
    bytes_ += bytes;
  }
  std::string NextToken() const { return MakePageToken(secret_, arguments_, last_); }

 private:
  size_t size_ = 0;
  std::string secret_;
  std::string arguments_;
  std::string after_;
  std::string last_;
  size_t count_ = 0;
  size_t bytes_ = 0;
};

// `matches`: beyond label selector and rights; may be null.
template <typename Record, typename Request, typename Response>
absl::Status ListRecords(ApiCall* call, const Request& request, absl::string_view project,
                         const std::function<bool(const Record&)>& matches,
                         google::protobuf::RepeatedPtrField<typename Kind<Record>::Proto>* items,
                         Response* response) {
  ASSIGN_OR_RETURN(auto pager, Pager<Request>::Begin(*call, request));
  ASSIGN_OR_RETURN(Selector selector, Selector::Parse("label_selector", request.label_selector()));
  absl::Status failure;
  absl::Status visited =
      VisitRecords<Record>(*call, project, pager.after(), [&](const Versioned<Record>& record) {
        if (!selector.Matches(record.value.meta.labels) || !MayReadRecord(*call, record.value))
          return true;
        if (matches != nullptr && !matches(record.value)) return true;
        if (!pager.Fits()) {
          response->set_next_page_token(pager.NextToken());
          return false;
        }
        auto* item = items->Add();
        failure = ToApi(*call, record, item);
        pager.Took(RecordKey(Kind<Record>::kKey, RefOf(record.value)), item->ByteSizeLong());
        return failure.ok();
      });
  RETURN_IF_ERROR(failure);
  return visited;
}

// --- Writing.

template <typename Record, typename Request>
WriteRequest WriteOf(const Request& request, const RecordRef& ref) {
  return {&request, request.validate_only(), request.request_id(),
          RecordName(Kind<Record>::kKey, ref), false};
}

// A put of `record` over what stood at `mod_revision` (0: nothing).
template <typename Record>
ControlTxn PutTxn(const Record& record, uint64_t mod_revision) {
  std::string key = RecordKey(Kind<Record>::kKey, RefOf(record));
  ControlTxn txn;
  txn.Compare(key, mod_revision);
  txn.Put(std::move(key), EncodeRecord(record));
  return txn;
}

template <typename Record>
absl::Status CheckRecord(const ApiCall& call, const Record* before, const Record& after) {
  RETURN_IF_ERROR(CheckRights(call.rights(), before, &after));
  Violations violations;
  Validate(after, &violations);
  RETURN_IF_ERROR(violations.ToStatus());
  return CheckReferences(call.snapshot(), before, &after);
}

// What kinds do differently. The defaults suit records without a uid index.
template <typename Record>
struct WriteHooks {
  // Adds what goes with a new record.
  static void OnCreate(const Record&, ControlTxn*) {}
  // Copies from `before` what users do not write, and notes what the change itself says.
  static void Carry(const Record& before, absl::Time now, Record* after);
  static bool SameSpec(const Record& a, const Record& b);
};

template <typename Record>
void InitMeta(absl::Time now, Record* record) {
  record->meta.uid = Uuid::Random();
  record->meta.generation = 1;
  record->meta.create_time = now;
  record->meta.update_time = now;
}

template <typename Record>
absl::StatusOr<WritePlan> PlanCreate(const ApiCall& call, const RecordRef& ref,
                                     absl::string_view id_field,
                                     const typename Kind<Record>::Proto& wanted,
                                     typename Kind<Record>::Proto* response) {
  Violations violations;
  ValidateId(id_field, ref.id, &violations);
  RETURN_IF_ERROR(violations.ToStatus());
  typename Kind<Record>::Proto nameless = wanted;
  nameless.clear_name();
  Record record;
  RETURN_IF_ERROR(FromProto(nameless, &record));
  record.id = ref.id;
  RETURN_IF_ERROR(CheckRecord<Record>(call, nullptr, record));
  ASSIGN_OR_RETURN(auto present, FindRecord<Record>(call, ref));
  if (present.has_value()) {
    return MakeError(Reason::kAlreadyExists,
                     absl::StrCat(Kind<Record>::kNoun, " \"", ref.id, "\": exists already"),
                     {{"resource", RecordName(Kind<Record>::kKey, ref)}});
  }
  InitMeta(call.now(), &record);
  WriteHooks<Record>::Carry(Record{}, call.now(), &record);
  WritePlan plan;
  plan.txns.push_back(PutTxn(record, 0));
  WriteHooks<Record>::OnCreate(record, &plan.txns.back());
  RETURN_IF_ERROR(ToApi<Record>(call, {record, 0}, response));
  return plan;
}

// `before` with what `request` wants. The record's id and meta are those of `before`.
template <typename Record, typename Request>
absl::StatusOr<Record> MergeUpdate(const ApiCall& call, const Record& before,
                                   const Request& request,
                                   const typename Kind<Record>::Proto& wanted) {
  typename Kind<Record>::Proto merged;
  RETURN_IF_ERROR(ToApi<Record>(call, {before, 0}, &merged));
  RETURN_IF_ERROR(ApplyUpdate(request.update_mask(), wanted, &merged));
  Record after;
  RETURN_IF_ERROR(FromProto(merged, &after));
  StringMap labels = std::move(after.meta.labels);
  StringMap annotations = std::move(after.meta.annotations);
  after.meta = before.meta;
  after.meta.labels = std::move(labels);
  after.meta.annotations = std::move(annotations);
  WriteHooks<Record>::Carry(before, call.now(), &after);
  return after;
}

// Raises generation and time when something changed; false: nothing did.
template <typename Record>
bool Stamp(const Record& before, absl::Time now, Record* after) {
  bool same_spec = WriteHooks<Record>::SameSpec(before, *after);
  if (same_spec && before == *after) return false;
  if (!same_spec) ++after->meta.generation;
  after->meta.update_time = now;
  return true;
}

template <typename Record, typename Request>
absl::StatusOr<WritePlan> PlanUpdate(const ApiCall& call, const RecordRef& ref,
                                     const Request& request,
                                     const typename Kind<Record>::Proto& wanted,
                                     typename Kind<Record>::Proto* response) {
  std::string name = RecordName(Kind<Record>::kKey, ref);
  ASSIGN_OR_RETURN(auto present, FindRecord<Record>(call, ref));
  if (!present.has_value()) {
    if (!request.allow_missing()) return NotFound<Record>(ref);
    RETURN_IF_ERROR(CheckEtag(wanted.etag(), "", name));
    return PlanCreate<Record>(call, ref, "name", wanted, response);
  }
  const Record& before = present->value;
  RETURN_IF_ERROR(CheckRights(call.rights(), &before, &before));
  RETURN_IF_ERROR(CheckEtag(wanted.etag(), EtagOf(before), name));
  ASSIGN_OR_RETURN(Record after, (MergeUpdate<Record, Request>(call, before, request, wanted)));
  RETURN_IF_ERROR(CheckRecord<Record>(call, &before, after));
  WritePlan plan;
  if (Stamp(before, call.now(), &after)) plan.txns.push_back(PutTxn(after, present->mod_revision));
  RETURN_IF_ERROR(ToApi<Record>(call, {after, present->mod_revision}, response));
  return plan;
}

template <typename Record, typename Request>
absl::Status CreateRecord(ApiCall* call, const Request& request, const std::string& id,
                          absl::string_view id_field, const typename Kind<Record>::Proto& wanted,
                          typename Kind<Record>::Proto* response) {
  RecordRef ref{"", id};
  return RunWrite(call, WriteOf<Record>(request, ref), response,
                  [&] { return PlanCreate<Record>(*call, ref, id_field, wanted, response); });
}

template <typename Record, typename Request>
absl::Status UpdateRecord(ApiCall* call, const Request& request,
                          const typename Kind<Record>::Proto& wanted,
                          typename Kind<Record>::Proto* response) {
  ASSIGN_OR_RETURN(RecordRef ref, ParseRecordName(Kind<Record>::kKey, "name", wanted.name()));
  return RunWrite(call, WriteOf<Record>(request, ref), response,
                  [&] { return PlanUpdate<Record>(*call, ref, request, wanted, response); });
}

template <typename Record, typename Request>
absl::Status DeleteRecord(ApiCall* call, const Request& request,
                          google::protobuf::Message* response) {
  ASSIGN_OR_RETURN(RecordRef ref, ParseRecordName(Kind<Record>::kKey, "name", request.name()));
  std::string name = RecordName(Kind<Record>::kKey, ref);
  return RunWrite(
      call, WriteOf<Record>(request, ref), response, [&]() -> absl::StatusOr<WritePlan> {
        ASSIGN_OR_RETURN(auto present, FindRecord<Record>(*call, ref));
        if (!present.has_value()) return NotFound<Record>(ref);
        RETURN_IF_ERROR(
            CheckRights(call->rights(), &present->value, static_cast<const Record*>(nullptr)));
        RETURN_IF_ERROR(CheckEtag(request.etag(), EtagOf(present->value), name));
        RETURN_IF_ERROR(CheckReferences(call->snapshot(), &present->value,
                                        static_cast<const Record*>(nullptr)));
        WritePlan plan;
        ControlTxn& txn = plan.txns.emplace_back();
        std::string key = RecordKey(Kind<Record>::kKey, ref);
        txn.Compare(key, present->mod_revision);
        txn.Delete(std::move(key));
        return plan;
      });
}

}  // namespace nave

#endif  // NAVE_HUB_RPC_RECORD_HANDLERS_H_
