// Whether an agent that says Hello gets a session, and where its last commit lies in the hub's
// history.
#include "hub/decide/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/hub/fleet/fleet_maker.h"

namespace nave {
namespace {

using ::testing::HasSubstr;

struct Caller {
  PeerIdentity peer;
  Hello hello;
  AdmissionRecords records;
};

Caller MakeCaller() {
  Caller caller;
  caller.peer.cluster = ClusterUid(1);
  caller.peer.cluster_id = "c1";
  caller.peer.generation = 2;
  caller.hello.instance_id = MadeUid(0x11, 1);
  caller.hello.attempt = 5;
  caller.hello.kube_system_uid = "kube-1";
  Cluster cluster = FleetMaker().MakeCluster(1);
  cluster.status.certificate_generation = 2;
  cluster.status.certificate_generation_seen = 2;
  cluster.status.kube_system_uid = "kube-1";
  caller.records.cluster = Versioned<Cluster>{cluster, 7};
  return caller;
}

TEST(AdmissionTest, Refusals) {
  struct Case {
    const char* name;
    std::function<void(Caller*)> change;
    RefusalReason reason;
    const char* text;
    bool rests_on_record = true;
  };
  auto status = [](Caller* c) -> ClusterStatus& { return c->records.cluster->value.status; };
  auto retired = [](Caller* c, bool removed) {
    c->records.cluster.reset();
    RetiredRecord record;
    record.cluster = c->peer.cluster;
    record.removed = removed;
    c->records.retired = Versioned<RetiredRecord>{record, 3};
  };
  auto session = [](Caller* c, uint64_t attempt) {
    c->records.session =
        Versioned<SessionRecord>{{c->peer.cluster, "", 9, c->hello.instance_id, attempt}, 4};
  };
  const Case cases[] = {
      {"protocol too new", [](Caller* c) { c->hello.protocol_min = c->hello.protocol_max = 2; },
       RefusalReason::kProtocolUnsupported, "protocol 2 to 2", false},
      {"protocol too old", [](Caller* c) { c->hello.protocol_min = c->hello.protocol_max = 0; },
       RefusalReason::kProtocolUnsupported, "protocol 0 to 0", false},
      {"no record", [](Caller* c) { c->records.cluster.reset(); }, RefusalReason::kUnknownCluster,
       "navectl cluster accept"},
      {"forgotten", [&](Caller* c) { retired(c, false); }, RefusalReason::kUnknownCluster, "c1"},
      {"removed", [&](Caller* c) { retired(c, true); }, RefusalReason::kRevoked, "removed"},
      {"pending", [&](Caller* c) { status(c).admission = Admission::kPending; },
       RefusalReason::kNotAccepted, "accept"},
      {"rejected", [&](Caller* c) { status(c).admission = Admission::kRejected; },
       RefusalReason::kRejected, "rejected"},
      {"revoked", [&](Caller* c) { status(c).revoked = true; }, RefusalReason::kRevoked,
       "--rejoin"},
      {"revoked while pending",
       [&](Caller* c) {
         status(c).revoked = true;
         status(c).admission = Admission::kPending;
       },
       RefusalReason::kRevoked, "revoked"},
      {"older certificate", [](Caller* c) { c->peer.generation = 1; }, RefusalReason::kRevoked,
       "revoked"},
      {"another Kubernetes cluster", [](Caller* c) { c->hello.kube_system_uid = "kube-2"; },
       RefusalReason::kWrongCluster, "kube-1"},
      {"same dial again", [&](Caller* c) { session(c, 5); }, RefusalReason::kStaleAttempt,
       "later dial"},
      {"an earlier dial", [&](Caller* c) { session(c, 6); }, RefusalReason::kStaleAttempt,
       "later dial"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Caller caller = MakeCaller();
    c.change(&caller);
    AdmissionVerdict verdict = DecideAdmission(caller.peer, caller.hello, caller.records);
    ASSERT_TRUE(verdict.refusal.has_value());
    EXPECT_EQ(verdict.refusal->reason, c.reason);
    EXPECT_THAT(verdict.refusal->message, HasSubstr(c.text));
    EXPECT_EQ(verdict.rests_on_record, c.rests_on_record);
    // A live session ends for what its records say, not for its own dial.
    bool by_dial = !c.rests_on_record || c.reason == RefusalReason::kStaleAttempt;
    std::optional<Refusal> live = RefusalOfLive(caller.peer, caller.hello, caller.records);
    ASSERT_EQ(live.has_value(), !by_dial);
    if (live.has_value()) {
      EXPECT_EQ(live->reason, c.reason);
    }
  }
}

TEST(AdmissionTest, AdmittedWithTheNextEpoch) {
  struct Case {
    const char* name;
    std::function<void(Caller*)> change;
    uint64_t epoch;
    std::optional<std::string> uid = std::nullopt;  // Written to the record.
    uint32_t seen = 0;
  };
  auto status = [](Caller* c) -> ClusterStatus& { return c->records.cluster->value.status; };
  auto session = [](Caller* c, Uuid instance, uint64_t attempt) {
    c->records.session = Versioned<SessionRecord>{{c->peer.cluster, "", 9, instance, attempt}, 4};
  };
  const Case cases[] = {
      {"first session", [](Caller*) {}, 1},
      {"next dial of the agent", [&](Caller* c) { session(c, c->hello.instance_id, 4); }, 10},
      {"another instance, though with a lower attempt",
       [&](Caller* c) { session(c, MadeUid(0x11, 2), 99); }, 10},
      {"first kube-system uid", [&](Caller* c) { status(c).kube_system_uid = ""; }, 1, "kube-1", 2},
      {"agent that does not know its own", [](Caller* c) { c->hello.kube_system_uid = ""; }, 1},
      {"newer certificate", [](Caller* c) { c->peer.generation = 3; }, 1, "kube-1", 3},
      {"being removed", [&](Caller* c) { status(c).removing = true; }, 1},
      {"range of versions", [](Caller* c) { c->hello.protocol_max = 7; }, 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Caller caller = MakeCaller();
    c.change(&caller);
    AdmissionVerdict verdict = DecideAdmission(caller.peer, caller.hello, caller.records);
    ASSERT_FALSE(verdict.refusal.has_value()) << verdict.refusal->message;
    EXPECT_EQ(verdict.session, (SessionRecord{caller.peer.cluster, "", c.epoch,
                                              caller.hello.instance_id, caller.hello.attempt}));
    ASSERT_EQ(verdict.cluster_update.has_value(), c.uid.has_value());
    if (!c.uid.has_value()) continue;
    EXPECT_EQ(verdict.cluster_update->status.kube_system_uid, *c.uid);
    EXPECT_EQ(verdict.cluster_update->status.certificate_generation_seen, c.seen);
  }
}

TEST(AdmissionTest, History) {
  // Term 1 up to revision 10, term 2 since.
  FleetMaker maker;
  while (maker.revision < 10) maker.Put(change::Head{});
  const Uuid one = MadeUid(0x7e, 1), two = MadeUid(0x7e, 2), other = MadeUid(0x7e, 9);
  maker.Put(TermRecord{2, two, 10, absl::UnixEpoch()});
  while (maker.revision < 20) maker.Put(change::Head{});
  FleetSnapshotPtr snapshot = maker.Snapshot();
  ASSERT_EQ(snapshot->at(), (At{2, two, 20}));
  struct Row {
    const char* name;
    std::string hub_id;
    At committed;
    bool state_lost;
    HistoryAnswer want;
  };
  const HistoryAnswer in = HistoryAnswer::kContained, out = HistoryAnswer::kNotContained;
  const Row rows[] = {
      {"never committed", "", {}, false, in},
      {"never committed, another hub", "x", {}, false, in},
      {"lost its state", "hub", {2, two, 15}, true, out},
      {"lost its state before it committed", "", {}, true, out},
      {"another hub", "x", {2, two, 15}, false, out},
      {"present term", "hub", {2, two, 20}, false, in},
      {"end of the term before", "hub", {1, one, 10}, false, in},
      {"beyond the end of the term before", "hub", {1, one, 11}, false, out},
      {"another term of that number", "hub", {2, other, 15}, false, out},
      {"ahead of the snapshot", "hub", {2, two, 21}, false, HistoryAnswer::kSnapshotBehind},
      {"ahead in another history: the store's head tells",
       "hub",
       {2, other, 21},
       false,
       HistoryAnswer::kSnapshotBehind},
      {"a term that the snapshot does not have yet",
       "hub",
       {3, other, 20},
       false,
       HistoryAnswer::kSnapshotBehind},
  };
  for (const Row& row : rows) {
    Hello hello;
    hello.hub_id = row.hub_id;
    hello.committed = row.committed;
    hello.state_lost = row.state_lost;
    EXPECT_EQ(CheckHistory(hello, *snapshot), row.want) << row.name;
  }
}

TEST(AdmissionTest, ReconnectSpread) {
  EXPECT_EQ(ReconnectSpread(0), absl::Seconds(1));
  EXPECT_EQ(ReconnectSpread(600), absl::Seconds(1));
  EXPECT_EQ(ReconnectSpread(6000), absl::Seconds(10));
  EXPECT_EQ(ReconnectSpread(1000000), absl::Seconds(20));
}

}  // namespace
}  // namespace nave
