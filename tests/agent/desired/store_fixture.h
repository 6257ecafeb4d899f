// A store on a simulated API server, and the death of the process that it is in.
#ifndef NAVE_TESTS_AGENT_DESIRED_STORE_FIXTURE_H_
#define NAVE_TESTS_AGENT_DESIRED_STORE_FIXTURE_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/desired/secret_desired_store.h"
#include "common/value/codec.h"
#include "tests/kubesim/sim_kube_client.h"

namespace nave {

inline constexpr char kAgentNamespace[] = "nave-system";
inline constexpr char kKubeSystem[] = "11111111-1111-4111-8111-111111111111";

inline Uuid KeyOf(int n) {
  Uuid key;
  key.bytes[0] = 0xab;
  key.bytes[15] = static_cast<uint8_t>(n);
  return key;
}

// ConfigMaps name=value.
inline DesiredContentPtr ContentOf(const std::map<std::string, std::string>& objects) {
  auto content = std::make_shared<DesiredContent>();
  for (const auto& [name, value] : objects) {
    Value object(Object{});
    object["apiVersion"] = "v1";
    object["kind"] = "ConfigMap";
    object["metadata"]["name"] = name;
    object["data"]["value"] = value;
    content->objects.push_back(FormatJson(object));
    content->listing.objects.push_back(
        {{"", "ConfigMap", "", name}, Sha256(content->objects.back())});
  }
  content->digest = Sha256(FormatListing(content->listing));
  return content;
}

inline Assignment Holding(const Uuid& key, const Digest& digest, uint64_t revision = 1) {
  Assignment assignment;
  assignment.key = key;
  assignment.name = "projects/p/bundles/b";
  assignment.revision = revision;
  assignment.digest = digest;
  assignment.content_digest = digest;
  return assignment;
}

inline Inventory InventoryOf(int objects, absl::string_view version = "v1") {
  Inventory inventory;
  for (int i = 0; i < objects; ++i) {
    InventoryEntry entry;
    entry.key = {"apps", "Deployment", "default", absl::StrCat("web-", i)};
    entry.version = std::string(version);
    entry.uid = absl::StrCat("uid-", i);
    entry.progress = InventoryEntry::Progress::kApplied;
    entry.sent = Sha256(absl::StrCat("sent", i));
    entry.fields = Sha256(absl::StrCat("fields", i));
    entry.resource_version = absl::StrCat(1000 + i);
    entry.generation = i;
    if (i % 3 == 0) entry.left_out = {".spec.replicas"};
    inventory[entry.key] = entry;
  }
  return inventory;
}

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    kubesim::SimRequest request;
    request.verb = kubesim::SimRequest::Verb::kCreate;
    request.version = "v1";
    request.plural = "namespaces";
    request.body = absl::StrCat(R"({"metadata":{"name":")", kAgentNamespace, R"("}})");
    sim_.Handle(request, executor_.Now());
    Restart();
  }
  // The store goes before the client that it uses.
  ~StoreTest() override { Kill(); }

  void Kill() {
    store_.reset();
    client_.reset();
  }
  // Another process: a new client and store.
  void Restart() {
    Kill();
    kubesim::SimKubeClientOptions options;
    options.seed = ++process_;
    client_ = std::make_unique<kubesim::SimKubeClient>(&sim_, &executor_, options);
    store_ = MakeStore(*client_);
  }
  std::unique_ptr<SecretDesiredStore> MakeStore(KubeClient& client) {
    SecretStoreOptions options;
    options.client = &client;
    options.executor = &executor_;
    options.ns = kAgentNamespace;
    options.writer = absl::StrCat("process-", ++writers_);
    options.seed = process_;
    options.part_bytes_max = part_bytes_;
    return std::make_unique<SecretDesiredStore>(std::move(options));
  }

  void RunFor(absl::Duration span = absl::Seconds(30)) { executor_.Advance(span); }
  LoadOutcome Load(SecretDesiredStore& store, absl::string_view uid = kKubeSystem) {
    std::optional<LoadOutcome> outcome;
    store.Load(std::string(uid), [&](LoadOutcome got) { outcome = got; });
    RunFor();
    return outcome.value_or(LoadOutcome::kUnavailable);
  }
  LoadOutcome Load() { return Load(*store_); }
  LoadOutcome Reload() {
    Restart();
    return Load();
  }
  absl::Status Write(const Uuid& key, DesiredContentPtr content) {
    std::optional<absl::Status> status;
    store_->WriteContent(key, std::move(content), [&](absl::Status got) { status = got; });
    EXPECT_FALSE(status.has_value()) << "called inside the call";
    RunFor();
    return status.value_or(absl::DeadlineExceededError("no answer"));
  }
  absl::Status Commit(AgentState next) {
    std::optional<absl::Status> status;
    store_->Commit(std::move(next), [&](absl::Status got) { status = got; });
    EXPECT_FALSE(status.has_value()) << "called inside the call";
    RunFor();
    return status.value_or(absl::DeadlineExceededError("no answer"));
  }
  absl::Status WriteInventory(const Uuid& key, Inventory next) {
    std::optional<absl::Status> status;
    store_->WriteInventory(key, std::move(next), [&](absl::Status got) { status = got; });
    RunFor();
    return status.value_or(absl::DeadlineExceededError("no answer"));
  }
  // Content written and committed.
  void Deliver(int n, const DesiredContentPtr& content, uint64_t revision = 1) {
    ASSERT_TRUE(Write(KeyOf(n), content).ok());
    AgentState next = store_->state();
    next.hub_id = "hub";
    next.at = At{1, KeyOf(99), revision};
    next.assignments[KeyOf(n)] = Holding(KeyOf(n), content->digest, revision);
    ASSERT_TRUE(Commit(std::move(next)).ok());
  }

  std::vector<std::string> Secrets(absl::string_view prefix = "nave-") const {
    std::vector<std::string> names;
    for (const auto& [name, object] : sim_.store().All("secrets")) {
      if (name.first == kAgentNamespace && absl::StartsWith(name.second, prefix)) {
        names.push_back(name.second);
      }
    }
    return names;
  }
  void DeleteSecret(const std::string& name) {
    kubesim::SimRequest request;
    request.verb = kubesim::SimRequest::Verb::kDelete;
    request.version = "v1";
    request.plural = "secrets";
    request.ns = kAgentNamespace;
    request.name = name;
    ASSERT_TRUE(sim_.Handle(request, executor_.Now()).ok()) << name;
  }
  // The Secret with one key of its data replaced.
  void Corrupt(const std::string& name, absl::string_view key, absl::string_view base64) {
    MergePatch(name, absl::StrCat(R"({"data":{")", key, R"(":")", base64, R"("}})"));
  }
  void MergePatch(const std::string& name, const std::string& patch) {
    kubesim::SimRequest request;
    request.verb = kubesim::SimRequest::Verb::kPatch;
    request.patch = kubesim::SimRequest::Patch::kMerge;
    request.version = "v1";
    request.plural = "secrets";
    request.ns = kAgentNamespace;
    request.name = name;
    request.body = patch;
    ASSERT_TRUE(sim_.Handle(request, executor_.Now()).ok()) << name;
  }

  size_t part_bytes_ = kSecretPartBytesMax;
  uint64_t process_ = 0;
  int writers_ = 0;
  ManualExecutor executor_{absl::FromUnixSeconds(1'700'000'000)};
  kubesim::KubeSim sim_{kubesim::KubeSimOptions(), executor_.Now()};
  kubesim::SimStepper stepper_{&sim_, &executor_};
  std::unique_ptr<kubesim::SimKubeClient> client_;
  std::unique_ptr<SecretDesiredStore> store_;
};

}  // namespace nave

#endif  // NAVE_TESTS_AGENT_DESIRED_STORE_FIXTURE_H_
