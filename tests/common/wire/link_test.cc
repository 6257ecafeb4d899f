// Goal: every frame survives the wire, and no bytes whatever do harm. Method: round trips, a table
// of frames that must be refused, and seeded mutations of good frames.
#include "common/wire/link.h"

#include <gtest/gtest.h>

#include <random>

#include "common/base/error.h"
#include "common/wire/scalars.h"
#include "nave/agent/v1/link.pb.h"

namespace nave {
namespace {

namespace pb = ::nave::agent::v1;

Uuid Key(uint8_t n) {
  Uuid key;
  key.bytes.fill(n);
  return key;
}

const absl::Time kTime = absl::FromUnixMillis(1700000000123);

AssignmentStatus SampleStatus() {
  AssignmentStatus status;
  status.key = Key(3);
  status.name = "projects/p/bundles/b";
  status.revision = 12;
  status.digest = Sha256("listing");
  status.phase = Phase::kPruneWaiting;
  status.health = Health::kDegraded;
  status.counts = {10, 9, 8, 2};
  status.not_ok.push_back({"apps", "v1", "Deployment", "shop", "web", Health::kProgressing, true,
                           "Progressing", "1 of 2 updated", kTime});
  status.not_ok_total = 7;
  status.reason = "PruneWaiting";
  status.message = "waits";
  status.since = kTime;
  return status;
}

std::vector<AgentFrame> SampleAgentFrames() {
  Hello hello;
  hello.agent_version = "0.1.0";
  hello.instance_id = Key(1);
  hello.attempt = 4;
  hello.kube_system_uid = "abc";
  hello.hub_id = "hub";
  hello.committed = {3, Key(9), 77};
  hello.root = Sha256("root");
  hello.state_lost = true;
  hello.agent_time = kTime;
  hello.facts.kubernetes_version = "v1.32.4";
  hello.facts.nodes = 2;
  hello.facts.node_versions = {{"v1.32.4", 2}};
  hello.facts.conditions.push_back(
      {"ApiServer", ConditionStatus::kFalse, "ApiServerUnavailable", "x", kTime, 0});
  Hello first;
  first.instance_id = Key(2);
  KeySet set;
  for (KeyState state : {KeyState::kPresent, KeyState::kRemoving, KeyState::kNotDesired}) {
    uint8_t n = static_cast<uint8_t>(set.keys.size() + 1);
    set.keys.push_back({Key(n), Sha256("x"), n == 2, state});
  }
  DesiredAck ack{9, {{Key(4), Sha256("y"), "CONTENT_INVALID", "cannot be read"}}, 3};
  StatusBatch batch;
  batch.seq = 5;
  batch.full = true;
  batch.last = false;
  batch.gone = {Key(8)};
  batch.hold_reason = "HistoryDiverged";
  for (int phase = 0; phase <= static_cast<int>(Phase::kRejected); ++phase) {
    batch.changed.push_back(SampleStatus());
    batch.changed.back().phase = static_cast<Phase>(phase);
    batch.changed.back().health = static_cast<Health>(phase % 7);
  }
  return {hello, first, set, ack, batch, hello.facts, Ping{}};
}

std::vector<HubFrame> SampleHubFrames() {
  Welcome welcome;
  welcome.epoch = 8;
  welcome.hub_id = "hub";
  welcome.current = {2, Key(5), 60};
  welcome.history_contains_yours = false;
  welcome.adopt = true;
  welcome.set_matches = true;
  welcome.status = StatusCursor{Key(1), 6};
  welcome.reconnect_spread = absl::Milliseconds(1500);
  welcome.hub_time = kTime;
  DesiredBatch batch;
  batch.at = {2, Key(5), 61};
  batch.part = 1;
  batch.last = true;
  batch.items = 3;
  batch.desired_root = Sha256("r");
  batch.upserts.push_back({Key(3), "projects/p/bundles/b", Sha256("l"), 4096, true});
  batch.tombstones.push_back({Key(4), "BundleDeleted", Propagation::kOrphan, true});
  batch.tombstones.push_back({Key(5), "LeftDecision", Propagation::kDelete, false});
  batch.not_desired = {Key(6)};
  std::vector<HubFrame> frames(7);
  frames[0].body = welcome;
  frames[1].body = Refusal{RefusalReason::kOverloaded, "later", absl::Milliseconds(250)};
  frames[2].body = batch;
  frames[2].blobs = {std::make_shared<Blob>(Blob{{}, "one"}),
                     std::make_shared<Blob>(Blob{{}, std::string(300, 'x')})};
  frames[3].body = StatusAck{4};
  frames[4].body = Pong{};
  frames[5].body = Drain{};
  frames[6].blobs = frames[2].blobs;
  return frames;
}

TEST(Link, AgentFramesSurviveTheWire) {
  for (const AgentFrame& frame : SampleAgentFrames()) {
    SCOPED_TRACE(frame.index());
    auto parsed = ParseAgentFrame(SerializeAgentFrame(frame));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_TRUE(*parsed == frame);
  }
}

TEST(Link, HubFramesSurviveTheWireInTwoParts) {
  for (const HubFrame& frame : SampleHubFrames()) {
    SCOPED_TRACE(frame.body.index());
    std::string blobs = SerializeBlobs(frame.blobs);
    size_t planned = 0;
    for (const BlobPtr& blob : frame.blobs) planned += SerializedBlobBytes(blob->compressed.size());
    EXPECT_EQ(planned, blobs.size());
    auto parsed = ParseHubFrame(blobs + SerializeHubFrameRest(frame));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_TRUE(parsed->body == frame.body);
    ASSERT_EQ(parsed->blobs.size(), frame.blobs.size());
    for (size_t i = 0; i < frame.blobs.size(); ++i) {
      EXPECT_EQ(parsed->blobs[i]->compressed, frame.blobs[i]->compressed);
      EXPECT_TRUE(parsed->blobs[i]->digest.IsNone());
    }
  }
}

TEST(Link, EveryRefusalReasonSurvives) {
  for (int reason = 0; reason <= static_cast<int>(RefusalReason::kProtocolError); ++reason) {
    HubFrame frame;
    frame.body = Refusal{static_cast<RefusalReason>(reason), "", std::nullopt};
    auto parsed = ParseHubFrame(SerializeHubFrame(frame));
    ASSERT_TRUE(parsed.ok());
    EXPECT_TRUE(parsed->body == frame.body);
    EXPECT_EQ(FormatRefusalReason(std::get<Refusal>(parsed->body).reason) == "UNSPECIFIED",
              reason == 0);
  }
}

TEST(Link, RefusesBadAgentFrames) {
  struct Case {
    const char* name;
    void (*make)(pb::AgentFrame*);
    const char* says;
  };
  const Case kCases[] = {
      {"no body", [](pb::AgentFrame*) {}, "no body"},
      {"empty hello", [](pb::AgentFrame* f) { f->mutable_hello(); }, "protocol range"},
      {"short instance",
       [](pb::AgentFrame* f) {
         f->mutable_hello()->set_protocol_min(1);
         f->mutable_hello()->set_protocol_max(1);
         f->mutable_hello()->set_instance_id("short");
       },
       "hello.instance_id: want 16 bytes, got 5"},
      {"nonce",
       [](pb::AgentFrame* f) {
         f->mutable_hello()->set_protocol_min(1);
         f->mutable_hello()->set_protocol_max(1);
         f->mutable_hello()->set_instance_id(std::string(16, 'x'));
         f->mutable_hello()->mutable_committed()->set_term(1);
       },
       "hello.committed.nonce"},
      {"key set unsorted",
       [](pb::AgentFrame* f) {
         for (char c : {'b', 'a'}) {
           auto* key = f->mutable_key_set()->add_keys();
           key->set_key(std::string(16, c));
           key->set_digest(std::string(32, c));
           key->set_state(pb::KEY_STATE_PRESENT);
         }
       },
       "not sorted"},
      {"key set state",
       [](pb::AgentFrame* f) {
         auto* key = f->mutable_key_set()->add_keys();
         key->set_key(std::string(16, 'a'));
         key->set_digest(std::string(32, 'a'));
       },
       "unknown value 0"},
      {"rejection",
       [](pb::AgentFrame* f) { f->mutable_desired_ack()->add_rejected()->set_key("x"); },
       "16 bytes"},
      {"gone", [](pb::AgentFrame* f) { f->mutable_status_batch()->add_gone("x"); },
       "status_batch.gone"},
      {"status digest",
       [](pb::AgentFrame* f) {
         f->mutable_status_batch()->add_changed()->set_key(std::string(16, 'k'));
       },
       "want 32 bytes"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    pb::AgentFrame frame;
    c.make(&frame);
    auto parsed = ParseAgentFrame(frame.SerializeAsString());
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(ErrorReason(parsed.status()), "PROTOCOL_ERROR");
    EXPECT_NE(parsed.status().message().find(c.says), absl::string_view::npos) << parsed.status();
  }
}

TEST(Link, RefusesBadHubFrames) {
  struct Case {
    const char* name;
    void (*make)(pb::HubFrame*);
  };
  const Case kCases[] = {
      {"two bodies", [](pb::HubFrame* f) { f->mutable_pong(), f->mutable_drain(); }},
      {"blob encoding", [](pb::HubFrame* f) { f->add_blobs()->set_data("x"); }},
      {"welcome without term", [](pb::HubFrame* f) { f->mutable_welcome(); }},
      {"batch without term", [](pb::HubFrame* f) { f->mutable_desired_batch(); }},
      {"last part without root",
       [](pb::HubFrame* f) {
         f->mutable_desired_batch()->mutable_at()->set_term(1);
         f->mutable_desired_batch()->mutable_at()->set_nonce(std::string(16, 'n'));
         f->mutable_desired_batch()->set_last(true);
       }},
      {"tombstone without propagation",
       [](pb::HubFrame* f) {
         f->mutable_desired_batch()->mutable_at()->set_term(1);
         f->mutable_desired_batch()->mutable_at()->set_nonce(std::string(16, 'n'));
         f->mutable_desired_batch()->add_tombstones()->set_key(std::string(16, 'k'));
       }},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    pb::HubFrame frame;
    c.make(&frame);
    auto parsed = ParseHubFrame(frame.SerializeAsString());
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(ErrorReason(parsed.status()), "PROTOCOL_ERROR");
  }
}

TEST(Link, FramesOverTheLimitAreRefused) {
  std::string big(kFrameBytesMax + 1, '\0');
  EXPECT_EQ(ErrorReason(ParseAgentFrame(big).status()), "PROTOCOL_ERROR");
  EXPECT_EQ(ErrorReason(ParseHubFrame(big).status()), "PROTOCOL_ERROR");
}

TEST(Link, TextsAreMadeValidAndListsAreCut) {
  StatusBatch batch;
  batch.changed.push_back(SampleStatus());
  AssignmentStatus& status = batch.changed[0];
  status.message = std::string("bad \xff byte ") + std::string(1000, 'm');
  status.not_ok.assign(kStatusObjectsMax + 5, status.not_ok[0]);
  status.not_ok_total = 1;
  auto parsed = ParseAgentFrame(SerializeAgentFrame(batch));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const AssignmentStatus& got = std::get<StatusBatch>(*parsed).changed.at(0);
  EXPECT_TRUE(IsUtf8(got.message));
  EXPECT_LE(got.message.size(), kMessageBytesMax);
  EXPECT_EQ(got.not_ok.size(), kStatusObjectsMax);
  EXPECT_EQ(got.not_ok_total, kStatusObjectsMax + 5);
}

TEST(Link, WordsOfALaterVersionAreReadAsTheSafeOnes) {
  pb::AgentFrame frame;
  auto* status = frame.mutable_status_batch()->add_changed();
  status->set_key(std::string(16, 'k'));
  status->set_digest(std::string(32, 'd'));
  status->set_phase(static_cast<pb::Phase>(99));
  status->set_health(static_cast<pb::Health>(99));
  auto parsed = ParseAgentFrame(frame.SerializeAsString());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(std::get<StatusBatch>(*parsed).changed[0].phase, Phase::kPending);
  EXPECT_EQ(std::get<StatusBatch>(*parsed).changed[0].health, Health::kUnknown);
  pb::HubFrame refusal;
  refusal.mutable_refusal()->set_reason(static_cast<pb::RefusalReason>(99));
  refusal.mutable_refusal()->mutable_retry_after()->set_seconds(-5);
  auto hub = ParseHubFrame(refusal.SerializeAsString());
  ASSERT_TRUE(hub.ok());
  EXPECT_EQ(std::get<Refusal>(hub->body).reason, RefusalReason::kUnspecified);
  EXPECT_EQ(std::get<Refusal>(hub->body).retry_after, absl::ZeroDuration());
}

TEST(Link, MutatedFramesNeverCrash) {
  SilenceProtobufLog();
  std::mt19937 random(7);
  std::vector<std::string> seeds;
  for (const AgentFrame& frame : SampleAgentFrames()) seeds.push_back(SerializeAgentFrame(frame));
  for (const HubFrame& frame : SampleHubFrames()) seeds.push_back(SerializeHubFrame(frame));
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = seeds[random() % seeds.size()];
    for (int change = random() % 4; change >= 0 && !bytes.empty(); --change) {
      size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes.erase(at, random() % 9);
          break;
        default:
          bytes.insert(at, bytes.substr(random() % bytes.size(), 12));
      }
    }
    auto agent = ParseAgentFrame(bytes);
    if (agent.ok()) {
      EXPECT_TRUE(ParseAgentFrame(SerializeAgentFrame(*agent)).ok());
    }
    auto hub = ParseHubFrame(bytes);
    if (hub.ok()) {
      EXPECT_TRUE(ParseHubFrame(SerializeHubFrame(*hub)).ok());
    }
    refused += !agent.ok() && !hub.ok();
  }
  EXPECT_GT(refused, 100);
}

TEST(Scalars, Utf8) {
  struct Case {
    const char* name;
    std::string in;
    bool valid;
  };
  const Case kCases[] = {
      {"ascii", "abc", true},
      {"two", "\xc3\xa9", true},
      {"three", "\xe2\x82\xac", true},
      {"four", "\xf0\x9f\x98\x80", true},
      {"overlong", "\xc0\x80", false},
      {"surrogate", "\xed\xa0\x80", false},
      {"beyond", "\xf4\x90\x80\x80", false},
      {"cut", "\xe2\x82", false},
      {"lone", "\x80", false},
      {"overlong 3", "\xe0\x80\x80", false},
      {"overlong 4", "\xf0\x80\x80\x80", false},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(IsUtf8(c.in), c.valid);
    EXPECT_TRUE(IsUtf8(MakeUtf8(c.in)));
    if (c.valid) {
      EXPECT_EQ(MakeUtf8(c.in), c.in);
    }
  }
  EXPECT_EQ(CutUtf8("ab\xe2\x82\xac", 4), "ab");
  EXPECT_EQ(CutUtf8("ab\xe2\x82\xac", 5), "ab\xe2\x82\xac");
}

TEST(Scalars, Times) {
  google::protobuf::Timestamp stamp;
  EXPECT_FALSE(TimeToProto(absl::InfinitePast(), &stamp));
  EXPECT_FALSE(TimeToProto(absl::FromUnixSeconds(253402300800), &stamp));
  ASSERT_TRUE(TimeToProto(absl::FromUnixMillis(-1), &stamp));
  EXPECT_EQ(stamp.seconds(), -1);
  EXPECT_EQ(stamp.nanos(), 999000000);
  EXPECT_EQ(TimeFromProto(stamp), absl::FromUnixMillis(-1));
  stamp.set_nanos(-1);
  EXPECT_EQ(TimeFromProto(stamp), absl::InfinitePast());
  google::protobuf::Duration span;
  DurationToProto(-absl::Milliseconds(1500), &span);
  EXPECT_EQ(span.seconds(), -1);
  EXPECT_EQ(span.nanos(), -500000000);
  EXPECT_EQ(DurationFromProto(span), -absl::Milliseconds(1500));
  span.set_nanos(5);
  EXPECT_EQ(DurationFromProto(span), std::nullopt);
  DurationToProto(absl::InfiniteDuration(), &span);
  EXPECT_TRUE(DurationFromProto(span).has_value());
}

}  // namespace
}  // namespace nave
