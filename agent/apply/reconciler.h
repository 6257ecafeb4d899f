// Makes the spoke equal to what is committed, and keeps it so: the seam between the session (what
// is to run) and the apply engine (how it gets there).
#ifndef NAVE_AGENT_APPLY_RECONCILER_H_
#define NAVE_AGENT_APPLY_RECONCILER_H_

#include <functional>
#include <vector>

#include "common/base/uuid.h"
#include "common/model/assignment.h"

namespace nave {

// Loop thread only. Reads DesiredStore (state, content, inventory) and is the only writer of
// objects that bundles list.
class Reconciler {
 public:
  // The status of a key changed (or it has nothing left and was removed: phase kRemoved).
  using StatusCallback = std::function<void(const AssignmentStatus&)>;

  virtual ~Reconciler() = default;

  // Leadership and state are there: begin. Reports a status for every key of the state.
  virtual void Start(StatusCallback on_status) = 0;
  // Leadership is lost or the state must not be touched: no request starts after this returns.
  virtual void Stop() = 0;

  // The committed assignment of `key` changed (upsert, tombstone, not_desired), or was forgotten.
  virtual void OnAssignmentChanged(const Uuid& key) = 0;
  // A newer upsert of `key` is pending (its content is not there yet): no deletion of that key
  // starts until the next OnAssignmentChanged(key) or SetPending(key, false).
  virtual void SetPending(const Uuid& key, bool pending) = 0;
  // In HOLD removals and prunes stop where they are; healing goes on.
  virtual void SetHold(bool hold) = 0;

  // The present status of every key, for a full status.
  virtual std::vector<AssignmentStatus> AllStatuses() const = 0;
  // Whether a key still owns objects (a Removing or NotDesired key with nothing left can be
  // forgotten).
  virtual bool HasInventory(const Uuid& key) const = 0;
};

}  // namespace nave

#endif  // NAVE_AGENT_APPLY_RECONCILER_H_
