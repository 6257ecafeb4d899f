#include "tests/agent/apply/real_spoke.h"

#include <chrono>
#include <cstdlib>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/kube/credentials.h"
#include "agent/kube/http_kube_client.h"
#include "common/value/codec.h"
#include "tests/agent/apply/spoke.h"

namespace nave {
namespace {

constexpr std::chrono::seconds kPatience{120};

std::unique_ptr<KubeClient> Connect(const std::string& kubeconfig, Executor& executor) {
  auto credentials = LoadKubeCredentials(kubeconfig, "");
  EXPECT_TRUE(credentials.ok()) << credentials.status();
  if (!credentials.ok()) return nullptr;
  HttpKubeOptions options;
  options.credentials = *std::move(credentials);
  options.executor = &executor;
  auto client = MakeHttpKubeClient(std::move(options));
  EXPECT_TRUE(client.ok()) << client.status();
  return client.ok() ? *std::move(client) : nullptr;
}

}  // namespace

std::vector<std::string> RealServers() {
  const char* configs = std::getenv("NAVE_KUBECONFIGS");
  if (configs == nullptr || *configs == '\0') return {};
  return absl::StrSplit(configs, ':');
}

RealSpoke::RealSpoke(const std::string& kubeconfig)
    : executor_(MakeThreadExecutor()), store_(*executor_) {
  AgentState& state = store_.mutable_state();
  state.hub_id = kHubId;
  state.cluster_uid = kClusterUid;
  OnLoop([&] {
    client_ = Connect(kubeconfig, *executor_);
    person_ = Connect(kubeconfig, *executor_);
  });
}

RealSpoke::~RealSpoke() {
  OnLoop([&] {
    reconciler_.reset();
    person_.reset();
    client_.reset();
  });
}

void RealSpoke::OnLoop(Task task) {
  std::promise<void> ran;
  executor_->Post([&] {
    std::move(task)();
    ran.set_value();
  });
  ran.get_future().wait();
}

void RealSpoke::StartAgent() {
  OnLoop([&] {
    reconciler_ = MakeReconciler({.kube = client_.get(),
                                  .store = &store_,
                                  .executor = executor_.get(),
                                  .agent_namespace = "nave-system",
                                  .may_write = nullptr,
                                  .on_fenced = nullptr,
                                  .concurrency = 8,
                                  .seed = 1});
    reconciler_->Start([this](const AssignmentStatus& status) {
      const std::lock_guard<std::mutex> lock(mutex_);
      statuses_[status.key] = status;
      changed_.notify_all();
    });
  });
}

void RealSpoke::StopAgent() {
  OnLoop([&] {
    reconciler_.reset();
    store_.LoseWrites();
  });
  const std::lock_guard<std::mutex> lock(mutex_);
  statuses_.clear();
}

void RealSpoke::Bundle(const Uuid& key, const std::string& yaml, const std::string& ns) {
  OnLoop([&] {
    CommitContent(store_, key, MakeContent(yaml, ns));
    if (reconciler_) reconciler_->OnAssignmentChanged(key);
  });
}

void RealSpoke::Remove(const Uuid& key) {
  OnLoop([&] {
    Assignment& assignment = store_.mutable_state().assignments[key];
    assignment.state = KeyState::kRemoving;
    assignment.confirmed = true;
    reconciler_->OnAssignmentChanged(key);
  });
}

bool RealSpoke::WaitFor(const Uuid& key,
                        const std::function<bool(const AssignmentStatus&)>& condition) {
  Digest digest;
  OnLoop([&] { digest = store_.state().assignments.at(key).content_digest; });
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] {
    auto it = statuses_.find(key);
    return it != statuses_.end() && it->second.digest == digest && condition(it->second);
  });
}

bool RealSpoke::WaitUntil(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
  }
  return false;
}

AssignmentStatus RealSpoke::StatusOf(const Uuid& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return statuses_[key];
}

template <typename T>
T RealSpoke::Await(const std::function<void(KubeClient::Callback<T>)>& start) {
  std::promise<T> answer;
  executor_->Post([&] { start([&](T result) { answer.set_value(std::move(result)); }); });
  return answer.get_future().get();
}

ResourceType RealSpoke::TypeOf(const std::string& kind) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (const ResourceType& type : types_) {
      if (type.kind == kind) return type;
    }
    types_ = Await<KubeClient::Discovery>([&](KubeClient::Callback<KubeClient::Discovery> done) {
               person_->Discover(std::move(done));
             }).types;
  }
  ADD_FAILURE() << "unknown kind " << kind;
  return {};
}

KubeResult RealSpoke::Get(const std::string& kind, const std::string& ns, const std::string& name) {
  const ResourceType type = TypeOf(kind);
  return Await<KubeResult>([&](KubeClient::Callback<KubeResult> done) {
    person_->Get(type, ns, name, std::move(done));
  });
}

KubeResult RealSpoke::Create(const std::string& ns, const std::string& json) {
  const ResourceType type = TypeOf(ParseJsonLenient(json)->StringAt("kind"));
  return Await<KubeResult>([&](KubeClient::Callback<KubeResult> done) {
    person_->Create(type, ns, json, std::move(done));
  });
}

KubeResult RealSpoke::Edit(const std::string& kind, const std::string& ns, const std::string& name,
                           const std::string& merge_patch) {
  const ResourceType type = TypeOf(kind);
  return Await<KubeResult>([&](KubeClient::Callback<KubeResult> done) {
    PatchRequest request;
    request.type = type;
    request.ns = ns;
    request.name = name;
    request.body = merge_patch;
    request.field_manager = "kubectl-edit";
    person_->Patch(std::move(request), std::move(done));
  });
}

KubeResult RealSpoke::Delete(const std::string& kind, const std::string& ns,
                             const std::string& name) {
  const ResourceType type = TypeOf(kind);
  return Await<KubeResult>([&](KubeClient::Callback<KubeResult> done) {
    DeleteRequest request;
    request.type = type;
    request.ns = ns;
    request.name = name;
    person_->Delete(std::move(request), std::move(done));
  });
}

std::map<std::string, std::string> RealSpoke::Owned() {
  std::vector<ObjectKey> objects;
  OnLoop([&] {
    for (const auto& [key, assignment] : store_.state().assignments) {
      for (const auto& [object, entry] : store_.inventory(key)) objects.push_back(object);
    }
  });
  std::map<std::string, std::string> owned;
  for (const ObjectKey& object : objects) {
    const KubeResult result = Get(object.kind, object.ns, object.name);
    owned[object.ToString()] = absl::StrCat(result.object.StringAt("metadata", "uid"), " ",
                                            result.object.StringAt("metadata", "resourceVersion"));
  }
  return owned;
}

size_t RealSpoke::OwnedCount(const Uuid& key) {
  size_t count = 0;
  OnLoop([&] { count = store_.inventory(key).size(); });
  return count;
}

}  // namespace nave
