#include "agent/kube/kubeconfig.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/value/codec.h"

namespace nave {
namespace {

// Reads one file's entries; keeps the file's name for errors and its folder for relative paths.
class Reader {
 public:
  explicit Reader(absl::string_view path) : path_(path) {
    const size_t slash = path.rfind('/');
    folder_ = slash == absl::string_view::npos ? "" : std::string(path.substr(0, slash + 1));
  }

  absl::Status Error(absl::string_view text) const {
    return MakeError(Reason::kConfigInvalid, absl::StrCat("kubeconfig \"", path_, "\": ", text));
  }

  std::string Path(const Value& entry, absl::string_view key) const {
    std::string path = entry.StringAt(key);
    if (!path.empty() && path[0] != '/') path = absl::StrCat(folder_, path);
    return path;
  }

  absl::StatusOr<std::string> Data(const Value& entry, absl::string_view key) const {
    std::string decoded;
    if (!absl::Base64Unescape(absl::StripAsciiWhitespace(entry.StringAt(key)), &decoded)) {
      return Error(absl::StrCat(key, ": want base64"));
    }
    return decoded;
  }

  // Calls `take(name, body)` for each {name, <key>: body} of the list.
  template <typename F>
  absl::Status ForEach(const Value& root, absl::string_view list, absl::string_view key,
                       F take) const {
    const Value* entries = root.Find(list);
    if (entries == nullptr || entries->is_null()) return absl::OkStatus();
    if (!entries->is_array()) return Error(absl::StrCat(list, ": want a list"));
    static const Value& nothing = *new Value();
    for (const Value& entry : *entries->array()) {
      const std::string name = entry.StringAt("name");
      if (name.empty()) return Error(absl::StrCat(list, ": an entry has no name"));
      const Value* body = entry.Find(key);
      RETURN_IF_ERROR(take(name, body == nullptr ? nothing : *body));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<KubeconfigCluster> Cluster(const Value& body) const {
    KubeconfigCluster cluster;
    cluster.server = body.StringAt("server");
    cluster.ca_path = Path(body, "certificate-authority");
    ASSIGN_OR_RETURN(cluster.ca_data, Data(body, "certificate-authority-data"));
    cluster.tls_server_name = body.StringAt("tls-server-name");
    const Value* insecure = body.Find("insecure-skip-tls-verify");
    cluster.insecure_skip_tls_verify = insecure != nullptr && insecure->BoolOr(false);
    cluster.proxy_url = body.StringAt("proxy-url");
    return cluster;
  }

  absl::StatusOr<KubeconfigUser> User(const Value& body) const {
    KubeconfigUser user;
    user.client_certificate_path = Path(body, "client-certificate");
    ASSIGN_OR_RETURN(user.client_certificate_data, Data(body, "client-certificate-data"));
    user.client_key_path = Path(body, "client-key");
    ASSIGN_OR_RETURN(user.client_key_data, Data(body, "client-key-data"));
    user.token = body.StringAt("token");
    user.token_path = Path(body, "tokenFile");
    user.impersonate = body.StringAt("as");
    user.impersonate_uid = body.StringAt("as-uid");
    const Value* groups = body.Find("as-groups");
    if (groups != nullptr && groups->is_array()) {
      for (const Value& group : *groups->array()) {
        user.impersonate_groups.push_back(group.StringOr(""));
      }
    }
    if (body.Find("as-user-extra") != nullptr) user.unsupported = "as-user-extra";
    if (body.Find("auth-provider") != nullptr) user.unsupported = "an auth provider";
    // A token or a certificate makes a plugin unnecessary.
    const bool has_static = !user.token.empty() || !user.token_path.empty() ||
                            !user.client_certificate_data.empty() ||
                            !user.client_certificate_path.empty();
    if (body.Find("exec") != nullptr && !has_static) user.unsupported = "an exec plugin";
    if (!body.StringAt("username").empty() && !has_static) user.unsupported = "a password";
    return user;
  }

 private:
  const std::string path_;
  std::string folder_;
};

}  // namespace

absl::Status MergeKubeconfig(absl::string_view text, absl::string_view path, Kubeconfig& config) {
  const Reader reader(path);
  const absl::StatusOr<std::vector<YamlDocument>> documents = ParseYamlStream(text, nullptr);
  // The parser's text may show a line of the file, which may be a key.
  if (!documents.ok()) return reader.Error("want one YAML document, it cannot be read");
  if (documents->empty()) return absl::OkStatus();
  const Value& root = documents->front().value;
  if (documents->size() > 1 || !root.is_object()) return reader.Error("want one YAML mapping");
  if (const std::string kind = root.StringAt("kind"); !kind.empty() && kind != "Config") {
    return reader.Error(absl::StrCat("want kind Config, got ", kind));
  }
  if (config.current_context.empty()) config.current_context = root.StringAt("current-context");
  RETURN_IF_ERROR(reader.ForEach(root, "clusters", "cluster",
                                 [&](const std::string& name, const Value& body) -> absl::Status {
                                   ASSIGN_OR_RETURN(KubeconfigCluster one, reader.Cluster(body));
                                   config.clusters.emplace(name, std::move(one));
                                   return absl::OkStatus();
                                 }));
  RETURN_IF_ERROR(reader.ForEach(root, "users", "user",
                                 [&](const std::string& name, const Value& body) -> absl::Status {
                                   ASSIGN_OR_RETURN(KubeconfigUser one, reader.User(body));
                                   config.users.emplace(name, std::move(one));
                                   return absl::OkStatus();
                                 }));
  return reader.ForEach(
      root, "contexts", "context", [&](const std::string& name, const Value& body) -> absl::Status {
        config.contexts.emplace(name,
                                KubeconfigContext{body.StringAt("cluster"), body.StringAt("user"),
                                                  body.StringAt("namespace")});
        return absl::OkStatus();
      });
}

}  // namespace nave
