// Goal: what may be done with an object that is found in some state. Method: tables over marks,
// uids and kinds.
#include "agent/plan/ownership.h"

#include <string>

#include "gtest/gtest.h"

namespace nave {
namespace {

const Uuid kBundle = *Uuid::Parse("11111111-2222-3333-4444-555555555555");
const Uuid kOther = *Uuid::Parse("99999999-2222-3333-4444-555555555555");
const Claimant kClaimant{{"hub-1", "cluster-1"}, kBundle, "nave-system"};

enum class Mark { kNone, kOurs, kOtherBundle, kOtherHub, kCopied };

Value Live(const ObjectKey& key, Mark mark, const std::string& uid, bool terminating) {
  Value live;
  live["apiVersion"] = FormatApiVersion(key.group, "v1");
  live["kind"] = key.kind;
  live["metadata"]["name"] = key.name;
  if (!key.ns.empty()) live["metadata"]["namespace"] = key.ns;
  live["metadata"]["uid"] = uid;
  if (terminating) live["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  ObjectKey named = key;
  if (mark == Mark::kCopied) named.name += "-original";
  SpokeIdentity who = kClaimant.who;
  if (mark == Mark::kOtherHub) who.hub_id = "hub-2";
  if (mark != Mark::kNone) {
    SetMarks(who, mark == Mark::kOtherBundle ? kOther : kBundle, named, live);
  }
  return live;
}

InventoryEntry Entry(const ObjectKey& key, const std::string& uid,
                     InventoryEntry::Origin origin = InventoryEntry::Origin::kCreated) {
  InventoryEntry entry;
  entry.key = key;
  entry.uid = uid;
  entry.origin = origin;
  entry.progress = InventoryEntry::Progress::kApplied;
  return entry;
}

const ObjectKey kMap{"", "ConfigMap", "shop", "c"};
const ObjectKey kNamespace{"", "Namespace", "", "shop"};
const ObjectKey kCrd{"apiextensions.k8s.io", "CustomResourceDefinition", "", "foos.example.com"};

TEST(DecideApplyTest, Table) {
  struct Case {
    const char* name;
    bool absent = false;
    Mark mark = Mark::kNone;
    const char* entry_uid = nullptr;  // nullptr: no entry.
    bool terminating = false;
    bool bare = false;
    bool handed_over = false;
    bool contested = false;
    Approach want = Approach::kCreate;
  };
  const Case cases[] = {
      {.name = "absent", .absent = true, .want = Approach::kCreate},
      {.name = "absent_but_in_inventory",
       .absent = true,
       .entry_uid = "u",
       .want = Approach::kCreate},
      {.name = "nobodys", .want = Approach::kAdopt},
      {.name = "A20_copied_mark_is_nobodys", .mark = Mark::kCopied, .want = Approach::kAdopt},
      {.name = "ours", .mark = Mark::kOurs, .want = Approach::kTakeBack},
      {.name = "intended_and_made",
       .mark = Mark::kOurs,
       .entry_uid = "",
       .want = Approach::kTakeBack},
      {.name = "known", .mark = Mark::kOurs, .entry_uid = "u", .want = Approach::kUpdate},
      {.name = "known_though_mark_was_removed", .entry_uid = "u", .want = Approach::kUpdate},
      {.name = "made_anew_by_others", .entry_uid = "old", .want = Approach::kAdopt},
      {.name = "other_bundle", .mark = Mark::kOtherBundle, .want = Approach::kRefuse},
      {.name = "other_hub", .mark = Mark::kOtherHub, .want = Approach::kRefuse},
      {.name = "handed_over",
       .mark = Mark::kOtherBundle,
       .entry_uid = "",
       .handed_over = true,
       .want = Approach::kTakeBack},
      {.name = "handed_over_is_not_other_hubs",
       .mark = Mark::kOtherHub,
       .handed_over = true,
       .want = Approach::kRefuse},
      {.name = "contested_with_our_mark",
       .mark = Mark::kOurs,
       .entry_uid = "u",
       .contested = true,
       .want = Approach::kUpdate},
      {.name = "contested_with_their_mark",
       .mark = Mark::kOtherBundle,
       .entry_uid = "u",
       .contested = true,
       .want = Approach::kRefuse},
      {.name = "terminating",
       .mark = Mark::kOurs,
       .entry_uid = "u",
       .terminating = true,
       .want = Approach::kWaitGone},
      {.name = "nobodys_terminating", .terminating = true, .want = Approach::kWaitGone},
      {.name = "bare_namespace_of_nobody", .bare = true, .want = Approach::kUseAsIs},
      {.name = "bare_namespace_of_another_bundle",
       .mark = Mark::kOtherBundle,
       .bare = true,
       .want = Approach::kUseAsIs},
      {.name = "bare_namespace_of_ours",
       .mark = Mark::kOurs,
       .bare = true,
       .want = Approach::kTakeBack},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const ObjectKey& key = c.bare ? kNamespace : kMap;
    Value live = Live(key, c.mark, "u", c.terminating);
    InventoryEntry entry = Entry(key, c.entry_uid == nullptr ? "" : c.entry_uid);
    ApplySituation situation{.live = c.absent ? nullptr : &live,
                             .entry = c.entry_uid == nullptr ? nullptr : &entry,
                             .bare_namespace = c.bare,
                             .handed_over = c.handed_over,
                             .contested = c.contested};
    OwnershipDecision decision = DecideApply(situation, kClaimant);
    EXPECT_EQ(decision.approach, c.want);
    EXPECT_EQ(decision.owner.empty(), c.want != Approach::kRefuse);
  }
}

TEST(DecideRemovalTest, Table) {
  struct Case {
    const char* name;
    ObjectKey key = kMap;
    bool absent = false;
    Mark mark = Mark::kOurs;
    const char* entry_uid = "u";
    InventoryEntry::Origin origin = InventoryEntry::Origin::kCreated;
    Propagation propagation = Propagation::kDelete;
    bool terminating = false;
    Removal want = Removal::kDelete;
  };
  constexpr auto kAdopted = InventoryEntry::Origin::kAdopted;
  const Case cases[] = {
      {.name = "ours", .want = Removal::kDelete},
      {.name = "gone", .absent = true, .want = Removal::kGone},
      {.name = "another_uid_has_its_place",
       .mark = Mark::kNone,
       .entry_uid = "old",
       .want = Removal::kGone},
      {.name = "made_again_by_us_just_before_a_restart",
       .entry_uid = "old",
       .want = Removal::kDelete},
      {.name = "intended_only_but_marked", .entry_uid = "", .want = Removal::kDelete},
      {.name = "intended_only_and_not_marked",
       .mark = Mark::kNone,
       .entry_uid = "",
       .want = Removal::kForget},
      {.name = "mark_was_taken_off", .mark = Mark::kNone, .want = Removal::kForget},
      {.name = "other_bundles_mark", .mark = Mark::kOtherBundle, .want = Removal::kForget},
      {.name = "other_hubs_mark", .mark = Mark::kOtherHub, .want = Removal::kForget},
      {.name = "A20_copied_mark", .mark = Mark::kCopied, .entry_uid = "", .want = Removal::kForget},
      {.name = "A19_terminating_already", .terminating = true, .want = Removal::kWaitGone},
      {.name = "orphan", .propagation = Propagation::kOrphan, .want = Removal::kRelease},
      {.name = "adopted_object", .origin = kAdopted, .want = Removal::kDelete},
      {.name = "created_namespace", .key = kNamespace, .want = Removal::kCheck},
      {.name = "A7_adopted_namespace",
       .key = kNamespace,
       .origin = kAdopted,
       .want = Removal::kRelease},
      {.name = "created_crd", .key = kCrd, .want = Removal::kCheck},
      {.name = "adopted_crd", .key = kCrd, .origin = kAdopted, .want = Removal::kRelease},
      {.name = "namespace_default",
       .key = {"", "Namespace", "", "default"},
       .want = Removal::kRelease},
      {.name = "namespace_kube",
       .key = {"", "Namespace", "", "kube-public"},
       .want = Removal::kRelease},
      {.name = "namespace_of_the_agent",
       .key = {"", "Namespace", "", "nave-system"},
       .want = Removal::kRelease},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Value live = Live(c.key, c.mark, "u", c.terminating);
    InventoryEntry entry = Entry(c.key, c.entry_uid, c.origin);
    EXPECT_EQ(DecideRemoval(c.absent ? nullptr : &live, entry, c.propagation, kClaimant), c.want);
  }
}

TEST(WouldDeleteTest, CountsOnlyWhatIsDeleted) {
  EXPECT_TRUE(WouldDelete(Entry(kMap, "u"), Propagation::kDelete, "nave-system"));
  EXPECT_FALSE(WouldDelete(Entry(kMap, "u"), Propagation::kOrphan, "nave-system"));
  EXPECT_TRUE(WouldDelete(Entry(kNamespace, "u"), Propagation::kDelete, "nave-system"));
  EXPECT_FALSE(WouldDelete(Entry(kNamespace, "u", InventoryEntry::Origin::kAdopted),
                           Propagation::kDelete, "nave-system"));
  EXPECT_FALSE(WouldDelete(Entry({"", "Namespace", "", "nave-system"}, "u"), Propagation::kDelete,
                           "nave-system"));
}

}  // namespace
}  // namespace nave
