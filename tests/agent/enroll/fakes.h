// A hub and a store that answer when the test's loop runs, and fail when they are told to.
#ifndef NAVE_TESTS_AGENT_ENROLL_FAKES_H_
#define NAVE_TESTS_AGENT_ENROLL_FAKES_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/enroll/hub_calls.h"
#include "agent/enroll/identity_store.h"
#include "common/base/error.h"
#include "common/pki/join_token.h"
#include "hub/ca/enroll.h"
#include "hub/ca/issue.h"
#include "tests/common/pki/test_pki.h"

namespace nave {

// What outlives a crash of the agent.
struct FakeDisk {
  std::optional<AgentIdentity> identity;
  int saves = 0;
};

class FakeIdentityStore final : public IdentityStore {
 public:
  FakeIdentityStore(Executor& loop, FakeDisk& disk) : loop_(loop), disk_(disk) {}

  void Load(Loaded done) override {
    loop_.Post([this, alive = std::weak_ptr<int>(alive_), done = std::move(done)]() mutable {
      if (alive.expired()) return;
      if (!load_error.ok()) return std::move(done)(load_error);
      std::move(done)(disk_.identity);
    });
  }
  void Save(AgentIdentity identity, Saved done) override {
    loop_.Post([this, alive = std::weak_ptr<int>(alive_), identity = std::move(identity),
                done = std::move(done)]() mutable {
      if (alive.expired()) return;
      absl::Status status = std::exchange(next_save_error, absl::OkStatus());
      if (status.ok()) {
        disk_.identity = std::move(identity);
        ++disk_.saves;
      }
      std::move(done)(status);
    });
  }

  absl::Status load_error;
  absl::Status next_save_error;

 private:
  Executor& loop_;
  FakeDisk& disk_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

// The hub's real decisions over records in memory.
class FakeHub final : public HubCalls {
 public:
  explicit FakeHub(Executor& loop) : loop_(loop) {}

  // A token that the hub knows.
  JoinTokenText AddToken(const std::string& cluster, bool rejoin = false) {
    JoinTokenText text;
    text.hub_address = "hub.example.org:8444";
    text.id = RandomJoinTokenId();
    text.secret = RandomJoinTokenSecret();
    text.ca_pin = ca.authority->pin();
    JoinToken token;
    token.id = text.id;
    token.cluster = cluster;
    token.rejoin = rejoin;
    token.secret_hash = HashTokenSecret(text.secret);
    token.expire_time = loop_.Now() + absl::Minutes(30);
    tokens[token.id] = token;
    return text;
  }

  void FetchCa(std::string /*hub_address*/, Digest pin, Callback<std::string> done) override {
    Answer<std::string>(std::move(done), [this, pin]() -> absl::StatusOr<std::string> {
      if (pin != ca.authority->pin()) return MakeError(Reason::kCaPinMismatch, "another CA");
      return ca.certificate_pem;
    });
  }

  void Enroll(EnrollRequestData request, Callback<EnrollAnswer> done) override {
    Answer<EnrollAnswer>(std::move(done), [this, request]() -> absl::StatusOr<EnrollAnswer> {
      ++enrolls;
      JoinTokenText text = ParseJoinToken(request.token).value();
      Csr csr = ParseCsr(request.csr_pem).value();
      keys.push_back(csr.spki);
      EnrollInput input;
      auto token = tokens.find(text.id);
      if (token != tokens.end()) input.token = &token->second;
      if (input.token != nullptr) {
        auto cluster = clusters.find(EnrollClusterId(*input.token));
        if (cluster != clusters.end()) input.cluster = &cluster->second;
      }
      input.secret_hash = HashTokenSecret(text.secret);
      input.key = csr.spki;
      input.kube_system_uid = request.kube_system_uid;
      input.now = loop_.Now();
      input.new_uid = Uuid::Random();
      absl::StatusOr<EnrollDecision> decision = DecideEnroll(input);
      if (!decision.ok()) return decision.status();
      tokens[text.id] = decision->token;
      const Cluster& record = clusters[decision->cluster.id] = decision->cluster;
      EnrollAnswer answer;
      answer.certificate_pem =
          IssueAgentCertificate(*ca.authority, kTestHubId, record,
                                record.status.certificate_generation, csr, loop_.Now())
              .value();
      answer.ca_pem = ca.certificate_pem;
      answer.cluster_uid = record.meta.uid.ToString();
      answer.cluster_name = record.id;
      answer.hub_id = kTestHubId;
      return answer;
    });
  }

  void Renew(AgentIdentity identity, std::string csr_pem, Callback<RenewAnswer> done) override {
    Answer<RenewAnswer>(
        std::move(done), [this, identity, csr_pem]() -> absl::StatusOr<RenewAnswer> {
          ++renewals;
          RenewInput input;
          input.peer = VerifyPeer(identity.certificate_pem, "", ca.certificate_pem, loop_.Now());
          input.hub_id = kTestHubId;
          input.now = loop_.Now();
          auto cluster = clusters.find(identity.cluster_name);
          if (cluster != clusters.end()) input.cluster = &cluster->second;
          absl::StatusOr<RenewDecision> decision = DecideRenew(input);
          if (!decision.ok()) return decision.status();
          clusters[identity.cluster_name] = decision->cluster;
          Csr csr = ParseCsr(csr_pem).value();
          return RenewAnswer{IssueAgentCertificate(*ca.authority, kTestHubId, decision->cluster,
                                                   decision->generation, csr, loop_.Now())
                                 .value(),
                             ca.certificate_pem};
        });
  }

  TestCa ca;
  std::map<std::string, JoinToken> tokens;
  std::map<std::string, Cluster> clusters;
  std::vector<Digest> keys;
  int enrolls = 0;
  int renewals = 0;
  // The hub cannot be reached.
  bool down = false;
  // The hub acts, but its answer is lost.
  bool lose_answers = false;

 private:
  template <typename T, typename F>
  void Answer(Callback<T> done, F act) {
    loop_.Post([this, done = std::move(done), act = std::move(act)]() mutable {
      if (down) return std::move(done)(MakeError(Reason::kHubUnreachable, "down"));
      absl::StatusOr<T> answer = act();
      if (lose_answers) return std::move(done)(MakeError(Reason::kHubUnreachable, "cut off"));
      std::move(done)(std::move(answer));
    });
  }

  Executor& loop_;
};

}  // namespace nave

#endif  // NAVE_TESTS_AGENT_ENROLL_FAKES_H_
