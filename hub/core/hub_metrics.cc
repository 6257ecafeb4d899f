#include "hub/core/hub_metrics.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/model/cluster.h"

namespace nave {
namespace {

constexpr absl::Duration kRefreshEvery = absl::Seconds(1);

// A counter that follows one which somebody else counts.
class Followed {
 public:
  Followed(MetricRegistry& registry, absl::string_view name, absl::string_view help,
           MetricLabels labels = {})
      : counter_(registry.AddCounter(name, help, labels)) {}
  void Set(uint64_t value) {
    if (value > seen_) counter_.Increment(static_cast<double>(value - seen_));
    seen_ = value;
  }

 private:
  Counter& counter_;
  uint64_t seen_ = 0;
};

}  // namespace

struct HubMetrics::State {
  explicit State(absl::string_view version) : registry(MakeMetricRegistry()) {
    AddProcessMetrics(*registry, version);
  }
  std::unique_ptr<MetricRegistry> registry;
  MetricRegistry& all = *registry;
  Gauge& connected = all.AddGauge("nave_hub_agents_connected", "Agents with a live session.");
  Gauge& clusters = all.AddGauge("nave_hub_clusters", "Clusters that the hub has a record of.");
  Gauge& bundles = all.AddGauge("nave_hub_bundles", "Bundles that the hub has a record of.");
  Gauge& revision =
      all.AddGauge("nave_hub_snapshot_revision", "Store revision of the newest snapshot.");
  Gauge& unknown = all.AddGauge("nave_hub_agents_unknown",
                                "Agents that call with a valid certificate and no record.");
  Followed admitted{all,
                    "nave_hub_agent_connections_total",
                    "Sessions asked for by agents.",
                    {{"result", "admitted"}}};
  Followed refused{all,
                   "nave_hub_agent_connections_total",
                   "Sessions asked for by agents.",
                   {{"result", "refused"}}};
  Followed superseded{all, "nave_hub_sessions_superseded_total",
                      "Sessions that a newer one of the cluster took over."};
  Followed dead{all, "nave_hub_sessions_dead_total",
                "Sessions that ended because nothing was heard or taken."};
  Followed batches{all, "nave_hub_desired_batches_total",
                   "Batches of desired state sent to agents."};
  Followed acks{all, "nave_hub_desired_acks_total",
                "Batches of desired state that agents committed."};
  Followed statuses{all, "nave_hub_status_batches_total", "Batches of status that agents sent."};
  Followed writes{all, "nave_hub_status_writes_total", "Store transactions with status."};
  Followed runs{all, "nave_hub_controller_runs_total", "Runs of controllers."};
  Followed errors{all, "nave_hub_controller_errors_total", "Runs of controllers that failed."};
};

HubMetrics::HubMetrics(Executor* loop, HubCore* core,
                       std::shared_ptr<CertificateFiles> certificates, std::shared_ptr<HubCa> ca,
                       absl::string_view version)
    : state_(std::make_shared<State>(version)) {
  MetricRegistry& all = state_->all;
  all.AddGaugeFunction(
      "nave_hub_certificate_expiry_timestamp_seconds",
      "End of the certificate that the ports serve.", [certificates] {
        return static_cast<double>(absl::ToUnixSeconds(certificates->Current()->not_after));
      });
  all.AddGaugeFunction("nave_hub_certificate_reload_failures",
                       "Changes of certificate files that are bad and not in use.",
                       [certificates, ca] {
                         return static_cast<double>(certificates->failures() + ca->failures());
                       });
  Refresh(loop, core, state_);
}

HubMetrics::~HubMetrics() { state_->all.RemoveFunctions(); }

const MetricRegistry* HubMetrics::registry() const { return state_->registry.get(); }

void HubMetrics::Refresh(Executor* loop, HubCore* core, std::weak_ptr<State> weak) {
  loop->Post([loop, core, weak] {
    std::shared_ptr<State> state = weak.lock();
    if (state == nullptr || core->sessions() == nullptr) return;
    SessionHostMetrics sessions = core->sessions()->metrics();
    state->connected.Set(static_cast<double>(sessions.connected));
    state->admitted.Set(sessions.admitted_total);
    state->refused.Set(sessions.refused_total);
    state->superseded.Set(sessions.superseded_total);
    state->dead.Set(sessions.dead_total);
    state->batches.Set(sessions.desired_batches_total);
    state->acks.Set(sessions.acks_total);
    state->statuses.Set(sessions.status_batches_total);
    state->writes.Set(sessions.status_writes_total);
    state->runs.Set(core->controllers().runs_total());
    state->errors.Set(core->controllers().errors_total());
    state->unknown.Set(static_cast<double>(core->live()->Unknown().size()));
    if (FleetSnapshotPtr snapshot = core->snapshot(); snapshot != nullptr) {
      state->clusters.Set(static_cast<double>(snapshot->clusters.size()));
      state->bundles.Set(static_cast<double>(snapshot->bundles.size()));
      state->revision.Set(static_cast<double>(snapshot->revision));
    }
    loop->PostAfter(kRefreshEvery, [loop, core, weak] { Refresh(loop, core, weak); });
  });
}

}  // namespace nave
