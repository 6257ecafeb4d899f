#include "cli/resources/columns.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/output/text.h"
#include "cli/resources/requests.h"
#include "cli/resources/target.h"
#include "cli/resources/words.h"
#include "common/wire/scalars.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"
#include "nave/v1/cluster_set.pb.h"
#include "nave/v1/event.pb.h"
#include "nave/v1/join_token.pb.h"
#include "nave/v1/project.pb.h"
#include "nave/v1/role_binding.pb.h"

namespace nave::cli {
namespace {

using google::protobuf::Message;

// What the agent said last is no news any more: it is marked "?".
constexpr absl::Duration kFactsFresh = absl::Minutes(5);

std::string Age(const v1::ObjectMeta& meta, absl::Time now) {
  return FormatAgeOf(TimeOf(meta.has_create_time(), meta.create_time()), now);
}

std::string Part(uint64_t some, uint64_t all) { return absl::StrCat(some, "/", all); }

Row ClusterRow(const v1::Cluster& cluster, const ColumnOptions& options) {
  const v1::ClusterStatus& status = cluster.status();
  StateWord state = StateOf(cluster);
  absl::Time seen = TimeOf(status.has_last_seen(), status.last_seen());
  bool old =
      seen == absl::InfinitePast() || (!status.connected() && options.now - seen > kFactsFresh);
  std::string doubt = old ? "?" : "";
  Row row{IdOf(cluster.name()),
          Cell(cluster.spec().cordoned() ? state.word + ",Cordoned" : state.word, state.tone),
          cluster.spec().cluster_set(),
          status.facts().kubernetes_version(),
          old ? "?" : Part(status.facts().nodes_ready(), status.facts().nodes()),
          absl::StrCat(Part(status.bundles_ready(), status.bundles()), doubt)};
  std::string last_seen = seen == absl::InfinitePast() ? "never" : FormatAge(options.now - seen);
  if (!options.wide) {
    row.insert(row.end(), {last_seen, Age(cluster.metadata(), options.now)});
    row.push_back(state.word == "Ready" ? "" : state.reason);
    return row;
  }
  std::string reason = state.word == "Ready" ? "" : state.reason;
  if (!reason.empty() && !state.message.empty()) absl::StrAppend(&reason, ": ", state.message);
  row.insert(row.end(), {status.agent_version(), status.agent_address(), last_seen,
                         Age(cluster.metadata(), options.now), reason});
  return row;
}

Row BundleRow(const v1::Bundle& bundle, const ColumnOptions& options) {
  const v1::BundleStatus& status = bundle.status();
  StateWord state = StateOf(bundle);
  std::string revision = status.revision() == 0 ? "" : absl::StrCat("r", status.revision());
  std::string reason = state.word == "Ready" ? "" : state.reason;
  Row row{IdOf(bundle.name()), Cell(state.word, state.tone), revision,
          Part(status.counts().ready(), status.counts().clusters())};
  if (!options.wide) {
    row.insert(row.end(), {Age(bundle.metadata(), options.now), reason});
    return row;
  }
  if (!reason.empty() && !state.message.empty()) absl::StrAppend(&reason, ": ", state.message);
  uint64_t bytes = 0;
  for (const v1::Manifest& manifest : bundle.spec().manifests()) bytes += manifest.size();
  row.insert(
      row.end(),
      {WordOf(status.health()), absl::StrCat(status.counts().applied()),
       absl::StrCat(status.counts().failed()), absl::StrCat(status.counts().pending()),
       absl::StrCat(status.counts().disconnected()), absl::StrCat(status.counts().removing()),
       absl::StrCat(bundle.spec().manifests_size()), FormatBytes(bytes),
       Age(bundle.metadata(), options.now), reason});
  return row;
}

Row ProjectRow(const v1::Project& project, const ColumnOptions& options) {
  return {IdOf(project.name()), absl::StrJoin(project.spec().cluster_sets(), ","),
          absl::StrCat(project.status().bundles()), Age(project.metadata(), options.now)};
}

Row ClusterSetRow(const v1::ClusterSet& set, const ColumnOptions& options) {
  return {IdOf(set.name()), absl::StrCat(set.status().clusters()), Age(set.metadata(), options.now),
          set.spec().description()};
}

Row RoleBindingRow(const v1::RoleBinding& binding, const ColumnOptions& options) {
  std::string scope = !binding.spec().project().empty()
                          ? absl::StrCat("project/", binding.spec().project())
                      : !binding.spec().cluster_set().empty()
                          ? absl::StrCat("clusterset/", binding.spec().cluster_set())
                          : "hub";
  return {IdOf(binding.name()), WordOf(binding.spec().role()), scope,
          absl::StrJoin(binding.spec().subjects(), ","), Age(binding.metadata(), options.now)};
}

Row JoinTokenRow(const v1::JoinToken& token, const ColumnOptions& options) {
  const v1::JoinTokenStatus& status = token.status();
  absl::Time expires = TimeOf(status.has_expire_time(), status.expire_time());
  bool unused = status.state() == v1::JOIN_TOKEN_STATE_UNUSED;
  Row row{IdOf(token.name()), Cell(WordOf(status.state()), unused ? Tone::kGood : Tone::kFaint),
          token.spec().cluster(), unused ? FormatAge(expires - options.now) : "",
          Age(token.metadata(), options.now)};
  if (options.wide) {
    row.insert(row.end(), {token.spec().cluster_set(), token.spec().rejoin() ? "yes" : "no",
                           token.spec().auto_accept() ? "yes" : "no", status.cluster_uid()});
  }
  return row;
}

Row RevisionRow(const v1::BundleRevision& revision, const ColumnOptions& options) {
  std::vector<std::string> parts = absl::StrSplit(revision.name(), '/');
  Row row{absl::StrCat(parts.size() > 3 ? parts[3] : "", "@", revision.spec().number()),
          absl::StrCat(revision.status().objects()), FormatBytes(revision.status().bytes()),
          Age(revision.metadata(), options.now)};
  if (options.wide) row.push_back(revision.status().listing_digest());
  return row;
}

Row EventRow(const v1::Event& event, const ColumnOptions& options) {
  const v1::EventSpec& spec = event.spec();
  absl::Time last = TimeOf(event.status().has_last_time(), event.status().last_time());
  bool warning = spec.type() == v1::EVENT_TYPE_WARNING;
  Row row{FormatAgeOf(last, options.now),
          Cell(WordOf(spec.type()), warning ? Tone::kBad : Tone::kPlain), spec.reason(),
          spec.about(), spec.cluster()};
  if (options.wide)
    row.insert(row.end(), {absl::StrCat(event.status().count()), IdOf(event.name())});
  row.push_back(event.status().count() > 1 && !options.wide
                    ? absl::StrCat(spec.message(), " (x", event.status().count(), ")")
                    : spec.message());
  return row;
}

std::vector<std::string> KindHeaders(const KindInfo& kind, bool wide) {
  if (kind.kind == "Cluster") {
    if (wide) {
      return {"NAME",  "STATE",   "SET",       "K8S", "NODES", "BUNDLES",
              "AGENT", "ADDRESS", "LAST SEEN", "AGE", "REASON"};
    }
    return {"NAME", "STATE", "SET", "K8S", "NODES", "BUNDLES", "LAST SEEN", "AGE", "REASON"};
  }
  if (kind.kind == "Bundle") {
    if (wide) {
      return {"NAME",    "STATE",        "REVISION", "READY", "HEALTH", "APPLIED", "FAILED",
              "PENDING", "DISCONNECTED", "REMOVING", "FILES", "SIZE",   "AGE",     "REASON"};
    }
    return {"NAME", "STATE", "REVISION", "READY", "AGE", "REASON"};
  }
  if (kind.kind == "Project") return {"NAME", "CLUSTER SETS", "BUNDLES", "AGE"};
  if (kind.kind == "ClusterSet") return {"NAME", "CLUSTERS", "AGE", "DESCRIPTION"};
  if (kind.kind == "RoleBinding") return {"NAME", "ROLE", "SCOPE", "SUBJECTS", "AGE"};
  if (kind.kind == "JoinToken") {
    if (wide)
      return {"ID",  "STATE",  "CLUSTER",     "EXPIRES IN", "AGE",
              "SET", "REJOIN", "AUTO ACCEPT", "CLUSTER UID"};
    return {"ID", "STATE", "CLUSTER", "EXPIRES IN", "AGE"};
  }
  if (kind.kind == "BundleRevision") {
    if (wide) return {"NAME", "OBJECTS", "SIZE", "AGE", "LISTING"};
    return {"NAME", "OBJECTS", "SIZE", "AGE"};
  }
  if (wide) return {"LAST", "TYPE", "REASON", "ABOUT", "CLUSTER", "COUNT", "ID", "MESSAGE"};
  return {"LAST", "TYPE", "REASON", "ABOUT", "CLUSTER", "MESSAGE"};
}

Row KindRow(const KindInfo& kind, const Message& resource, const ColumnOptions& options) {
  // The kind says what the message is.
  if (kind.kind == "Cluster") return ClusterRow(static_cast<const v1::Cluster&>(resource), options);
  if (kind.kind == "Bundle") return BundleRow(static_cast<const v1::Bundle&>(resource), options);
  if (kind.kind == "Project") return ProjectRow(static_cast<const v1::Project&>(resource), options);
  if (kind.kind == "ClusterSet")
    return ClusterSetRow(static_cast<const v1::ClusterSet&>(resource), options);
  if (kind.kind == "RoleBinding")
    return RoleBindingRow(static_cast<const v1::RoleBinding&>(resource), options);
  if (kind.kind == "JoinToken")
    return JoinTokenRow(static_cast<const v1::JoinToken&>(resource), options);
  if (kind.kind == "BundleRevision")
    return RevisionRow(static_cast<const v1::BundleRevision&>(resource), options);
  return EventRow(static_cast<const v1::Event&>(resource), options);
}

const v1::ObjectMeta& MetaOf(const Message& resource) {
  const auto* field = resource.GetDescriptor()->FindFieldByName("metadata");
  return static_cast<const v1::ObjectMeta&>(resource.GetReflection()->GetMessage(resource, field));
}

}  // namespace

std::string FormatLabels(const google::protobuf::Map<std::string, std::string>& labels) {
  std::map<std::string, std::string> sorted(labels.begin(), labels.end());
  return absl::StrJoin(sorted, ",", absl::PairFormatter("="));
}

std::vector<std::string> Headers(const KindInfo& kind, const ColumnOptions& options) {
  std::vector<std::string> headers = KindHeaders(kind, options.wide);
  if (options.show_project && kind.in_project) headers.insert(headers.begin(), "PROJECT");
  if (options.show_labels) headers.push_back("LABELS");
  return headers;
}

Row MakeRow(const KindInfo& kind, const Message& resource, const ColumnOptions& options) {
  Row row = KindRow(kind, resource, options);
  if (options.show_project && kind.in_project)
    row.insert(row.begin(), Cell(ProjectOf(NameOf(resource))));
  if (options.show_labels) row.push_back(FormatLabels(MetaOf(resource).labels()));
  return row;
}

Row MakeRow(const v1::UnknownCluster& cluster, const ColumnOptions& options) {
  std::string seen = FormatAgeOf(TimeOf(cluster.has_last_seen(), cluster.last_seen()), options.now);
  Row row{cluster.certificate_name(), Cell("Pending", Tone::kBad), "", "", "?", "?"};
  if (options.wide) {
    row.insert(row.end(), {"", cluster.address(), seen, "",
                           absl::StrCat("UnknownToThisHub: uid ", cluster.uid())});
  } else {
    row.insert(row.end(), {seen, "", "UnknownToThisHub"});
  }
  if (options.show_labels) row.push_back("");
  return row;
}

std::string Summary(const KindInfo& kind, const std::vector<const Message*>& resources) {
  std::map<std::string, int> states;
  for (const Message* resource : resources) {
    if (kind.kind == "Cluster") ++states[StateOf(static_cast<const v1::Cluster&>(*resource)).word];
    if (kind.kind == "Bundle") ++states[StateOf(static_cast<const v1::Bundle&>(*resource)).word];
  }
  if (states.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [word, count] : states) parts.push_back(absl::StrCat(count, " ", word));
  return absl::StrCat(Count(resources.size(), KindWord(kind)), ": ", absl::StrJoin(parts, ", "),
                      ".\n");
}

}  // namespace nave::cli
