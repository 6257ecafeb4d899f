#include "agent/process.h"

#include <errno.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "agent/kube/credentials.h"
#include "agent/kube/http_kube_client.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/pki/join_token.h"

namespace nave {
namespace {

uint64_t RandomSeed() {
  const std::string bytes = RandomBytes(8);
  uint64_t seed = 0;
  for (char c : bytes) seed = seed << 8 | static_cast<uint8_t>(c);
  return seed;
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "nave-agent";
}

// The text of the join token with what the configuration says instead; empty when there is no file.
absl::StatusOr<std::string> ReadToken(const AgentConfig& config) {
  if (config.token_file.empty()) return std::string();
  std::ifstream file(config.token_file);
  if (!file) {
    if (errno == ENOENT) return std::string();
    return MakeError(Reason::kConfigInvalid,
                     absl::StrCat("token file ", config.token_file, ": cannot be read"));
  }
  std::stringstream text;
  text << file.rdbuf();
  if (config.hub_endpoint.empty() && config.hub_ca_pin.IsNone()) return text.str();
  ASSIGN_OR_RETURN(JoinTokenText token, ParseJoinToken(text.str()));
  if (!config.hub_endpoint.empty()) token.hub_address = config.hub_endpoint;
  if (!config.hub_ca_pin.IsNone()) token.ca_pin = config.hub_ca_pin;
  return FormatJoinToken(token);
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

HttpAnswer Probe(const std::string& problem) {
  HttpAnswer answer;
  answer.status = problem.empty() ? 200 : 503;
  answer.body = problem.empty() ? "ok\n" : problem + "\n";
  return answer;
}

HttpAnswer AnswerProbe(const HttpRequest& request, const ReportBoard& board) {
  const AgentReport report = board.Get();
  const absl::Time now = BootTime();
  if (request.path == "/livez") return Probe(LivenessProblem(report, now));
  if (request.path == "/readyz") return Probe(ReadinessProblem(report, now));
  HttpAnswer answer;
  if (request.path == "/metrics") {
    answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
    answer.body = FormatMetrics(report, kAgentVersion, ResidentBytes(), now);
    return answer;
  }
  answer.status = 404;
  answer.body = "not found: there are /livez, /readyz and /metrics\n";
  return answer;
}

}  // namespace

struct AgentProcess::Parts {
  std::unique_ptr<KubeClient> kube;
  std::unique_ptr<HubLink> link;
  std::unique_ptr<HubCalls> hub_calls;
  std::unique_ptr<IdentityStore> identity_store;
  std::unique_ptr<Agent> agent;
};

absl::StatusOr<std::unique_ptr<AgentProcess>> AgentProcess::Start(const AgentConfig& config) {
  std::unique_ptr<AgentProcess> process(new AgentProcess());
  RETURN_IF_ERROR(process->Init(config));
  return process;
}

void AgentProcess::OnLoop(Task task) {
  absl::Notification done;
  loop_->Post([&] {
    std::move(task)();
    done.Notify();
  });
  done.WaitForNotification();
}

absl::Status AgentProcess::Init(const AgentConfig& config) {
  HttpKubeOptions kube;
  ASSIGN_OR_RETURN(kube.credentials, LoadKubeCredentials(config.kubeconfig, config.kube_context));
  loop_ = MakeThreadExecutor();
  parts_ = std::make_unique<Parts>();
  kube.executor = loop_.get();
  kube.user_agent = absl::StrCat("nave-agent/", kAgentVersion);
  kube.seed = RandomSeed();
  absl::Status made;
  OnLoop([&] {
    absl::StatusOr<std::unique_ptr<KubeClient>> client = MakeHttpKubeClient(std::move(kube));
    made = client.status();
    if (!client.ok()) return;
    parts_->kube = *std::move(client);
    AgentOptions options;
    options.ns = config.ns.empty() ? ServiceAccountNamespace(DiskFileReader()) : config.ns;
    if (options.ns.empty()) options.ns = "nave-system";
    parts_->link = MakeGrpcHubLink(*loop_);
    parts_->hub_calls = MakeGrpcHubCalls(*loop_);
    parts_->identity_store = config.state_dir.empty()
                                 ? MakeSecretIdentityStore(*parts_->kube, options.ns)
                                 : MakeFileIdentityStore(*loop_, config.state_dir);
    options.executor = loop_.get();
    options.kube = parts_->kube.get();
    options.link = parts_->link.get();
    options.identity_store = parts_->identity_store.get();
    options.hub_calls = parts_->hub_calls.get();
    options.read_token = [config] { return ReadToken(config); };
    options.make_reconciler = MakeReconciler;
    options.version = kAgentVersion;
    options.pod_name = config.pod_name.empty() ? HostName() : config.pod_name;
    options.hub_endpoint = config.hub_endpoint;
    options.seed = RandomSeed();
    options.clock = BootTime;
    options.trim_memory = [] { malloc_trim(0); };
    options.apply_concurrency = static_cast<int>(config.apply_concurrency);
    LogInfo(
        "starting",
        {{"version", kAgentVersion}, {"namespace", options.ns}, {"identity", options.pod_name}});
    parts_->agent = std::make_unique<Agent>(std::move(options));
  });
  RETURN_IF_ERROR(made);
  const ReportBoard* board = &parts_->agent->board();
  ASSIGN_OR_RETURN(server_,
                   HttpServer::Listen(config.health_address, [board](const HttpRequest& request) {
                     return AnswerProbe(request, *board);
                   }));
  LogInfo("probes listen", {{"port", server_->port()}});
  OnLoop([&] { parts_->agent->Start(); });
  return absl::OkStatus();
}

AgentProcess::~AgentProcess() {
  if (parts_ != nullptr && parts_->agent != nullptr && server_ != nullptr) {
    absl::Notification released;
    loop_->Post([&] { parts_->agent->Stop([&] { released.Notify(); }); });
    released.WaitForNotification();
  }
  server_.reset();
  if (loop_ == nullptr) return;
  OnLoop([this] {
    // In the order in which they use each other.
    parts_->agent.reset();
    parts_->link.reset();
    parts_->hub_calls.reset();
    parts_->identity_store.reset();
    parts_->kube.reset();
  });
  loop_.reset();
}

}  // namespace nave
