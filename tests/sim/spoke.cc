#include "tests/sim/spoke.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/pki/authority.h"
#include "common/pki/verify_peer.h"

namespace nave::sim {
namespace {

constexpr char kNamespace[] = "nave-system";

// One certificate for all: what it says is told beside the wire.
struct Credentials {
  std::string key_pem, certificate_pem, ca_pem;
};
const Credentials& SharedCredentials() {
  static const auto* const shared = [] {
    auto* made = new Credentials();
    absl::Time begin = absl::FromUnixSeconds(1'700'000'000);
    absl::Duration life = absl::Hours(24 * 3650);
    std::string ca_key = *GenerateKey();
    made->ca_pem = *MakeCaCertificate(ca_key, "sim", life, begin);
    auto authority = *CertificateAuthority::Load(made->ca_pem, ca_key);
    made->key_pem = *GenerateKey();
    CertificateSpec spec;
    spec.common_name = "sim";
    spec.public_key = *PublicKeyOf(made->key_pem);
    spec.client = true;
    spec.generation = 1;
    spec.validity = life;
    made->certificate_pem = *authority->Issue(spec, begin);
    return made;
  }();
  return *shared;
}

class MemoryIdentityStore : public IdentityStore {
 public:
  MemoryIdentityStore(Executor* loop, std::optional<AgentIdentity>* identity)
      : loop_(loop), identity_(identity) {}
  void Load(Loaded done) override {
    loop_->Post([this, done = std::move(done)]() mutable { std::move(done)(*identity_); });
  }
  void Save(AgentIdentity identity, Saved done) override {
    *identity_ = std::move(identity);
    loop_->Post([done = std::move(done)]() mutable { std::move(done)(absl::OkStatus()); });
  }

 private:
  Executor* const loop_;
  std::optional<AgentIdentity>* const identity_;
};

// Enrolment is tested elsewhere; nobody is there.
class NoHubCalls : public HubCalls {
 public:
  explicit NoHubCalls(Executor* loop) : loop_(loop) {}
  void FetchCa(std::string, Digest, Callback<std::string> done) override { Fail(std::move(done)); }
  void Enroll(EnrollRequestData, Callback<EnrollAnswer> done) override { Fail(std::move(done)); }
  void Renew(AgentIdentity, std::string, Callback<RenewAnswer> done) override {
    Fail(std::move(done));
  }

 private:
  template <typename T>
  void Fail(Callback<T> done) {
    loop_->Post([done = std::move(done)]() mutable {
      std::move(done)(MakeError(Reason::kHubUnreachable, "not simulated"));
    });
  }
  Executor* const loop_;
};

}  // namespace

const char kAgentUser[] = "system:serviceaccount:nave-system:nave-agent";

// The order of members is that of their making; the agent goes first.
struct Spoke::AgentProcess {
  AgentProcess(Spoke* spoke, std::string pod, uint64_t seed)
      : process(spoke->world_),
        kube(&spoke->kube_, &process, ClientOptions(seed)),
        link(spoke->world_, &process, spoke->hub_, PeerOf(*spoke), &spoke->watchman_, seed + 1),
        identity(&process, &spoke->identity_),
        calls(&process) {
    AgentOptions options;
    options.executor = &process;
    options.kube = &kube;
    options.link = &link;
    options.identity_store = &identity;
    options.hub_calls = &calls;
    options.read_token = [] { return std::string(); };
    options.make_reconciler = [](ReconcilerOptions reconciler) {
      return MakeReconciler(std::move(reconciler));
    };
    options.ns = kNamespace;
    options.pod_name = std::move(pod);
    options.seed = seed + 2;
    options.new_uuid = [hub = spoke->hub_] { return hub->NextUuid(); };
    agent = std::make_unique<Agent>(std::move(options));
  }
  ~AgentProcess() {
    process.Kill();
    // What is on its way to the API server arrives or not.
    kube.SetCut(true);
    agent.reset();
  }

  static kubesim::SimKubeClientOptions ClientOptions(uint64_t seed) {
    kubesim::SimKubeClientOptions options;
    options.user = kAgentUser;
    options.seed = seed;
    options.jitter = absl::Milliseconds(20);
    return options;
  }
  static PeerIdentity PeerOf(const Spoke& spoke) {
    PeerIdentity peer;
    peer.cluster = spoke.cluster_.meta.uid;
    peer.cluster_id = spoke.cluster_.id;
    peer.generation = 1;
    peer.not_after = spoke.world_->Now() + absl::Hours(24 * 3650);
    peer.address = "192.0.2.1:40000";
    return peer;
  }

  Process process;
  kubesim::SimKubeClient kube;
  SimLink link;
  MemoryIdentityStore identity;
  NoHubCalls calls;
  std::unique_ptr<Agent> agent;
};

Spoke::Spoke(Executor* world, SimHub* hub, Cluster cluster, uint64_t seed,
             std::function<void(const std::string&)> fail)
    : world_(world),
      hub_(hub),
      cluster_(std::move(cluster)),
      random_(seed),
      kube_(
          [&] {
            kubesim::KubeSimOptions options;
            options.seed = seed;
            return options;
          }(),
          world->Now()),
      stepper_(&kube_, world),
      watchman_(&kube_, std::move(fail)) {
  AgentIdentity identity;
  identity.key_pem = SharedCredentials().key_pem;
  identity.certificate_pem = SharedCredentials().certificate_pem;
  identity.ca_pem = SharedCredentials().ca_pem;
  identity.cluster_uid = cluster_.meta.uid.ToString();
  identity.cluster_name = cluster_.id;
  identity.hub_id = kHubId;
  identity.hub_address = "hub:8444";
  identity_ = std::move(identity);
  kubesim::SimRequest request;
  request.verb = kubesim::SimRequest::Verb::kCreate;
  request.version = "v1";
  request.plural = "namespaces";
  request.body = absl::StrCat(R"({"metadata":{"name":")", kNamespace, R"("}})");
  Ask(std::move(request));
  kube_.fault = [this](const kubesim::SimRequest& asked) { return Decide(asked); };
  StartAgent();
}

Spoke::~Spoke() { agents_.clear(); }

void Spoke::KillAgent() {
  if (agents_.empty()) return;
  killed_at_ = world_->Now();
  agents_.erase(agents_.begin());
}

void Spoke::StartAgent() {
  agents_.push_back(
      std::make_unique<AgentProcess>(this, absl::StrCat("agent-", ++pods_), random_.Next()));
  AgentProcess& added = *agents_.back();
  added.link.SetCut(hub_cut_);
  added.kube.SetCut(kube_cut_);
  added.agent->Start();
}

void Spoke::CutHub(SimLink::Cut cut) {
  hub_cut_ = cut;
  for (const auto& agent : agents_) agent->link.SetCut(cut);
}

void Spoke::CutKube(bool cut) {
  kube_cut_ = cut;
  for (const auto& agent : agents_) agent->kube.SetCut(cut);
}

kubesim::SimFault Spoke::Decide(const kubesim::SimRequest& request) {
  kubesim::SimFault fault;
  if (slow_ && request.user == kAgentUser) {
    fault.delay = absl::Milliseconds(500 + static_cast<int64_t>(random_.Below(2500)));
  }
  if (faults_ == 0 || request.user != kAgentUser ||
      random_.Below(1000) >= static_cast<uint64_t>(faults_)) {
    return fault;
  }
  switch (random_.Below(5)) {
    case 0:
      fault.kind = kubesim::SimFault::Kind::kDropBefore;
      break;
    case 1:
      fault.kind = kubesim::SimFault::Kind::kDropAfter;
      break;
    case 2:
      fault.kind = kubesim::SimFault::Kind::kAnswer;
      fault.answer = kubesim::MakeStatus(429, "TooManyRequests", "slow down");
      fault.answer.retry_after_s = 1;
      break;
    case 3:
      fault.kind = kubesim::SimFault::Kind::kAnswer;
      fault.answer = kubesim::MakeStatus(503, "ServiceUnavailable", "overloaded");
      break;
    default:
      fault.delay = absl::Seconds(1 + static_cast<int64_t>(random_.Below(20)));
      break;
  }
  return fault;
}

void Spoke::Ask(kubesim::SimRequest request) {
  request.user = "alice";
  if (request.field_manager.empty()) request.field_manager = "kubectl";
  kube_.Handle(request, world_->Now());
}

void Spoke::EditConfigMap(const std::string& name) {
  kubesim::SimRequest request;
  request.verb = kubesim::SimRequest::Verb::kPatch;
  request.patch = kubesim::SimRequest::Patch::kMerge;
  request.version = "v1";
  request.plural = "configmaps";
  request.ns = "default";
  request.name = name;
  request.body = R"({"data":{"value":"edited by hand"}})";
  Ask(std::move(request));
}

void Spoke::DeleteObject(const std::string& resource, const std::string& ns,
                         const std::string& name) {
  const kubesim::KindInfo* kind = kube_.FindResource(resource);
  kubesim::SimRequest request;
  request.verb = kubesim::SimRequest::Verb::kDelete;
  request.group = kind->group;
  request.version = kind->version;
  request.plural = kind->plural;
  request.ns = ns;
  request.name = name;
  Ask(std::move(request));
}

std::vector<Deletion> Spoke::TakeDeletions() {
  std::vector<Deletion> out;
  for (; audit_seen_ < kube_.audit().size(); ++audit_seen_) {
    const kubesim::AuditRecord& record = kube_.audit()[audit_seen_];
    bool deletes = record.verb == "delete" || record.verb == "deletecollection";
    if (!deletes || record.user != kAgentUser || record.dry_run || record.code >= 300) continue;
    if (record.ns == kNamespace) continue;
    out.push_back({absl::StrCat(record.resource, "/", record.ns, "/", record.name), record.time});
  }
  return out;
}

size_t Spoke::CountWrites() const { return kube_.CountWrites(kAgentUser, kNamespace); }

std::optional<std::string> Spoke::HoldReason() const {
  for (const auto& agent : agents_) {
    const AgentTerm* term = agent->agent->term();
    if (term != nullptr && term->session() != nullptr) return term->session()->hold_reason();
  }
  return std::nullopt;
}

std::string Spoke::Describe() const {
  std::string out = absl::StrCat(cluster_.id, ":");
  for (const auto& agent : agents_) {
    AgentReport report = agent->agent->Report();
    absl::StrAppend(&out, " {leading=", report.leading, " live=", report.live,
                    " hold=", report.hold_reason, " waits_for=", report.waits_for, " phases=");
    for (const auto& [phase, count] : report.phases) absl::StrAppend(&out, phase, ":", count, ",");
    absl::StrAppend(&out, "}");
  }
  return out;
}

}  // namespace nave::sim
