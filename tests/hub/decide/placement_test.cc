// Which clusters a bundle runs on: filters, incumbents, the guard of shrinks, and why a cluster is
// not among them.
#include "hub/decide/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/hub/fleet/fleet_maker.h"

namespace nave {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PlacementCandidate C(uint16_t number, StringMap labels = {}) {
  PlacementCandidate cluster;
  cluster.uid = ClusterUid(number);
  cluster.id = absl::StrCat("c", number);
  cluster.cluster_set = "default";
  cluster.labels = std::move(labels);
  cluster.accepted = true;
  return cluster;
}

// `clusters` candidates, the first `incumbents` of them incumbents; every cluster named by an empty
// selector.
PlacementInput Input(uint16_t clusters, uint16_t incumbents = 0) {
  PlacementInput input;
  input.spec = PlacementSpec{{}, {}, "", {}};
  input.bound_sets = {"default"};
  for (uint16_t n = 0; n < clusters; ++n) input.clusters.push_back(C(n));
  for (uint16_t n = 0; n < incumbents; ++n) input.incumbents[ClusterUid(n)] = absl::StrCat("c", n);
  input.previous_names = HashNames(input.spec);
  return input;
}

std::vector<std::string> Chosen(const PlacementResult& result) {
  std::vector<std::string> ids;
  for (const auto& [uid, id] : result.chosen) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<std::string> Leaving(const PlacementResult& result) {
  std::vector<std::string> ids;
  for (const Leaver& leaver : result.leavers)
    ids.push_back(absl::StrCat(leaver.id, " ", leaver.reason));
  return ids;
}

TEST(PlacementTest, EachRuleDropsWhatItNames) {
  struct Case {
    const char* name;
    std::function<void(PlacementInput*)>
        change;  // Of three clusters, of which c1 is to be dropped.
    const char* why;
    bool incumbent_stays = false;
  };
  const Case cases[] = {
      {"not accepted", [](auto* in) { in->clusters[1].accepted = false; },
       "dropped by accepted: not accepted"},
      {"being removed", [](auto* in) { in->clusters[1].removing = true; },
       "dropped by not being removed: being removed"},
      {"set not bound", [](auto* in) { in->clusters[1].cluster_set = "edge"; },
       "dropped by set bound to the project: set edge"},
      {"set not wanted",
       [](auto* in) {
         in->bound_sets.insert("edge");
         in->clusters[1].cluster_set = "edge";
         in->spec->cluster_sets = {"default"};
       },
       "dropped by clusterSets default: set edge"},
      {"not named",
       [](auto* in) {
         in->spec->names = {"c0", "c2"};
       },
       "dropped by names: not named"},
      {"selector",
       [](auto* in) {
         for (auto& c : in->clusters) c.labels = {{"env", c.id == "c1" ? "dev" : "prod"}};
         in->spec->selector = "env=prod";
       },
       "dropped by selector env=prod: env=dev"},
      {"selector, no labels",
       [](auto* in) {
         in->clusters[0].labels = in->clusters[2].labels = {{"env", "prod"}};
         in->spec->selector = "env";
       },
       "dropped by selector env: no labels"},
      {"excluded", [](auto* in) { in->spec->exclude = {"c1"}; }, "dropped by exclude: excluded"},
      {"cordoned", [](auto* in) { in->clusters[1].cordoned = true; },
       "dropped by not cordoned: cordoned", true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    PlacementInput fresh = Input(3);
    c.change(&fresh);
    PlacementResult result = DecidePlacement(fresh);
    EXPECT_THAT(Chosen(result), ElementsAre("c0", "c2"));
    EXPECT_EQ(result.reason, "Placed");
    EXPECT_EQ(ExplainCluster(fresh, "c1"), c.why);
    EXPECT_EQ(ExplainCluster(fresh, "c0"), "");
    EXPECT_EQ(result.steps.front().in, 3u);
    EXPECT_EQ(result.steps.back().out, 2u);

    PlacementInput running = Input(3, 3);
    c.change(&running);
    result = DecidePlacement(running);
    if (c.incumbent_stays) {
      EXPECT_THAT(Chosen(result), ElementsAre("c0", "c1", "c2"));
      EXPECT_THAT(Leaving(result), IsEmpty());
      EXPECT_EQ(ExplainCluster(running, "c1"), "");
    } else {
      EXPECT_THAT(Chosen(result), ElementsAre("c0", "c2"));
      EXPECT_EQ(result.leavers.size(), 1u);
    }
  }
}

TEST(PlacementTest, ABadSelectorNamesNobody) {
  PlacementInput input = Input(2);
  input.spec->selector = "env in (";
  EXPECT_THAT(Chosen(DecidePlacement(input)), IsEmpty());
}

TEST(PlacementTest, NobodyLeavesForWantOfCandidates) {
  struct Case {
    const char* name;
    std::function<void(PlacementInput*)> change;
    const char* reason;
    const char* text;
  };
  const Case cases[] = {
      {"selector without a match", [](auto* in) { in->spec->selector = "env=none"; },
       "NoClusterMatches", "keep"},
      {"placement taken away", [](auto* in) { in->spec = std::nullopt; }, "NotPlaced",
       "spec.placement is not set"},
      {"no set bound any more", [](auto* in) { in->bound_sets.clear(); }, "NoClusterMatches",
       "keep"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    PlacementInput input = Input(5, 5);
    c.change(&input);
    PlacementResult result = DecidePlacement(input);
    EXPECT_EQ(Chosen(result).size(), 5u);
    EXPECT_THAT(Leaving(result), IsEmpty());
    EXPECT_EQ(result.reason, c.reason);
    EXPECT_THAT(result.message, HasSubstr(c.text));
    PlacementInput fresh = Input(5);
    c.change(&fresh);
    result = DecidePlacement(fresh);
    EXPECT_THAT(Chosen(result), IsEmpty());
    EXPECT_EQ(result.reason, c.reason);
  }
}

TEST(PlacementTest, OrderedLeaversGoEvenWhenNobodyIsLeft) {
  PlacementInput input = Input(3, 3);
  input.deleting = true;
  EXPECT_THAT(Leaving(DecidePlacement(input)),
              ElementsAre("c0 BundleDeleted", "c1 BundleDeleted", "c2 BundleDeleted"));
  input = Input(3, 3);
  for (PlacementCandidate& cluster : input.clusters) cluster.removing = true;
  EXPECT_THAT(Leaving(DecidePlacement(input)),
              ElementsAre("c0 ClusterRemoved", "c1 ClusterRemoved", "c2 ClusterRemoved"));
  input = Input(3, 3);
  input.clusters.clear();
  PlacementResult result = DecidePlacement(input);
  EXPECT_THAT(Chosen(result), IsEmpty());
  ASSERT_EQ(result.leavers.size(), 3u);
  EXPECT_TRUE(result.leavers[0].forgotten);
}

TEST(PlacementTest, ShrinksAreHeldAboveTheLimit) {
  struct Row {
    uint16_t incumbents, lost;
    bool held;
  };
  for (const Row& row : std::vector<Row>{{2, 1, false},
                                         {3, 2, true},
                                         {5, 1, false},
                                         {9, 1, false},
                                         {9, 2, true},
                                         {10, 2, false},
                                         {10, 3, true},
                                         {100, 20, false},
                                         {100, 21, true}}) {
    SCOPED_TRACE(absl::StrCat(row.lost, " of ", row.incumbents));
    PlacementInput input = Input(row.incumbents, row.incumbents);
    for (uint16_t n = 0; n < row.lost; ++n) input.clusters[n].cluster_set = "elsewhere";
    PlacementResult result = DecidePlacement(input);
    EXPECT_EQ(result.held.size(), row.held ? row.lost : 0u);
    EXPECT_EQ(result.leavers.size(), row.held ? 0u : row.lost);
    EXPECT_EQ(result.chosen.size(), row.held ? row.incumbents : row.incumbents - row.lost);
    EXPECT_EQ(result.reason, row.held ? "RemovalHeld" : "Placed");
    EXPECT_EQ(result.held_hash.IsNone(), !row.held);
  }
}

// Ten incumbents of which c0 to c3 lose their set.
PlacementInput Shrinking() {
  PlacementInput input = Input(10, 10);
  for (uint16_t n = 0; n < 4; ++n) input.clusters[n].cluster_set = "elsewhere";
  return input;
}

TEST(PlacementTest, AHeldShrinkLetsOthersComeAndOrderedOnesGo) {
  PlacementInput input = Shrinking();
  input.clusters.push_back(C(10));
  input.clusters[9].removing = true;
  PlacementResult result = DecidePlacement(input);
  EXPECT_THAT(result.held, ElementsAre("c0", "c1", "c2", "c3"));
  EXPECT_THAT(Leaving(result), ElementsAre("c9 ClusterRemoved"));
  EXPECT_EQ(result.chosen.size(), 10u);
  EXPECT_EQ(result.chosen.count(ClusterUid(10)), 1u);
}

TEST(PlacementTest, AConfirmStandsForOneListOnly) {
  PlacementInput input = Shrinking();
  input.confirmed_shrink = DecidePlacement(input).held_hash;
  PlacementResult result = DecidePlacement(input);
  EXPECT_TRUE(result.confirm_used);
  EXPECT_EQ(result.leavers.size(), 4u);
  EXPECT_TRUE(result.leavers[0].ordered);
  EXPECT_TRUE(result.held.empty());
  input.clusters[4].cluster_set = "elsewhere";
  result = DecidePlacement(input);
  EXPECT_FALSE(result.confirm_used);
  EXPECT_EQ(result.held.size(), 5u);
}

TEST(PlacementTest, ChangedNamesAreAPersonsOrder) {
  PlacementInput input = Input(10, 10);
  input.spec->names = {"c7", "c8"};
  PlacementResult result = DecidePlacement(input);
  EXPECT_THAT(Chosen(result), ElementsAre("c7", "c8"));
  EXPECT_EQ(result.leavers.size(), 8u);
  // Not when the names are as they were: then something else made the others leave.
  input.previous_names = HashNames(input.spec);
  EXPECT_EQ(DecidePlacement(input).held.size(), 8u);
}

TEST(PlacementTest, HashesDoNotDependOnOrder) {
  EXPECT_EQ(HashShrink({"a", "b"}), HashShrink({"b", "a"}));
  EXPECT_NE(HashShrink({"a", "b"}), HashShrink({"ab"}));
  EXPECT_EQ(HashNames(PlacementSpec{{}, {"a", "b"}, {}, {}}),
            HashNames(PlacementSpec{{"s"}, {"b", "a"}, "x", {"c"}}));
  EXPECT_NE(HashNames(PlacementSpec{{}, {"a"}, {}, {}}), HashNames(std::nullopt));
}

// Whatever happens to a fleet: nobody is chosen who must not be, an incumbent that may stay stays,
// nobody is both, and no more leave without an order than the guard allows.
TEST(PlacementTest, RandomFleets) {
  std::mt19937 random(1);
  auto one_in = [&](uint32_t n) { return random() % n == 0; };
  size_t held = 0, kept_when_empty = 0, left = 0;
  for (int round = 0; round < 3000; ++round) {
    PlacementInput input = Input(static_cast<uint16_t>(random() % 15));
    for (PlacementCandidate& cluster : input.clusters) {
      cluster.accepted = !one_in(6);
      cluster.removing = one_in(8);
      cluster.cordoned = one_in(5);
      if (one_in(5)) cluster.cluster_set = "elsewhere";
      if (one_in(2)) cluster.labels["env"] = one_in(2) ? "prod" : "dev";
      if (one_in(2)) input.incumbents[cluster.uid] = cluster.id;
    }
    if (one_in(4)) input.incumbents[ClusterUid(99)] = "c99";
    if (one_in(2)) input.spec->selector = one_in(2) ? "env=prod" : "env=none";
    if (one_in(10)) input.spec = std::nullopt;
    input.previous_names = HashNames(input.spec);
    PlacementResult result = DecidePlacement(input);

    size_t unordered = 0;
    for (const Leaver& leaver : result.leavers) {
      EXPECT_EQ(result.chosen.count(leaver.uid), 0u);
      EXPECT_EQ(input.incumbents.count(leaver.uid), 1u);
      unordered += !leaver.ordered;
    }
    EXPECT_LE(unordered, ShrinkAllowed(input.incumbents.size()));
    EXPECT_EQ(result.leavers.size() + result.chosen.size() >= input.incumbents.size(), true);
    for (const PlacementCandidate& cluster : input.clusters) {
      bool chosen = result.chosen.count(cluster.uid) > 0,
           incumbent = input.incumbents.count(cluster.uid) > 0;
      bool fits = input.spec.has_value() && cluster.accepted && !cluster.removing &&
                  cluster.cluster_set == "default" &&
                  (input.spec->selector->empty() ||
                   (input.spec->selector == "env=prod" && cluster.labels.count("env") > 0 &&
                    cluster.labels.at("env") == "prod"));
      if (fits && (incumbent || !cluster.cordoned)) {
        EXPECT_TRUE(chosen) << cluster.id;
      }
      if (!fits || (!incumbent && cluster.cordoned)) {
        EXPECT_TRUE(!chosen || incumbent) << cluster.id;
      }
      if (cluster.removing) {
        EXPECT_FALSE(chosen) << cluster.id;
      }
    }
    EXPECT_EQ(result.chosen.count(ClusterUid(99)), 0u);
    held += !result.held.empty();
    kept_when_empty += result.reason == "NoClusterMatches" && !result.chosen.empty();
    left += unordered > 0;
  }
  EXPECT_GT(held, 150u);
  EXPECT_GT(kept_when_empty, 150u);
  EXPECT_GT(left, 150u);
}

}  // namespace
}  // namespace nave
