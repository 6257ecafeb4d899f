// Orders, people, faults and deaths at random; afterwards the spoke is what was ordered last, and
// what is not ours was never touched. NAVE_SIM_SEED runs one seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/plan/marks.h"
#include "common/base/backoff.h"
#include "common/value/codec.h"
#include "tests/agent/apply/spoke.h"

namespace nave {
namespace {

using kubesim::SimFault;
using kubesim::SimRequest;

constexpr int kKeys = 3;
constexpr int kNames = 6;
constexpr int kSeeds = 25;

class Random : public Spoke {
 public:
  void TestBody() override {}
  void Go(uint64_t seed) {
    random_ = SplitMix(seed);
    seed_ = seed * 1000 + 1;
    for (const char* ns : {"shared", "theirs"}) {
      Kubectl(absl::StrCat(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")", ns,
                           R"("}})"));
    }
    for (int i = 0; i < kNames; i += 2) {
      Kubectl(absl::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"foreign-)",
                           i, R"(","namespace":"shared"},"data":{"key":"theirs"}})"));
    }
    foreign_ = Foreign();
    StartAgent();
    for (int step = 0; step < 60; ++step) {
      Step();
      Run(absl::Milliseconds(
          static_cast<int64_t>(random_.Below(3) == 0 ? random_.Below(20'000) : random_.Below(60))));
      EXPECT_EQ(Foreign(), foreign_) << "seed " << seed << " step " << step;
    }
    Converge(seed);
  }

 private:
  bool OneIn(uint64_t n) { return random_.Below(n) == 0; }

  // What the bundle of `key` asks for, by its own namespace or the shared one.
  // `clean`: nothing in it that others own.
  std::string Yaml(int key, bool clean = false) {
    std::vector<std::string> documents;
    wanted_[key].clear();
    auto add = [&](const std::string& resource, const std::string& ns, const std::string& name,
                   std::string yaml) {
      wanted_[key].insert(absl::StrCat(resource, " ", ns, "/", name));
      documents.push_back(std::move(yaml));
    };
    const std::string own = absl::StrCat("own-", key);
    for (int i = 0; i < kNames; ++i) {
      if (OneIn(2)) continue;
      const std::string name = absl::StrCat("map-", i);
      add("configmaps", own, name, ConfigMapYaml(name, absl::StrCat(random_.Below(3)), own));
    }
    if (OneIn(2))
      add("deployments.apps", own, "web",
          DeploymentYaml("web", absl::StrCat("nginx:", random_.Below(3))));
    if (OneIn(3)) {
      // Several bundles may want this one.
      const std::string name =
          absl::StrCat("shared-", clean ? static_cast<uint64_t>(key) : random_.Below(kKeys));
      add("configmaps", "shared", name, ConfigMapYaml(name, absl::StrCat(key), "shared"));
    }
    if (!clean && OneIn(4)) {
      const std::string name = absl::StrCat("foreign-", 2 * random_.Below(kNames / 2));
      documents.push_back(ConfigMapYaml(name, "ours", "shared"));
    }
    if (OneIn(3)) {
      // The kind comes with it and goes with it.
      const std::string group = absl::StrCat("g", key, ".example.org");
      add("customresourcedefinitions.apiextensions.k8s.io", "", absl::StrCat("things.", group),
          CrdYaml("things", "Thing", group));
      add(absl::StrCat("things.", group), own, "t",
          absl::StrCat("apiVersion: ", group, "/v1\nkind: Thing\nmetadata:\n  name: t\nspec: {a: ",
                       random_.Below(3), "}\n"));
    }
    return Docs(documents);
  }

  void Order(int n) {
    const Uuid key = Key(n + 1);
    if (OneIn(5)) {
      if (!store_.state().assignments.contains(key)) return;
      wanted_[n].clear();
      Remove(key);
    } else {
      Commit(key, Yaml(n), absl::StrCat("own-", n));
      store_.mutable_state().assignments[key].confirmed = true;
      if (reconciler_) reconciler_->OnAssignmentChanged(key);
    }
  }

  void Step() {
    switch (random_.Below(10)) {
      case 0:
      case 1:
      case 2:
        Order(static_cast<int>(random_.Below(kKeys)));
        return;
      case 3:
        if (reconciler_) {
          KillAgent();
        } else {
          StartAgent();
        }
        return;
      case 4:
        if (client_) client_->SetCut(!client_->cut());
        return;
      case 5: {
        const uint64_t rate = 2 + random_.Below(6);
        sim_.fault = [this, rate](const SimRequest& request) {
          SimFault fault;
          if (request.user != kAgentUser || !OneIn(rate)) return fault;
          switch (random_.Below(4)) {
            case 0:
              fault.kind = SimFault::Kind::kDropBefore;
              break;
            case 1:
              fault.kind = SimFault::Kind::kDropAfter;
              break;
            default:
              fault.kind = SimFault::Kind::kAnswer;
              fault.answer = OneIn(2) ? kubesim::MakeStatus(503, "ServiceUnavailable", "not now")
                                      : kubesim::MakeStatus(429, "TooManyRequests", "slow down");
          }
          return fault;
        };
        return;
      }
      case 6:
        sim_.fault = nullptr;
        return;
      case 7:
        sim_.Compact();
        return;
      default:
        Meddle();
    }
  }

  // A person edits or deletes something of ours.
  void Meddle() {
    const auto owned = Owned();
    if (owned.empty()) return;
    auto it = owned.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(random_.Below(owned.size())));
    const std::string resource = it->first.substr(0, it->first.find(' '));
    const std::string rest = it->first.substr(resource.size() + 1);
    const std::string ns = rest.substr(0, rest.find('/'));
    const std::string name = rest.substr(ns.size() + 1);
    if (Live(resource, ns, name)->Find("metadata", "deletionTimestamp") != nullptr) return;
    if (OneIn(2)) {
      Delete(resource, ns, name);
    } else if (resource == "configmaps") {
      Edit(resource, ns, name, R"({"data":{"key":"meddled"}})");
    } else if (resource == "deployments.apps") {
      Edit(resource, ns, name, R"({"spec":{"replicas":7}})");
    }
  }

  std::map<std::string, std::string> Foreign() {
    std::map<std::string, std::string> foreign;
    for (const auto& [name, object] : sim_.store().All("configmaps")) {
      if (absl::StartsWith(name.second, "foreign-")) foreign[name.second] = FormatJson(*object);
    }
    for (const char* ns : {"shared", "theirs"})
      foreign[ns] = FormatJson(*Live("namespaces", "", ns));
    return foreign;
  }

  void Converge(uint64_t seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    sim_.fault = nullptr;
    if (!reconciler_) StartAgent();
    client_->SetCut(false);
    for (int n = 0; n < kKeys; ++n) {
      auto it = store_.state().assignments.find(Key(n + 1));
      if (it == store_.state().assignments.end() || it->second.state == KeyState::kRemoving)
        continue;
      Commit(Key(n + 1), Yaml(n, /*clean=*/true), absl::StrCat("own-", n));
      store_.mutable_state().assignments[Key(n + 1)].confirmed = true;
      reconciler_->OnAssignmentChanged(Key(n + 1));
    }
    // Long enough for every back-off.
    Run(absl::Minutes(25));
    EXPECT_EQ(Foreign(), foreign_);
    std::set<std::string> wanted;
    for (const auto& [key, objects] : wanted_) {
      const Uuid uid = Key(key + 1);
      if (!store_.state().assignments.contains(uid)) continue;
      wanted.insert(objects.begin(), objects.end());
      const AssignmentStatus& status = StatusOf(uid);
      if (store_.state().assignments.at(uid).state == KeyState::kRemoving) {
        EXPECT_EQ(status.phase, Phase::kRemoved) << status.reason << ": " << status.message;
        EXPECT_FALSE(reconciler_->HasInventory(uid));
        continue;
      }
      // A bundle without objects makes no namespace.
      if (!objects.empty()) wanted.insert(absl::StrCat("namespaces /own-", key));
      EXPECT_EQ(status.phase, Phase::kApplied) << status.reason << ": " << status.message;
      EXPECT_EQ(status.health, Health::kHealthy) << status.reason << ": " << status.message;
      EXPECT_EQ(status.not_ok_total, 0u) << status.reason << ": " << status.message;
      for (const auto& [object, entry] : store_.inventory(uid)) {
        EXPECT_EQ(entry.progress, InventoryEntry::Progress::kApplied) << object.ToString();
      }
    }
    std::set<std::string> there;
    for (const auto& [name, versions] : Owned()) there.insert(name);
    std::vector<std::string> missing, left;
    std::set_difference(wanted.begin(), wanted.end(), there.begin(), there.end(),
                        std::back_inserter(missing));
    std::set_difference(there.begin(), there.end(), wanted.begin(), wanted.end(),
                        std::back_inserter(left));
    EXPECT_THAT(missing, testing::IsEmpty());
    EXPECT_THAT(left, testing::IsEmpty()) << (left.empty() ? "" : History(left.front()));
    // And it is at rest.
    const size_t writes = Writes();
    const size_t inventory_writes = store_.inventory_writes;
    RestartAgent();
    Run(absl::Minutes(5));
    EXPECT_EQ(Writes(), writes) << LastWrites();
    EXPECT_EQ(store_.inventory_writes, inventory_writes);
  }

  // Who wrote an object of Owned() and when.
  std::string History(const std::string& object) {
    std::string text;
    for (const kubesim::AuditRecord& record : sim_.audit()) {
      if (absl::StrCat(record.resource, " ", record.ns, "/", record.name) != object) continue;
      absl::StrAppend(&text, absl::FormatTime("%H:%M:%E3S ", record.time, absl::UTCTimeZone()),
                      record.user == kAgentUser ? "agent " : "person ", record.verb, " ",
                      record.code, "\n");
    }
    return text;
  }

  std::string LastWrites() {
    std::string text;
    for (const kubesim::AuditRecord& record : sim_.audit()) {
      if (record.user == kAgentUser && executor_.Now() - record.time < absl::Minutes(5)) {
        absl::StrAppend(&text, record.verb, " ", record.resource, " ", record.ns, "/", record.name,
                        " ", record.code, "\n");
      }
    }
    return text;
  }

  SplitMix random_{1};
  std::map<int, std::set<std::string>> wanted_;
  std::map<std::string, std::string> foreign_;
};

TEST(RandomSpoke, EndsAsOrderedLast) {
  uint64_t first = 1;
  uint64_t last = kSeeds;
  if (const char* seed = std::getenv("NAVE_SIM_SEED");
      seed != nullptr && absl::SimpleAtoi(seed, &first))
    last = first;
  for (uint64_t seed = first; seed <= last; ++seed) {
    Random run;
    run.Go(seed);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace nave
