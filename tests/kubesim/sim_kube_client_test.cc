// The in-process client: answers come later, a cut link fails what is open, a death leaves writes
// to fate.
#include "tests/kubesim/sim_kube_client.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"

namespace nave::kubesim {
namespace {

const ResourceType kConfigMaps{"", "v1", "ConfigMap", "configmaps", true, {}};

class SimKubeClientTest : public testing::Test {
 protected:
  SimKubeClientTest() { client_ = std::make_unique<SimKubeClient>(&sim_, &executor_); }

  ApplyRequest Named(absl::string_view name) {
    ApplyRequest request;
    request.type = kConfigMaps;
    request.ns = "default";
    request.name = std::string(name);
    request.field_manager = "m";
    request.body = absl::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")",
                                name, R"("}})");
    return request;
  }
  bool Exists(absl::string_view name) {
    return sim_.Find("configmaps", "default", name) != nullptr;
  }

  ManualExecutor executor_{absl::FromUnixSeconds(1'700'000'000)};
  KubeSim sim_{KubeSimOptions(), executor_.Now()};
  SimStepper stepper_{&sim_, &executor_};
  std::unique_ptr<SimKubeClient> client_;
};

TEST_F(SimKubeClientTest, AnswersLater) {
  std::optional<KubeResult> result;
  client_->Apply(Named("x"), [&](KubeResult r) { result = std::move(r); });
  EXPECT_FALSE(result.has_value());
  EXPECT_FALSE(Exists("x"));
  executor_.Advance(absl::Seconds(1));
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result->error.ok()) << result->error.message;
  EXPECT_TRUE(result->created);
  EXPECT_TRUE(Exists("x"));
}

TEST_F(SimKubeClientTest, ErrorsAreClassified) {
  struct Case {
    const char* name;
    ApplyRequest request;
    KubeErrorClass want;
  };
  ApplyRequest missing = Named("x");
  missing.ns = "nowhere";
  ApplyRequest unknown = Named("x");
  unknown.type.plural = "things";
  ApplyRequest malformed = Named("x");
  malformed.body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"dta":{}})";
  const Case cases[] = {{"namespace", missing, KubeErrorClass::kNamespaceMissing},
                        {"kind", unknown, KubeErrorClass::kKindNotServed},
                        {"structural", malformed, KubeErrorClass::kInvalid}};
  for (const Case& c : cases) {
    std::optional<KubeResult> result;
    client_->Apply(c.request, [&](KubeResult r) { result = std::move(r); });
    executor_.Advance(absl::Seconds(1));
    ASSERT_TRUE(result.has_value()) << c.name;
    EXPECT_EQ(result->error.error_class, c.want) << c.name << ": " << result->error.message;
  }
}

TEST_F(SimKubeClientTest, WatchDeliversInOrderAndEndsWhenCut) {
  std::vector<std::string> names;
  std::optional<KubeError> end;
  WatchRequest request;
  request.type = kConfigMaps;
  request.ns = "default";
  request.metadata_only = true;
  std::unique_ptr<KubeWatch> watch = client_->Watch(
      request,
      [&](KubeEvent event) {
        EXPECT_EQ(event.object.StringAt("kind"), "ConfigMap");
        names.push_back(event.object.StringAt("metadata", "name"));
      },
      [&](KubeError error) { end = std::move(error); });
  executor_.Advance(absl::Seconds(1));
  client_->Apply(Named("x"), [](KubeResult) {});
  executor_.Advance(absl::Seconds(1));
  EXPECT_EQ(names, (std::vector<std::string>{"kube-root-ca.crt", "x"}));
  client_->SetCut(true);
  EXPECT_FALSE(end.has_value());
  executor_.Advance(absl::Seconds(2));
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->error_class, KubeErrorClass::kUnreachable);
}

TEST_F(SimKubeClientTest, CutFailsRequestsUntilItHeals) {
  client_->SetCut(true);
  std::optional<KubeResult> result;
  client_->Apply(Named("x"), [&](KubeResult r) { result = std::move(r); });
  executor_.Advance(absl::Seconds(2));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->error.error_class, KubeErrorClass::kUnreachable);
  EXPECT_FALSE(Exists("x"));
  client_->SetCut(false);
  client_->Apply(Named("x"), [&](KubeResult r) { result = std::move(r); });
  executor_.Advance(absl::Seconds(2));
  EXPECT_TRUE(result->error.ok());
}

TEST_F(SimKubeClientTest, DeathLeavesWritesToTheSeed) {
  int applied = 0, late = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SimKubeClientOptions options;
    options.seed = seed;
    client_ = std::make_unique<SimKubeClient>(&sim_, &executor_, options);
    std::string name = absl::StrCat("x", seed);
    client_->Apply(Named(name), [](KubeResult) { FAIL() << "called after its client died"; });
    client_.reset();
    bool at_once = Exists(name);
    executor_.Advance(absl::Seconds(5));
    applied += at_once ? 1 : 0;
    late += !at_once && Exists(name) ? 1 : 0;
  }
  EXPECT_GT(applied, 5);
  EXPECT_GT(late, 5);
  EXPECT_GT(60 - applied - late, 5);
}

TEST_F(SimKubeClientTest, FaultScripts) {
  struct Case {
    SimFault::Kind kind;
    KubeErrorClass want;
    bool exists;
  };
  const Case cases[] = {{SimFault::Kind::kDropBefore, KubeErrorClass::kUnreachable, false},
                        {SimFault::Kind::kAnswer, KubeErrorClass::kThrottled, false},
                        {SimFault::Kind::kDropAfter, KubeErrorClass::kUnreachable, true}};
  for (const Case& c : cases) {
    sim_.fault = [&](const SimRequest&) {
      SimFault fault;
      fault.kind = c.kind;
      fault.answer = MakeStatus(429, "TooManyRequests", "slow down");
      fault.answer.retry_after_s = 7;
      return fault;
    };
    std::optional<KubeResult> result;
    client_->Apply(Named("x"), [&](KubeResult r) { result = std::move(r); });
    executor_.Advance(absl::Seconds(2));
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->error.error_class, c.want);
    EXPECT_EQ(Exists("x"), c.exists);
    if (c.want == KubeErrorClass::kThrottled) {
      EXPECT_EQ(result->error.retry_after, absl::Seconds(7));
    }
  }
}

}  // namespace
}  // namespace nave::kubesim
