#include "agent/session/intake.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace nave {
namespace {

// Content in the middle of being written is in memory as a whole; so many at a time.
constexpr int kWritesMax = 4;
// FetchBlobs calls at a time, and how many of them may be for large content, so that a large bundle
// on a slow link delays no small one.
constexpr size_t kFetchesMax = 4;
constexpr size_t kLargeFetchesMax = 2;
constexpr uint64_t kLargeBytes = 256 << 10;
// A hub holds at most kAssignmentsPerClusterMax keys a cluster; removed ones come on top.
constexpr size_t kBatchItemsMax = 5 * kAssignmentsPerClusterMax;
constexpr int kBadBlobsMax = 3;

size_t Items(const DesiredBatch& batch) {
  return batch.upserts.size() + batch.tombstones.size() + batch.not_desired.size();
}

absl::Status BrokenBatch(absl::string_view what) {
  return MakeError(Reason::kProtocolError, absl::StrCat("desired batch: ", what));
}

template <typename T>
void Append(std::vector<T>&& from, std::vector<T>* to) {
  to->insert(to->end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void Intake::AddBlobs(const std::vector<BlobPtr>& blobs) {
  for (const BlobPtr& blob : blobs) stash_.Add(blob->compressed);
}

absl::Status Intake::AddPart(DesiredBatch part) {
  if (part.at.IsNone()) return BrokenBatch("at: want a point of the hub's history, got none");
  if (!partial_.has_value()) {
    if (part.part != 0) return BrokenBatch(absl::StrCat("part: want 0, got ", part.part));
    partial_ = std::move(part);
  } else {
    if (part.part != partial_->part + 1) {
      return BrokenBatch(absl::StrCat("part: want ", partial_->part + 1, ", got ", part.part));
    }
    if (!(part.at == partial_->at)) return BrokenBatch("at: differs between the parts");
    partial_->part = part.part;
    partial_->last = part.last;
    partial_->items = part.items;
    partial_->desired_root = part.desired_root;
    Append(std::move(part.upserts), &partial_->upserts);
    Append(std::move(part.tombstones), &partial_->tombstones);
    Append(std::move(part.not_desired), &partial_->not_desired);
  }
  if (Items(*partial_) > kBatchItemsMax) return BrokenBatch("more items than a cluster can have");
  if (partial_->last && partial_->items != Items(*partial_)) {
    return BrokenBatch(absl::StrCat("items: told ", partial_->items, ", got ", Items(*partial_)));
  }
  return absl::OkStatus();
}

absl::Status Intake::OnBatch(DesiredBatch part, absl::FunctionRef<bool(const Uuid&)> nothing_left,
                             absl::Time now, Effects* effects) {
  absl::Status added = AddPart(std::move(part));
  if (!added.ok()) return added;
  // Nothing is taken before the last part is in: a cut between two parts must leave no half.
  if (!partial_->last) return absl::OkStatus();
  DesiredBatch batch = *std::move(partial_);
  partial_.reset();
  TakeBatch(batch, nothing_left, now, effects);
  return absl::OkStatus();
}

void Intake::TakeBatch(const DesiredBatch& batch, absl::FunctionRef<bool(const Uuid&)> nothing_left,
                       absl::Time now, Effects* effects) {
  if (ledger_->adopting()) ledger_->TakeAdopt(batch.at);
  if (!newest_.has_value() || batch.at.revision >= newest_->at.revision) {
    newest_ = Newest{batch.at, batch.desired_root};
  }
  auto pending_revision = [&](const Uuid& key) -> uint64_t {
    auto it = pending_.find(key);
    return it == pending_.end() ? 0 : it->second.at.revision;
  };
  for (const Upsert& upsert : batch.upserts) PutUpsert(upsert, batch.at, now, effects);
  for (const Tombstone& tombstone : batch.tombstones) {
    const Uuid& key = tombstone.key;
    if (batch.at.revision <= std::max(ledger_->RevisionOf(key), pending_revision(key))) continue;
    if (auto it = pending_.find(key); it != pending_.end()) Drop(it, effects);
    NoteTaken(key);
    ledger_->TakeTombstone(tombstone, batch.at);
  }
  for (const Uuid& key : batch.not_desired) {
    if (batch.at.revision < std::max(ledger_->RevisionOf(key), pending_revision(key))) continue;
    if (auto it = pending_.find(key); it != pending_.end()) Drop(it, effects);
    NoteTaken(key);
    ledger_->TakeNotDesired(key, batch.at, nothing_left(key));
  }
}

void Intake::PutUpsert(Upsert upsert, const At& at, absl::Time now, Effects* effects) {
  const Uuid key = upsert.key;
  uint64_t revision = ledger_->RevisionOf(key);
  auto it = pending_.find(key);
  if (it != pending_.end()) revision = std::max(revision, it->second.at.revision);
  if (at.revision <= revision) return;

  const Assignment* held = ledger_->Find(key);
  if (held != nullptr && held->state == KeyState::kRemoving) ledger_->Revive(key);
  if (it != pending_.end() && it->second.upsert.digest == upsert.digest) {
    // The same content: what is under way for it goes on.
    if (upsert.name.empty()) upsert.name = it->second.upsert.name;
    it->second.upsert = std::move(upsert);
    it->second.at = at;
    return;
  }
  if (it != pending_.end()) {
    if (upsert.name.empty()) upsert.name = it->second.upsert.name;
    Drop(it, effects);
  }
  Pending pending;
  pending.at = at;
  pending.upsert = std::move(upsert);
  it = pending_.emplace(key, std::move(pending)).first;
  if (held != nullptr) effects->pending.emplace_back(key, true);
  if (it->second.upsert.size > kBundleBytesMax) {
    Reject(it,
           MakeError(Reason::kLimitExceeded, absl::StrCat("bundle: at most ", kBundleBytesMax,
                                                          " bytes, got ", it->second.upsert.size)),
           now, effects);
  }
}

void Intake::Drop(std::map<Uuid, Pending>::iterator it, Effects* effects) {
  const Uuid key = it->first;
  if (it->second.fetch != 0) {
    effects->cancel_fetches.push_back(it->second.fetch);
    fetches_.erase(it->second.fetch);
  }
  if (it->second.writing) {
    --writes_;
    effects->abandon_content.push_back(key);
  }
  pending_.erase(it);
  // What the upsert stopped stays stopped until that is durable: its commit ends the mark.
  if (ledger_->Find(key) != nullptr && !ledger_->IsRevivalUncommitted(key)) {
    effects->pending.emplace_back(key, false);
  }
}

void Intake::Reject(std::map<Uuid, Pending>::iterator it, const absl::Status& why, absl::Time now,
                    Effects* effects) {
  const Uuid key = it->first;
  const Pending& pending = it->second;
  std::string name = pending.upsert.name.empty() ? ledger_->NameOf(key) : pending.upsert.name;
  ledger_->Reject(
      key, {std::move(name), pending.upsert.digest, pending.upsert.confirmed, pending.at.revision,
            ErrorReason(why), ClampMessage(absl::string_view(why.message())), now});
  rejection_changes_.push_back(key);
  Drop(it, effects);
}

void Intake::NoteTaken(const Uuid& key) {
  if (ledger_->FindRejected(key) != nullptr) rejection_changes_.push_back(key);
}

bool Intake::AdvanceKey(std::map<Uuid, Pending>::iterator it, absl::Time now, Effects* effects) {
  const Uuid key = it->first;
  Pending& pending = it->second;
  if (pending.writing || pending.fetch != 0) return false;
  const Assignment* held = ledger_->Find(key);
  if (held != nullptr && held->content_digest == pending.upsert.digest) {
    NoteTaken(key);
    ledger_->TakeUpsert(pending.upsert, pending.at);
    pending_.erase(it);
    return true;
  }
  if (now < pending.retry_at) return false;
  pending.retry_at = absl::InfinitePast();
  if (pending.examined || writes_ >= kWritesMax) return false;
  AssemblyResult result = AssembleContent(pending.upsert.digest, key, stash_, *held_);
  if (!result.rejection.ok()) {
    Reject(it, result.rejection, now, effects);
    return true;
  }
  pending.missing = std::move(result.missing);
  pending.needs = std::move(result.needs);
  pending.examined = true;
  if (result.content == nullptr) return false;
  pending.writing = true;
  ++writes_;
  effects->write_content.push_back({key, std::move(result.content)});
  return false;
}

void Intake::Advance(absl::Time now, Effects* effects) {
  for (auto it = pending_.begin(); it != pending_.end();) {
    auto next = std::next(it);
    AdvanceKey(it, now, effects);
    it = next;
  }
  StartFetches(now, effects);
  TrimStash();
  // A batch that changed nothing, or whose last key is dealt with now: the point it was made from
  // is kept all the same.
  if (idle() && newest_.has_value()) ledger_->StoreAt(newest_->at);
}

void Intake::StartFetches(absl::Time now, Effects* effects) {
  std::vector<std::pair<uint64_t, Uuid>> waiting;
  size_t large = 0;
  for (const auto& [key, pending] : pending_) {
    if (pending.fetch != 0) {
      large += pending.upsert.size > kLargeBytes ? 1 : 0;
    } else if (pending.examined && !pending.missing.empty() && now >= pending.retry_at) {
      waiting.emplace_back(pending.upsert.size, key);
    }
  }
  std::sort(waiting.begin(), waiting.end());
  for (const auto& [size, key] : waiting) {
    if (fetches_.size() >= kFetchesMax) return;
    if (size > kLargeBytes && large++ >= kLargeFetchesMax) return;
    Pending& pending = pending_.at(key);
    pending.fetch = ++last_fetch_;
    fetches_[pending.fetch] = key;
    effects->fetches.push_back({pending.fetch, pending.missing});
  }
}

void Intake::TrimStash() {
  if (stash_.empty() || partial_.has_value()) return;
  std::set<Digest> wanted;
  for (const auto& [key, pending] : pending_) {
    // What a listing that is not there yet will want is not known: then everything stays.
    if (!pending.examined || !stash_.Has(pending.upsert.digest)) return;
    wanted.insert(pending.needs.begin(), pending.needs.end());
    wanted.insert(pending.missing.begin(), pending.missing.end());
  }
  stash_.KeepOnly([&](const Digest& digest) { return wanted.contains(digest); });
}

void Intake::OnBlob(uint64_t fetch, const Digest& digest, std::string compressed) {
  auto found = fetches_.find(fetch);
  if (found == fetches_.end()) return;
  Pending& pending = pending_.at(found->second);
  const auto& missing = pending.missing;
  if (std::find(missing.begin(), missing.end(), digest) == missing.end()) return;
  if (!stash_.AddWanted(digest, std::move(compressed))) ++pending.bad_blobs;
}

void Intake::OnFetchDone(uint64_t fetch, const absl::Status& status,
                         const std::vector<Digest>& superseded, absl::Time now, Effects* effects) {
  auto found = fetches_.find(fetch);
  if (found == fetches_.end()) return;
  auto it = pending_.find(found->second);
  fetches_.erase(found);
  Pending& pending = it->second;
  pending.fetch = 0;
  pending.examined = false;
  if (!superseded.empty()) {
    // A newer batch is on its way; should it not come, the roots differ and a KeySet asks.
    Drop(it, effects);
    return;
  }
  if (pending.bad_blobs >= kBadBlobsMax) {
    Reject(it, MakeError(Reason::kContentInvalid, "content: what comes is not what it is named"),
           now, effects);
    return;
  }
  const bool complete =
      status.ok() && std::all_of(pending.missing.begin(), pending.missing.end(),
                                 [&](const Digest& digest) { return stash_.Has(digest); });
  if (!complete) pending.retry_at = now + pending.backoff.Next(random_.Uniform());
}

void Intake::OnContentStored(const Uuid& key, const Digest& digest, const absl::Status& status,
                             absl::Time now) {
  auto it = pending_.find(key);
  if (it == pending_.end() || !it->second.writing || it->second.upsert.digest != digest) return;
  Pending& pending = it->second;
  --writes_;
  pending.writing = false;
  if (!status.ok()) {
    pending.examined = false;
    pending.retry_at = now + pending.backoff.Next(random_.Uniform());
    return;
  }
  NoteTaken(key);
  // No end of the pending mark here: the commit's change ends it, and no deletion may start before.
  ledger_->TakeUpsert(pending.upsert, pending.at);
  pending_.erase(it);
}

void Intake::OnStreamDown(Effects* effects) {
  while (!pending_.empty()) Drop(pending_.begin(), effects);
  stash_.Clear();
  partial_.reset();
  newest_.reset();
}

absl::Time Intake::NextDeadline() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [key, pending] : pending_) {
    if (pending.fetch == 0 && !pending.writing && pending.retry_at != absl::InfinitePast()) {
      next = std::min(next, pending.retry_at);
    }
  }
  return next;
}

}  // namespace nave
