// Every row of the table of answers and what the agent does about it.
#include "agent/kube/classify.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/value/codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using Class = KubeErrorClass;
using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Case {
  const char* name;
  int status;
  const char* body;
  Class want;
  RequestInfo info = {true, "configmaps", "ns"};
};

std::string StatusBody(const char* reason, const char* message, const char* details = "{}") {
  return absl::StrCat(R"({"kind":"Status","reason":")", reason, R"(","message":)",
                      FormatJson(Value(message)), R"(,"details":)", details, "}");
}

TEST(Classify, Rows) {
  const std::string ok = "{}";
  const std::string bad_request = StatusBody("BadRequest", "webhook does not support dry run");
  const std::string unauthorized = StatusBody("Unauthorized", "Unauthorized");
  const std::string terminating =
      StatusBody("Forbidden", "unable to create new content in namespace x",
                 R"({"causes":[{"reason":"NamespaceTerminating","field":"metadata.namespace"}]})");
  const std::string escalation =
      StatusBody("Forbidden",
                 "roles \"x\" is forbidden: user \"y\" is attempting to grant RBAC permissions "
                 "not currently held: ...");
  const std::string rbac =
      StatusBody("Forbidden", "pods is forbidden: User \"x\" cannot list resource \"pods\"");
  const std::string quota = StatusBody("Forbidden", "pods \"x\" is forbidden: exceeded quota: q");
  const std::string account =
      StatusBody("Forbidden", "pods \"x\" is forbidden: error looking up service account ns/a");
  const std::string no_object =
      StatusBody("NotFound", "configmaps \"a\" not found", R"({"name":"a","kind":"configmaps"})");
  const std::string no_namespace =
      StatusBody("NotFound", "namespaces \"ns\" not found", R"({"name":"ns","kind":"namespaces"})");
  const std::string no_version =
      StatusBody("NotFound", "the server could not find the requested resource");
  const std::string field_conflict =
      StatusBody("Conflict", "Apply failed with 1 conflict",
                 R"({"causes":[{"reason":"FieldManagerConflict","field":".data.a",)"
                 R"("message":"conflict with \"kubectl\""}]})");
  const std::string conflict = StatusBody("Conflict", "the object has been modified");
  const std::string exists = StatusBody("AlreadyExists", "already exists");
  const std::string expired = StatusBody("Expired", "too old resource version");
  const std::string invalid = StatusBody("Invalid", "field is immutable");
  const std::string throttled = StatusBody("TooManyRequests", "storage is (re)initializing");
  const std::string webhook =
      StatusBody("InternalError", "Internal error occurred: failed calling webhook \"x\"");
  const std::string too_large = StatusBody("", "etcdserver: request is too large");
  const std::string grpc_large =
      StatusBody("",
                 "rpc error: code = ResourceExhausted desc = trying to send message larger "
                 "than max (3000000 vs. 2097152)");
  const std::string etcd = StatusBody("", "etcdserver: leader changed");
  const std::string rpc = StatusBody("", "rpc error: code = Unavailable");
  const std::string deadline = StatusBody("", "context deadline exceeded");
  const std::string structural = StatusBody("", "failed to create typed patch object (x): ...");
  const std::string prune = StatusBody("", "failed to prune fields: ...");
  const std::string future =
      StatusBody("Timeout", "Too large resource version",
                 R"({"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1})");
  const std::string timeout = StatusBody("Timeout", "request did not complete");
  const RequestInfo namespaces = {true, "namespaces", ""};
  const RequestInfo read = {false, "configmaps", "ns"};
  const Case cases[] = {
      {"200", 200, ok.c_str(), Class::kNone},
      {"201", 201, ok.c_str(), Class::kNone},
      {"202", 202, ok.c_str(), Class::kNone},
      {"301", 301, "", Class::kInvalid},
      {"400", 400, bad_request.c_str(), Class::kInvalid},
      {"401", 401, unauthorized.c_str(), Class::kUnauthorized},
      {"401 of a proxy", 401, "no", Class::kUnauthorized},
      {"403 terminating", 403, terminating.c_str(), Class::kNamespaceTerminating},
      {"403 escalation", 403, escalation.c_str(), Class::kRbacEscalation},
      {"403 rbac", 403, rbac.c_str(), Class::kForbidden},
      {"403 quota", 403, quota.c_str(), Class::kForbidden},
      {"403 service account", 403, account.c_str(), Class::kAdmissionRefused},
      {"403 of a proxy", 403, "<html>", Class::kAdmissionRefused},
      {"404 object", 404, no_object.c_str(), Class::kNotFound},
      {"404 plain", 404, "404 page not found\n", Class::kKindNotServed},
      {"404 version", 404, no_version.c_str(), Class::kKindNotServed},
      {"404 namespace of a write", 404, no_namespace.c_str(), Class::kNamespaceMissing},
      {"404 namespace of a read", 404, no_namespace.c_str(), Class::kNotFound, read},
      {"404 namespace itself", 404, no_namespace.c_str(), Class::kNotFound, namespaces},
      {"405", 405, "", Class::kInvalid},
      {"406", 406, "", Class::kInvalid},
      {"408", 408, "", Class::kServerError},
      {"409 fields", 409, field_conflict.c_str(), Class::kFieldConflict},
      {"409 version", 409, conflict.c_str(), Class::kConflict},
      {"409 exists", 409, exists.c_str(), Class::kConflict},
      {"410", 410, expired.c_str(), Class::kGone},
      {"413", 413, "", Class::kTooLarge},
      {"415", 415, "", Class::kInvalid},
      {"422", 422, invalid.c_str(), Class::kInvalid},
      {"429", 429, throttled.c_str(), Class::kThrottled},
      {"429 of a proxy", 429, "Too many requests, please try again later.", Class::kThrottled},
      {"500 webhook", 500, webhook.c_str(), Class::kServerError},
      {"500 etcd size", 500, too_large.c_str(), Class::kTooLarge},
      {"500 grpc size", 500, grpc_large.c_str(), Class::kTooLarge},
      {"500 etcd", 500, etcd.c_str(), Class::kServerError},
      {"500 rpc", 500, rpc.c_str(), Class::kServerError},
      {"500 context", 500, deadline.c_str(), Class::kServerError},
      {"500 structural", 500, structural.c_str(), Class::kInvalid},
      {"500 prune", 500, prune.c_str(), Class::kInvalid},
      {"500 of a proxy", 500, "oops", Class::kServerError},
      {"500 empty", 500, "", Class::kServerError},
      {"502", 502, "bad gateway", Class::kServerError},
      {"503", 503, "", Class::kServerError},
      {"504", 504, timeout.c_str(), Class::kServerError},
      {"504 version of the future", 504, future.c_str(), Class::kGone},
  };
  for (const Case& c : cases) {
    const KubeError error = ClassifyResponse(c.status, {}, c.body, c.info);
    EXPECT_EQ(KubeErrorClassName(error.error_class), KubeErrorClassName(c.want)) << c.name;
    EXPECT_EQ(error.http_status, c.status) << c.name;
    EXPECT_EQ(error.message.empty(), c.want == Class::kNone) << c.name;
  }
}

TEST(Classify, KeepsCausesAndReason) {
  const KubeError error = ClassifyResponse(
      409, {},
      StatusBody("Conflict", "m",
                 R"({"causes":[{"reason":"FieldManagerConflict","field":".a","message":"by x"}]})"),
      {});
  EXPECT_EQ(error.reason, "Conflict");
  EXPECT_EQ(error.message, "m");
  ASSERT_EQ(error.causes.size(), 1u);
  EXPECT_EQ(error.causes[0].field, ".a");
  EXPECT_EQ(error.causes[0].message, "by x");
}

TEST(Classify, RetryAfter) {
  struct Row {
    int status;
    Pairs headers;
    std::string body;
    std::optional<absl::Duration> want;
  };
  const std::string details = StatusBody("ServerTimeout", "m", R"({"retryAfterSeconds":3})");
  const Row rows[] = {
      {429, {{"retry-after", "7"}}, "", absl::Seconds(7)},
      {429, {}, "", absl::Seconds(1)},
      {429, {{"retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"}}, "", absl::Seconds(1)},
      {503, {{"retry-after", "1"}}, "", absl::Seconds(1)},
      {503, {}, "", std::nullopt},
      {500, {}, details, absl::Seconds(3)},
      {503, {{"retry-after", "5"}}, details, absl::Seconds(5)},
      {503, {{"retry-after", "-5"}}, "", std::nullopt},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ClassifyResponse(row.status, row.headers, row.body, {}).retry_after, row.want)
        << row.status << row.body;
  }
}

TEST(Classify, BoundsTheMessage) {
  const std::string long_text(1 << 20, 'x');
  EXPECT_EQ(ClassifyResponse(500, {}, long_text, {}).message.size(), 2048u);
  // A message that is cut inside a character is cut before it.
  std::string text(2047, 'x');
  absl::StrAppend(&text, "ü");
  EXPECT_EQ(ClassifyResponse(422, {}, StatusBody("Invalid", text.c_str()), {}).message.size(),
            2047u);
}

TEST(Classify, ErrorEventOfAWatch) {
  const auto classify = [](const char* text) {
    return ClassifyStatusObject(*ParseJsonLenient(text), {}).error_class;
  };
  EXPECT_EQ(classify(R"({"kind":"Status","code":410,"reason":"Expired"})"), Class::kGone);
  EXPECT_EQ(classify(R"({"kind":"Status","code":429})"), Class::kThrottled);
  EXPECT_EQ(classify(R"({"kind":"Status","code":500,"reason":"InternalError"})"),
            Class::kServerError);
  EXPECT_EQ(classify(R"({"kind":"Status"})"), Class::kServerError);
  EXPECT_EQ(classify(R"({"kind":"Status","code":200})"), Class::kServerError);
  EXPECT_EQ(classify("{}"), Class::kServerError);
}

TEST(Classify, Warnings) {
  EXPECT_THAT(ParseWarnings({{"warning", R"(299 - "a \"b\" \\")"},
                             {"other", R"(299 - "no")"},
                             {"warning", R"(299 - "c, d" "Sat, 01 Jan", 299 agent "e")"},
                             {"warning", "broken"},
                             {"warning", R"(299 - "open)"},
                             {"warning", R"(299 - "x" "open)"}}),
              ElementsAre("a \"b\" \\", "c, d", "e", "open", "x"));
}

}  // namespace
}  // namespace nave
