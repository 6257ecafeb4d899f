// Random runs of the hub's side of a stream against a plain model of an agent: whatever is lost in between, the agent
// ends with what is desired.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "hub/session/agent_session.h"
#include "tests/hub/fleet/fleet_maker.h"

namespace nave {
namespace {

// Agents fetch everything themselves.
class NoContent : public BlobSetSource {
 public:
  std::optional<BlobSetPtr> Delta(const Digest&, const Digest&) override { return BlobSetPtr(); }
};

// An agent as the protocol describes it, without content, disk or time.
class ModelAgent {
 public:
  struct Key {
    Digest digest;  // None: on its way out or left alone without content.
    bool confirmed = false;
    uint64_t revision = 0;
    KeyState state = KeyState::kPresent;
    std::optional<std::pair<Digest, bool>> rejected;  // Stands in root and KeySet.
  };

  KeySet MakeKeySet() const {
    KeySet set;
    for (const auto& [uid, key] : keys) {
      if (key.rejected.has_value()) {
        set.keys.push_back({uid, key.rejected->first, key.rejected->second, KeyState::kPresent});
      } else {
        set.keys.push_back({uid, key.digest, key.confirmed, key.state});
      }
    }
    return set;
  }
  Digest Root() const {
    KeySet set = MakeKeySet();
    std::vector<KeySetEntry> present;
    for (const KeySetEntry& entry : set.keys) {
      if (entry.state == KeyState::kPresent) present.push_back(entry);
    }
    return ComputeRoot(present);
  }
  // The whole batch. What it answers: an ack, or nullopt for a KeySet.
  std::optional<DesiredAck> Take(const DesiredBatch& batch, std::mt19937* random) {
    DesiredAck ack;
    ack.revision = batch.at.revision;
    for (const Upsert& upsert : batch.upserts) {
      Key& key = keys[upsert.key];
      if (batch.at.revision <= key.revision) continue;
      EXPECT_TRUE(!upsert.name.empty() || known.count(upsert.key) > 0) << "a key that it was never told the name of";
      known.insert(upsert.key);
      key.rejected.reset();
      if ((*random)() % 8 == 0) {
        key.rejected = {upsert.digest, upsert.confirmed};
        ack.rejected.push_back({upsert.key, upsert.digest, "CONTENT_INVALID", ""});
        key.state = key.digest.IsNone() ? KeyState::kNotDesired : KeyState::kPresent;
      } else {
        key.digest = upsert.digest;
        key.confirmed = upsert.confirmed;
        key.state = KeyState::kPresent;
        // A refusal is no commit: the next process is told of the same version again.
        key.revision = batch.at.revision;
      }
    }
    for (const Tombstone& tombstone : batch.tombstones) {
      Key& key = keys[tombstone.key];
      if (batch.at.revision <= key.revision) continue;
      key.state = KeyState::kRemoving;
      key.rejected.reset();
      key.revision = batch.at.revision;
    }
    for (const Uuid& uid : batch.not_desired) {
      auto key = keys.find(uid);
      if (key == keys.end()) continue;
      key->second.rejected.reset();
      key->second.state = KeyState::kNotDesired;
    }
    if (Root() != batch.desired_root) return std::nullopt;
    return ack;
  }
  // Equal sets and no order: a removal that is still under way is nobody's any more.
  void LeaveRemovalsAlone() {
    for (auto& [uid, key] : keys) {
      if (key.state == KeyState::kRemoving) key.state = KeyState::kNotDesired;
    }
  }
  // A new process: it forgets what it refused.
  void Restart() {
    for (auto it = keys.begin(); it != keys.end();) {
      it->second.rejected.reset();
      it = it->second.digest.IsNone() && it->second.state == KeyState::kNotDesired ? keys.erase(it) : std::next(it);
    }
    known.clear();
    for (const auto& [uid, key] : keys) known.insert(uid);
  }

  std::map<Uuid, Key> keys;
  std::set<Uuid> known;
};

TEST(AgentSessionModelTest, AgentsConvergeOnWhatIsDesiredWhateverIsLost) {
  size_t batches = 0, key_sets = 0, rejected = 0, removed = 0, matched = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    FleetMaker maker;
    maker.AddCluster(1);
    for (uint16_t n = 1; n <= 4; ++n) maker.AddBundle(n, 4);
    std::map<uint16_t, uint64_t> heads;
    std::map<uint16_t, bool> decided;
    ModelAgent agent;
    NoContent content;
    std::optional<AgentSession> session;
    std::vector<DesiredBatch> parts;
    bool restless = true;
    // Moves frames from the hub to the agent; answers whether there was one.
    auto deliver = [&] {
      std::optional<HubFrame> frame = session->TakeOutbound(*maker.Snapshot(), &content);
      if (!frame.has_value()) return false;
      auto ask = [&] {
        ++key_sets;
        session->OnKeySet(agent.MakeKeySet(), *maker.Snapshot());
      };
      if (auto* welcome = std::get_if<Welcome>(&frame->body)) {
        matched += welcome->set_matches;
        if (welcome->set_matches) {
          agent.LeaveRemovalsAlone();
        } else {
          ask();
        }
      } else if (auto* batch = std::get_if<DesiredBatch>(&frame->body)) {
        ++batches;
        EXPECT_TRUE(batch->last);
        std::optional<DesiredAck> ack = agent.Take(*batch, &random);
        if (!ack.has_value()) {
          ask();
        } else {
          rejected += ack->rejected.size();
          session->OnAck(*ack);
        }
      }
      return true;
    };
    auto dial = [&] {
      Hello hello;
      hello.root = agent.Root();
      session.emplace(ClusterUid(1), 1, hello, *maker.Snapshot(), true, std::nullopt, SessionOptions{},
                      absl::UnixEpoch());
    };
    dial();
    for (int step = 0; step < 60 || restless; ++step) {
      if (step >= 60) restless = false;
      uint16_t bundle = static_cast<uint16_t>(1 + random() % 4);
      switch (restless ? random() % 8 : 7) {
        case 0:
        case 1:
          maker.Decide(bundle, {1}, 1 + random() % 4);
          ++heads[bundle];
          decided[bundle] = true;
          break;
        case 2:
          if (!decided[bundle]) break;
          maker.AddTombstone(1, bundle, heads[bundle] + 1);
          maker.Decide(bundle, {});
          ++heads[bundle];
          decided[bundle] = false;
          break;
        case 3: {
          // The agent has removed what it was ordered to; the hub drops the order, and the agent forgets the key.
          auto key = agent.keys.find(BundleUid(bundle));
          auto tombstones = maker.Snapshot()->tombstones.Find(ClusterUid(1));
          if (key == agent.keys.end() || key->second.state != KeyState::kRemoving || tombstones == nullptr) break;
          auto tombstone = tombstones->find(BundleUid(bundle));
          if (tombstone == tombstones->end() || tombstone->second.mod_revision > key->second.revision) break;
          maker.Put(change::NoTombstone{ClusterUid(1), BundleUid(bundle)});
          agent.keys.erase(key);
          agent.known.erase(BundleUid(bundle));
          ++removed;
          break;
        }
        case 4:
          if (random() % 3 == 0) dial();
          break;
        case 5:
          if (random() % 4 == 0) {
            agent.Restart();
            dial();
          }
          break;
        case 6: deliver(); break;
        case 7:
          session->MarkDirty();
          for (int i = 0; i < 20 && deliver(); ++i) {
          }
          break;
      }
      session->MarkDirty();
    }
    // Rejections are over: what is desired is held, and nothing else is.
    agent.Restart();
    dial();
    bool quiet = false;
    for (int i = 0; i < 50 && !quiet; ++i) quiet = !deliver();
    EXPECT_TRUE(quiet) << "hub and agent go on for ever";
    DesiredSet desired = ComputeDesired(*maker.Snapshot(), ClusterUid(1));
    EXPECT_EQ(agent.Root(), RootOf(desired));
    for (const auto& [uid, key] : agent.keys) {
      if (key.state == KeyState::kPresent) {
        EXPECT_EQ(desired.assignments.count(uid), 1u);
      }
      if (key.state == KeyState::kRemoving) {
        EXPECT_EQ(desired.tombstones.count(uid), 1u) << "a removal that nobody orders";
      }
      if (desired.tombstones.count(uid) > 0) {
        EXPECT_EQ(key.state, KeyState::kRemoving);
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(batches, 6000u);
  EXPECT_GT(key_sets, 1500u);
  EXPECT_GT(rejected, 900u);
  EXPECT_GT(removed, 300u);
  EXPECT_GT(matched, 300u);
}

}  // namespace
}  // namespace nave
