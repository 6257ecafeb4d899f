#include "agent/config/config.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/error.h"
#include "common/base/nearest_word.h"
#include "common/base/status_macros.h"
#include "common/value/codec.h"

namespace nave {
namespace {

using Parse = std::function<absl::Status(absl::string_view, AgentConfig*)>;

absl::Status Invalid(absl::string_view what) { return MakeError(Reason::kConfigInvalid, what); }

Parse Text(std::string AgentConfig::*field) {
  return [field](absl::string_view text, AgentConfig* config) {
    config->*field = std::string(text);
    return absl::OkStatus();
  };
}

Parse Address(std::string AgentConfig::*field, int least_port) {
  return [field, least_port](absl::string_view text, AgentConfig* config) {
    const size_t colon = text.rfind(':');
    int port = -1;
    if (colon == absl::string_view::npos || !absl::SimpleAtoi(text.substr(colon + 1), &port) ||
        port < least_port || port > 65535) {
      return Invalid(absl::StrCat("must be HOST:PORT, got '", text, "'"));
    }
    config->*field = std::string(text);
    return absl::OkStatus();
  };
}

absl::Status ParsePin(absl::string_view text, AgentConfig* config) {
  absl::ConsumePrefix(&text, "sha256:");
  std::optional<Digest> pin = Digest::FromHex(text);
  if (!pin.has_value())
    return Invalid("must be 64 hexadecimal digits, the SHA-256 of the CA's key");
  config->hub_ca_pin = *pin;
  return absl::OkStatus();
}

absl::Status ParseConcurrency(absl::string_view text, AgentConfig* config) {
  uint32_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 1 || number > 64) {
    return Invalid(absl::StrCat("must be a number from 1 to 64, got '", text, "'"));
  }
  config->apply_concurrency = number;
  return absl::OkStatus();
}

absl::Status ParseLevel(absl::string_view text, AgentConfig* config) {
  constexpr absl::string_view kLevels[] = {"debug", "info", "warning", "error"};
  for (int i = 0; i < 4; ++i) {
    if (text != kLevels[i]) continue;
    config->log_level = static_cast<LogLevel>(i);
    return absl::OkStatus();
  }
  return Invalid(absl::StrCat("must be debug, info, warning or error, got '", text, "'"));
}

absl::Status ParseFormat(absl::string_view text, AgentConfig* config) {
  if (text != "json" && text != "text") {
    return Invalid(absl::StrCat("must be json or text, got '", text, "'"));
  }
  config->log_format = text == "json" ? LogFormat::kJson : LogFormat::kText;
  return absl::OkStatus();
}

AgentSetting Make(std::string name, std::string help, Parse parse) {
  AgentSetting setting;
  setting.environment = "NAVE_";
  for (char c : name) {
    if (absl::ascii_isupper(c)) {
      setting.environment.push_back('_');
      setting.flag.push_back('-');
    }
    setting.environment.push_back(absl::ascii_toupper(c));
    setting.flag.push_back(absl::ascii_tolower(c));
  }
  setting.name = std::move(name);
  setting.help = std::move(help);
  setting.parse = std::move(parse);
  return setting;
}

const AgentSetting* Find(std::string AgentSetting::*spelling, absl::string_view word) {
  for (const AgentSetting& setting : AgentSettings()) {
    if (setting.*spelling == word) return &setting;
  }
  return nullptr;
}

std::string Nearest(std::string AgentSetting::*spelling, absl::string_view word) {
  std::vector<std::string> known;
  for (const AgentSetting& setting : AgentSettings()) known.push_back(setting.*spelling);
  return NearestWord(word, known);
}

std::string DidYouMean(absl::string_view nearest) {
  return nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?");
}

absl::Status TakeFile(const AgentConfigInput& input, AgentConfig* config) {
  absl::StatusOr<std::vector<YamlDocument>> documents =
      ParseYamlStream(input.file_content, nullptr);
  if (!documents.ok()) {
    return Invalid(absl::StrCat(input.file_path, ": ", documents.status().message()));
  }
  if (documents->empty()) return absl::OkStatus();
  const Object* settings = documents->front().value.object();
  if (settings == nullptr || documents->size() > 1) {
    return Invalid(absl::StrCat(input.file_path, ": must be one mapping of settings"));
  }
  for (const auto& [key, value] : *settings) {
    const std::string where = absl::StrCat(input.file_path, ": ", key);
    const AgentSetting* setting = Find(&AgentSetting::name, key);
    if (setting == nullptr) {
      return Invalid(
          absl::StrCat(where, ": unknown key", DidYouMean(Nearest(&AgentSetting::name, key))));
    }
    std::string text = value.StringOr("");
    if (value.is_int()) text = absl::StrCat(value.IntOr(0));
    if (!value.is_string() && !value.is_int()) {
      return Invalid(absl::StrCat(where, ": must be a text or a number"));
    }
    absl::Status taken = setting->parse(text, config);
    if (!taken.ok()) return Prepend(taken, where);
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<AgentSetting>& AgentSettings() {
  static const auto* settings = new std::vector<AgentSetting>{
      Make("kubeconfig",
           "kubeconfig file; default: $KUBECONFIG, the pod's ServiceAccount, ~/.kube/config",
           Text(&AgentConfig::kubeconfig)),
      Make("kubeContext", "context of the kubeconfig; default: its current one",
           Text(&AgentConfig::kube_context)),
      Make("namespace",
           "namespace of the agent's Secrets and Lease; default: the pod's, nave-system",
           Text(&AgentConfig::ns)),
      Make("podName", "name of this process in the Lease; default: the machine's name",
           Text(&AgentConfig::pod_name)),
      Make("tokenFile", "file with the join token", Text(&AgentConfig::token_file)),
      Make("stateDir", "folder for the agent's identity; default: the Secret nave-identity",
           Text(&AgentConfig::state_dir)),
      Make("hubEndpoint", "HOST:PORT of the hub; default: as the join token says",
           Address(&AgentConfig::hub_endpoint, 1)),
      Make("hubCaPin", "SHA-256 of the hub's CA key; default: as the join token says", ParsePin),
      Make("healthAddress", "address of /livez, /readyz and /metrics; default 0.0.0.0:8081",
           Address(&AgentConfig::health_address, 0)),
      Make("applyConcurrency", "objects that are written at once; default 8", ParseConcurrency),
      Make("logLevel", "least level that is logged: debug, info, warning or error; default info",
           ParseLevel),
      Make("logFormat", "form of log lines: json or text; default json", ParseFormat),
  };
  return *settings;
}

absl::StatusOr<AgentConfig> LoadAgentConfig(const AgentConfigInput& input,
                                            std::vector<std::string>* warnings) {
  AgentConfig config;
  RETURN_IF_ERROR(TakeFile(input, &config));
  for (const auto& [name, value] : input.environment) {
    const AgentSetting* setting = Find(&AgentSetting::environment, name);
    if (setting == nullptr) {
      const std::string nearest = Nearest(&AgentSetting::environment, name);
      if (!nearest.empty() && warnings != nullptr) {
        warnings->push_back(absl::StrCat(name, ": no such setting", DidYouMean(nearest)));
      }
      continue;
    }
    if (value.empty()) continue;
    absl::Status taken = setting->parse(value, &config);
    if (!taken.ok()) return Prepend(taken, name);
  }
  for (const auto& [name, value] : input.flags) {
    const AgentSetting* setting = Find(&AgentSetting::flag, name);
    if (setting == nullptr) {
      return Invalid(absl::StrCat("--", name, ": no such flag",
                                  DidYouMean(Nearest(&AgentSetting::flag, name))));
    }
    absl::Status taken = setting->parse(value, &config);
    if (!taken.ok()) return Prepend(taken, absl::StrCat("--", name));
  }
  return config;
}

}  // namespace nave
