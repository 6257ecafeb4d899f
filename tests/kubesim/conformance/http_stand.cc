#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "agent/kube/credentials.h"
#include "agent/kube/http_kube_client.h"
#include "agent/kube/kubeconfig.h"
#include "common/runtime/executor.h"
#include "tests/kubesim/conformance/stand.h"

namespace nave::kubesim {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr absl::Duration kPause = absl::Milliseconds(2);

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "conformance: %s\n", std::string(status.message()).c_str());
  std::abort();
}

class HttpStand : public ConformanceStand {
 public:
  explicit HttpStand(const std::string& kubeconfig) : executor_(MakeThreadExecutor()) {
    Kubeconfig config;
    absl::Status merged = MergeKubeconfig(kubeconfig, "kubeconfig", config);
    if (!merged.ok()) Die(merged);
    absl::StatusOr<std::unique_ptr<KubeCredentials>> credentials =
        MakeKubeconfigCredentials(config, "", "", "", DiskFileReader());
    if (!credentials.ok()) Die(credentials.status());
    HttpKubeOptions options;
    options.credentials = *std::move(credentials);
    options.executor = executor_.get();
    options.user_agent = "nave-agent/test";
    Run(
        [&] {
          absl::StatusOr<std::unique_ptr<KubeClient>> client =
              MakeHttpKubeClient(std::move(options));
          if (!client.ok()) Die(client.status());
          client_ = *std::move(client);
        },
        [] { return true; });
  }

  ~HttpStand() override {
    Run([this] { client_.reset(); }, [] { return true; });
  }

  KubeClient& client() override { return *client_; }

  bool Run(std::function<void()> start, std::function<bool()> done) override {
    auto state = std::make_shared<Poll>();
    state->done = std::move(done);
    state->deadline = executor_->Now() + kPatience;
    executor_->Post([this, start = std::move(start), state] {
      start();
      Check(state);
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return state->answer.has_value(); });
    return *state->answer;
  }

  void Wait(absl::Duration time) override {
    absl::Time end = executor_->Now() + time;
    Run([] {}, [this, end] { return executor_->Now() >= end; });
  }

  bool has_controllers() const override {
    return std::getenv("NAVE_KUBE_NO_CONTROLLERS") == nullptr;
  }

 private:
  struct Poll {
    std::function<bool()> done;
    absl::Time deadline;
    std::optional<bool> answer;  // Guarded by mutex_.
  };

  void Check(const std::shared_ptr<Poll>& poll) {
    bool done = poll->done();
    if (!done && executor_->Now() < poll->deadline) {
      executor_->PostAfter(kPause, [this, poll] { Check(poll); });
      return;
    }
    std::lock_guard lock(mutex_);
    poll->answer = done;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<KubeClient> client_;
};

}  // namespace

std::unique_ptr<ConformanceStand> MakeHttpStand(const std::string& kubeconfig_text) {
  return std::make_unique<HttpStand>(kubeconfig_text);
}

}  // namespace nave::kubesim
