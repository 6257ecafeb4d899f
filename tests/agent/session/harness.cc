#include "tests/agent/session/harness.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/compress/zstd.h"
#include "common/manifest/parse.h"
#include "common/value/codec.h"

namespace nave {

BlobPtr MakeBlob(const std::string& data) {
  // Senders of the wire leave the digest out; so does this.
  return std::make_shared<Blob>(Blob{Digest{}, ZstdCompress(data)});
}

Uuid Key(int n) {
  Uuid key;
  key.bytes[15] = static_cast<uint8_t>(n);
  return key;
}

TestBundle MakeBundle(const std::map<std::string, std::string>& objects) {
  TestBundle bundle;
  auto content = std::make_shared<DesiredContent>();
  for (const auto& [name, value] : objects) {
    Value object(Object{});
    object["apiVersion"] = "v1";
    object["kind"] = "ConfigMap";
    object["metadata"]["name"] = name;
    object["data"]["value"] = value;
    content->objects.push_back(FormatJson(object));
    content->listing.objects.push_back(
        {{"", "ConfigMap", "", name}, Sha256(content->objects.back())});
  }
  const std::string listing = FormatListing(content->listing);
  content->digest = Sha256(listing);
  bundle.digest = content->digest;
  bundle.blobs.push_back(MakeBlob(listing));
  for (const std::string& object : content->objects) bundle.blobs.push_back(MakeBlob(object));
  bundle.content = content;
  return bundle;
}

Harness::Harness(AgentState state, bool state_lost, std::string frozen_reason)
    : durable(std::move(state)) {
  options.agent_version = "test";
  options.instance_id = Key(200);
  options.cluster_uid = "cluster";
  options.kube_system_uid = "kube-system";
  options.frozen_reason = std::move(frozen_reason);
  session = std::make_unique<HubSession>(options, durable, state_lost, this);
  hold = session->holding();
}

void Harness::Restart(bool state_lost) {
  options.instance_id.bytes[0]++;
  ++options.seed;
  sent.clear();
  writes.clear();
  commit.reset();
  fetches.clear();
  dialled.reset();
  pending.clear();
  session = std::make_unique<HubSession>(options, durable, state_lost, this);
  hold = session->holding();
  frozen = false;
}

void Harness::Run(Effects effects) {
  if (effects.close_stream) {
    ++closes;
    close_reason = effects.close_reason;
    attempt = 0;
  }
  for (const Uuid& key : effects.changed) {
    changed.push_back(key);
    pending[key] = false;
  }
  for (const auto& [key, is] : effects.pending) pending[key] = is;
  if (effects.hold.has_value()) hold = *effects.hold;
  if (effects.frozen.has_value()) frozen = *effects.frozen;
  for (const Uuid& key : effects.abandon_content) abandoned.push_back(key);
  for (ContentWrite& write : effects.write_content) writes.push_back(std::move(write));
  if (effects.commit.has_value()) commit = std::move(effects.commit);
  for (uint64_t id : effects.cancel_fetches) {
    cancelled.push_back(id);
    std::erase_if(fetches, [&](const FetchRequest& fetch) { return fetch.id == id; });
  }
  for (FetchRequest& fetch : effects.fetches) fetches.push_back(std::move(fetch));
  renew |= effects.renew_certificate;
  reload |= effects.reload_ca;
  check |= effects.check_lease;
  if (effects.dial.has_value()) dialled = effects.dial;
  if (effects.frame.has_value()) {
    sent.push_back(*std::move(effects.frame));
    Run(session->OnWritten(attempt, now));
  }
  if (auto_write && !writes.empty()) FinishWrites();
  if (auto_commit && commit.has_value()) FinishCommit();
}

void Harness::Tick(absl::Duration by) {
  now += by;
  Run(session->OnTick(now));
}

Hello Harness::Connect(absl::Duration patience) {
  const absl::Time end = now + patience;
  Tick();
  while (!dialled.has_value() && session->NextDeadline() <= end) {
    now = std::max(now, session->NextDeadline());
    Tick();
  }
  if (!dialled.has_value()) return Hello{};
  attempt = *std::exchange(dialled, std::nullopt);
  sent.clear();
  Run(session->OnStreamUp(attempt, now));
  return Sent<Hello>().empty() ? Hello{} : Sent<Hello>().back();
}

At Harness::AtRevision(uint64_t revision) const { return {term, Key(100), revision}; }

Welcome Harness::MakeWelcome(uint64_t revision) const {
  Welcome welcome;
  welcome.epoch = attempt;
  welcome.hub_id = hub_id;
  welcome.current = AtRevision(revision);
  welcome.hub_time = now;
  return welcome;
}

void Harness::Join(uint64_t revision, bool set_matches, bool contained, bool adopt) {
  Connect();
  sent.clear();
  Welcome welcome = MakeWelcome(revision);
  welcome.set_matches = set_matches;
  welcome.history_contains_yours = contained;
  welcome.adopt = adopt;
  Send(welcome);
}

void Harness::Hub(HubFrame frame) { Run(session->OnFrame(attempt, std::move(frame), now)); }

void Harness::AckStatus() {
  const std::vector<StatusBatch> batches = Sent<StatusBatch>();
  if (!batches.empty()) Send(StatusAck{batches.back().seq});
}

void Harness::Drop() {
  const uint64_t lost = std::exchange(attempt, 0);
  Run(session->OnStreamDown(lost, now));
}

DesiredBatch Harness::Batch(uint64_t revision, std::vector<Upsert> upserts,
                            std::vector<Tombstone> tombstones, std::vector<Uuid> not_desired) {
  DesiredBatch batch;
  batch.at = AtRevision(revision);
  batch.last = true;
  batch.items = static_cast<uint32_t>(upserts.size() + tombstones.size() + not_desired.size());
  std::map<Uuid, KeySetEntry> entries;
  for (KeySetEntry& entry : session->ledger().KeySetEntries()) entries[entry.key] = entry;
  for (const Upsert& u : upserts)
    entries[u.key] = {u.key, u.digest, u.confirmed, KeyState::kPresent};
  for (const Tombstone& tombstone : tombstones) entries.erase(tombstone.key);
  for (const Uuid& key : not_desired) entries.erase(key);
  std::vector<KeySetEntry> sorted;
  for (auto& [key, entry] : entries) sorted.push_back(entry);
  batch.desired_root = ComputeRoot(sorted);
  batch.upserts = std::move(upserts);
  batch.tombstones = std::move(tombstones);
  batch.not_desired = std::move(not_desired);
  return batch;
}

void Harness::Deliver(int n, const TestBundle& bundle, uint64_t revision) {
  Upsert upsert{Key(n), absl::StrCat("projects/p/bundles/b", n), bundle.digest, 100, false};
  Send(Batch(revision, {upsert}), bundle.blobs);
}

void Harness::FinishWrites(absl::Status status) {
  while (!writes.empty()) {
    ContentWrite write = std::move(writes.front());
    writes.pop_front();
    if (status.ok()) contents[write.content->digest] = write.content;
    Run(session->OnContentStored(write.key, write.content->digest, status, now));
  }
}

void Harness::FinishCommit(absl::Status status) {
  AgentState state = *std::exchange(commit, std::nullopt);
  if (status.ok()) {
    durable = state;
    commits.push_back(state);
  }
  Run(session->OnCommitted(status, now));
}

void Harness::Report(AssignmentStatus status, bool owns_objects) {
  Run(session->OnStatus(std::move(status), owns_objects, now));
}

AssignmentStatus Harness::StatusOf(int n, Phase phase) const {
  const Assignment* held = Durable(n);
  AssignmentStatus status;
  status.key = Key(n);
  status.phase = phase;
  status.health = Health::kHealthy;
  if (held != nullptr) {
    status.digest = held->digest;
    status.revision = held->revision;
  }
  return status;
}

void Harness::AnswerFetch(const std::vector<BlobPtr>& blobs, std::vector<Digest> superseded,
                          absl::Status status) {
  FetchRequest fetch = std::move(fetches.front());
  fetches.erase(fetches.begin());
  for (const BlobPtr& blob : blobs) {
    const Digest digest = Sha256(*ZstdDecompress(blob->compressed, 8 << 20));
    Run(session->OnBlob(fetch.id, digest, blob->compressed, now));
  }
  Run(session->OnFetchDone(fetch.id, status, superseded, now));
}

const Assignment* Harness::Durable(int n) const {
  auto it = durable.assignments.find(Key(n));
  return it == durable.assignments.end() ? nullptr : &it->second;
}

const AssignmentStatus* Harness::LastStatus(int n) const {
  for (auto frame = sent.rbegin(); frame != sent.rend(); ++frame) {
    const auto* batch = std::get_if<StatusBatch>(&*frame);
    if (batch == nullptr) continue;
    for (const AssignmentStatus& status : batch->changed) {
      if (status.key == Key(n)) return &status;
    }
  }
  return nullptr;
}

DesiredContentPtr Harness::content(const Uuid& key) const {
  auto held = durable.assignments.find(key);
  if (held == durable.assignments.end()) return nullptr;
  auto it = contents.find(held->second.content_digest);
  return it == contents.end() ? nullptr : it->second;
}

bool Harness::HasObject(const Digest& object) const { return FindObject(object) != nullptr; }

DesiredContentPtr Harness::FindObject(const Digest& object) const {
  for (const auto& [key, held] : durable.assignments) {
    DesiredContentPtr found = content(key);
    if (found == nullptr) continue;
    for (const Listing::Entry& entry : found->listing.objects) {
      if (entry.digest == object) return found;
    }
  }
  return nullptr;
}

}  // namespace nave
