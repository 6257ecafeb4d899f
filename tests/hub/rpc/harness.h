// The public API over a store in memory, spoken to through gRPC in this process.
#ifndef NAVE_TESTS_HUB_RPC_HARNESS_H_
#define NAVE_TESTS_HUB_RPC_HARNESS_H_

#include <google/protobuf/text_format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/error.h"
#include "common/wire/grpc_status.h"
#include "hub/auth/authenticate.h"
#include "hub/core/record_ports.h"
#include "hub/fleet/fleet.h"
#include "hub/records/blobs.h"
#include "hub/records/record_store.h"
#include "hub/rpc/api_services.h"
#include "hub/rpc/backend.h"

namespace nave {

// A request from its text form; fails the test when that is wrong.
template <typename Message>
Message Text(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

class ApiHarness : public ApiBackend {
 public:
  // Callers admin, dev, seer, setter and nobody have the tokens "NAME-token" and are in the groups
  // "NAMEs".
  explicit ApiHarness(ApiOptions options = {});
  ~ApiHarness() override;

  // --- Calls.
  template <typename Service>
  std::unique_ptr<typename Service::Stub> Stub() {
    return Service::NewStub(channel_);
  }
  // As `user`; empty: without a token.
  static void Identify(const std::string& user, grpc::ClientContext* context);
  template <typename StubType, typename Request, typename Response>
  absl::Status Call(StubType* stub,
                    grpc::Status (StubType::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                    const Request& request, Response* response, const std::string& user = "admin") {
    grpc::ClientContext context;
    Identify(user, &context);
    return FromGrpcStatus((stub->*method)(&context, request, response));
  }

  // --- What stands behind.
  FleetSnapshotPtr Snapshot() override;
  bool AwaitRevision(uint64_t revision, absl::Duration timeout) override;
  LiveTable* live() override { return &live_; }
  ApiStore* store() override { return api_store_.get(); }
  HubFacts Facts() override;
  std::string Roots() override { return ""; }
  absl::Time Now() override;

  RecordStore& records() { return *records_; }
  ApiServices& services() { return *services_; }
  ControlStore& control() { return *control_; }
  // Writes records past the API, and waits until the snapshot has them.
  void Write(ControlTxn txn);
  // An agent reported something.
  void SetLive(const Uuid& cluster, ClusterLive live);
  // The placement of every bundle, as the controllers bring it about.
  void RunControllers();
  std::vector<AuditRecord> Audit();
  void Advance(absl::Duration by);

  Uuid ClusterUid(const std::string& id);

 private:
  class TestStore;
  void WaitForLoad();

  const std::string hub_id_ = "3f1c5a52-33d5-4a3c-9a8e-0a8f3a5d7e11";
  mutable std::mutex mutex_;  // Guards the next two.
  absl::Time now_;
  FleetSnapshotPtr snapshot_;
  std::condition_variable advanced_;
  std::unique_ptr<RecordStore> records_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<ApiStore> api_store_;
  std::unique_ptr<ControlStore> control_;
  LiveTable live_;
  std::string token_path_;
  std::unique_ptr<TokenFile> tokens_;
  std::unique_ptr<Executor> loop_;
  std::unique_ptr<Executor> reader_;
  std::unique_ptr<ApiServices> services_;
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

// Reason of an error, "" for OK: short in tables.
inline std::string ReasonOf(const absl::Status& status) { return ErrorReason(status); }

}  // namespace nave

#endif  // NAVE_TESTS_HUB_RPC_HARNESS_H_
