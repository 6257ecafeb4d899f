#include "cli/context/settings.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/nearest_word.h"

namespace nave::cli {
namespace {

constexpr absl::string_view kDefaultProject = "default";

// First of flag, environment and context that says something.
Setting Pick(absl::string_view flag_name, const std::string& flag, absl::string_view variable,
             const Environment& environment, const Context* context, const std::string& of_context,
             absl::string_view otherwise) {
  if (!flag.empty()) return {flag, absl::StrCat("flag ", flag_name)};
  std::string value = environment(variable);
  if (!value.empty()) return {value, absl::StrCat("environment ", variable)};
  if (context != nullptr && !of_context.empty())
    return {of_context, absl::StrCat("context ", context->name)};
  return {std::string(otherwise), otherwise.empty() ? "" : "default"};
}

std::string FolderOf(absl::string_view path) {
  size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? "" : std::string(path.substr(0, slash + 1));
}

std::string Relative(absl::string_view folder, const std::string& file) {
  return file.empty() || absl::StartsWith(file, "/") ? file : absl::StrCat(folder, file);
}

void PickPem(absl::string_view flag_name, const std::string& flag, absl::string_view variable,
             const Environment& environment, const Context* context, PemSource of_context,
             absl::string_view folder, PemSource* out, std::string* origin) {
  Setting file = Pick(flag_name, flag, variable, environment, nullptr, "", "");
  if (!file.value.empty()) {
    *out = {"", file.value};
    *origin = file.origin;
    return;
  }
  if (context == nullptr || of_context.empty()) return;
  of_context.file = Relative(folder, of_context.file);
  *out = std::move(of_context);
  *origin = absl::StrCat("context ", context->name);
}

std::string Shown(const PemSource& pem) {
  if (!pem.data.empty()) return "(in the configuration)";
  return pem.file;
}

}  // namespace

Setting ConfigPath(const ConnectionFlags& flags, const Environment& environment) {
  Setting found = Pick("--config", flags.config, "NAVECTL_CONFIG", environment, nullptr, "", "");
  if (!found.value.empty()) return found;
  std::string base = environment("XDG_CONFIG_HOME");
  if (base.empty() || base[0] != '/') base = absl::StrCat(environment("HOME"), "/.config");
  return {absl::StrCat(base, "/navectl/config.yaml"), "default"};
}

absl::StatusOr<Settings> ResolveSettings(const ConnectionFlags& flags,
                                         const Environment& environment, const Config& config,
                                         absl::string_view config_path) {
  Settings settings;
  settings.context =
      Pick("--context", flags.context, "NAVECTL_CONTEXT", environment, nullptr, "", "");
  if (settings.context.value.empty() && !config.current_context.empty()) {
    settings.context = {config.current_context, "current-context"};
  }
  const Context* context = nullptr;
  if (!settings.context.value.empty()) {
    context = config.Find(settings.context.value);
    if (context == nullptr) {
      std::string nearest = NearestWord(settings.context.value, config.Names());
      std::string hint = nearest.empty() ? "" : absl::StrCat("; did you mean \"", nearest, "\"?");
      return MakeError(Reason::kNoContext,
                       absl::StrCat("context \"", settings.context.value, "\" (",
                                    settings.context.origin, ") is not in ", config_path, hint));
    }
  }
  static const Context kNone;
  const Context& from = context == nullptr ? kNone : *context;
  std::string folder = FolderOf(config_path);
  settings.hub = Pick("--hub", flags.hub, "NAVECTL_HUB", environment, context, from.hub, "");
  settings.project = Pick("--project", flags.project, "NAVECTL_PROJECT", environment, context,
                          from.project, kDefaultProject);
  settings.token_file = Pick("--token-file", flags.token_file, "NAVECTL_TOKEN_FILE", environment,
                             context, Relative(folder, from.token_file), "");
  PickPem("--ca-file", flags.ca_file, "NAVECTL_CA_FILE", environment, context, from.authority,
          folder, &settings.authority, &settings.authority_origin);
  PickPem("--cert-file", flags.cert_file, "NAVECTL_CERT_FILE", environment, context,
          from.certificate, folder, &settings.certificate, &settings.certificate_origin);
  PickPem("--key-file", flags.key_file, "NAVECTL_KEY_FILE", environment, context, from.key, folder,
          &settings.key, &settings.key_origin);
  return settings;
}

absl::Status CheckConnectable(const Settings& settings, absl::string_view config_path) {
  if (settings.hub.value.empty()) {
    return MakeError(Reason::kNoContext,
                     absl::StrCat("no hub is named: no flag --hub, no NAVECTL_HUB, no context in ",
                                  config_path));
  }
  if (settings.authority.empty()) {
    return MakeError(
        Reason::kNoContext,
        absl::StrCat("there is no CA certificate to know hub ", settings.hub.value, " by"),
        {{"help", "Give it with --ca-file FILE, or certificate-authority in the context."}});
  }
  if (settings.certificate.empty() != settings.key.empty()) {
    return MakeError(Reason::kNoContext, settings.key.empty()
                                             ? "there is a client certificate but no key"
                                             : "there is a client key but no certificate");
  }
  return absl::OkStatus();
}

std::vector<std::vector<std::string>> Settings::Rows() const {
  return {{"context", context.value, context.origin},
          {"hub", hub.value, hub.origin},
          {"project", project.value, project.origin},
          {"certificate-authority", Shown(authority), authority_origin},
          {"client-certificate", Shown(certificate), certificate_origin},
          {"client-key", Shown(key), key_origin},
          {"token-file", token_file.value, token_file.origin}};
}

}  // namespace nave::cli
