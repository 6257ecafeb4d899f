#include "agent/kube/credentials.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace nave {
namespace {

constexpr absl::Duration kReadInterval = absl::Seconds(60);

// The content of one file, read again at most once a minute; an unreadable or empty file leaves the
// last content.
class WatchedFile {
 public:
  WatchedFile() = default;
  WatchedFile(std::string path, FileReader read) : path_(std::move(path)), read_(std::move(read)) {}

  bool is_set() const { return !path_.empty(); }

  // Empty without a path; an error only when it was never read.
  absl::StatusOr<std::string> Content(absl::Time now) {
    if (path_.empty() || (!stale_ && now < read_at_ + kReadInterval)) return content_;
    read_at_ = now;
    stale_ = false;
    absl::StatusOr<std::string> text = read_(path_);
    if (text.ok() && !absl::StripAsciiWhitespace(*text).empty()) {
      content_ = *std::move(text);
      return content_;
    }
    if (content_.empty()) {
      stale_ = true;
      return MakeError(Reason::kConfigInvalid,
                       absl::StrCat("credential file \"", path_,
                                    "\": ", text.ok() ? "it is empty" : text.status().message()));
    }
    LogWarning("credential file unreadable, keeping its last content", {{"path", path_}});
    return content_;
  }

  void MarkStale() { stale_ = true; }

 private:
  std::string path_;
  FileReader read_;
  std::string content_;
  absl::Time read_at_ = absl::InfinitePast();
  bool stale_ = true;
};

// "https://host[:port][/path]".
absl::Status ParseServerUrl(absl::string_view url, KubeServer& server) {
  absl::string_view rest = url;
  if (absl::ConsumePrefix(&rest, "http://")) {
    server.plaintext = true;
  } else if (absl::StrContains(url, "://") && !absl::StartsWith(url, "https://")) {
    return absl::InvalidArgumentError("want https");
  } else {
    absl::ConsumePrefix(&rest, "https://");
  }
  server.port = server.plaintext ? 80 : 443;
  const size_t slash = rest.find('/');
  if (slash != absl::string_view::npos) {
    server.base_path = std::string(absl::StripSuffix(rest.substr(slash), "/"));
    rest = rest.substr(0, slash);
  }
  absl::string_view port;
  if (absl::StartsWith(rest, "[")) {
    const size_t close = rest.find(']');
    if (close == absl::string_view::npos) return absl::InvalidArgumentError("unclosed bracket");
    server.host = std::string(rest.substr(1, close - 1));
    port = rest.substr(close + 1);
  } else {
    const size_t colon = rest.find(':');
    server.host = std::string(rest.substr(0, colon));
    port = colon == absl::string_view::npos ? "" : rest.substr(colon);
  }
  if (server.host.empty() || absl::StrContains(server.host, '@')) {
    return absl::InvalidArgumentError("want a host");
  }
  if (port.empty()) return absl::OkStatus();
  if (port[0] != ':' || !absl::SimpleAtoi(port.substr(1), &server.port) || server.port < 1 ||
      server.port > 65535) {
    return absl::InvalidArgumentError("want a port between 1 and 65535");
  }
  return absl::OkStatus();
}

// Files and fixed texts put together; both kinds of credentials are this with other content.
class FileCredentials : public KubeCredentials {
 public:
  KubeServer server;  // What does not change.
  std::string fixed_token;
  WatchedFile ca;
  WatchedFile certificate;
  WatchedFile key;
  WatchedFile token;

  absl::StatusOr<KubeServer> Server(absl::Time now) override {
    KubeServer result = server;
    if (ca.is_set()) {
      ASSIGN_OR_RETURN(result.ca_pem, ca.Content(now));
    }
    if (certificate.is_set()) {
      ASSIGN_OR_RETURN(result.client_certificate_pem, certificate.Content(now));
    }
    if (key.is_set()) {
      ASSIGN_OR_RETURN(result.client_key_pem, key.Content(now));
    }
    return result;
  }

  absl::StatusOr<std::string> Token(absl::Time now) override {
    if (!token.is_set()) return fixed_token;
    ASSIGN_OR_RETURN(std::string text, token.Content(now));
    return std::string(absl::StripAsciiWhitespace(text));
  }

  void OnUnauthorized() override {
    for (WatchedFile* file : {&ca, &certificate, &key, &token}) file->MarkStale();
  }
};

absl::Status ConfigError(absl::string_view text) {
  return MakeError(Reason::kConfigInvalid, absl::StrCat("kubeconfig: ", text));
}

void AddUser(const KubeconfigUser& user, const FileReader& read, FileCredentials& credentials) {
  credentials.fixed_token = user.token;
  if (user.token.empty() && !user.token_path.empty()) {
    credentials.token = WatchedFile(user.token_path, read);
  }
  KubeServer& server = credentials.server;
  server.client_certificate_pem = user.client_certificate_data;
  if (server.client_certificate_pem.empty() && !user.client_certificate_path.empty()) {
    credentials.certificate = WatchedFile(user.client_certificate_path, read);
  }
  server.client_key_pem = user.client_key_data;
  if (server.client_key_pem.empty() && !user.client_key_path.empty()) {
    credentials.key = WatchedFile(user.client_key_path, read);
  }
  if (!user.impersonate.empty()) server.headers.emplace_back("impersonate-user", user.impersonate);
  if (!user.impersonate_uid.empty()) {
    server.headers.emplace_back("impersonate-uid", user.impersonate_uid);
  }
  for (const std::string& group : user.impersonate_groups) {
    server.headers.emplace_back("impersonate-group", group);
  }
}

std::string Environment(const char* name, const char* other = nullptr) {
  const char* value = std::getenv(name);
  if (value == nullptr && other != nullptr) value = std::getenv(other);
  return value == nullptr ? "" : value;
}

}  // namespace

FileReader DiskFileReader() {
  return [](const std::string& path) -> absl::StatusOr<std::string> {
    std::ifstream file(path, std::ios::binary);
    if (!file) return absl::NotFoundError("it cannot be opened");
    std::ostringstream text;
    text << file.rdbuf();
    if (file.bad()) return absl::UnavailableError("it cannot be read");
    return text.str();
  };
}

absl::StatusOr<std::unique_ptr<KubeCredentials>> MakeKubeconfigCredentials(
    const Kubeconfig& config, absl::string_view context, absl::string_view https_proxy,
    absl::string_view no_proxy, FileReader read) {
  const std::string name = context.empty() ? config.current_context : std::string(context);
  if (name.empty()) return ConfigError("no context is chosen, and there is no current-context");
  const auto chosen = config.contexts.find(name);
  if (chosen == config.contexts.end()) {
    return ConfigError(absl::StrCat("no context \"", name, "\""));
  }
  const auto cluster = config.clusters.find(chosen->second.cluster);
  if (cluster == config.clusters.end()) {
    return ConfigError(
        absl::StrCat("context \"", name, "\": no cluster \"", chosen->second.cluster, "\""));
  }
  auto credentials = std::make_unique<FileCredentials>();
  KubeServer& server = credentials->server;
  if (const absl::Status status = ParseServerUrl(cluster->second.server, server); !status.ok()) {
    return ConfigError(absl::StrCat("cluster \"", cluster->first, "\": server \"",
                                    cluster->second.server, "\": ", status.message()));
  }
  server.ca_pem = cluster->second.ca_data;
  if (server.ca_pem.empty() && !cluster->second.ca_path.empty()) {
    credentials->ca = WatchedFile(cluster->second.ca_path, read);
  }
  server.tls_server_name = cluster->second.tls_server_name;
  server.insecure_skip_verify = cluster->second.insecure_skip_tls_verify;
  server.proxy_url = cluster->second.proxy_url;
  // A proxy that the cluster names is meant for it; no_proxy is about the environment's.
  if (server.proxy_url.empty()) {
    server.proxy_url = std::string(https_proxy);
    server.no_proxy = std::string(no_proxy);
  }
  if (!chosen->second.user.empty()) {
    const auto user = config.users.find(chosen->second.user);
    if (user == config.users.end()) {
      return ConfigError(
          absl::StrCat("context \"", name, "\": no user \"", chosen->second.user, "\""));
    }
    if (!user->second.unsupported.empty()) {
      return MakeError(
          Reason::kNotSupportedYet,
          absl::StrCat("kubeconfig: user \"", user->first, "\": ", user->second.unsupported,
                       " is not supported, want a token or a client certificate"));
    }
    AddUser(user->second, read, *credentials);
  }
  return credentials;
}

absl::StatusOr<std::unique_ptr<KubeCredentials>> MakeInClusterCredentials(absl::string_view host,
                                                                          absl::string_view port,
                                                                          std::string folder,
                                                                          FileReader read) {
  auto credentials = std::make_unique<FileCredentials>();
  KubeServer& server = credentials->server;
  server.host = std::string(host);
  if (host.empty() || !absl::SimpleAtoi(port, &server.port)) {
    return MakeError(Reason::kConfigInvalid,
                     "in-cluster credentials: want KUBERNETES_SERVICE_HOST and "
                     "KUBERNETES_SERVICE_PORT in the environment");
  }
  credentials->ca = WatchedFile(absl::StrCat(folder, "/ca.crt"), read);
  credentials->token = WatchedFile(absl::StrCat(folder, "/token"), read);
  return credentials;
}

absl::StatusOr<std::unique_ptr<KubeCredentials>> LoadKubeCredentials(absl::string_view path,
                                                                     absl::string_view context) {
  const FileReader read = DiskFileReader();
  std::vector<std::string> paths;
  if (!path.empty()) {
    paths.emplace_back(path);
  } else {
    paths = absl::StrSplit(Environment("KUBECONFIG"), ':', absl::SkipEmpty());
  }
  const bool named = !paths.empty();
  const std::string host = Environment("KUBERNETES_SERVICE_HOST");
  if (!named && !host.empty()) {
    return MakeInClusterCredentials(host, Environment("KUBERNETES_SERVICE_PORT"),
                                    kServiceAccountFolder, read);
  }
  if (!named) paths.push_back(absl::StrCat(Environment("HOME"), "/.kube/config"));
  Kubeconfig config;
  int files_read = 0;
  for (const std::string& file : paths) {
    const absl::StatusOr<std::string> text = read(file);
    // Of several files some may be missing, as kubectl has it.
    if (!text.ok()) continue;
    ++files_read;
    RETURN_IF_ERROR(MergeKubeconfig(*text, file, config));
  }
  if (files_read == 0) {
    return ConfigError(absl::StrCat("\"", paths.front(), "\" cannot be opened",
                                    named ? "" : ", and there is no ServiceAccount"));
  }
  return MakeKubeconfigCredentials(config, context, Environment("HTTPS_PROXY", "https_proxy"),
                                   Environment("NO_PROXY", "no_proxy"), read);
}

std::string ServiceAccountNamespace(const FileReader& read) {
  const absl::StatusOr<std::string> text = read(absl::StrCat(kServiceAccountFolder, "/namespace"));
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

}  // namespace nave
