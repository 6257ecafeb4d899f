// Random runs of the hub's side of a stream against a plain model of an agent: whatever is lost in
// between, the agent ends with what is desired.
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
      EXPECT_TRUE(!upsert.name.empty() || known.count(upsert.key) > 0)
          << "a key that it was never told the name of";
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
      it = it->second.digest.IsNone() && it->second.state == KeyState::kNotDesired ? keys.erase(it)
                                                                                   : std::next(it);
    }
    known.clear();
    for (const auto& [uid, key] : keys) known.insert(uid);
  }

  std::map<Uuid, Key> keys;
  std::set<Uuid> known;
};

struct Counts {
  size_t batches = 0, key_sets = 0, rejected = 0, removed = 0, matched = 0;
};

// One cluster, its agent, and what happens to them by a seed.
class SessionRun {
 public:
  SessionRun(uint32_t seed, Counts* counts) : random_(seed), counts_(counts) {
    maker_.AddCluster(1);
    for (uint16_t n = 1; n <= 4; ++n) maker_.AddBundle(n, 4);
    Dial();
  }

  void Step() {
    uint16_t bundle = static_cast<uint16_t>(1 + random_() % 4);
    switch (random_() % 8) {
      case 0:
      case 1:
        Decide(bundle);
        break;
      case 2:
        OrderAway(bundle);
        break;
      case 3:
        FinishRemoval(bundle);
        break;
      case 4:
        if (random_() % 3 == 0) Dial();
        break;
      case 5:
        if (random_() % 4 == 0) {
          agent_.Restart();
          Dial();
        }
        break;
      case 6:
        Deliver();
        break;
      case 7:
        Settle(20);
        break;
    }
    session_->MarkDirty();
  }

  // With rejections forgotten: what is desired is held, and nothing else is.
  void CheckEnd() {
    Settle(20);
    agent_.Restart();
    Dial();
    EXPECT_TRUE(Settle(50)) << "hub and agent go on for ever";
    DesiredSet desired = ComputeDesired(*maker_.Snapshot(), ClusterUid(1));
    EXPECT_EQ(agent_.Root(), RootOf(desired));
    for (const auto& [uid, key] : agent_.keys) {
      bool is_desired = desired.assignments.count(uid) > 0,
           is_ordered_away = desired.tombstones.count(uid) > 0;
      // It may have refused the only version that it was ever sent.
      EXPECT_TRUE(key.state == KeyState::kPresent ? is_desired
                                                  : !is_desired || key.rejected.has_value());
      EXPECT_EQ(key.state == KeyState::kRemoving, is_ordered_away)
          << "a removal that nobody orders";
    }
  }

 private:
  void Dial() {
    Hello hello;
    hello.root = agent_.Root();
    session_.emplace(ClusterUid(1), 1, hello, *maker_.Snapshot(), true, std::nullopt,
                     SessionOptions{}, absl::UnixEpoch());
  }
  void Decide(uint16_t bundle) {
    maker_.Decide(bundle, {1}, 1 + random_() % 4);
    ++heads_[bundle];
    decided_[bundle] = true;
  }
  void OrderAway(uint16_t bundle) {
    if (!std::exchange(decided_[bundle], false)) return;
    maker_.AddTombstone(1, bundle, ++heads_[bundle]);
    maker_.Decide(bundle, {});
  }
  // The agent has removed what it was ordered to; the hub drops the order, and the agent forgets
  // the key.
  void FinishRemoval(uint16_t bundle) {
    auto key = agent_.keys.find(BundleUid(bundle));
    auto tombstones = maker_.Snapshot()->tombstones.Find(ClusterUid(1));
    if (key == agent_.keys.end() || key->second.state != KeyState::kRemoving ||
        tombstones == nullptr)
      return;
    auto tombstone = tombstones->find(BundleUid(bundle));
    if (tombstone == tombstones->end() || tombstone->second.mod_revision > key->second.revision)
      return;
    maker_.Put(change::NoTombstone{ClusterUid(1), BundleUid(bundle)});
    agent_.keys.erase(key);
    agent_.known.erase(BundleUid(bundle));
    ++counts_->removed;
  }
  void Ask() {
    ++counts_->key_sets;
    session_->OnKeySet(agent_.MakeKeySet(), *maker_.Snapshot());
  }
  // One frame from the hub to the agent; answers whether there was one.
  bool Deliver() {
    std::optional<HubFrame> frame = session_->TakeOutbound(*maker_.Snapshot(), &content_);
    if (!frame.has_value()) return false;
    if (auto* welcome = std::get_if<Welcome>(&frame->body)) {
      counts_->matched += welcome->set_matches;
      if (welcome->set_matches) {
        agent_.LeaveRemovalsAlone();
      } else {
        Ask();
      }
    } else if (auto* batch = std::get_if<DesiredBatch>(&frame->body)) {
      ++counts_->batches;
      EXPECT_TRUE(batch->last);
      std::optional<DesiredAck> ack = agent_.Take(*batch, &random_);
      if (!ack.has_value()) {
        Ask();
      } else {
        counts_->rejected += ack->rejected.size();
        session_->OnAck(*ack);
      }
    }
    return true;
  }
  // Frames until there is none, but no more than `most`; answers whether there is none.
  bool Settle(int most) {
    session_->MarkDirty();
    for (int i = 0; i < most; ++i) {
      if (!Deliver()) return true;
    }
    return false;
  }

  std::mt19937 random_;
  Counts* const counts_;
  FleetMaker maker_;
  std::map<uint16_t, uint64_t> heads_;
  std::map<uint16_t, bool> decided_;
  ModelAgent agent_;
  NoContent content_;
  std::optional<AgentSession> session_;
};

TEST(AgentSessionModelTest, AgentsConvergeOnWhatIsDesiredWhateverIsLost) {
  Counts counts;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    SessionRun run(seed, &counts);
    for (int step = 0; step < 60; ++step) run.Step();
    run.CheckEnd();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(counts.batches, 6000u);
  EXPECT_GT(counts.key_sets, 1500u);
  EXPECT_GT(counts.rejected, 900u);
  EXPECT_GT(counts.removed, 300u);
  EXPECT_GT(counts.matched, 300u);
}

}  // namespace
}  // namespace nave
