// cluster add and cluster manifest: how a cluster joins.
#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/follow.h"
#include "cli/commands/output.h"
#include "cli/commands/token.h"
#include "cli/output/text.h"
#include "cli/resources/fetch.h"
#include "cli/view/join_steps.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/joinmanifest/join_manifest.h"
#include "common/model/names.h"
#include "common/wire/scalars.h"
#include "nave/v1/cluster.pb.h"

namespace nave::cli {
namespace {

struct ManifestFlags {
  std::string agent_namespace;
  std::string image;
  std::string image_pull_secret;
  std::string profile;
  std::string https_proxy;
  std::string no_proxy;
  bool manual_accept = false;
};

struct JoinOptions {
  std::string name;
  TokenFlags token;
  ManifestFlags manifest;
  bool auto_accept = false;
  bool no_wait = false;
  bool one_line = false;
  std::string timeout;
};

void DeclareManifestFlags(ArgumentList& arguments, ManifestFlags* flags) {
  arguments.Text("--namespace", &flags->agent_namespace, "NAMESPACE",
                 "of the agent, default nave-system");
  arguments.Text("--agent-image", &flags->image, "IMAGE", "of the agent");
  arguments.Text("--image-pull-secret", &flags->image_pull_secret, "SECRET",
                 "with the registry's credentials");
  arguments.Text("--profile", &flags->profile, "PROFILE", "rights of the agent, default full");
  arguments.Text("--https-proxy", &flags->https_proxy, "URL", "proxy between agent and hub");
  arguments.Text("--no-proxy", &flags->no_proxy, "HOSTS",
                 "what the agent reaches without the proxy");
  arguments.Flag("--manual-accept", &flags->manual_accept,
                 "the cluster waits for navectl cluster accept after it joined");
}

absl::StatusOr<std::string> MakeManifest(const JoinOptions& options, const std::string& token) {
  JoinManifestOptions manifest;
  manifest.token = token;
  manifest.cluster = options.name;
  auto set = [](const std::string& flag, std::string* field) {
    if (!flag.empty()) *field = flag;
  };
  set(options.manifest.agent_namespace, &manifest.agent_namespace);
  set(options.manifest.image, &manifest.image);
  set(options.manifest.image_pull_secret, &manifest.image_pull_secret);
  set(options.manifest.profile, &manifest.profile);
  set(options.manifest.https_proxy, &manifest.https_proxy);
  set(options.manifest.no_proxy, &manifest.no_proxy);
  return FormatJoinManifest(manifest);
}

absl::Status CheckName(const std::string& name) {
  return MakeTarget(*FindKind("cluster"), name, "").status();
}

// Registers the cluster; one that waits to be joined already is as good.
absl::Status Register(Session& session, HubClient* hub, const JoinOptions& options) {
  ASSIGN_OR_RETURN(auto labels, ParseLabelsFlag("--labels", options.token.labels));
  v1::CreateClusterRequest request;
  request.set_cluster_id(options.name);
  request.mutable_cluster()->mutable_spec()->set_cluster_set(options.token.cluster_set);
  for (const auto& [key, value] : labels)
    (*request.mutable_cluster()->mutable_metadata()->mutable_labels())[key] = value;
  request.set_request_id(session.RequestId());
  auto created = hub->Ask<v1::Cluster>(request);
  if (created.ok()) {
    session.Say(absl::StrCat("Cluster ", options.name, " registered (state: Pending).\n"));
    return absl::OkStatus();
  }
  if (created.status().code() != absl::StatusCode::kAlreadyExists) return created.status();
  v1::GetClusterRequest get;
  get.set_name(ClusterName(options.name));
  ASSIGN_OR_RETURN(v1::Cluster cluster, hub->Ask<v1::Cluster>(get));
  if (cluster.status().has_certificate_not_after() && !options.token.rejoin) {
    return MakeError(Reason::kAlreadyEnrolled,
                     absl::StrCat("cluster \"", options.name, "\" has joined already"),
                     {{"help", absl::StrCat("navectl get cluster/", options.name)}});
  }
  session.Say(
      absl::StrCat("Cluster ", options.name,
                   " is registered already and waits to be joined; its labels and set stay.\n"));
  return absl::OkStatus();
}

absl::StatusOr<v1::CreateJoinTokenResponse> MakeToken(Session& session,
                                                      const JoinOptions& options) {
  TokenFlags flags = options.token;
  flags.cluster = options.name;
  // The record has them.
  flags.labels.clear();
  flags.cluster_set.clear();
  flags.auto_accept = !options.manifest.manual_accept;
  return CreateToken(session, flags);
}

absl::Status WaitUntilJoined(Session& session, const JoinOptions& options) {
  ASSIGN_OR_RETURN(absl::Duration timeout,
                   ParseSpanFlag("--timeout", options.timeout, absl::Minutes(30)));
  session.Say(
      absl::StrCat("Waiting for the agent (Ctrl-C is safe; resume with: navectl wait cluster/",
                   options.name, " --for=Ready) ", session.err_style().Ellipsis(), "\n"));
  JoinSteps steps(session.Now());
  ASSIGN_OR_RETURN(Target target, MakeTarget(*FindKind("cluster"), options.name, ""));
  bool gone = false;
  absl::Status status = FollowOne(
      session, target, session.Now() + timeout, [&](const google::protobuf::Message* state) {
        gone = state == nullptr;
        if (gone) return false;
        const auto& cluster = static_cast<const v1::Cluster&>(*state);
        for (const std::string& line : steps.OnCluster(cluster, session.err_style(), session.Now()))
          session.Say(line);
        return !steps.done();
      });
  RETURN_IF_ERROR(status);
  if (gone)
    return MakeError(Reason::kNotFound, absl::StrCat("cluster \"", options.name, "\" was removed"));
  return steps.error();
}

absl::StatusOr<ExitCode> RunAdd(Session& session, const JoinOptions& options) {
  RETURN_IF_ERROR(CheckName(options.name));
  if (options.auto_accept && options.manifest.manual_accept) {
    return MakeError(Reason::kUsageInvalid,
                     "--auto-accept and --manual-accept cannot be given together");
  }
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  RETURN_IF_ERROR(Register(session, hub, options));
  if (options.no_wait) {
    session.Say(absl::StrCat("Join it with: navectl cluster manifest ", options.name,
                             " | kubectl apply -f -\n"));
    return ExitCode::kOk;
  }
  ASSIGN_OR_RETURN(v1::CreateJoinTokenResponse token, MakeToken(session, options));
  ASSIGN_OR_RETURN(std::string manifest, MakeManifest(options, token.token()));
  absl::Duration left = TimeFromProto(token.join_token().status().expire_time()) - session.Now();
  session.Say(absl::StrCat("The token is valid ", FormatAge(left),
                           ", for one use, for this cluster only.\n",
                           "Run ONE of these with admin rights on the new cluster:\n"));
  session.Print(absl::StrCat(
      "# from a machine that has navectl and kubectl (makes a token of its own)\nnavectl cluster "
      "manifest ",
      options.name,
      " | kubectl apply -f -\n# one self-contained line to send to the cluster's admin\n",
      FormatPasteLine(manifest),
      "\n# a process outside the cluster: put this token into file T\n# ", token.token(),
      "\nnave-agent --token-file T --kubeconfig K\n"));
  RETURN_IF_ERROR(WaitUntilJoined(session, options));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunManifest(Session& session, const JoinOptions& options) {
  RETURN_IF_ERROR(CheckName(options.name));
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  v1::GetClusterRequest get;
  get.set_name(ClusterName(options.name));
  auto cluster = hub->Ask<v1::Cluster>(get);
  if (cluster.status().code() == absl::StatusCode::kNotFound) {
    return MakeError(Reason::kNotFound,
                     absl::StrCat("cluster \"", options.name, "\" is not registered"),
                     {{"help", absl::StrCat("navectl cluster add ", options.name)}});
  }
  RETURN_IF_ERROR(cluster.status());
  ASSIGN_OR_RETURN(v1::CreateJoinTokenResponse token, MakeToken(session, options));
  ASSIGN_OR_RETURN(std::string manifest, MakeManifest(options, token.token()));
  absl::Duration left = TimeFromProto(token.join_token().status().expire_time()) - session.Now();
  session.Say(absl::StrCat("The manifest holds a join token for ", options.name, ", valid ",
                           FormatAge(left), ", for one use: keep it as secret.\n"));
  session.Print(options.one_line ? FormatPasteLine(manifest) + "\n" : manifest);
  return ExitCode::kOk;
}

}  // namespace

void AddClusterJoinCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<JoinOptions>(
      "cluster add", "Register a cluster, show how it joins, and wait until it is Ready",
      {"navectl cluster add edge-17 --set eu-edge -l env=prod,region=eu",
       "navectl cluster add edge-17 --no-wait"},
      [](ArgumentList& arguments, JoinOptions* options) {
        arguments.Positional("NAME", &options->name, "of the new cluster: a-z, 0-9 and '-'");
        DeclareTokenFlags(arguments, &options->token);
        DeclareManifestFlags(arguments, &options->manifest);
        arguments.Flag("--auto-accept", &options->auto_accept,
                       "the cluster need not be accepted by hand (the default)");
        arguments.Flag("--no-wait", &options->no_wait, "register it only");
        arguments.Text("--timeout", &options->timeout, "DURATION", "how long to wait, default 30m");
      },
      &RunAdd));
  table->push_back(MakeCommand<JoinOptions>(
      "cluster manifest",
      "Print what to apply to a cluster so that it joins, with a new token in it",
      {"navectl cluster manifest edge-17 | kubectl --context EDGE apply -f -",
       "navectl cluster manifest edge-17 --rejoin --one-line"},
      [](ArgumentList& arguments, JoinOptions* options) {
        arguments.Positional("NAME", &options->name, "of a registered cluster");
        arguments.Text("--ttl", &options->token.ttl, "DURATION",
                       "how long the token may be used, default 30m");
        arguments.Flag("--rejoin", &options->token.rejoin,
                       "replace the identity that the cluster has");
        DeclareManifestFlags(arguments, &options->manifest);
        arguments.Flag("--one-line", &options->one_line, "as one line for a shell with kubectl");
      },
      &RunManifest));
}

}  // namespace nave::cli
