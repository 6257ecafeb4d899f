// token: create, list, revoke.
#include "cli/commands/token.h"

#include "absl/strings/str_cat.h"
#include "cli/commands/get.h"
#include "cli/commands/output.h"
#include "cli/output/text.h"
#include "cli/resources/fetch.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"
#include "common/wire/scalars.h"

namespace nave::cli {
namespace {

struct CreateOptions {
  TokenFlags token;
  std::string output;
};

absl::StatusOr<ExitCode> RunCreate(Session& session, const CreateOptions& options) {
  RETURN_IF_ERROR(UseOutput(session, options.output));
  if (options.token.rejoin && options.token.cluster.empty()) {
    return MakeError(Reason::kUsageInvalid, "`--rejoin`: needs --cluster NAME");
  }
  ASSIGN_OR_RETURN(v1::CreateJoinTokenResponse created, CreateToken(session, options.token));
  if (session.output() == OutputFormat::kJson || session.output() == OutputFormat::kYaml) {
    session.Print(FormatAnswer(created, session.output()));
    return ExitCode::kOk;
  }
  const v1::JoinToken& token = created.join_token();
  absl::Duration left = TimeFromProto(token.status().expire_time()) - session.Now();
  std::string whose = token.spec().cluster().empty()
                          ? "a new cluster"
                          : absl::StrCat("cluster ", token.spec().cluster(), " only");
  session.Say(absl::StrCat("Token ", IdOf(token.name()), " is valid ", FormatAge(left),
                           ", for one use, for ", whose, ". It is shown once.\n"));
  session.Print(absl::StrCat(created.token(), "\n"));
  return ExitCode::kOk;
}

struct RevokeOptions {
  std::vector<std::string> ids;
};

absl::StatusOr<ExitCode> RunRevoke(Session& session, const RevokeOptions& options) {
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  for (const std::string& id : options.ids) {
    ASSIGN_OR_RETURN(Target target, MakeTarget(*FindKind("token"), id, ""));
    DeleteOptions how;
    how.request_id = session.RequestId();
    RETURN_IF_ERROR(CallAny(hub, *MakeDeleteRequest(*target.kind, target.name, how)).status());
    session.Print(absl::StrCat("token ", id, " revoked\n"));
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunList(Session& session, const GetOptions& options) {
  GetOptions get = options;
  get.what = {"tokens"};
  return RunGet(session, get);
}

}  // namespace

void DeclareTokenFlags(ArgumentList& arguments, TokenFlags* flags) {
  arguments.Text("--ttl", &flags->ttl, "DURATION",
                 "how long it may be used: 1m to 168h, default 30m");
  arguments.Text("--set", &flags->cluster_set, "SET",
                 "cluster set of the cluster that it makes, default \"default\"");
  arguments.Texts("-l,--labels", &flags->labels, "K=V", "labels of the cluster that it makes");
  arguments.Flag("--rejoin", &flags->rejoin, "replace the identity that the cluster has");
}

absl::StatusOr<v1::CreateJoinTokenResponse> CreateToken(Session& session, const TokenFlags& flags) {
  ASSIGN_OR_RETURN(auto labels, ParseLabelsFlag("--labels", flags.labels));
  ASSIGN_OR_RETURN(absl::Duration ttl, ParseSpanFlag("--ttl", flags.ttl, absl::ZeroDuration()));
  if (!flags.cluster.empty() && !IsId(flags.cluster)) {
    return MakeTarget(*FindKind("cluster"), flags.cluster, "").status();
  }
  v1::CreateJoinTokenRequest request;
  v1::JoinTokenSpec* spec = request.mutable_join_token()->mutable_spec();
  spec->set_cluster(flags.cluster);
  if (ttl != absl::ZeroDuration()) DurationToProto(ttl, spec->mutable_ttl());
  spec->set_rejoin(flags.rejoin);
  spec->set_auto_accept(flags.auto_accept);
  spec->set_cluster_set(flags.cluster_set);
  for (const auto& [key, value] : labels) (*spec->mutable_labels())[key] = value;
  request.set_request_id(session.RequestId());
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  return hub->Ask<v1::CreateJoinTokenResponse>(request);
}

void AddTokenCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<CreateOptions>(
      "token create", "Make a join token and print its text",
      {"navectl token create --cluster edge-17 --auto-accept",
       "navectl token create --cluster edge-17 --rejoin",
       "navectl token create --ttl 2h --set eu-edge -l env=prod > token"},
      [](ArgumentList& arguments, CreateOptions* options) {
        arguments.Text("--cluster", &options->token.cluster, "NAME",
                       "only this cluster may join with it");
        DeclareTokenFlags(arguments, &options->token);
        arguments.Flag("--auto-accept", &options->token.auto_accept,
                       "the cluster need not be accepted by hand");
        DeclareOutput(arguments, &options->output);
      },
      &RunCreate));
  table->push_back(MakeCommand<GetOptions>(
      "token list", "List join tokens (never their secrets)", {"navectl token list -o wide"},
      [](ArgumentList& arguments, GetOptions* options) { DeclareGetFlags(arguments, options); },
      &RunList));
  table->push_back(MakeCommand<RevokeOptions>(
      "token revoke", "Make join tokens unusable", {"navectl token revoke k3vq2mzt7a"},
      [](ArgumentList& arguments, RevokeOptions* options) {
        arguments.Positionals("ID", &options->ids, "as token list shows it");
      },
      &RunRevoke));
}

}  // namespace nave::cli
