// May a Namespace or a CRD be deleted? Only when nothing of others is in it.
#ifndef NAVE_AGENT_APPLY_EMPTINESS_CHECK_H_
#define NAVE_AGENT_APPLY_EMPTINESS_CHECK_H_

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "agent/kube/kube_client.h"
#include "agent/observe/catalog.h"
#include "common/manifest/object_key.h"
#include "common/value/value.h"

namespace nave {

struct EmptinessResult {
  enum class Kind {
    kEmpty,
    kLeaving,  // Only objects that are on their way out are left: look again.
    kHeld,     // Something of others is in it.
    kUnknown,  // Some list failed: never a reason to delete.
  };
  Kind kind = Kind::kUnknown;
  // What holds it ("ConfigMap shop/x"), at most a few, or why it is unknown.
  std::vector<std::string> names;
  size_t total = 0;
  std::string Describe() const;
};

// Lists everything that is in a Namespace, or every object of a CRD's kind. Between the lists and a
// deletion something may still be made in it: the server offers nothing that would close that gap.
// Loop thread only; the references outlive it.
class EmptinessCheck : public std::enable_shared_from_this<EmptinessCheck> {
 public:
  using Done = absl::AnyInvocable<void(EmptinessResult) &&>;
  // Whether we are about to remove this object ourselves.
  using IsLeaving = std::function<bool(const ObjectKey&)>;

  // `live`: the Namespace or CustomResourceDefinition as it was read.
  static std::shared_ptr<EmptinessCheck> Start(KubeClient& kube, const Catalog& catalog,
                                               const Value& live, IsLeaving is_leaving, Done done);
  void Cancel() { done_ = nullptr; }

 private:
  EmptinessCheck(KubeClient& kube, const Catalog& catalog, IsLeaving is_leaving, Done done);

  void PlanNamespace(const Value& live);
  void PlanCrd(const Value& live);
  void Pump();
  void OnPage(ListRequest request, ListPage page);
  void Look(const Value& item);
  void Finish(EmptinessResult::Kind kind);

  KubeClient& kube_;
  const Catalog& catalog_;
  IsLeaving is_leaving_;
  Done done_;
  std::deque<ListRequest> waiting_;
  int running_ = 0;
  bool of_namespace_ = false;
  size_t leaving_ = 0;
  EmptinessResult result_;
};

}  // namespace nave

#endif  // NAVE_AGENT_APPLY_EMPTINESS_CHECK_H_
