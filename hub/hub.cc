#include "hub/hub.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/codegen/service_type.h>

#include <atomic>
#include <chrono>
#include <future>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/httpserver/http_server.h"
#include "common/pki/certificate_files.h"
#include "common/pki/tls_credentials.h"
#include "common/runtime/executor.h"
#include "hub/auth/authenticate.h"
#include "hub/ca/data_directory.h"
#include "hub/ca/private_file.h"
#include "hub/ca/server_certificate.h"
#include "hub/core/api_backend.h"
#include "hub/core/first_records.h"
#include "hub/core/housekeeping.h"
#include "hub/core/hub_core.h"
#include "hub/core/hub_metrics.h"
#include "hub/core/link_backend.h"
#include "hub/http/probes.h"
#include "hub/poller_limit.h"
#include "hub/records/blobs.h"
#include "hub/records/record_store.h"
#include "hub/rpc/api_services.h"
#include "hub/rpc/link_service.h"
#include "hub/store/sqlite_store.h"

namespace nave {
namespace {

// A request with a whole bundle; its parts have limits of their own.
constexpr int kApiMessageBytesMax = 64 << 20;
// An agent's frame (protocol: at most 4 MiB), and room to answer a larger one by name.
constexpr int kLinkMessageBytesMax = 5 << 20;

class BlobStoreReader : public BlobReader {
 public:
  explicit BlobStoreReader(BlobStore* blobs) : blobs_(blobs) {}
  absl::StatusOr<BlobPtr> GetCompressed(const Digest& digest) override {
    return blobs_->GetCompressed(digest);
  }

 private:
  BlobStore* const blobs_;
};

// Runs `task` on `executor` and waits for it.
void RunOn(Executor* executor, Task task) {
  std::promise<void> done;
  executor->Post([&] {
    std::move(task)();
    done.set_value();
  });
  done.get_future().wait();
}

// HOST of HOST:PORT, as gRPC and HttpServer write addresses.
absl::string_view HostOf(absl::string_view address) {
  return address.substr(0, address.rfind(':'));
}
absl::string_view PortOf(absl::string_view address) {
  return address.substr(address.rfind(':') + 1);
}

class HubProcess : public Hub {
 public:
  HubProcess(HubConfig config, std::function<void(absl::Status)> on_fatal)
      : config_(std::move(config)), on_fatal_(std::move(on_fatal)) {}
  ~HubProcess() override { Stop(); }

  absl::Status Start();
  HubPorts ports() const override { return ports_; }
  std::string admin_context_made() const override {
    return directory_.admin_context_made ? directory_.admin_context_path : "";
  }
  void Stop() override;

 private:
  absl::Status OpenRecords();
  absl::Status StartCore();
  absl::StatusOr<std::unique_ptr<grpc::Server>> Listen(const std::string& address,
                                                       const std::vector<grpc::Service*>& services,
                                                       int message_bytes_max, int* port);
  absl::Status OpenPorts();
  absl::Status OpenProbes();
  std::vector<ReadyCheck> Checks();
  HubFacts Facts() const;
  void ShutDown(grpc::Server* server, absl::Time deadline);

  const HubConfig config_;
  const std::function<void(absl::Status)> on_fatal_;
  HubPorts ports_;
  DataDirectory directory_;

  // In the order of their making; they go in the reverse order, but for what Stop does first.
  std::unique_ptr<Executor> loop_ = MakeThreadExecutor();
  std::unique_ptr<RecordStore> records_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<BlobStoreReader> blob_reader_;
  std::unique_ptr<Executor> reader_ = MakeThreadExecutor();
  std::unique_ptr<Executor> worker_ = MakeThreadExecutor();
  std::unique_ptr<Executor> controllers_ = MakeThreadExecutor();
  std::unique_ptr<Executor> housekeeper_ = MakeThreadExecutor();
  std::unique_ptr<HubCore> core_;
  std::unique_ptr<Housekeeping> housekeeping_;
  std::unique_ptr<HubMetrics> metrics_;

  std::shared_ptr<CertificateFiles> certificates_;
  std::unique_ptr<TokenFile> tokens_;
  std::unique_ptr<LinkBackend> link_backend_;
  std::unique_ptr<ApiBackend> api_backend_;
  std::unique_ptr<grpc::Service> link_service_;
  std::unique_ptr<ApiServices> api_services_;
  std::unique_ptr<grpc::Server> agents_server_;
  std::unique_ptr<grpc::Server> api_server_;
  std::unique_ptr<PollerLimit> pollers_;
  std::unique_ptr<HttpServer> probes_;
  std::atomic<bool> loaded_{false};
  std::atomic<bool> stopping_{false};
};

absl::Status HubProcess::OpenRecords() {
  SqliteStoreOptions options;
  options.path = absl::StrCat(config_.data_dir, "/hub.db");
  options.on_went_back = on_fatal_;
  options.create = false;
  // First what is there is read, so that a start which is refused makes nothing.
  std::unique_ptr<SqliteStore> store;
  std::optional<std::string> store_hub_id;
  if (FileExists(options.path)) {
    ASSIGN_OR_RETURN(store, OpenSqliteStore(options));
    ASSIGN_OR_RETURN(store_hub_id, ReadStoreHubId(*store));
  }
  DataDirectoryOptions directory;
  directory.path = config_.data_dir;
  directory.advertise = config_.advertise;
  directory.api_address = absl::StrCat(config_.advertise.front(), ":", PortOf(config_.listen_api));
  directory.encryption_key_path = config_.encryption_key;
  ASSIGN_OR_RETURN(directory_, OpenDataDirectory(directory, store_hub_id, absl::Now()));
  if (store == nullptr) {
    options.create = true;
    ASSIGN_OR_RETURN(store, OpenSqliteStore(options));
  }
  if (directory_.database_lost) {
    LogWarning("the database of this hub is not there: a new one begins under the same id",
               {{"next",
                 "agents hold what they run; navectl hub adopt --accept-unknown takes them back"}});
  }
  RecordStoreOptions records;
  records.hub_id = directory_.hub_id;
  records.version = kHubVersion;
  ASSIGN_OR_RETURN(records_, RecordStore::Open(std::move(store), records));
  RETURN_IF_ERROR(EnsureFirstRecords(records_.get(), absl::Now()));
  blobs_ = std::make_unique<BlobStore>(records_.get(), directory_.encryption_keys);
  blob_reader_ = std::make_unique<BlobStoreReader>(blobs_.get());
  return absl::OkStatus();
}

absl::Status HubProcess::StartCore() {
  HubCoreOptions options;
  options.loop = loop_.get();
  options.reader = reader_.get();
  options.controllers = controllers_.get();
  options.bundles.history = config_.bundle_history;
  options.seed = absl::ToUnixNanos(absl::Now());
  options.on_snapshot = [this](const FleetChanges& changes) {
    if (api_services_ != nullptr) api_services_->OnSnapshot(changes);
  };
  options.on_live_changed = [this](const Uuid& cluster) {
    if (api_services_ != nullptr) api_services_->OnLiveChanged(cluster);
  };
  core_ = std::make_unique<HubCore>(records_.get(), blob_reader_.get(), options);
  LinkBackendParts link;
  link.hub_id = directory_.hub_id;
  link.records = records_.get();
  link.blobs = blob_reader_.get();
  link.live = core_->live();
  link.ca = directory_.ca;
  link.snapshot = [core = core_.get()] { return core->snapshot(); };
  link.now = [] { return absl::Now(); };
  link_backend_ = MakeLinkBackend(std::move(link));
  link_service_ =
      MakeLinkService(loop_.get(), worker_.get(), core_->sessions(), link_backend_.get());

  ApiBackendParts api;
  api.core = core_.get();
  api.records = records_.get();
  api.blobs = blobs_.get();
  api.ca = directory_.ca;
  api.facts = [this] { return Facts(); };
  api.now = [] { return absl::Now(); };
  api_backend_ = MakeApiBackend(std::move(api));
  ASSIGN_OR_RETURN(tokens_, TokenFile::Open(config_.token_file));
  // Before the first snapshot, so that the callbacks above read a constant.
  api_services_ = MakeApiServices(api_backend_.get(), tokens_.get());

  std::promise<absl::Status> loaded;
  core_->Start([&](absl::Status status) { loaded.set_value(std::move(status)); });
  RETURN_IF_ERROR(loaded.get_future().get());
  loaded_ = true;
  return absl::OkStatus();
}

HubFacts HubProcess::Facts() const {
  HubFacts facts;
  facts.version = kHubVersion;
  facts.hub_id = directory_.hub_id;
  facts.agent_endpoint = config_.agent_endpoint;
  if (facts.agent_endpoint.empty()) {
    facts.agent_endpoint =
        absl::StrCat(HostOf(absl::StrCat(config_.advertise.front(), ":")), ":", ports_.agents);
  }
  if (directory_.database_lost) {
    Condition lost;
    lost.type = "DatabaseLost";
    lost.status = ConditionStatus::kTrue;
    lost.reason = "DatabaseLost";
    lost.message =
        "this hub started without its database; agents hold until navectl hub adopt "
        "--accept-unknown";
    lost.since = absl::Now();
    facts.conditions.push_back(std::move(lost));
  }
  return facts;
}

absl::StatusOr<std::unique_ptr<grpc::Server>> HubProcess::Listen(
    const std::string& address, const std::vector<grpc::Service*>& services, int message_bytes_max,
    int* port) {
  grpc::ServerBuilder builder;
  // Without it two hubs would share a port and each get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  // Agents ping while they are idle, which is no abuse. What a bandwidth probe would learn is not
  // worth a ping and its answer for every message that comes.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.SetMaxReceiveMessageSize(message_bytes_max);
  builder.AddListeningPort(address, MakeServerCredentials(certificates_), port);
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || *port == 0) {
    return MakeError(Reason::kPortInUse,
                     absl::StrCat("address ", address, ": cannot be listened on"));
  }
  return server;
}

absl::Status HubProcess::OpenPorts() {
  RETURN_IF_ERROR(EnsureServerCertificate(directory_.server_paths, *directory_.ca->Authority(),
                                          directory_.server_names, absl::Now())
                      .status());
  ASSIGN_OR_RETURN(certificates_, CertificateFiles::Open(directory_.server_paths));
  grpc::EnableDefaultHealthCheckService(true);
  // The token's address names the port that agents dial, so that port is taken before the API can
  // make tokens.
  ASSIGN_OR_RETURN(agents_server_, Listen(config_.listen_agents, {link_service_.get()},
                                          kLinkMessageBytesMax, &ports_.agents));
  // From here on, so that only the API says what it serves.
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  ASSIGN_OR_RETURN(api_server_, Listen(config_.listen_api, api_services_->services(),
                                       kApiMessageBytesMax, &ports_.api));
  return absl::OkStatus();
}

std::vector<ReadyCheck> HubProcess::Checks() {
  std::vector<ReadyCheck> checks;
  absl::StatusOr<Revision> head = records_->HeadRevision();
  checks.push_back({"store", head.ok() ? "" : std::string(head.status().message())});
  checks.push_back({"index", loaded_ ? "" : "the hub is loading its state"});
  checks.push_back({"drain", stopping_ ? "the hub is stopping" : ""});
  return checks;
}

absl::Status HubProcess::OpenProbes() {
  metrics_ = std::make_unique<HubMetrics>(loop_.get(), core_.get(), certificates_, directory_.ca,
                                          kHubVersion);
  ASSIGN_OR_RETURN(probes_, HttpServer::Listen(config_.listen_health,
                                               MakeProbeHandler([this] { return Checks(); },
                                                                metrics_->registry())));
  ports_.health = probes_->port();
  return absl::OkStatus();
}

absl::Status HubProcess::Start() {
  RETURN_IF_ERROR(OpenRecords());
  RETURN_IF_ERROR(StartCore());
  RETURN_IF_ERROR(OpenPorts());
  pollers_ = PollerLimit::Make(agents_server_.get());
  RETURN_IF_ERROR(OpenProbes());
  housekeeping_ = std::make_unique<Housekeeping>(
      Housekeeping::Parts{housekeeper_.get(), records_.get(), blobs_.get(), directory_.ca,
                          directory_.server_paths, directory_.server_names});
  housekeeping_->Start();
  LogInfo("the hub serves", {{"hub", directory_.hub_id},
                             {"version", kHubVersion},
                             {"api", ports_.api},
                             {"agents", ports_.agents},
                             {"health", ports_.health},
                             {"term", records_->term().number}});
  return absl::OkStatus();
}

void HubProcess::ShutDown(grpc::Server* server, absl::Time deadline) {
  if (server != nullptr) server->Shutdown(absl::ToChronoTime(deadline));
}

void HubProcess::Stop() {
  if (stopping_.exchange(true)) return;
  if (api_server_ != nullptr) absl::SleepFor(config_.drain_delay);
  pollers_.reset();
  absl::Time deadline = absl::Now() + config_.drain_timeout;
  if (core_ != nullptr) {
    loop_->Post([core = core_.get()] { core->sessions()->Drain([] {}); });
  }
  if (api_services_ != nullptr) api_services_->Drain();
  ShutDown(api_server_.get(), deadline);
  ShutDown(agents_server_.get(), deadline);
  probes_.reset();
  metrics_.reset();
  api_server_.reset();
  agents_server_.reset();
  // What still runs finds its owner gone; nothing new begins.
  housekeeper_.reset();
  worker_.reset();
  if (core_ != nullptr) {
    RunOn(controllers_.get(), [this] { core_->CloseControllers(); });
    RunOn(loop_.get(), [this] { core_->Close(); });
  }
  controllers_.reset();
  reader_.reset();
  api_services_.reset();
  link_service_.reset();
  link_backend_.reset();
  api_backend_.reset();
  core_.reset();
  blob_reader_.reset();
  blobs_.reset();
  records_.reset();
  loop_.reset();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Hub>> Hub::Start(const HubConfig& config,
                                                std::function<void(absl::Status)> on_fatal) {
  auto hub = std::make_unique<HubProcess>(config, std::move(on_fatal));
  RETURN_IF_ERROR(hub->Start());
  return std::unique_ptr<Hub>(std::move(hub));
}

}  // namespace nave
