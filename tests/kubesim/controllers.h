// What a controller manager, a scheduler and a kubelet do to the simulator's objects, as far as
// clients see it.
#ifndef NAVE_TESTS_KUBESIM_CONTROLLERS_H_
#define NAVE_TESTS_KUBESIM_CONTROLLERS_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "tests/kubesim/kubesim.h"

namespace nave::kubesim {

class Workloads;

// Custom resource definitions, namespaces and garbage collection; passes the rest on to Workloads.
// Owned by the KubeSim whose objects it changes.
class Controllers {
 public:
  explicit Controllers(KubeSim* sim);
  ~Controllers();

  // A change happened; only notes what has to be looked at.
  void OnChange(const StoreEvent& event);
  void Step(absl::Time now);
  // InfinitePast: there is something to do at once.
  absl::Time NextStep() const;

  // Writes in the name of the controllers. False: refused (a conflict, or the object went).
  bool CreateObject(const KindInfo& kind, absl::string_view ns, Value object, absl::Time now);
  bool ReplaceObject(const KindInfo& kind, Value object, absl::string_view subresource,
                     absl::Time now);
  bool DeleteObject(const KindInfo& kind, const ObjectName& name, absl::Time now);
  KubeSim& sim() { return *sim_; }
  const KindInfo& Kind(absl::string_view resource) const;

 private:
  // The key of an object everywhere.
  using Place = std::pair<std::string, ObjectName>;

  void StepCrds(absl::Time now);
  void CleanUpCrd(const Value& crd, absl::Time now);
  void StepNamespaces(absl::Time now);
  void EmptyNamespace(const std::string& name, absl::Time now);
  void StepGarbage(absl::Time now);
  bool OwnerExists(const Value& reference, const std::string& ns) const;
  void CollectDependents(absl::Time now);
  void FinishOwners(absl::Time now);
  void DropFinalizer(const Place& place, absl::string_view finalizer, absl::Time now);

  KubeSim* sim_;
  std::unique_ptr<Workloads> workloads_;
  bool crds_dirty_ = false;
  bool namespaces_dirty_ = false;
  bool garbage_dirty_ = false;
  absl::Time next_crd_ = absl::InfiniteFuture();
  std::map<std::string, absl::Time> crd_due_;  // By uid.
  std::map<std::string, Place> places_;        // By uid.
  std::set<Place> dependents_;
  std::set<Place> terminating_;
};

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_CONTROLLERS_H_
