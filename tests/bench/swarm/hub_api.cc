#include "tests/bench/swarm/hub_api.h"

#include <grpcpp/grpcpp.h>

#include <fstream>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/pki/tls_credentials.h"
#include "common/value/codec.h"
#include "common/wire/grpc_status.h"
#include "nave/v1/bundle.grpc.pb.h"
#include "nave/v1/join_token.grpc.pb.h"

namespace nave::bench {
namespace {

namespace pb = ::nave::v1;

absl::StatusOr<std::string> Field(const Value& context, absl::string_view name, bool base64) {
  const Value* value = context.Find(name);
  if (value == nullptr || !value->is_string())
    return absl::NotFoundError(absl::StrCat("context: no ", name));
  if (!base64) return *value->string();
  std::string decoded;
  if (!absl::Base64Unescape(*value->string(), &decoded))
    return absl::DataLossError(absl::StrCat("context: ", name));
  return decoded;
}

class GrpcHubApi : public HubApi {
 public:
  explicit GrpcHubApi(std::shared_ptr<grpc::Channel> channel)
      : tokens_(pb::JoinTokenService::NewStub(channel)),
        bundles_(pb::BundleService::NewStub(channel)) {}

  absl::StatusOr<std::string> CreateToken(const std::string& cluster) override {
    pb::CreateJoinTokenRequest request;
    pb::JoinTokenSpec& spec = *request.mutable_join_token()->mutable_spec();
    spec.set_cluster(cluster);
    spec.set_auto_accept(true);
    spec.mutable_ttl()->set_seconds(3600);
    pb::CreateJoinTokenResponse response;
    grpc::ClientContext context;
    RETURN_IF_ERROR(FromGrpcStatus(tokens_->CreateJoinToken(&context, request, &response)));
    return response.token();
  }

  absl::StatusOr<Uuid> PutBundle(const std::string& id, const std::string& manifest) override {
    pb::UpdateBundleRequest request;
    pb::Bundle& bundle = *request.mutable_bundle();
    bundle.set_name(absl::StrCat("projects/default/bundles/", id));
    pb::BundleSpec& spec = *bundle.mutable_spec();
    pb::Manifest& file = *spec.add_manifests();
    file.set_path("objects.yaml");
    file.set_content(manifest);
    spec.mutable_placement()->set_selector("");
    request.set_allow_missing(true);
    pb::Bundle response;
    grpc::ClientContext context;
    RETURN_IF_ERROR(FromGrpcStatus(bundles_->UpdateBundle(&context, request, &response)));
    const std::optional<Uuid> uid = Uuid::Parse(response.metadata().uid());
    if (!uid.has_value()) return absl::InternalError("a bundle without a UID");
    return *uid;
  }

  absl::StatusOr<BundleCounts> Counts(const std::string& id) override {
    pb::GetBundleRequest request;
    request.set_name(absl::StrCat("projects/default/bundles/", id));
    pb::Bundle response;
    grpc::ClientContext context;
    RETURN_IF_ERROR(FromGrpcStatus(bundles_->GetBundle(&context, request, &response)));
    return BundleCounts{response.status().revision(), response.status().counts().clusters(),
                        response.status().counts().applied()};
  }

 private:
  std::unique_ptr<pb::JoinTokenService::Stub> tokens_;
  std::unique_ptr<pb::BundleService::Stub> bundles_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HubApi>> HubApi::Open(const std::string& context_path) {
  std::ifstream file(context_path);
  if (!file) return absl::NotFoundError(context_path);
  std::ostringstream text;
  text << file.rdbuf();
  ASSIGN_OR_RETURN(const std::vector<YamlDocument> documents, ParseYamlStream(text.str(), nullptr));
  const Value* contexts = documents.empty() ? nullptr : documents.front().value.Find("contexts");
  if (contexts == nullptr || contexts->array() == nullptr || contexts->array()->empty()) {
    return absl::NotFoundError("context: none");
  }
  const Value* context = contexts->array()->front().Find("context");
  if (context == nullptr) return absl::NotFoundError("context: none");
  ASSIGN_OR_RETURN(const std::string hub, Field(*context, "hub", false));
  ASSIGN_OR_RETURN(const std::string roots, Field(*context, "certificate-authority-data", true));
  ASSIGN_OR_RETURN(const std::string certificate, Field(*context, "client-certificate-data", true));
  ASSIGN_OR_RETURN(const std::string key, Field(*context, "client-key-data", true));
  return std::make_unique<GrpcHubApi>(
      grpc::CreateChannel(hub, MakeChannelCredentials(roots, certificate, key)));
}

}  // namespace nave::bench
