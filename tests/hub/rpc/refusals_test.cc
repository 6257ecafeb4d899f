#include "hub/rpc/refusals.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace nave {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1800000000);

Caller From(std::string user, std::string address) {
  Caller caller;
  caller.user = std::move(user);
  caller.address = std::move(address);
  return caller;
}

TEST(Refusals, AreOneRecordPerCaller) {
  Refusals refusals;
  absl::Status denied = MakeError(Reason::kPermissionDenied, "no");
  refusals.Add(From("ann", "ipv4:10.0.0.1:1000"), "m1", denied, kNow);
  refusals.Add(From("ann", "ipv4:10.0.0.1:2000"), "m2", denied, kNow + absl::Seconds(1));
  refusals.Add(From("bob", "ipv4:10.0.0.1:3000"), "m1", denied, kNow);
  refusals.Add(From("", "ipv4:10.0.0.9:1"), "m1", MakeError(Reason::kUnauthenticated, "who"), kNow);
  auto records = refusals.Take();
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].user, "");
  EXPECT_EQ(records[0].result, "UNAUTHENTICATED");
  EXPECT_EQ(records[1].user, "ann");
  EXPECT_EQ(records[1].count, 2u);
  EXPECT_EQ(records[1].method, "m2");
  EXPECT_EQ(records[1].time, kNow + absl::Seconds(1));
  EXPECT_EQ(records[2].count, 1u);
  EXPECT_TRUE(refusals.empty());
}

TEST(Refusals, AreBounded) {
  Refusals refusals;
  for (size_t i = 0; i < Refusals::kCallersMax + 50; ++i) {
    refusals.Add(From("", absl::StrCat("ipv4:10.0.", i, ":1")), "m",
                 MakeError(Reason::kUnauthenticated, "who"), kNow);
  }
  auto records = refusals.Take();
  EXPECT_EQ(records.size(), Refusals::kCallersMax + 1);
  uint32_t attempts = 0;
  for (const AuditRecord& record : records) attempts += record.count;
  EXPECT_EQ(attempts, Refusals::kCallersMax + 50);
}

}  // namespace
}  // namespace nave
