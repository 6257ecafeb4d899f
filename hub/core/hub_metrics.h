// The hub's metrics.
#ifndef NAVE_HUB_CORE_HUB_METRICS_H_
#define NAVE_HUB_CORE_HUB_METRICS_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "common/metrics/metrics.h"
#include "common/pki/certificate_files.h"
#include "common/runtime/executor.h"
#include "hub/ca/data_directory.h"
#include "hub/core/hub_core.h"

namespace nave {

// What sessions and controllers count is theirs, on the loop; it is copied here once a second while
// somebody may look.
class HubMetrics {
 public:
  // All must outlive it.
  HubMetrics(Executor* loop, HubCore* core, std::shared_ptr<CertificateFiles> certificates,
             std::shared_ptr<HubCa> ca, absl::string_view version);
  ~HubMetrics();

  const MetricRegistry* registry() const;

 private:
  struct State;
  static void Refresh(Executor* loop, HubCore* core, std::weak_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace nave

#endif  // NAVE_HUB_CORE_HUB_METRICS_H_
