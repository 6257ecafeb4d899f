// Goal: when a change of an owned object is a reason to write, and how often that may happen.
// Method: tables over the ways in which an object can change; a clock moved by hand.
#include "agent/observe/drift.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/value/codec.h"

namespace nave {
namespace {

constexpr char kManager[] = "nave-agent-0badcafe";
constexpr char kLabels[] = R"({"app":"web"})";
constexpr char kSpec[] = R"({"replicas":2})";
constexpr char kFields[] = R"({"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:replicas":{}}})";
constexpr char kLessFields[] = R"({"f:metadata":{"f:labels":{"f:app":{}}}})";

Value Parse(const std::string& json) {
  auto value = ParseJsonLenient(json);
  EXPECT_TRUE(value.ok()) << value.status() << json;
  return value.ok() ? *std::move(value) : Value();
}

// A Deployment as the server has it; the last arguments are pieces of JSON.
Value Deployment(const std::string& version, int generation, const std::string& labels,
                 const std::string& spec, const std::string& own_fields) {
  return Parse(absl::StrCat(
      R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop",)",
      R"("uid":"u","resourceVersion":")", version, R"(","generation":)", generation,
      R"(,"labels":)", labels, R"(,"managedFields":[{"manager":")", kManager,
      R"(","operation":"Apply","fieldsV1":)", own_fields, R"(}]},"spec":)", spec, "}"));
}

TEST(ClassifyChangeTest, OfAKindWithGeneration) {
  const Baseline baseline = TakeBaseline(Deployment("1", 1, kLabels, kSpec, kFields), kManager);
  Value replaced = Deployment("9", 1, kLabels, kSpec, kFields);
  replaced["metadata"]["uid"] = "other";
  Value terminating = Deployment("9", 1, kLabels, kSpec, kFields);
  terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  Value status = Deployment("2", 1, kLabels, kSpec, kFields);
  status["status"]["replicas"] = 2;
  struct Case {
    const char* name;
    Value live;
    Change want;
  };
  const Case cases[] = {
      {"same version", Deployment("1", 1, kLabels, kSpec, kFields), Change::kNone},
      {"status", status, Change::kBenign},
      {"generation", Deployment("2", 2, kLabels, kSpec, kFields), Change::kSuspect},
      {"label", Deployment("2", 1, R"({"app":"x"})", kSpec, kFields), Change::kSuspect},
      {"path taken", Deployment("2", 1, kLabels, kSpec, kLessFields), Change::kSuspect},
      {"another uid", replaced, Change::kReplaced},
      {"being deleted", terminating, Change::kTerminating},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(static_cast<int>(ClassifyChange(c.live, baseline, kManager)),
              static_cast<int>(c.want))
        << c.name;
  }
}

TEST(SettleSuspectTest, OfAKindWithGeneration) {
  const Value body = Parse(R"({"metadata":{"labels":{"app":"web"}},"spec":{"replicas":2}})");
  const Baseline baseline = TakeBaseline(Deployment("1", 1, kLabels, kSpec, kFields), kManager);
  struct Case {
    const char* name;
    Value live;
    bool right;
  };
  const Case cases[] = {
      {"label of others", Deployment("2", 1, R"({"app":"web","x":"y"})", kSpec, kFields), true},
      {"our label changed", Deployment("2", 1, R"({"app":"other"})", kSpec, kFields), false},
      {"our label removed", Deployment("2", 1, "{}", kSpec, kFields), false},
      {"field of others", Deployment("2", 2, kLabels, R"({"replicas":2,"paused":true})", kFields),
       true},
      {"our field changed", Deployment("2", 2, kLabels, R"({"replicas":5})", kLessFields), false},
      {"taken with the same value", Deployment("2", 1, kLabels, kSpec, kLessFields), false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(SettleSuspect(c.live, body, baseline, kManager), c.right) << c.name;
  }
}

TEST(HealBudgetTest, BurstThenEverMoreSlowlyAndCalmRestoresIt) {
  HealBudget budget;
  absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(budget.Take(now), absl::ZeroDuration()) << i;
  absl::Duration last;
  for (int i = 0; i < 12; ++i) {
    const absl::Duration wait = budget.Take(now);
    EXPECT_GT(wait, absl::ZeroDuration());
    EXPECT_GE(wait, last);
    EXPECT_TRUE(budget.exhausted());
    last = wait;
    now += wait;
  }
  EXPECT_EQ(last, absl::Minutes(5));
  now += absl::Minutes(1);
  EXPECT_EQ(budget.Take(now), absl::ZeroDuration());
  EXPECT_FALSE(budget.exhausted());
}

}  // namespace
}  // namespace nave
