#include "hub/rpc/api_services.h"

#include <atomic>
#include <utility>

#include "common/base/log.h"
#include "hub/rpc/api_state.h"
#include "hub/rpc/services.h"
#include "hub/rpc/watches.h"

namespace nave {
namespace {

class ApiServicesImpl : public ApiServices {
 public:
  ApiServicesImpl(ApiBackend* backend, TokenFile* tokens, const ApiOptions& options)
      : state_(backend, tokens, options), runner_(&state_), watches_(&state_) {
    services_ = MakeFleetServices(&runner_, &watches_);
    for (auto& service : MakeProjectServices(&runner_, &watches_))
      services_.push_back(std::move(service));
    ScheduleRefusals();
  }

  ~ApiServicesImpl() override {
    Drain();
    WriteRefusals();
  }

  std::vector<grpc::Service*> services() override {
    std::vector<grpc::Service*> all;
    for (auto& service : services_) all.push_back(service.get());
    return all;
  }

  void OnSnapshot(const FleetChanges& changes) override { watches_.Note(changes); }
  void OnLiveChanged(const Uuid& cluster) override { watches_.NoteLive(cluster); }
  void Drain() override { watches_.Drain(); }

 private:
  void ScheduleRefusals() {
    watches_.loop()->PostAfter(state_.options.refusal_interval, [this] {
      if (!state_.refusals.empty()) state_.pool.Post([this] { WriteRefusals(); });
      ScheduleRefusals();
    });
  }

  void WriteRefusals() {
    for (AuditRecord& record : state_.refusals.Take()) {
      ControlTxn txn;
      txn.audit = std::move(record);
      auto written = state_.backend->store()->Commit(std::move(txn), std::nullopt);
      if (!written.ok())
        LogWarning("refused attempts are not audited", {{"error", written.status().message()}});
    }
  }

  ApiState state_;
  CallRunner runner_;
  Watches watches_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
};

}  // namespace

std::unique_ptr<ApiServices> MakeApiServices(ApiBackend* backend, TokenFile* tokens,
                                             const ApiOptions& options) {
  return std::make_unique<ApiServicesImpl>(backend, tokens, options);
}

}  // namespace nave
