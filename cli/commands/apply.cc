// apply: what files say becomes what the hub has.
#include "cli/commands/apply.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/output.h"
#include "cli/files/documents.h"
#include "cli/output/error_text.h"
#include "cli/resources/fetch.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "nave/v1/bundle.pb.h"

namespace nave::cli {
namespace {

using google::protobuf::Message;

struct ApplyOptions {
  std::vector<std::string> files;
  bool recursive = false;
  std::string dry_run;
  std::string output;
  // For plain Kubernetes manifests.
  std::string bundle;
  std::vector<std::string> clusters;
  std::vector<std::string> cluster_sets;
  std::vector<std::string> selector;
  bool all_clusters = false;
  std::string default_namespace;
};

// What is to be written, with the paths to replace (none: all).
struct Unit {
  const KindInfo* kind = nullptr;
  const Message* message = nullptr;
  std::vector<std::string> mask;
  std::string origin;
};

absl::Status CheckPlain(const ApplyOptions& options, const Documents& documents) {
  bool placement = !options.clusters.empty() || !options.cluster_sets.empty() ||
                   !options.selector.empty() || options.all_clusters;
  if (options.bundle.empty() && (placement || !options.default_namespace.empty())) {
    return MakeError(Reason::kUsageInvalid,
                     "--clusters, --cluster-sets, --placement and --namespace need --bundle NAME");
  }
  if (!options.bundle.empty() && documents.plain.empty()) {
    return MakeError(
        Reason::kUsageInvalid,
        "`--bundle`: the files hold no plain Kubernetes manifests to make a bundle of");
  }
  if (options.bundle.empty() && !documents.plain.empty()) {
    return MakeError(Reason::kUsageInvalid,
                     absl::StrCat(documents.plain[0].path,
                                  ": has plain Kubernetes manifests, which belong to a bundle"),
                     {{"help",
                       "Say which bundle and where: navectl apply -f FILES --bundle NAME "
                       "--cluster-sets default"}});
  }
  return absl::OkStatus();
}

// The bundle of the plain files. `mask` gets the paths that the command line speaks of when the
// bundle exists: what it says nothing about stays.
absl::StatusOr<v1::Bundle> MakePlainBundle(const ApplyOptions& options, const Documents& documents,
                                           const std::string& project,
                                           std::vector<std::string>* mask,
                                           std::vector<std::string>* warnings) {
  v1::Bundle bundle;
  ASSIGN_OR_RETURN(Target target, MakeTarget(*FindKind("bundle"), options.bundle, project));
  bundle.set_name(target.name);
  mask->push_back("spec.manifests");
  if (!options.default_namespace.empty()) {
    bundle.mutable_spec()->set_default_namespace(options.default_namespace);
    mask->push_back("spec.default_namespace");
  }
  std::vector<std::string> clusters = SplitList(options.clusters);
  std::vector<std::string> sets = SplitList(options.cluster_sets);
  if (!clusters.empty() || !sets.empty() || !options.selector.empty() || options.all_clusters) {
    v1::PlacementSpec* placement = bundle.mutable_spec()->mutable_placement();
    for (const std::string& name : clusters) placement->add_names(name);
    for (const std::string& name : sets) placement->add_cluster_sets(name);
    if (options.selector.size() > 1)
      return MakeError(Reason::kUsageInvalid, "`--placement`: must be given once");
    if (options.all_clusters || !options.selector.empty()) {
      // An empty selector fits every cluster.
      placement->set_selector(options.selector.empty() ? "" : options.selector[0]);
    }
    mask->push_back("spec.placement");
  }
  RETURN_IF_ERROR(FillBundle(documents.plain, &bundle, warnings));
  return bundle;
}

absl::Status CheckApplicable(const Documents& documents) {
  std::set<std::string> names;
  for (const FileResource& resource : documents.resources) {
    if (resource.kind->kind == "JoinToken") {
      return MakeError(
          Reason::kInvalidField,
          absl::StrCat(resource.origin, ": a JoinToken cannot be applied: its text is shown once"),
          {{"help", "navectl token create"}});
    }
    if (!names.insert(NameOf(*resource.message)).second) {
      return MakeError(
          Reason::kDuplicateObject,
          absl::StrCat(resource.origin, ": ", NameOf(*resource.message), " is in the files twice"));
    }
  }
  return absl::OkStatus();
}

// What happened to one unit.
struct Outcome {
  MessagePtr resource;
  std::string verb;
};

absl::StatusOr<Outcome> Write(Session& session, HubClient* hub, const Unit& unit, bool dry_run) {
  auto before = FetchOne(hub, {unit.kind, NameOf(*unit.message)});
  bool exists = before.ok();
  if (!exists && before.status().code() != absl::StatusCode::kNotFound) return before.status();
  WriteOptions how{dry_run, session.RequestId()};
  std::vector<std::string> mask = exists ? unit.mask : std::vector<std::string>();
  ASSIGN_OR_RETURN(MessagePtr after,
                   CallAny(hub, *MakeUpdateRequest(*unit.kind, *unit.message, mask, how)));
  Outcome outcome;
  outcome.verb = !exists                              ? "created"
                 : EtagOf(**before) == EtagOf(*after) ? "unchanged"
                                                      : "configured";
  outcome.resource = std::move(after);
  return outcome;
}

void SayWarnings(Session& session, const Message& resource, const std::string& name) {
  if (KindOf(resource)->kind != "Bundle") return;
  const auto& bundle = static_cast<const v1::Bundle&>(resource);
  for (const std::string& warning : bundle.status().warnings()) {
    session.Say(absl::StrCat("Warning: ", name, ": ", warning, "\n"));
  }
}

absl::StatusOr<ExitCode> WriteAll(Session& session, const std::vector<Unit>& units, bool dry_run) {
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  ASSIGN_OR_RETURN(std::string project, session.Project());
  std::vector<MessagePtr> written;
  absl::Status first_error;
  bool as_table =
      session.output() == OutputFormat::kTable || session.output() == OutputFormat::kWide;
  for (const Unit& unit : units) {
    std::string name = ShortName(*unit.kind, NameOf(*unit.message), project);
    auto outcome = Write(session, hub, unit, dry_run);
    if (!outcome.ok()) {
      absl::Status error = Prepend(outcome.status(), unit.origin);
      // With one thing to write its error is the command's; the hub that is away will not be there
      // for the next either.
      if (units.size() == 1 ||
          (outcome.status().code() == absl::StatusCode::kUnavailable && written.empty()))
        return error;
      session.Warn(FormatError(error, session.err_style()));
      if (first_error.ok()) first_error = error;
      continue;
    }
    if (as_table)
      session.Print(
          absl::StrCat(name, " ", outcome->verb, dry_run ? " (server dry run)" : "", "\n"));
    SayWarnings(session, *outcome->resource, name);
    written.push_back(std::move(outcome->resource));
  }
  if (!as_table) {
    std::vector<const Message*> resources;
    for (const MessagePtr& resource : written) resources.push_back(resource.get());
    RETURN_IF_ERROR(PrintList(session, resources, units.size() == 1, {}));
  }
  if (first_error.ok()) return ExitCode::kOk;
  return written.empty() ? ExitCodeOf(first_error) : ExitCode::kPartial;
}

absl::StatusOr<ExitCode> RunApply(Session& session, const ApplyOptions& options) {
  RETURN_IF_ERROR(UseOutput(session, options.output));
  ASSIGN_OR_RETURN(bool dry_run, ParseDryRun(options.dry_run));
  ASSIGN_OR_RETURN(std::string project, session.Project());
  ASSIGN_OR_RETURN(std::vector<InputFile> files, ReadInputs(options.files, options.recursive,
                                                            [&] { return session.ReadInput(); }));
  ASSIGN_OR_RETURN(Documents documents, ReadDocuments(files, project));
  RETURN_IF_ERROR(CheckPlain(options, documents));
  RETURN_IF_ERROR(CheckApplicable(documents));
  std::vector<Unit> units;
  for (const FileResource& resource : documents.resources) {
    units.push_back({resource.kind, resource.message.get(), {}, resource.origin});
  }
  v1::Bundle plain;
  if (!options.bundle.empty()) {
    std::vector<std::string> mask;
    ASSIGN_OR_RETURN(plain,
                     MakePlainBundle(options, documents, project, &mask, &documents.warnings));
    units.push_back(
        {FindKind("bundle"), &plain, mask, absl::StrCat("bundle \"", options.bundle, "\"")});
  }
  for (const std::string& warning : documents.warnings)
    session.Say(absl::StrCat("Warning: ", warning, "\n"));
  if (units.empty()) return MakeError(Reason::kUsageInvalid, "the files hold nothing to apply");
  return WriteAll(session, units, dry_run);
}

}  // namespace

absl::StatusOr<bool> ParseDryRun(const std::string& word) {
  if (word.empty() || word == "none") return false;
  if (word == "server") return true;
  return MakeError(Reason::kUsageInvalid,
                   absl::StrCat("`--dry-run`: must be server or none, got '", word, "'"));
}

void AddApplyCommands(std::vector<Command>* table) {
  table->push_back(MakeCommand<ApplyOptions>(
      "apply",
      "Create or change what files say: resources of nave.dev/v1, or Kubernetes manifests as a "
      "bundle",
      {"navectl apply -f bundle.yaml", "navectl apply -f fleet/ -R --dry-run=server",
       "navectl get bundle/web -o yaml | navectl apply -f -",
       "navectl apply -f k8s/ --bundle web --cluster-sets eu-core --namespace shop"},
      [](ArgumentList& arguments, ApplyOptions* options) {
        arguments.Texts("-f,--filename", &options->files, "PATH",
                        "file, folder, pattern, or - for stdin");
        arguments.Flag("-R,--recursive", &options->recursive, "sub-folders too");
        arguments.Text("--dry-run", &options->dry_run, "server",
                       "the hub checks and changes nothing");
        arguments.Text("--bundle", &options->bundle, "NAME",
                       "the plain Kubernetes manifests of the files are this bundle");
        arguments.Texts("--clusters", &options->clusters, "A,B",
                        "with --bundle: run it on these clusters");
        arguments.Texts("--cluster-sets", &options->cluster_sets, "A,B",
                        "with --bundle: on clusters of these sets");
        arguments.Texts("--placement", &options->selector, "SELECTOR",
                        "with --bundle: on clusters with these labels");
        arguments.Flag("--all-clusters", &options->all_clusters,
                       "with --bundle: on every cluster of the project's sets");
        arguments.Text("-n,--namespace", &options->default_namespace, "NAMESPACE",
                       "with --bundle: of objects that name none, default \"default\"");
        DeclareOutput(arguments, &options->output);
      },
      &RunApply));
}

}  // namespace nave::cli
