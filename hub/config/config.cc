#include "hub/config/config.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "common/base/nearest_word.h"
#include "common/base/status_macros.h"
#include "common/value/codec.h"
#include "common/value/value.h"

namespace nave {
namespace {

absl::Status Invalid(absl::string_view what) { return MakeError(Reason::kConfigInvalid, what); }

Setting Text(std::string name, std::string help, std::string HubConfig::*field) {
  return {std::move(name), std::move(help),
          [field](absl::string_view text, HubConfig* config) {
            config->*field = std::string(text);
            return absl::OkStatus();
          },
          [field](const HubConfig& config) { return config.*field; }};
}

Setting Address(std::string name, std::string help, std::string HubConfig::*field) {
  Setting setting = Text(std::move(name), std::move(help), field);
  setting.parse = [field](absl::string_view text, HubConfig* config) -> absl::Status {
    size_t colon = text.rfind(':');
    int port = -1;
    bool valid = colon != absl::string_view::npos && colon > 0 &&
                 absl::SimpleAtoi(text.substr(colon + 1), &port) && port >= 0 && port <= 65535;
    if (!valid) return Invalid(absl::StrCat("must be HOST:PORT, got '", text, "'"));
    config->*field = std::string(text);
    return absl::OkStatus();
  };
  return setting;
}

Setting Span(std::string name, std::string help, absl::Duration HubConfig::*field) {
  return {std::move(name), std::move(help),
          [field](absl::string_view text, HubConfig* config) -> absl::Status {
            absl::Duration span;
            if (!absl::ParseDuration(text, &span) || span < absl::ZeroDuration()) {
              return Invalid(absl::StrCat("must be a duration such as 5s, got '", text, "'"));
            }
            config->*field = span;
            return absl::OkStatus();
          },
          [field](const HubConfig& config) { return absl::FormatDuration(config.*field); }};
}

Setting Number(std::string name, std::string help, uint32_t HubConfig::*field, uint32_t least,
               uint32_t most) {
  return {std::move(name), std::move(help),
          [field, least, most](absl::string_view text, HubConfig* config) -> absl::Status {
            uint32_t number = 0;
            if (!absl::SimpleAtoi(text, &number) || number < least || number > most) {
              return Invalid(absl::StrCat("must be a number from ", least, " to ", most, ", got '",
                                          text, "'"));
            }
            config->*field = number;
            return absl::OkStatus();
          },
          [field](const HubConfig& config) { return absl::StrCat(config.*field); }};
}

Setting AdvertiseSetting() {
  return {"advertise",
          "names and addresses that agents and users call this hub by, separated by commas",
          [](absl::string_view text, HubConfig* config) -> absl::Status {
            std::vector<std::string> names = absl::StrSplit(text, ',', absl::SkipWhitespace());
            if (names.empty()) return Invalid("must name at least one host");
            config->advertise = std::move(names);
            return absl::OkStatus();
          },
          [](const HubConfig& config) { return absl::StrJoin(config.advertise, ","); }};
}

constexpr absl::string_view kLevels[] = {"debug", "info", "warning", "error"};

Setting LogLevelSetting() {
  return {"logLevel", "least level that is logged: debug, info, warning or error",
          [](absl::string_view text, HubConfig* config) -> absl::Status {
            for (size_t i = 0; i < 4; ++i) {
              if (text != kLevels[i]) continue;
              config->log_level = static_cast<LogLevel>(i);
              return absl::OkStatus();
            }
            return Invalid(absl::StrCat("must be debug, info, warning or error, got '", text, "'"));
          },
          [](const HubConfig& config) {
            return std::string(kLevels[static_cast<int>(config.log_level)]);
          }};
}

Setting LogFormatSetting() {
  return {"logFormat", "form of log lines: json or text",
          [](absl::string_view text, HubConfig* config) -> absl::Status {
            if (text != "json" && text != "text") {
              return Invalid(absl::StrCat("must be json or text, got '", text, "'"));
            }
            config->log_format = text == "json" ? LogFormat::kJson : LogFormat::kText;
            return absl::OkStatus();
          },
          [](const HubConfig& config) {
            return config.log_format == LogFormat::kJson ? "json" : "text";
          }};
}

std::string Words(absl::string_view setting, char separator, bool upper) {
  std::string words;
  for (char c : setting) {
    if (absl::ascii_isupper(c)) words.push_back(separator);
    words.push_back(upper ? absl::ascii_toupper(c) : absl::ascii_tolower(c));
  }
  return words;
}

const Setting* FindSetting(absl::string_view name) {
  for (const Setting& setting : HubSettings()) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

std::string Suggest(absl::string_view word, std::string (*spelling)(absl::string_view)) {
  std::vector<std::string> known;
  for (const Setting& setting : HubSettings()) known.push_back(spelling(setting.name));
  std::string nearest = NearestWord(word, known);
  return nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?");
}

std::string SameName(absl::string_view name) { return std::string(name); }

absl::Status Take(const Setting& setting, absl::string_view text, absl::string_view where,
                  absl::string_view origin, EffectiveConfig* effective) {
  if (absl::Status status = setting.parse(text, &effective->config); !status.ok()) {
    return Prepend(status, where);
  }
  effective->origins[setting.name] = std::string(origin);
  return absl::OkStatus();
}

// Line of a top-level key in the file, for messages; 0 when it cannot be told.
int LineOf(absl::string_view content, absl::string_view key) {
  int line = 0;
  for (absl::string_view text : absl::StrSplit(content, '\n')) {
    ++line;
    if (text.substr(0, key.size()) == key) return line;
  }
  return 0;
}

absl::Status TakeFile(absl::string_view path, absl::string_view content,
                      EffectiveConfig* effective) {
  absl::StatusOr<std::vector<YamlDocument>> documents = ParseYamlStream(content, nullptr);
  if (!documents.ok()) return Invalid(absl::StrCat(path, ": ", documents.status().message()));
  if (documents->empty()) return absl::OkStatus();
  const Object* settings = documents->front().value.object();
  if (documents->size() > 1 || settings == nullptr) {
    return Invalid(absl::StrCat(path, ": must be one mapping of settings"));
  }
  for (const auto& [key, value] : *settings) {
    std::string where = absl::StrCat(path, ": line ", LineOf(content, key), ": ", key);
    const Setting* setting = FindSetting(key);
    if (setting == nullptr)
      return Invalid(absl::StrCat(where, ": unknown key", Suggest(key, SameName)));
    std::string text;
    if (const Array* items = value.array(); items != nullptr) {
      std::vector<std::string> words;
      for (const Value& item : *items) {
        if (!item.is_string())
          return Invalid(
              absl::StrCat(where, ": items must be texts (quote yes, no, on, off, y, n)"));
        words.push_back(*item.string());
      }
      text = absl::StrJoin(words, ",");
    } else if (value.is_string()) {
      text = *value.string();
    } else if (value.is_int()) {
      text = absl::StrCat(value.IntOr(0));
    } else {
      return Invalid(absl::StrCat(where, ": must be a text, a number or a list of texts"));
    }
    RETURN_IF_ERROR(Take(*setting, text, where, absl::StrCat("file ", path), effective));
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<Setting>& HubSettings() {
  static const auto* settings = new std::vector<Setting>{
      Text("dataDir", "folder of the store, the CA and the keys", &HubConfig::data_dir),
      AdvertiseSetting(),
      Address("listenApi", "address of the public gRPC API", &HubConfig::listen_api),
      Address("listenAgents", "address that agents dial", &HubConfig::listen_agents),
      Address("listenHealth", "address of /livez, /readyz and /metrics", &HubConfig::listen_health),
      Text("agentEndpoint",
           "HOST:PORT that join tokens name; default: the first advertised name and the agents' "
           "port",
           &HubConfig::agent_endpoint),
      Text("encryptionKey",
           "file of the store's keys; default: encryption.key in the data directory",
           &HubConfig::encryption_key),
      Text("tokenFile", "file of bearer tokens' hashes", &HubConfig::token_file),
      Text("agentImage", "image that join manifests name", &HubConfig::agent_image),
      Text("portsFile", "file that the ports taken are written to, as JSON",
           &HubConfig::ports_file),
      LogLevelSetting(),
      LogFormatSetting(),
      Span("drainDelay", "wait between SIGTERM and closing", &HubConfig::drain_delay),
      Span("drainTimeout", "longest time for sessions to end", &HubConfig::drain_timeout),
      Number("bundleHistory", "revisions of a bundle that are kept", &HubConfig::bundle_history, 1,
             1000),
      Number("workerThreads", "threads for rendering and reads", &HubConfig::worker_threads, 1, 64),
  };
  return *settings;
}

std::string EnvironmentName(absl::string_view setting) {
  return absl::StrCat("NAVE_", Words(setting, '_', true));
}

std::string FlagName(absl::string_view setting) { return Words(setting, '-', false); }

absl::StatusOr<EffectiveConfig> LoadHubConfig(absl::string_view file_path,
                                              absl::string_view file_content,
                                              const std::map<std::string, std::string>& environment,
                                              const std::map<std::string, std::string>& flags) {
  EffectiveConfig effective;
  for (const Setting& setting : HubSettings()) effective.origins[setting.name] = "default";
  if (!file_path.empty()) RETURN_IF_ERROR(TakeFile(file_path, file_content, &effective));
  for (const auto& [name, text] : environment) {
    // NAVE_CONFIG names the file itself.
    if (name == "NAVE_CONFIG") continue;
    auto setting =
        std::find_if(HubSettings().begin(), HubSettings().end(),
                     [&name = name](const Setting& s) { return EnvironmentName(s.name) == name; });
    if (setting == HubSettings().end()) {
      // Others set NAVE_* too (a Kubernetes Service named nave-hub does): only what looks like a
      // mistyped setting is an error.
      std::string suggestion = Suggest(name, EnvironmentName);
      if (suggestion.empty()) continue;
      return Invalid(absl::StrCat("environment: unknown variable ", name, suggestion));
    }
    RETURN_IF_ERROR(
        Take(*setting, text, absl::StrCat("environment: ", name), "environment", &effective));
  }
  for (const auto& [name, text] : flags) {
    auto setting =
        std::find_if(HubSettings().begin(), HubSettings().end(),
                     [&name = name](const Setting& s) { return FlagName(s.name) == name; });
    if (setting == HubSettings().end()) {
      return Invalid(absl::StrCat("unknown flag --", name, Suggest(name, FlagName)));
    }
    RETURN_IF_ERROR(Take(*setting, text, absl::StrCat("--", name), "flag", &effective));
  }
  return effective;
}

std::string FormatHubConfig(const EffectiveConfig& effective, bool origins) {
  std::string text;
  for (const Setting& setting : HubSettings()) {
    absl::StrAppend(&text, setting.name, ": ", FormatJson(Value(setting.format(effective.config))));
    if (origins) absl::StrAppend(&text, "  # ", effective.origins.at(setting.name));
    text.push_back('\n');
  }
  return text;
}

}  // namespace nave
