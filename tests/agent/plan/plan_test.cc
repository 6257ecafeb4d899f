// Goal: which objects a key applies and removes, in which order, and when removals may start.
// Method: tables.
#include "agent/plan/plan.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "agent/plan/order.h"
#include "gtest/gtest.h"

namespace nave {
namespace {

const Uuid kOther = *Uuid::Parse("99999999-2222-3333-4444-555555555555");
const ObjectKey kNamespace{"", "Namespace", "", "shop"};
const ObjectKey kCrd{"apiextensions.k8s.io", "CustomResourceDefinition", "", "foos.example.com"};
const ObjectKey kFoo{"example.com", "Foo", "shop", "foo"};
const ObjectKey kMap{"", "ConfigMap", "shop", "map"};
const ObjectKey kDeployment{"apps", "Deployment", "shop", "web"};
const ObjectKey kService{"", "Service", "shop", "web"};
const ObjectKey kRole{"rbac.authorization.k8s.io", "ClusterRole", "", "role"};
const ObjectKey kHook{"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "", "hook"};

Digest BodyOf(const ObjectKey& key) { return Sha256(key.ToString()); }

struct Scene {
  Assignment assignment;
  std::vector<ListedObject> listed;
  bool content = true;
  Inventory owned;
  std::map<ObjectKey, OtherKey> owners;
  std::map<ObjectKey, OtherKey> wanters;

  Scene& List(const ObjectKey& key, bool resolved = true) {
    listed.push_back({key, resolved, resolved ? BodyOf(key) : Digest{}});
    return *this;
  }
  Scene& Own(const ObjectKey& key,
             InventoryEntry::Progress progress = InventoryEntry::Progress::kApplied) {
    InventoryEntry& entry = owned[key];
    entry.key = key;
    entry.uid = "u";
    entry.progress = progress;
    entry.sent = BodyOf(key);
    return *this;
  }

  template <typename F>
  auto With(F f) {
    auto find = [](const std::map<ObjectKey, OtherKey>& map) {
      return [&map](const ObjectKey& key) -> std::optional<OtherKey> {
        auto it = map.find(key);
        return it == map.end() ? std::nullopt : std::optional<OtherKey>(it->second);
      };
    };
    auto owner = find(owners);
    auto wanter = find(wanters);
    PlanInput input{.assignment = &assignment,
                    .listed = content ? &listed : nullptr,
                    .owned = &owned,
                    .agent_namespace = "nave-system",
                    .owner = owner,
                    .wanter = wanter};
    return f(input);
  }

  // "kind:action" in order.
  std::vector<std::string> Applies() {
    std::vector<std::string> out;
    static const char* const kWords[] = {"keep", "apply", "take", "contested", "kind", "other"};
    for (const ApplyItem& item : With(PlanApply)) {
      out.push_back(listed[item.index].key.kind + ":" + kWords[static_cast<int>(item.action)]);
    }
    return out;
  }
  std::vector<std::string> Removals() {
    std::vector<std::string> out;
    for (const RemoveItem& item : With(PlanRemovals)) {
      out.push_back(item.key.kind +
                    (item.action == RemoveItem::Action::kHandOver ? ":hand" : ":remove") +
                    (item.deletes ? "" : "-"));
    }
    return out;
  }
};

using Words = std::vector<std::string>;

TEST(PlanApplyTest, OrdersByStageAndKind) {
  Scene s;
  s.List(kHook)
      .List(kFoo)
      .List(kDeployment)
      .List(kMap)
      .List(kCrd)
      .List(kService)
      .List(kRole)
      .List(kNamespace);
  EXPECT_EQ(s.Applies(),
            (Words{"Namespace:apply", "CustomResourceDefinition:apply", "ClusterRole:apply",
                   "ConfigMap:apply", "Service:apply", "Deployment:apply", "Foo:apply",
                   "ValidatingWebhookConfiguration:apply"}));
}

TEST(PlanApplyTest, Actions) {
  Scene s;
  s.List(kMap).Own(kMap);
  EXPECT_EQ(s.Applies(), Words{"ConfigMap:keep"});
  s.owned[kMap].sent = Sha256("older");
  EXPECT_EQ(s.Applies(), Words{"ConfigMap:apply"});
  s.Own(kMap, InventoryEntry::Progress::kIntended);
  EXPECT_EQ(s.Applies(), Words{"ConfigMap:apply"});

  Scene unknown;
  unknown.List(kFoo, /*resolved=*/false);
  EXPECT_EQ(unknown.Applies(), Words{"Foo:kind"});
}

TEST(PlanApplyTest, O4_FirstOwnerWinsUntilItLetsGo) {
  Scene s;
  s.List(kMap);
  s.owners[kMap] = {kOther, "b", /*lists=*/true};
  EXPECT_EQ(s.Applies(), Words{"ConfigMap:other"});
  s.owners[kMap].lists = false;
  EXPECT_EQ(s.Applies(), Words{"ConfigMap:take"});
  s.owners[kMap].lists = true;
  s.Own(kMap);
  EXPECT_EQ(s.Applies(), Words{"ConfigMap:contested"});
}

TEST(PlanApplyTest, NotDesiredHealsWhatItOwnsAndMakesNothing) {
  Scene s;
  s.assignment.state = KeyState::kNotDesired;
  s.List(kMap).List(kService).Own(kMap);
  EXPECT_EQ(s.Applies(), Words{"ConfigMap:keep"});
  s.owners[kMap] = {kOther, "b", /*lists=*/true};
  EXPECT_EQ(s.Applies(), Words{});
}

TEST(PlanApplyTest, A25_RemovingAppliesNothing) {
  Scene s;
  s.assignment.state = KeyState::kRemoving;
  s.List(kMap).Own(kMap);
  EXPECT_EQ(s.Applies(), Words{});
}

TEST(PlanRemovalsTest, ReverseOrderOfWhatIsNoLongerListed) {
  Scene s;
  s.List(kMap);
  for (const ObjectKey& key : {kNamespace, kCrd, kFoo, kMap, kDeployment, kRole, kHook}) s.Own(key);
  EXPECT_EQ(s.Removals(),
            (Words{"ValidatingWebhookConfiguration:remove", "Foo:remove", "Deployment:remove",
                   "ClusterRole:remove", "CustomResourceDefinition:remove", "Namespace:remove"}));
}

TEST(PlanRemovalsTest, A26_AbsenceNeverDeletes) {
  Scene s;
  s.Own(kMap);
  s.content = false;  // Nothing is known about what is desired.
  EXPECT_EQ(s.Removals(), Words{});
  s.content = true;
  s.assignment.state = KeyState::kNotDesired;
  EXPECT_EQ(s.Removals(), Words{});
}

TEST(PlanRemovalsTest, A2_AnEmptyVersionRemovesEverything) {
  Scene s;
  s.Own(kMap);
  EXPECT_EQ(s.Removals(), Words{"ConfigMap:remove"});
}

TEST(PlanRemovalsTest, A22_AnUnresolvedKindMayBeTheListedOne) {
  Scene s;
  ObjectKey listed = kFoo;
  listed.ns = "";
  s.List(listed, /*resolved=*/false).Own(kFoo);
  EXPECT_EQ(s.Removals(), Words{});
}

TEST(PlanRemovalsTest, TombstoneTakesAllAndHandsOverWhatOthersList) {
  Scene s;
  s.assignment.state = KeyState::kRemoving;
  s.List(kMap).Own(kMap).Own(kService);
  s.wanters[kService] = {kOther, "b", /*lists=*/true};
  EXPECT_EQ(s.Removals(), (Words{"Service:hand-", "ConfigMap:remove"}));
  s.assignment.propagation = Propagation::kOrphan;
  EXPECT_EQ(s.Removals(), (Words{"Service:hand-", "ConfigMap:remove-"}));
}

TEST(DecideRemovalsTest, Table) {
  struct Case {
    RemovalConditions conditions;
    RemovalGate want;
  };
  constexpr auto kPresent = KeyState::kPresent;
  constexpr auto kRemoving = KeyState::kRemoving;
  const Case cases[] = {
      {{.state = kPresent, .all_applied = true}, RemovalGate::kGo},
      {{.state = kPresent, .all_applied = false}, RemovalGate::kPruneWaiting},
      {{.state = kRemoving, .all_applied = false}, RemovalGate::kGo},
      {{.state = kRemoving, .held = true}, RemovalGate::kHeld},
      {{.state = kRemoving, .held = true, .on_hold = true}, RemovalGate::kOnHold},
      {{.state = kPresent, .all_applied = true, .on_hold = true}, RemovalGate::kOnHold},
      {{.state = kPresent, .all_applied = true, .pending = true}, RemovalGate::kPending},
      {{.state = kRemoving, .pending = true}, RemovalGate::kPending},
      {{.state = kPresent, .all_applied = false, .held = true}, RemovalGate::kHeld},
      {{.state = KeyState::kNotDesired, .all_applied = true}, RemovalGate::kOnHold},
  };
  for (size_t i = 0; i < std::size(cases); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(DecideRemovals(cases[i].conditions), cases[i].want);
  }
}

TEST(OrderTest, UnknownKindsComeAfterWorkloadsAndClassesBefore) {
  EXPECT_EQ(StageOf({"example.com", "Foo", "", "x"}), Stage::kCustom);
  EXPECT_EQ(StageOf({"gateway.networking.k8s.io", "GatewayClass", "", "x"}), Stage::kConfig);
  EXPECT_EQ(StageOf({"apiregistration.k8s.io", "APIService", "", "x"}), Stage::kWebhook);
  // The same kind word in another group is another kind.
  EXPECT_EQ(StageOf({"serving.knative.dev", "Service", "", "x"}), Stage::kCustom);
}

TEST(OrderTest, IsAStrictOrder) {
  const std::vector<ObjectKey> keys = {kNamespace,  kCrd,     kFoo,  kMap,
                                       kDeployment, kService, kRole, kHook};
  for (const ObjectKey& a : keys) {
    EXPECT_FALSE(AppliesBefore(a, a));
    for (const ObjectKey& b : keys) {
      EXPECT_EQ(AppliesBefore(a, b) != AppliesBefore(b, a), a != b);
    }
  }
}

}  // namespace
}  // namespace nave
