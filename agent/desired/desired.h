// The agent's durable state: what it was told to run, and what it owns. Kept in Secrets of the
// agent's namespace, so that it survives the pod, the node and the hub.
//
//   nave-state                                    what is committed; its compare-and-swap update IS
//   the commit nave-desired-<bundle uid>-<12 hex>-<n>        content, immutable, written before the
//   commit that names it nave-inventory-<bundle uid>-<count>-<n>       objects owned, sharded,
//   compare-and-swap
#ifndef NAVE_AGENT_DESIRED_DESIRED_H_
#define NAVE_AGENT_DESIRED_DESIRED_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "common/base/digest.h"
#include "common/base/uuid.h"
#include "common/manifest/object_key.h"
#include "common/manifest/parse.h"
#include "common/model/stream.h"

namespace nave {

// The content of one digest: a listing and its objects' canonical JSON in listing order. Immutable,
// shared. Stores keep it compressed and make it when asked, so hold the pointer only while it is
// needed.
struct DesiredContent {
  Digest digest;
  Listing listing;
  std::vector<std::string> objects;
};
using DesiredContentPtr = std::shared_ptr<const DesiredContent>;

// One key of nave-state.
struct Assignment {
  Uuid key;
  std::string name;
  // at.revision of the batch that brought what is committed; 0 after an adopt.
  uint64_t revision = 0;
  // What the hub believes that we hold (root and KeySet count this).
  Digest digest;
  // Digest of the content that is really held; none: no content (a NotDesired key rebuilt from an
  // inventory).
  Digest content_digest;
  KeyState state = KeyState::kPresent;
  bool confirmed = false;
  Propagation propagation = Propagation::kDelete;
  uint32_t inventory_shards = 0;
  bool operator==(const Assignment&) const = default;
};

// nave-state as a value.
struct AgentState {
  std::string hub_id;
  std::string cluster_uid;
  std::string kube_system_uid;
  At at;
  // Empty: no HOLD. Else the reason word (HistoryDiverged, StateLost, Revoked, …).
  std::string hold_reason;
  std::map<Uuid, Assignment> assignments;
  bool operator==(const AgentState&) const = default;
};

// One object that a key owns or is about to write.
struct InventoryEntry {
  enum class Origin { kCreated, kAdopted };
  enum class Progress { kIntended, kApplied, kDeleting };

  ObjectKey key;        // After namespace defaulting.
  std::string version;  // Last applied.
  std::string uid;
  Origin origin = Origin::kCreated;
  Progress progress = Progress::kIntended;
  // SHA-256 of what was sent, and of our fieldsV1 entry in the answer.
  Digest sent;
  Digest fields;
  std::string resource_version;
  int64_t generation = 0;
  // Paths (as the server names them in a conflict) that another manager owned and that we therefore
  // left out. They never were ours, so a later conflict about them is no drift.
  std::vector<std::string> left_out;
  // A Job or bare Pod that ran to its end is not made again for the same `sent`.
  bool finished = false;
  bool operator==(const InventoryEntry&) const = default;
};
using Inventory = std::map<ObjectKey, InventoryEntry>;

// The content that is held, for reading: what is held need not be sent again. Loop thread only.
class ContentSource {
 public:
  virtual ~ContentSource() = default;
  // nullptr when the key has no content.
  virtual DesiredContentPtr content(const Uuid& key) const = 0;
  // Whether some key's content lists an object of that digest.
  virtual bool HasObject(const Digest& object) const = 0;
  // Such a content; nullptr when there is none.
  virtual DesiredContentPtr FindObject(const Digest& object) const = 0;
};

// What Load found.
enum class LoadOutcome {
  kOk,  // Also: nothing there yet.
  // nave-state or a shard that it names is missing beside others: HOLD. state() then holds what the
  // inventories tell: every key NotDesired at revision 0. Nothing of it is stored before the first
  // Commit, which must follow an adopt.
  kStateLost,
  kStateTooNew,   // A newer format: write nothing.
  kWrongCluster,  // The kube-system uid differs: write nothing.
  kUnavailable,   // The API server did not answer: try again.
};

// Durable state behind an interface: SecretDesiredStore over KubeClient. Loop thread only;
// callbacks run there, later. A failed write leaves durable and in-memory state as they were (the
// in-memory state follows only a confirmed write).
class DesiredStore : public ContentSource {
 public:
  using Done = absl::AnyInvocable<void(absl::Status) &&>;

  // Reads everything, takes nave-state over (an update of a predecessor still on the way then
  // fails), sweeps content that nothing names. Call once after leadership was gained, before
  // anything else.
  virtual void Load(std::string kube_system_uid, absl::AnyInvocable<void(LoadOutcome) &&> done) = 0;

  // The committed state. Valid after Load.
  virtual const AgentState& state() const = 0;
  // Empty when the key owns nothing.
  virtual const Inventory& inventory(const Uuid& key) const = 0;

  // Writes content ahead of the commit that names it. It stays until that commit, the next
  // WriteContent of the key or AbandonContent.
  virtual void WriteContent(const Uuid& key, DesiredContentPtr content, Done done) = 0;
  // What was written for `key` and not committed is not wanted any more.
  virtual void AbandonContent(const Uuid& key) = 0;
  // Replaces nave-state by `next`: the commit. Commits are serialised; several waiting ones become
  // one write of the last. Afterwards content that neither `next` nor a WriteContent still waiting
  // for its commit names is deleted. The number of shards in `next` is ignored: it belongs to the
  // store.
  virtual void Commit(AgentState next, Done done) = 0;
  // Replaces the inventory of a key (intentions before a wave, results after it). Handles sharding,
  // and the switch of the shard count through nave-state. NOT_FOUND: the key is not in the state
  // (any more); then nothing may be written for it. The Secrets of a key go with the commit that
  // forgets it.
  virtual void WriteInventory(const Uuid& key, Inventory next, Done done) = 0;

  // FAILED_PRECONDITION on any of the above: another agent took over nave-state. The process must
  // stop writing.
};

}  // namespace nave

#endif  // NAVE_AGENT_DESIRED_DESIRED_H_
