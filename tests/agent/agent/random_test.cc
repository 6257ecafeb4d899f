// Whatever is cut, killed or answered wrongly on the way: in the end the spoke is what the hub
// wants, nothing more, nothing less, and the hub knows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/agent/agent/agent_fixture.h"

namespace nave {
namespace {

class RandomTest : public AgentTest, public testing::WithParamInterface<uint64_t> {
 protected:
  void Change() {
    const int n = static_cast<int>(random_.Below(4)) + 1;
    if (random_.Below(4) == 0) {
      hub_.Remove(n);
      wanted_.erase(n);
      return;
    }
    std::map<std::string, std::string> objects;
    for (uint64_t i = 0; i <= random_.Below(4); ++i) {
      objects[absl::StrCat("o", n, "-", random_.Below(5))] = absl::StrCat(random_.Below(3));
    }
    hub_.inline_blobs = random_.Below(2) == 0;
    hub_.Put(n, MakeBundle(objects));
    wanted_[n] = objects;
  }
  void Disturb() {
    switch (random_.Below(5)) {
      case 0:
        return hub_.Cut();
      case 1:
        process_.reset();
        executor_.Advance(absl::Milliseconds(random_.Below(5000)));
        process_ = Begin();
        return;
      case 2:
        process_->client->SetCut(true);
        executor_.Advance(absl::Seconds(random_.Below(30)));
        process_->client->SetCut(false);
        return;
      case 3:
        hub_.down = true;
        executor_.Advance(absl::Seconds(random_.Below(40)));
        hub_.down = false;
        return hub_.Cut();
      default:
        return;
    }
  }
  std::map<std::string, std::string> Maps() const {
    std::map<std::string, std::string> maps;
    for (const auto& [name, object] : sim_.store().All("configmaps")) {
      if (name.first == "default" && name.second[0] == 'o') {
        maps[name.second] = object->StringAt("data", "value");
      }
    }
    return maps;
  }

  SplitMix random_{GetParam()};
  std::map<int, std::map<std::string, std::string>> wanted_;
  std::unique_ptr<Process> process_;
};

TEST_P(RandomTest, Converges) {
  seed_ = GetParam() * 100;
  bool faults = true;
  sim_.fault = [&](const kubesim::SimRequest& request) {
    kubesim::SimFault fault;
    if (!faults || request.verb == kubesim::SimRequest::Verb::kList) return fault;
    const uint64_t dice = random_.Below(60);
    if (dice == 0) fault.kind = kubesim::SimFault::Kind::kDropAfter;
    if (dice == 1) fault.kind = kubesim::SimFault::Kind::kDropBefore;
    return fault;
  };
  process_ = Begin();
  for (int round = 0; round < 25; ++round) {
    if (random_.Below(3) != 0) Change();
    executor_.Advance(absl::Milliseconds(random_.Below(4000)));
    if (random_.Below(3) == 0) Disturb();
  }
  faults = false;
  RunFor(absl::Minutes(12));
  std::map<std::string, std::string> want;
  for (const auto& [n, objects] : wanted_) want.insert(objects.begin(), objects.end());
  EXPECT_EQ(Maps(), want);
  for (const auto& [n, objects] : wanted_) {
    EXPECT_EQ(PhaseOf(n), Phase::kApplied) << n;
    ASSERT_TRUE(hub_.StatusOf(n).has_value());
    EXPECT_EQ(hub_.StatusOf(n)->counts.total, objects.size()) << n;
  }
  ASSERT_NE(process_->agent->term(), nullptr);
  EXPECT_EQ(process_->agent->term()->store()->state().assignments.size(), wanted_.size());
  EXPECT_EQ(process_->agent->Report().hold_reason, "");
  // One content and one inventory a key, nave-state; nothing is left over.
  std::set<std::string> secrets;
  for (const auto& [name, object] : sim_.store().All("secrets")) {
    if (name.first == kNs) secrets.insert(name.second);
  }
  EXPECT_LE(secrets.size(), 1 + 2 * wanted_.size()) << testing::PrintToString(secrets);
  process_.reset();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTest, testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace nave
