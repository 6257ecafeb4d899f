#include "hub/rpc/join_token_handlers.h"

#include <utility>

#include "common/model/names.h"
#include "common/pki/join_token.h"
#include "hub/rpc/record_handlers.h"

namespace nave {
namespace {

// What a token may be made for: a set that exists, a cluster that has no identity yet, or one that
// is to get a new one.
absl::Status CheckTokenCluster(const ApiCall& call, const JoinToken& token) {
  if (token.cluster.empty()) return absl::OkStatus();
  auto cluster = call.snapshot().ClusterById(token.cluster);
  std::string name = ClusterName(token.cluster);
  if (cluster == nullptr) {
    if (!token.rejoin) return absl::OkStatus();
    return MakeError(
        Reason::kNotFound,
        absl::StrCat("cluster \"", token.cluster, "\": does not exist, so none can rejoin"),
        {{"resource", name}});
  }
  const Cluster& record = cluster->value;
  RETURN_IF_ERROR(call.rights().Check(Role::kAdmin, Scope::OfClusterSet(record.spec.cluster_set),
                                      "make join tokens for its clusters"));
  if (record.status.removing) {
    return MakeError(Reason::kClusterStateConflict,
                     absl::StrCat("cluster \"", token.cluster, "\": is being removed"),
                     {{"resource", name}});
  }
  bool enrolled = record.status.certificate_generation > 0;
  if (!enrolled || token.rejoin) return absl::OkStatus();
  return MakeError(Reason::kAlreadyEnrolled,
                   absl::StrCat("cluster \"", token.cluster, "\": has an identity already"),
                   {{"resource", name}});
}

absl::Status CheckToken(const ApiCall& call, const JoinToken& token) {
  RETURN_IF_ERROR(CheckRights(call.rights(), nullptr, &token));
  Violations violations;
  Validate(token, &violations);
  RETURN_IF_ERROR(violations.ToStatus());
  RETURN_IF_ERROR(CheckReferences(call.snapshot(), nullptr, &token));
  return CheckTokenCluster(call, token);
}

}  // namespace

absl::Status GetJoinToken(ApiCall* call, const v1::GetJoinTokenRequest& request,
                          v1::JoinToken* response) {
  return GetRecord<JoinToken>(call, request, response);
}

absl::Status ListJoinTokens(ApiCall* call, const v1::ListJoinTokensRequest& request,
                            v1::ListJoinTokensResponse* response) {
  return ListRecords<JoinToken>(call, request, "", nullptr, response->mutable_join_tokens(),
                                response);
}

absl::Status CreateJoinToken(ApiCall* call, const v1::CreateJoinTokenRequest& request,
                             v1::CreateJoinTokenResponse* response) {
  v1::JoinToken nameless = request.join_token();
  nameless.clear_name();
  JoinToken token;
  RETURN_IF_ERROR(FromProto(nameless, &token));
  token.id = RandomJoinTokenId();
  std::string secret = RandomJoinTokenSecret();
  token.secret_hash = HashTokenSecret(secret);
  token.expire_time = call->now() + token.ttl;
  InitMeta(call->now(), &token);
  WriteRequest write = WriteOf<JoinToken>(request, RefOf(token));
  write.secret_answer = true;
  return RunWrite(call, write, response, [&]() -> absl::StatusOr<WritePlan> {
    RETURN_IF_ERROR(CheckToken(*call, token));
    WritePlan plan;
    plan.txns.push_back(PutTxn(token, 0));
    RETURN_IF_ERROR(ToApi<JoinToken>(*call, {token, 0}, response->mutable_join_token()));
    if (request.validate_only()) return plan;
    HubFacts facts = call->backend().Facts();
    response->set_token(FormatJoinToken({facts.agent_endpoint, token.id, secret, facts.ca_pin}));
    return plan;
  });
}

absl::Status DeleteJoinToken(ApiCall* call, const v1::DeleteJoinTokenRequest& request,
                             google::protobuf::Empty* response) {
  return DeleteRecord<JoinToken>(call, request, response);
}

}  // namespace nave
