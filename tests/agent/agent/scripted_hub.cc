#include "tests/agent/agent/scripted_hub.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/compress/zstd.h"

namespace nave {
namespace {

constexpr absl::Duration kLatency = absl::Milliseconds(5);

}  // namespace

// --- ScriptedLink

ScriptedLink::~ScriptedLink() { hub_.OnClose(this, open_); }

void ScriptedLink::Tell(uint64_t attempt, std::function<void(HubLinkListener&)> task) {
  executor_.PostAfter(kLatency, [this, alive = std::weak_ptr<bool>(alive_), attempt, task] {
    if (alive.lock() == nullptr || listener_ == nullptr) return;
    if (attempt != 0 && attempt != open_) return;
    task(*listener_);
  });
}

void ScriptedLink::Dial(uint64_t attempt, HubEndpoint endpoint) {
  open_ = attempt;
  hub_.OnDial(this, attempt, std::move(endpoint));
}

void ScriptedLink::Send(uint64_t attempt, const AgentFrame& frame) {
  if (attempt != open_) return;
  Tell(attempt, [attempt](HubLinkListener& listener) { listener.OnWritten(attempt); });
  executor_.PostAfter(kLatency, [this, alive = std::weak_ptr<bool>(alive_), attempt, frame] {
    if (alive.lock() != nullptr && attempt == open_) hub_.OnFrame(this, attempt, frame);
  });
}

void ScriptedLink::Close(uint64_t attempt) {
  if (attempt != open_) return;
  open_ = 0;
  hub_.OnClose(this, attempt);
}

void ScriptedLink::Fetch(const FetchRequest& request) { hub_.OnFetch(this, request); }

// --- ScriptedHub

void ScriptedHub::OnDial(ScriptedLink* link, uint64_t attempt, HubEndpoint endpoint) {
  dials.push_back(std::move(endpoint));
  if (down) {
    link->Tell(attempt, [attempt](HubLinkListener& listener) {
      listener.OnStreamDown(attempt, MakeError(Reason::kHubUnreachable, "down"));
    });
    return;
  }
  link->Tell(attempt, [attempt](HubLinkListener& listener) { listener.OnStreamUp(attempt); });
}

void ScriptedHub::OnClose(ScriptedLink* link, uint64_t attempt) {
  if (link != link_ || attempt != attempt_) return;
  link_ = nullptr;
  welcomed_ = false;
}

void ScriptedHub::Cut() {
  if (link_ == nullptr) return;
  const uint64_t attempt = attempt_;
  link_->Tell(attempt, [attempt](HubLinkListener& listener) {
    listener.OnStreamDown(attempt, MakeError(Reason::kSessionLost, "cut"));
  });
  link_ = nullptr;
  welcomed_ = false;
}

void ScriptedHub::Answer(HubFrame frame) {
  const uint64_t attempt = attempt_;
  link_->Tell(attempt,
              [attempt, frame](HubLinkListener& listener) { listener.OnFrame(attempt, frame); });
}

void ScriptedHub::OnFrame(ScriptedLink* link, uint64_t attempt, const AgentFrame& frame) {
  if (down) return;
  frames.push_back(frame);
  if (const auto* hello = std::get_if<Hello>(&frame)) {
    link_ = link;
    attempt_ = attempt;
    return AnswerHello(*hello);
  }
  if (link != link_ || attempt != attempt_ || !welcomed_) return;
  if (const auto* keys = std::get_if<KeySet>(&frame)) {
    keys_.insert(keys_.end(), keys->keys.begin(), keys->keys.end());
    if (keys->last) AnswerKeys();
  } else if (const auto* batch = std::get_if<StatusBatch>(&frame)) {
    TakeStatuses(*batch);
  } else if (std::holds_alternative<Ping>(frame)) {
    HubFrame pong;
    pong.body = Pong{};
    Answer(std::move(pong));
  }
}

void ScriptedHub::AnswerHello(const Hello& hello) {
  hellos.push_back(hello);
  HubFrame frame;
  if (refuse.has_value()) {
    frame.body = Refusal{*refuse, "as the test wants", absl::Seconds(3)};
    Answer(std::move(frame));
    link_ = nullptr;
    return;
  }
  Welcome welcome;
  welcome.epoch = hellos.size();
  welcome.hub_id = hub_id;
  welcome.current = Now();
  welcome.history_contains_yours = contained && !hello.state_lost;
  welcome.adopt = adopt && !welcome.history_contains_yours;
  welcome.hub_time = executor_.Now();
  frame.body = welcome;
  welcomed_ = true;
  keys_.clear();
  Answer(std::move(frame));
}

void ScriptedHub::AnswerKeys() {
  std::map<Uuid, KeySetEntry> held;
  for (const KeySetEntry& entry : std::exchange(keys_, {})) held[entry.key] = entry;
  std::vector<int> upserts;
  std::vector<Uuid> tombstones, not_desired;
  std::set<Uuid> known;
  for (const auto& [n, bundle] : desired_) {
    known.insert(Key(n));
    auto it = held.find(Key(n));
    const bool equal = it != held.end() && it->second.digest == bundle.digest &&
                       it->second.state == KeyState::kPresent;
    if (!equal) upserts.push_back(n);
  }
  for (const auto& [key, revision] : tombstones_) {
    known.insert(key);
    tombstones.push_back(key);
  }
  for (const auto& [key, entry] : held) {
    if (!known.contains(key)) not_desired.push_back(key);
  }
  SendBatch(upserts, tombstones, not_desired);
}

void ScriptedHub::SendBatch(const std::vector<int>& upserts, const std::vector<Uuid>& tombstones,
                            const std::vector<Uuid>& not_desired) {
  HubFrame frame;
  DesiredBatch batch;
  batch.at = Now();
  batch.last = true;
  batch.items = static_cast<uint32_t>(upserts.size() + tombstones.size() + not_desired.size());
  std::vector<KeySetEntry> entries;
  for (const auto& [n, bundle] : desired_) {
    entries.push_back({Key(n), bundle.digest, false, KeyState::kPresent});
  }
  batch.desired_root = ComputeRoot(entries);
  for (int n : upserts) {
    const TestBundle& bundle = desired_.at(n);
    batch.upserts.push_back(
        {Key(n), absl::StrCat("projects/p/bundles/b", n), bundle.digest, 100, false});
    if (inline_blobs) {
      frame.blobs.insert(frame.blobs.end(), bundle.blobs.begin(), bundle.blobs.end());
    }
  }
  for (const Uuid& key : tombstones) {
    batch.tombstones.push_back({key, "BundleDeleted", Propagation::kDelete, true});
  }
  batch.not_desired = not_desired;
  frame.body = std::move(batch);
  Answer(std::move(frame));
}

void ScriptedHub::TakeStatuses(const StatusBatch& batch) {
  for (const AssignmentStatus& status : batch.changed) {
    statuses_[status.key] = status;
    auto tombstone = tombstones_.find(status.key);
    if (status.phase == Phase::kRemoved && tombstone != tombstones_.end() &&
        tombstone->second <= status.revision) {
      tombstones_.erase(tombstone);
    }
  }
  for (const Uuid& key : batch.gone) statuses_.erase(key);
  if (!batch.last) return;
  HubFrame ack;
  ack.body = StatusAck{batch.seq};
  Answer(std::move(ack));
}

void ScriptedHub::Put(int n, const TestBundle& bundle) {
  ++revision_;
  desired_[n] = bundle;
  tombstones_.erase(Key(n));
  for (const BlobPtr& blob : bundle.blobs) {
    blobs_[Sha256(*ZstdDecompress(blob->compressed, 8 << 20))] = blob;
  }
  if (welcomed_) SendBatch({n}, {}, {});
}

void ScriptedHub::Remove(int n) {
  ++revision_;
  desired_.erase(n);
  tombstones_[Key(n)] = revision_;
  if (welcomed_) SendBatch({}, {Key(n)}, {});
}

void ScriptedHub::OnFetch(ScriptedLink* link, const FetchRequest& request) {
  ++fetches;
  const uint64_t id = request.id;
  std::vector<Digest> superseded;
  for (const Digest& want : request.wants) {
    auto it = blobs_.find(want);
    if (it == blobs_.end()) {
      superseded.push_back(want);
      continue;
    }
    link->Tell(0, [id, want, blob = it->second](HubLinkListener& listener) {
      listener.OnBlob(id, want, blob->compressed);
    });
  }
  link->Tell(0, [id, superseded](HubLinkListener& listener) {
    listener.OnFetchDone(id, absl::OkStatus(), superseded);
  });
}

std::optional<AssignmentStatus> ScriptedHub::StatusOf(int n) const {
  auto it = statuses_.find(Key(n));
  if (it == statuses_.end()) return std::nullopt;
  return it->second;
}

}  // namespace nave
