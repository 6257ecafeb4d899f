// Takes what the hub sends until it can be committed: batches in parts, pending keys, their content
// (protocol §4 Commit).
#ifndef NAVE_AGENT_SESSION_INTAKE_H_
#define NAVE_AGENT_SESSION_INTAKE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/session/content_assembly.h"
#include "agent/session/effects.h"
#include "agent/session/ledger.h"
#include "common/base/backoff.h"

namespace nave {

// Pure, not thread-safe. Everything in it dies with the stream; what was taken from it lives in the
// Ledger.
class Intake {
 public:
  // Both must outlive this.
  Intake(const ContentSource* held, Ledger* ledger, uint64_t seed)
      : held_(held), ledger_(ledger), random_(seed) {}

  // The newest batch that came whole on this stream.
  struct Newest {
    At at;
    Digest desired_root;
  };
  const std::optional<Newest>& newest() const { return newest_; }
  // Nothing is pending and no batch is half in.
  bool idle() const { return pending_.empty() && !partial_.has_value(); }
  bool IsPending(const Uuid& key) const { return pending_.contains(key); }

  void AddBlobs(const std::vector<BlobPtr>& blobs);
  // A part. An error breaks the protocol. `nothing_left` tells of a Removing key whether all of it
  // is gone from the cluster.
  absl::Status OnBatch(DesiredBatch part, absl::FunctionRef<bool(const Uuid&)> nothing_left,
                       absl::Time now, Effects* effects);
  void OnBlob(uint64_t fetch, const Digest& digest, std::string compressed);
  void OnFetchDone(uint64_t fetch, const absl::Status& status,
                   const std::vector<Digest>& superseded, absl::Time now, Effects* effects);
  void OnContentStored(const Uuid& key, const Digest& digest, const absl::Status& status,
                       absl::Time now);
  void OnStreamDown(Effects* effects);

  // Moves every pending key as far as it gets: content together, written, fetches under way.
  void Advance(absl::Time now, Effects* effects);
  absl::Time NextDeadline() const;

  // Keys whose rejection came or went since the last call.
  std::vector<Uuid> TakeRejectionChanges() { return std::exchange(rejection_changes_, {}); }

 private:
  struct Pending {
    Upsert upsert;
    At at;
    std::vector<Digest> missing;
    std::vector<Digest> needs;  // Blobs of the stash that it is made from.
    bool examined = false;      // Both are up to date.
    uint64_t fetch = 0;         // Under way; 0: none.
    int bad_blobs = 0;          // That were not what they were asked for.
    bool writing = false;
    absl::Time retry_at = absl::InfinitePast();
    Backoff backoff{absl::Seconds(1), absl::Seconds(60)};
  };

  absl::Status AddPart(DesiredBatch part);
  void TakeBatch(const DesiredBatch& batch, absl::FunctionRef<bool(const Uuid&)> nothing_left,
                 absl::Time now, Effects* effects);
  void PutUpsert(Upsert upsert, const At& at, absl::Time now, Effects* effects);
  void Drop(std::map<Uuid, Pending>::iterator it, Effects* effects);
  void Reject(std::map<Uuid, Pending>::iterator it, const absl::Status& why, absl::Time now,
              Effects* effects);
  // Returns whether the key is no longer pending.
  bool AdvanceKey(std::map<Uuid, Pending>::iterator it, absl::Time now, Effects* effects);
  void StartFetches(absl::Time now, Effects* effects);
  void TrimStash();
  // The next thing for `key` is taken: its rejection goes with it.
  void NoteTaken(const Uuid& key);

  const ContentSource* held_;
  Ledger* ledger_;
  SplitMix random_;
  BlobStash stash_;
  std::optional<DesiredBatch> partial_;
  std::optional<Newest> newest_;
  std::map<Uuid, Pending> pending_;
  std::map<uint64_t, Uuid> fetches_;
  uint64_t last_fetch_ = 0;
  int writes_ = 0;
  std::vector<Uuid> rejection_changes_;
};

}  // namespace nave

#endif  // NAVE_AGENT_SESSION_INTAKE_H_
