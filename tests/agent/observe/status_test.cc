// Goal: a parent is never greener than a child, and nothing that is not right lacks a reason.
// Method: every combination of one object's standing and health.
#include "agent/observe/status.h"

#include <gtest/gtest.h>

namespace nave {
namespace {

ObjectView Object(const std::string& name, Standing standing, Health health,
                  const std::string& reason = "") {
  ObjectView view;
  view.standing = standing;
  view.status.kind = "ConfigMap";
  view.status.name = name;
  view.status.health = health;
  view.status.applied = standing == Standing::kApplied || standing == Standing::kFlawed;
  view.status.reason = reason;
  return view;
}

TEST(BuildStatusTest, ParentIsNeverGreenerThanAChild) {
  for (KeyState state : {KeyState::kPresent, KeyState::kNotDesired}) {
    for (Standing standing :
         {Standing::kApplied, Standing::kFlawed, Standing::kWaiting, Standing::kFailed}) {
      for (int h = 0; h <= static_cast<int>(Health::kDegraded); ++h) {
        const Health health = static_cast<Health>(h);
        KeyView view;
        view.planned = true;
        view.state = state;
        view.objects = {Object("a", Standing::kApplied, Health::kHealthy),
                        Object("b", standing, health, "Why")};
        const AssignmentStatus status = BuildStatus(view);
        EXPECT_GE(static_cast<int>(status.health), h);
        const bool right = standing == Standing::kApplied && health == Health::kHealthy;
        EXPECT_EQ(status.not_ok_total, right ? 0u : 1u);
        EXPECT_EQ(status.counts.not_ok, status.not_ok_total);
        if (!right) {
          EXPECT_FALSE(status.reason.empty());
        }
      }
    }
  }
}

TEST(BuildStatusTest, ListsAtMostTwoHundredWorstFirstAndCountsAll) {
  KeyView view;
  view.planned = true;
  for (int i = 0; i < 300; ++i) {
    view.objects.push_back(
        Object("p" + std::to_string(i), Standing::kApplied, Health::kProgressing, "LessReplicas"));
  }
  view.objects.push_back(Object("worst", Standing::kFailed, Health::kDegraded, "NotOwned"));
  const AssignmentStatus status = BuildStatus(view);
  EXPECT_EQ(status.not_ok.size(), kStatusObjectsMax);
  EXPECT_EQ(status.not_ok_total, 301u);
  EXPECT_EQ(status.not_ok.front().name, "worst");
  EXPECT_EQ(status.counts.total, 301u);
}

}  // namespace
}  // namespace nave
