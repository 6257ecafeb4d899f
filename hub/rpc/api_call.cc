#include "hub/rpc/api_call.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/model/violations.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"

namespace nave {
namespace {

using google::protobuf::Message;

constexpr int kAttemptsMax = 10;
constexpr absl::Duration kReadYourWritesMax = absl::Seconds(5);
// How long to wait for the snapshot that shows why a compare failed.
constexpr absl::Duration kNewerSnapshotWait = absl::Milliseconds(200);

std::vector<const RoleBinding*> BindingsOf(const FleetSnapshot& snapshot) {
  std::vector<const RoleBinding*> bindings;
  for (const auto& [id, binding] : snapshot.role_bindings) bindings.push_back(&binding.value);
  return bindings;
}

// metadata.resource_version of a resource, or of the one resource in an answer that wraps it.
void SetResourceVersion(Message* response, uint64_t revision) {
  const auto* field = response->GetDescriptor()->FindFieldByName("metadata");
  const auto& r = *response->GetReflection();
  if (field == nullptr) {
    const auto* first = response->GetDescriptor()->FindFieldByNumber(1);
    if (first == nullptr || first->is_repeated() || first->message_type() == nullptr) return;
    if (first->message_type()->FindFieldByName("metadata") == nullptr ||
        !r.HasField(*response, first))
      return;
    SetResourceVersion(r.MutableMessage(response, first), revision);
    return;
  }
  Message* metadata = r.MutableMessage(response, field);
  metadata->GetReflection()->SetString(
      metadata, metadata->GetDescriptor()->FindFieldByName("resource_version"),
      absl::StrCat(revision));
}

Digest RequestDigest(const ApiCall& call, const WriteRequest& write) {
  Sha256Builder builder;
  for (const std::string& part :
       {call.method(), call.caller().user, SerializeDeterministic(*write.request)}) {
    builder.Add(absl::StrCat(part.size(), ":", part));
  }
  return builder.Finish();
}

// Whether the request was answered before; `response` is then that answer.
absl::StatusOr<bool> Replay(ApiCall* call, const Uuid& id, const Digest& digest,
                            Message* response) {
  ASSIGN_OR_RETURN(std::optional<StoredValue> stored, call->store().Get(RequestKey(id)));
  if (!stored.has_value()) return false;
  ASSIGN_OR_RETURN(RequestRecord record, DecodeRecord<RequestRecord>(stored->bytes));
  // An answer that is not kept (a secret) cannot be given again.
  if (record.request != digest || record.response.empty()) {
    return MakeError(Reason::kRequestIdReused,
                     "request_id: was used in the last 10 minutes for another request",
                     {{"request_id", id.ToString()}});
  }
  if (!response->ParseFromString(record.response))
    return MakeError(Reason::kInternal, "remembered answer: unreadable");
  SetResourceVersion(response, stored->mod_revision);
  return true;
}

AuditRecord MakeAudit(const ApiCall& call, const WriteRequest& write, const WritePlan& plan) {
  AuditRecord audit;
  audit.time = call.now();
  audit.user = call.caller().user;
  audit.from = call.caller().address;
  audit.method = call.method();
  audit.resource = write.resource;
  audit.result = "OK";
  audit.detail = plan.detail;
  return audit;
}

// Revision of the last transaction; nullopt: a compare did not hold.
absl::StatusOr<std::optional<uint64_t>> CommitPlan(ApiCall* call, WritePlan plan, AuditRecord audit,
                                                   std::optional<RememberedRequest> request) {
  std::optional<uint64_t> revision;
  for (size_t i = 0; i < plan.txns.size(); ++i) {
    bool last = i + 1 == plan.txns.size();
    if (last) plan.txns[i].audit = audit;
    ASSIGN_OR_RETURN(revision, call->store().Commit(std::move(plan.txns[i]),
                                                    last ? std::move(request) : std::nullopt));
    if (!revision.has_value()) return revision;
  }
  return revision;
}

}  // namespace

ApiCall::ApiCall(ApiBackend* backend, const Caller& caller, std::string method)
    : backend_(backend),
      caller_(caller),
      method_(std::move(method)),
      snapshot_(backend->Snapshot()),
      rights_(caller,
              snapshot_ == nullptr ? std::vector<const RoleBinding*>{} : BindingsOf(*snapshot_)),
      now_(backend->Now()) {}

absl::StatusOr<std::unique_ptr<ApiCall>> ApiCall::Begin(ApiBackend* backend, const Caller& caller,
                                                        std::string method) {
  auto call = std::unique_ptr<ApiCall>(new ApiCall(backend, caller, std::move(method)));
  if (call->snapshot_ == nullptr) {
    return MakeError(Reason::kHubStarting, "the hub is loading its state", {{"retry_after", "1s"}});
  }
  call->live_ = backend->live()->Snapshot();
  return call;
}

void ApiCall::Refresh() {
  FleetSnapshotPtr newest = backend_->Snapshot();
  if (newest == nullptr) return;
  snapshot_ = std::move(newest);
  live_ = backend_->live()->Snapshot();
  rights_ = Rights(caller_, BindingsOf(*snapshot_));
}

absl::Status RunWrite(ApiCall* call, const WriteRequest& write, Message* response,
                      const std::function<absl::StatusOr<WritePlan>()>& plan) {
  std::optional<Uuid> id;
  Digest digest;
  if (!write.request_id.empty()) {
    id = Uuid::Parse(write.request_id);
    if (!id.has_value() || id->IsNone()) return FieldError("request_id", "must be a UUID");
    digest = RequestDigest(*call, write);
  }
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    if (id.has_value() && !write.validate_only) {
      ASSIGN_OR_RETURN(bool answered, Replay(call, *id, digest, response));
      if (answered) return absl::OkStatus();
    }
    response->Clear();
    ASSIGN_OR_RETURN(WritePlan planned, plan());
    if (write.validate_only || planned.txns.empty()) return absl::OkStatus();
    std::optional<RememberedRequest> request;
    if (id.has_value()) {
      request = RememberedRequest{
          *id, {digest, write.secret_answer ? "" : SerializeDeterministic(*response)}};
    }
    AuditRecord audit = MakeAudit(*call, write, planned);
    ASSIGN_OR_RETURN(std::optional<uint64_t> revision,
                     CommitPlan(call, std::move(planned), std::move(audit), std::move(request)));
    if (revision.has_value()) {
      SetResourceVersion(response, *revision);
      if (!call->backend().AwaitRevision(*revision, kReadYourWritesMax)) {
        LogWarning("snapshot is late after a write",
                   {{"revision", *revision}, {"method", call->method()}});
      }
      return absl::OkStatus();
    }
    // Somebody else wrote first: plan from what is there once the snapshot has it.
    call->backend().AwaitRevision(call->snapshot().revision + 1, kNewerSnapshotWait);
    call->Refresh();
  }
  return MakeError(Reason::kStoreUnavailable, "the record kept changing while it was to be written",
                   {{"resource", write.resource}, {"retry_after", "1s"}});
}

std::string SerializeDeterministic(const Message& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&coded);
  }
  return bytes;
}

}  // namespace nave
