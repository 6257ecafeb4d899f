#include "cli/context/config.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/base/nearest_word.h"
#include "common/base/status_macros.h"
#include "common/value/codec.h"
#include "common/value/value.h"

namespace nave::cli {
namespace {

absl::Status Invalid(absl::string_view path, absl::string_view key, absl::string_view rule) {
  return MakeError(Reason::kConfigInvalid, absl::StrCat(path, ": `", key, "`: ", rule));
}

absl::Status UnknownKey(absl::string_view path, absl::string_view where, const std::string& key,
                        const std::vector<std::string>& known) {
  std::string nearest = NearestWord(key, known);
  std::string hint = nearest.empty() ? absl::StrCat("must be one of ", absl::StrJoin(known, ", "))
                                     : absl::StrCat("is not a key; did you mean '", nearest, "'?");
  return Invalid(path, absl::StrCat(where, key), hint);
}

absl::StatusOr<std::string> Text(absl::string_view path, absl::string_view key,
                                 const Value& value) {
  if (!value.is_string()) return Invalid(path, key, "must be a string");
  return *value.string();
}

// The members of `contexts[i].context`.
absl::Status ReadMember(absl::string_view path, absl::string_view where, const std::string& key,
                        const Value& value, Context* context) {
  struct Member {
    const char* key;
    std::string Context::*text;
    PemSource Context::*pem;
    bool data;
  };
  static const Member kMembers[] = {
      {"hub", &Context::hub, nullptr, false},
      {"project", &Context::project, nullptr, false},
      {"token-file", &Context::token_file, nullptr, false},
      {"certificate-authority", nullptr, &Context::authority, false},
      {"certificate-authority-data", nullptr, &Context::authority, true},
      {"client-certificate", nullptr, &Context::certificate, false},
      {"client-certificate-data", nullptr, &Context::certificate, true},
      {"client-key", nullptr, &Context::key, false},
      {"client-key-data", nullptr, &Context::key, true},
  };
  std::vector<std::string> known;
  for (const Member& member : kMembers) {
    known.push_back(member.key);
    if (key != member.key) continue;
    std::string full = absl::StrCat(where, key);
    ASSIGN_OR_RETURN(std::string text, Text(path, full, value));
    if (member.text != nullptr) {
      (context->*member.text) = text;
    } else if (!member.data) {
      (context->*member.pem).file = text;
    } else if (!absl::Base64Unescape(text, &(context->*member.pem).data)) {
      return Invalid(path, full, "must be base64");
    }
    return absl::OkStatus();
  }
  return UnknownKey(path, where, key, known);
}

absl::StatusOr<Context> ReadContext(absl::string_view path, absl::string_view where,
                                    const Value& value) {
  if (!value.is_object()) return Invalid(path, where, "must be a mapping");
  Context context;
  for (const auto& [key, member] : *value.object()) {
    if (key == "name") {
      ASSIGN_OR_RETURN(context.name, Text(path, absl::StrCat(where, ".name"), member));
    } else if (key == "context") {
      if (!member.is_object())
        return Invalid(path, absl::StrCat(where, ".context"), "must be a mapping");
      for (const auto& [inner, inner_value] : *member.object()) {
        RETURN_IF_ERROR(
            ReadMember(path, absl::StrCat(where, ".context."), inner, inner_value, &context));
      }
    } else {
      return UnknownKey(path, absl::StrCat(where, "."), key, {"name", "context"});
    }
  }
  if (context.name.empty()) return Invalid(path, absl::StrCat(where, ".name"), "must be set");
  return context;
}

Value WriteContext(const Context& context, bool redact) {
  Value inner{Object{}};
  auto put = [&inner](absl::string_view key, const std::string& text) {
    if (!text.empty()) inner[key] = Value(text);
  };
  put("hub", context.hub);
  put("project", context.project);
  put("token-file", context.token_file);
  put("certificate-authority", context.authority.file);
  put("certificate-authority-data", absl::Base64Escape(context.authority.data));
  put("client-certificate", context.certificate.file);
  put("client-certificate-data", absl::Base64Escape(context.certificate.data));
  put("client-key", context.key.file);
  put("client-key-data",
      redact && !context.key.data.empty() ? "REDACTED" : absl::Base64Escape(context.key.data));
  Value out;
  out["name"] = Value(context.name);
  out["context"] = std::move(inner);
  return out;
}

}  // namespace

const Context* Config::Find(absl::string_view name) const {
  for (const Context& context : contexts) {
    if (context.name == name) return &context;
  }
  return nullptr;
}

std::vector<std::string> Config::Names() const {
  std::vector<std::string> names;
  for (const Context& context : contexts) names.push_back(context.name);
  return names;
}

absl::StatusOr<Config> ParseConfig(absl::string_view path, absl::string_view text) {
  auto documents = ParseYamlStream(text, nullptr);
  if (!documents.ok()) {
    return MakeError(Reason::kConfigInvalid,
                     absl::StrCat(path, ": ", documents.status().message()));
  }
  Config config;
  if (documents->empty()) return config;
  if (documents->size() > 1)
    return MakeError(Reason::kConfigInvalid, absl::StrCat(path, ": must be one document"));
  const Value& file = documents->front().value;
  if (!file.is_object())
    return MakeError(Reason::kConfigInvalid, absl::StrCat(path, ": must be a mapping"));
  for (const auto& [key, value] : *file.object()) {
    if (key == "apiVersion" || key == "kind") {
      absl::string_view want = key == "kind" ? "Config" : "nave.dev/v1";
      if (value.StringOr("") != want)
        return Invalid(path, key, absl::StrCat("must be '", want, "'"));
    } else if (key == "current-context") {
      ASSIGN_OR_RETURN(config.current_context, Text(path, key, value));
    } else if (key == "contexts") {
      if (!value.is_array()) return Invalid(path, key, "must be a list");
      for (size_t i = 0; i < value.array()->size(); ++i) {
        std::string where = absl::StrCat("contexts[", i, "]");
        ASSIGN_OR_RETURN(Context context, ReadContext(path, where, (*value.array())[i]));
        if (config.Find(context.name) != nullptr) {
          return Invalid(path, absl::StrCat(where, ".name"),
                         absl::StrCat("'", context.name, "' is there twice"));
        }
        config.contexts.push_back(std::move(context));
      }
    } else {
      return UnknownKey(path, "", key, {"apiVersion", "kind", "current-context", "contexts"});
    }
  }
  return config;
}

std::string FormatConfig(const Config& config, bool redact) {
  Value file;
  file["apiVersion"] = Value("nave.dev/v1");
  file["kind"] = Value("Config");
  if (!config.current_context.empty()) file["current-context"] = Value(config.current_context);
  Array contexts;
  for (const Context& context : config.contexts) contexts.push_back(WriteContext(context, redact));
  file["contexts"] = Value(std::move(contexts));
  return FormatYaml(file);
}

absl::Status MergeConfig(const Config& from, absl::string_view rename, bool overwrite,
                         Config* into) {
  if (!rename.empty() && from.contexts.size() != 1) {
    return MakeError(Reason::kUsageInvalid,
                     absl::StrCat("the file has ", from.contexts.size(),
                                  " contexts: a name can be given to one only"));
  }
  Config merged = *into;
  for (Context context : from.contexts) {
    if (!rename.empty()) context.name = std::string(rename);
    Context* existing = nullptr;
    for (Context& candidate : merged.contexts) {
      if (candidate.name == context.name) existing = &candidate;
    }
    if (existing != nullptr && *existing != context && !overwrite) {
      return MakeError(Reason::kAlreadyExists,
                       absl::StrCat("context \"", context.name, "\" exists and is another"),
                       {{"help",
                         "Give it a name of its own with --name NAME, or replace the old one with "
                         "--overwrite."}});
    }
    if (existing != nullptr) {
      *existing = context;
    } else {
      merged.contexts.push_back(context);
    }
    if (!rename.empty() || from.current_context == context.name || from.contexts.size() == 1) {
      merged.current_context = context.name;
    }
  }
  *into = std::move(merged);
  return absl::OkStatus();
}

}  // namespace nave::cli
