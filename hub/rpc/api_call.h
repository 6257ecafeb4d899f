// One call of the public API, and the way of a write to the store.
#ifndef NAVE_HUB_RPC_API_CALL_H_
#define NAVE_HUB_RPC_API_CALL_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/model/tenancy.h"
#include "hub/auth/authorize.h"
#include "hub/auth/caller.h"
#include "hub/rpc/backend.h"

namespace google::protobuf {
class Message;
}

namespace nave {

// What a handler knows of its call. Lives as long as the call.
class ApiCall {
 public:
  // UNAVAILABLE HUB_STARTING while there is no snapshot.
  static absl::StatusOr<std::unique_ptr<ApiCall>> Begin(ApiBackend* backend, const Caller& caller,
                                                        std::string method);

  const Caller& caller() const { return caller_; }
  // nave.v1.BundleService/UpdateBundle.
  const std::string& method() const { return method_; }
  ApiBackend& backend() const { return *backend_; }
  ApiStore& store() const { return *backend_->store(); }
  // All reads of a call are from one snapshot.
  const FleetSnapshot& snapshot() const { return *snapshot_; }
  const LiveTable::Map& live() const { return live_; }
  const Rights& rights() const { return rights_; }
  absl::Time now() const { return now_; }
  // After a lost compare: the newest snapshot.
  void Refresh();

 private:
  ApiCall(ApiBackend* backend, const Caller& caller, std::string method);

  ApiBackend* backend_;
  Caller caller_;
  std::string method_;
  FleetSnapshotPtr snapshot_;
  LiveTable::Map live_;
  Rights rights_;
  absl::Time now_;
};

// The parts of a write that all kinds share.
struct WriteRequest {
  const google::protobuf::Message* request = nullptr;
  bool validate_only = false;
  std::string request_id;
  // Name of what is written, for the audit.
  std::string resource;
  // The answer holds a secret: it is not remembered, so a repeated request is refused.
  bool secret_answer = false;
};

// What a write would do: transactions in order, the last one with the audit record. None: nothing
// is to be changed.
struct WritePlan {
  std::vector<ControlTxn> txns;
  // One more sentence for the audit record.
  std::string detail;
};

// Runs `plan` and commits it, again while compares fail. `plan` does all checks, fills `response`
// with what will be the case, and may run several times. A request id is looked up before and
// remembered with the write; audit and head go into the same transaction. Returns when the caller
// can read what it wrote.
absl::Status RunWrite(ApiCall* call, const WriteRequest& write, google::protobuf::Message* response,
                      const std::function<absl::StatusOr<WritePlan>()>& plan);

// The bytes by which a repeated request is recognised, and to which page tokens are bound.
std::string SerializeDeterministic(const google::protobuf::Message& message);

}  // namespace nave

#endif  // NAVE_HUB_RPC_API_CALL_H_
