#include "tests/agent/apply/spoke.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/plan/marks.h"
#include "common/value/codec.h"

namespace nave {

using kubesim::SimRequest;
using kubesim::SimResponse;

namespace {

// Discovery as the test wants it.
class AlteredClient : public kubesim::SimKubeClient {
 public:
  using Alter = std::function<void(KubeClient::Discovery&)>;
  AlteredClient(kubesim::KubeSim* sim, Executor* executor, kubesim::SimKubeClientOptions options,
                const Alter* alter)
      : SimKubeClient(sim, executor, std::move(options)), alter_(alter) {}
  void Discover(Callback<Discovery> done) override {
    SimKubeClient::Discover([alter = alter_, done = std::move(done)](Discovery found) mutable {
      if (*alter) (*alter)(found);
      std::move(done)(std::move(found));
    });
  }

 private:
  const Alter* alter_;
};

}  // namespace

Uuid Key(int n) {
  Uuid uuid;
  uuid.bytes[0] = 0xb0;
  uuid.bytes[6] = 0x40;
  uuid.bytes[8] = 0x80;
  uuid.bytes[15] = static_cast<uint8_t>(n);
  return uuid;
}

DesiredContentPtr MakeContent(const std::string& yaml, const std::string& ns) {
  ListingOptions options;
  options.default_namespace = ns;
  auto rendered =
      RenderBundle({{.path = "all.yaml", .content = yaml}}, options, true, true, nullptr);
  EXPECT_TRUE(rendered.ok()) << rendered.status();
  if (!rendered.ok()) return nullptr;
  auto content = std::make_shared<DesiredContent>();
  content->digest = rendered->listing_digest;
  auto listing = ParseListing(rendered->listing);
  EXPECT_TRUE(listing.ok()) << listing.status();
  if (listing.ok()) content->listing = *std::move(listing);
  for (const RenderedObject& object : rendered->objects) content->objects.push_back(object.json);
  return content;
}

void CommitContent(MemoryStore& store, const Uuid& key, DesiredContentPtr content) {
  AgentState& state = store.mutable_state();
  Assignment& assignment = state.assignments[key];
  assignment.key = key;
  assignment.name = absl::StrCat("projects/p/bundles/b", static_cast<int>(key.bytes[15]));
  assignment.revision = ++state.at.revision;
  assignment.digest = assignment.content_digest = content->digest;
  assignment.state = KeyState::kPresent;
  assignment.confirmed = false;
  store.SetContent(key, std::move(content));
}

Spoke::Spoke() : sim_(kubesim::KubeSimOptions(), executor_.Now()) {
  AgentState& state = store_.mutable_state();
  state.hub_id = kHubId;
  state.cluster_uid = kClusterUid;
  Run(absl::Seconds(1));
}

Spoke::~Spoke() {
  reconciler_.reset();
  client_.reset();
}

void Spoke::StartAgent() {
  kubesim::SimKubeClientOptions options;
  options.user = kAgentUser;
  options.seed = seed_;
  options.jitter = absl::Milliseconds(1);
  client_ = std::make_unique<AlteredClient>(&sim_, &executor_, options, &alter_discovery_);
  reconciler_ = MakeReconciler({.kube = client_.get(),
                                .store = &store_,
                                .executor = &executor_,
                                .agent_namespace = "nave-system",
                                .may_write = [this] { return may_write_; },
                                .on_fenced = [this] { fenced_ = true; },
                                .concurrency = 8,
                                .seed = seed_++});
  reconciler_->Start([this](const AssignmentStatus& status) { statuses_[status.key] = status; });
}

void Spoke::KillAgent() {
  reconciler_.reset();
  client_.reset();
  store_.LoseWrites();
  statuses_.clear();
}

void Spoke::Commit(const Uuid& key, const std::string& yaml, const std::string& ns) {
  DesiredContentPtr content = MakeContent(yaml, ns);
  ASSERT_NE(content, nullptr);
  CommitContent(store_, key, std::move(content));
}

void Spoke::Bundle(const Uuid& key, const std::string& yaml, const std::string& ns) {
  Commit(key, yaml, ns);
  reconciler_->OnAssignmentChanged(key);
}

void Spoke::Confirm(const Uuid& key) {
  store_.mutable_state().assignments[key].confirmed = true;
  reconciler_->OnAssignmentChanged(key);
}

void Spoke::Remove(const Uuid& key, bool confirmed, Propagation propagation) {
  Assignment& assignment = store_.mutable_state().assignments[key];
  assignment.state = KeyState::kRemoving;
  assignment.confirmed = confirmed;
  assignment.propagation = propagation;
  if (reconciler_) reconciler_->OnAssignmentChanged(key);
}

void Spoke::NotDesired(const Uuid& key) {
  store_.mutable_state().assignments[key].state = KeyState::kNotDesired;
  reconciler_->OnAssignmentChanged(key);
}

void Spoke::ForgetKey(const Uuid& key) {
  store_.Forget(key);
  reconciler_->OnAssignmentChanged(key);
}

bool Spoke::RunUntil(const Uuid& key, Phase phase, absl::Duration limit) {
  const absl::Time end = executor_.Now() + limit;
  while (executor_.Now() < end) {
    auto it = statuses_.find(key);
    if (it != statuses_.end() && it->second.phase == phase &&
        it->second.digest == store_.state().assignments.at(key).content_digest) {
      return true;
    }
    Run(absl::Milliseconds(50));
  }
  const AssignmentStatus& status = statuses_[key];
  ADD_FAILURE() << "not " << FormatPhase(phase) << " but " << FormatPhase(status.phase) << ": "
                << status.reason << ": " << status.message;
  return false;
}

ObjectStatus Spoke::NotOk(const Uuid& key, const std::string& kind, const std::string& name) {
  for (const ObjectStatus& object : statuses_[key].not_ok) {
    if (object.kind == kind && object.name == name) return object;
  }
  ADD_FAILURE() << kind << " " << name << " is not listed as not right";
  return {};
}

SimRequest Spoke::RequestFor(const std::string& resource, const std::string& ns,
                             const std::string& name, SimRequest::Verb verb) {
  SimRequest request;
  const kubesim::KindInfo* kind = sim_.FindResource(resource);
  EXPECT_NE(kind, nullptr) << resource;
  if (kind != nullptr) {
    request.group = kind->group;
    request.version = kind->version;
    request.plural = kind->plural;
  }
  request.ns = ns;
  request.name = name;
  request.verb = verb;
  return request;
}

SimResponse Spoke::Kubectl(const std::string& json) {
  auto object = ParseJsonLenient(json);
  EXPECT_TRUE(object.ok()) << object.status();
  const ObjectKey key = KeyOf(*object);
  std::string resource;
  for (const kubesim::KindInfo* kind : sim_.Kinds()) {
    if (kind->kind == key.kind && kind->group == key.group) resource = kind->Resource();
  }
  SimRequest request = RequestFor(resource, key.ns, "", SimRequest::Verb::kCreate);
  request.body = json;
  request.field_manager = "kubectl-create";
  SimResponse response = sim_.Handle(request, executor_.Now());
  EXPECT_TRUE(response.ok()) << FormatJson(response.body);
  return response;
}

SimResponse Spoke::Edit(const std::string& resource, const std::string& ns, const std::string& name,
                        const std::string& merge_patch) {
  SimRequest request = RequestFor(resource, ns, name, SimRequest::Verb::kPatch);
  request.patch = SimRequest::Patch::kMerge;
  request.body = merge_patch;
  request.field_manager = "kubectl-edit";
  SimResponse response = sim_.Handle(request, executor_.Now());
  EXPECT_TRUE(response.ok()) << FormatJson(response.body);
  return response;
}

SimResponse Spoke::Delete(const std::string& resource, const std::string& ns,
                          const std::string& name) {
  SimResponse response =
      sim_.Handle(RequestFor(resource, ns, name, SimRequest::Verb::kDelete), executor_.Now());
  EXPECT_TRUE(response.ok()) << FormatJson(response.body);
  return response;
}

size_t Spoke::WritesTo(const std::string& resource, const std::string& name) {
  size_t writes = 0;
  for (const kubesim::AuditRecord& record : sim_.audit()) {
    if (record.user == kAgentUser && !record.dry_run && record.resource == resource &&
        record.name == name) {
      ++writes;
    }
  }
  return writes;
}

std::map<std::string, std::string> Spoke::Owned() {
  std::map<std::string, std::string> owned;
  for (const auto& [resource, objects] : sim_.store().resources()) {
    for (const auto& [name, object] : objects) {
      if (object->StringAt("metadata", "annotations", kOwnerAnnotation).empty()) continue;
      const Value* generation = object->Find("metadata", "generation");
      owned[absl::StrCat(resource, " ", name.first, "/", name.second)] =
          absl::StrCat(object->StringAt("metadata", "uid"), " ",
                       generation == nullptr ? 0 : generation->IntOr(0), " ",
                       object->StringAt("metadata", "resourceVersion"));
    }
  }
  return owned;
}

std::string ConfigMapYaml(const std::string& name, const std::string& value,
                          const std::string& ns) {
  return absl::StrCat("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ", name, "\n",
                      ns.empty() ? "" : absl::StrCat("  namespace: ", ns, "\n"), "data:\n  key: \"",
                      value, "\"\n");
}

std::string DeploymentYaml(const std::string& name, const std::string& image, int replicas) {
  return absl::StrCat("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ", name,
                      "\nspec:\n  replicas: ", replicas,
                      "\n  selector:\n    matchLabels: {app: ", name,
                      "}\n  template:\n    metadata:\n      labels: {app: ", name,
                      "}\n    spec:\n      containers:\n      - name: c\n        image: ", image,
                      "\n        ports:\n        - containerPort: 80\n");
}

std::string ServiceYaml(const std::string& name) {
  return absl::StrCat("apiVersion: v1\nkind: Service\nmetadata:\n  name: ", name,
                      "\nspec:\n  selector: {app: ", name, "}\n  ports:\n  - port: 80\n");
}

std::string NamespaceYaml(const std::string& name) {
  return absl::StrCat("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ", name, "\n");
}

std::string CrdYaml(const std::string& plural, const std::string& kind, const std::string& group) {
  return absl::StrCat(
      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: ",
      plural, ".", group, "\nspec:\n  group: ", group,
      "\n  scope: Namespaced\n  names:\n    plural: ", plural, "\n    kind: ", kind,
      "\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      "
      "openAPIV3Schema:\n        type: object\n        x-kubernetes-preserve-unknown-fields: "
      "true\n");
}

std::string Docs(const std::vector<std::string>& documents) {
  return absl::StrJoin(documents, "---\n");
}

}  // namespace nave
