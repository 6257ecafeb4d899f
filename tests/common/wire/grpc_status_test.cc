// Goal: an error reaches the caller with reason, fields and next step, exactly one ErrorInfo, and
// within gRPC's limits.
#include "common/wire/grpc_status.h"

#include <gtest/gtest.h>

#include <set>

#include "common/base/error.h"
#include "common/model/violations.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace nave {
namespace {

google::rpc::Status Wire(const grpc::Status& status) {
  google::rpc::Status wire;
  EXPECT_TRUE(wire.ParseFromString(status.error_details()));
  return wire;
}

template <typename Detail>
Detail Find(const google::rpc::Status& wire) {
  Detail detail;
  int found = 0;
  for (const auto& any : wire.details()) found += any.UnpackTo(&detail);
  EXPECT_EQ(found, 1) << Detail::descriptor()->name();
  return detail;
}

TEST(GrpcStatus, RoundTrip) {
  absl::Status status = MakeError(Reason::kClusterStateConflict, "cluster \"a\": is revoked",
                                  {{"resource", "clusters/a"},
                                   {"state", "Revoked"},
                                   {"retry_after", "1.5s"},
                                   {"help", "navectl token create --cluster a --rejoin"}});
  grpc::Status wire = ToGrpcStatus(status, "req-1");
  EXPECT_EQ(wire.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  google::rpc::Status details = Wire(wire);
  EXPECT_EQ(details.code(), 9);
  EXPECT_EQ(details.message(), status.message());
  auto info = Find<google::rpc::ErrorInfo>(details);
  EXPECT_EQ(info.reason(), "CLUSTER_STATE_CONFLICT");
  EXPECT_EQ(info.domain(), "nave.dev");
  EXPECT_EQ(info.metadata().at("state"), "Revoked");
  EXPECT_EQ(Find<google::rpc::ResourceInfo>(details).resource_name(), "clusters/a");
  EXPECT_EQ(Find<google::rpc::PreconditionFailure>(details).violations(0).subject(), "clusters/a");
  EXPECT_EQ(Find<google::rpc::RetryInfo>(details).retry_delay().nanos(), 500000000);
  EXPECT_EQ(Find<google::rpc::Help>(details).links_size(), 2);
  EXPECT_EQ(Find<google::rpc::RequestInfo>(details).request_id(), "req-1");

  absl::Status back = FromGrpcStatus(wire);
  EXPECT_EQ(back.code(), status.code());
  EXPECT_EQ(back.message(), status.message());
  EXPECT_EQ(ErrorReason(back), "CLUSTER_STATE_CONFLICT");
  ErrorMetadata metadata = ErrorMetadataOf(back);
  auto has = [&](const std::string& key, const std::string& value) {
    return std::find(metadata.begin(), metadata.end(), std::make_pair(key, value)) !=
           metadata.end();
  };
  EXPECT_TRUE(has("state", "Revoked"));
  EXPECT_TRUE(has("retry_after", "1.5s"));
  EXPECT_TRUE(has("help", "navectl token create --cluster a --rejoin"));
  EXPECT_TRUE(has("request_id", "req-1"));
}

TEST(GrpcStatus, FieldViolations) {
  Violations violations;
  violations.Add("spec.a", "must be x");
  violations.Add("spec.b", "must be y");
  grpc::Status wire = ToGrpcStatus(violations.ToStatus());
  google::rpc::Status details = Wire(wire);
  auto bad = Find<google::rpc::BadRequest>(details);
  ASSERT_EQ(bad.field_violations_size(), 2);
  EXPECT_EQ(bad.field_violations(1).field(), "spec.b");
  EXPECT_EQ(Find<google::rpc::ErrorInfo>(details).metadata().at("field"), "spec.a");
  ErrorMetadata want = ErrorMetadataOf(violations.ToStatus());
  want.emplace_back("help", std::string(GetReasonInfo(Reason::kInvalidField).next));
  EXPECT_EQ(ErrorMetadataOf(FromGrpcStatus(wire)), want);
}

TEST(GrpcStatus, EveryDetailTypeOnceAndWithinLimits) {
  Violations violations;
  for (int i = 0; i < 50; ++i) violations.Add(std::string(300, 'f'), std::string(2000, 'r'));
  absl::Status status = Prepend(violations.ToStatus(), std::string(5000, 'x') + "\xff");
  grpc::Status wire = ToGrpcStatus(status, "r");
  EXPECT_LE(wire.error_message().size() + wire.error_details().size(), 6000u);
  std::set<std::string> types;
  google::rpc::Status details = Wire(wire);
  for (const auto& any : details.details())
    EXPECT_TRUE(types.insert(any.type_url()).second) << any.type_url();
  EXPECT_EQ(types.count("type.googleapis.com/google.rpc.ErrorInfo"), 1u);
}

TEST(GrpcStatus, ErrorsWithoutOurDetails) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpcStatus(grpc::Status::OK).ok());
  EXPECT_EQ(ErrorReason(FromGrpcStatus(grpc::Status(grpc::StatusCode::UNAVAILABLE, "x"))),
            "HUB_UNREACHABLE");
  EXPECT_EQ(ErrorReason(FromGrpcStatus(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, "x"))),
            "TIMEOUT");
  EXPECT_EQ(ErrorReason(FromGrpcStatus(grpc::Status(grpc::StatusCode::UNKNOWN, "x", "garbage"))),
            "INTERNAL");
  google::rpc::Status wire = Wire(ToGrpcStatus(absl::InternalError("boom")));
  EXPECT_EQ(Find<google::rpc::ErrorInfo>(wire).reason(), "INTERNAL");
}

}  // namespace
}  // namespace nave
