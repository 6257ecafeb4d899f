#include "cli/commands/session.h"

#include <filesystem>
#include <fstream>
#include <istream>
#include <ostream>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/output/text.h"
#include "common/base/error.h"
#include "common/base/nearest_word.h"
#include "common/base/status_macros.h"
#include "common/model/selector.h"

namespace nave::cli {
namespace {

constexpr absl::string_view kUserAgent = "navectl/0.1.0";

absl::StatusOr<std::string> PemText(const PemSource& source) {
  if (source.file.empty()) return source.data;
  return ReadFile(source.file);
}

}  // namespace

absl::StatusOr<OutputFormat> ParseOutputFormat(absl::string_view word) {
  static const std::vector<std::pair<std::string, OutputFormat>> kFormats = {
      {"table", OutputFormat::kTable},
      {"wide", OutputFormat::kWide},
      {"json", OutputFormat::kJson},
      {"yaml", OutputFormat::kYaml},
      {"name", OutputFormat::kName}};
  if (word.empty()) return OutputFormat::kTable;
  std::vector<std::string> words;
  for (const auto& [name, format] : kFormats) {
    if (name == word) return format;
    words.push_back(name);
  }
  std::string nearest = NearestWord(word, words);
  std::string hint = nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?");
  return MakeError(Reason::kUsageInvalid,
                   absl::StrCat("`--output`: must be one of table, wide, json, yaml, name; got '",
                                word, "'", hint));
}

absl::StatusOr<std::unique_ptr<Session>> Session::Make(const GlobalFlags& flags,
                                                       const World* world) {
  std::unique_ptr<Session> session(new Session(flags, world));
  ColorChoice color = ColorChoice::kAuto;
  if (flags.color == "always") {
    color = ColorChoice::kAlways;
  } else if (flags.color == "never") {
    color = ColorChoice::kNever;
  } else if (flags.color != "auto") {
    return MakeError(
        Reason::kUsageInvalid,
        absl::StrCat("`--color`: must be one of auto, always, never; got '", flags.color, "'"));
  }
  const Environment& get = world->environment;
  std::string locale = get("LC_ALL");
  if (locale.empty()) locale = get("LC_CTYPE");
  if (locale.empty()) locale = get("LANG");
  StyleInput input{world->out_is_terminal, color,       flags.ascii, get("NO_COLOR"),
                   get("FORCE_COLOR"),     get("TERM"), locale};
  session->out_style_ = Style::Decide(input);
  input.is_terminal = world->err_is_terminal;
  session->err_style_ = Style::Decide(input);
  ASSIGN_OR_RETURN(session->request_timeout_,
                   ParseSpanFlag("--request-timeout", flags.request_timeout, absl::Seconds(30)));
  if (session->request_timeout_ <= absl::ZeroDuration()) {
    return MakeError(Reason::kUsageInvalid, "`--request-timeout`: must be more than 0");
  }
  return session;
}

Setting Session::config_path() const { return ConfigPath(flags_.connection, world_->environment); }

absl::StatusOr<Config> Session::ReadConfig() const {
  Setting path = config_path();
  std::error_code error;
  if (path.origin == "default" && !std::filesystem::exists(path.value, error)) return Config();
  ASSIGN_OR_RETURN(std::string text, ReadFile(path.value));
  return ParseConfig(path.value, text);
}

absl::Status Session::WriteConfig(const Config& config) const {
  return WritePrivateFile(config_path().value, FormatConfig(config));
}

absl::StatusOr<const Settings*> Session::GetSettings() {
  if (settings_ == nullptr) {
    ASSIGN_OR_RETURN(Config config, ReadConfig());
    ASSIGN_OR_RETURN(Settings settings, ResolveSettings(flags_.connection, world_->environment,
                                                        config, config_path().value));
    settings_ = std::make_unique<Settings>(std::move(settings));
  }
  return settings_.get();
}

absl::StatusOr<std::string> Session::Project() {
  ASSIGN_OR_RETURN(const Settings* settings, GetSettings());
  return settings->project.value;
}

absl::StatusOr<ConnectionOptions> Session::MakeConnection() {
  ASSIGN_OR_RETURN(const Settings* settings, GetSettings());
  RETURN_IF_ERROR(CheckConnectable(*settings, config_path().value));
  ConnectionOptions options;
  options.hub = settings->hub.value;
  ASSIGN_OR_RETURN(options.roots_pem, PemText(settings->authority));
  ASSIGN_OR_RETURN(options.certificate_pem, PemText(settings->certificate));
  ASSIGN_OR_RETURN(options.key_pem, PemText(settings->key));
  if (!settings->token_file.value.empty()) {
    ASSIGN_OR_RETURN(std::string token, settings->token_file.value == "-"
                                            ? absl::StatusOr<std::string>(ReadInput())
                                            : ReadFile(settings->token_file.value));
    options.bearer_token = std::string(absl::StripAsciiWhitespace(token));
    if (options.bearer_token.empty()) {
      return MakeError(Reason::kFileUnreadable,
                       absl::StrCat("the token file ", settings->token_file.value, " is empty"));
    }
  }
  options.user_agent = std::string(kUserAgent);
  options.request_timeout = request_timeout_;
  return options;
}

absl::StatusOr<HubClient*> Session::Hub() {
  if (hub_ == nullptr) {
    ASSIGN_OR_RETURN(ConnectionOptions options, MakeConnection());
    hub_ = world_->connect(options);
  }
  return hub_.get();
}

void Session::Print(absl::string_view text) {
  world_->out->write(text.data(), static_cast<std::streamsize>(text.size()));
  world_->out->flush();
}

void Session::Say(absl::string_view text) {
  if (!flags_.quiet) Warn(text);
}

void Session::Warn(absl::string_view text) {
  world_->err->write(text.data(), static_cast<std::streamsize>(text.size()));
  world_->err->flush();
}

std::string Session::Ask(absl::string_view question) {
  Warn(question);
  std::string line;
  std::getline(*world_->in, line);
  return std::string(absl::StripAsciiWhitespace(line));
}

std::string Session::ReadInput() const {
  std::ostringstream text;
  text << world_->in->rdbuf();
  return text.str();
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return MakeError(Reason::kFileUnreadable, absl::StrCat(path, " is a folder"));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  // An empty file sets failbit on `text`; only the source counts.
  if (!file.is_open() || file.bad()) {
    std::string why =
        std::filesystem::exists(path, error) ? "it may not be read" : "it does not exist";
    return MakeError(Reason::kFileUnreadable, absl::StrCat("cannot read ", path, ": ", why));
  }
  return text.str();
}

absl::Status WritePrivateFile(const std::string& path, absl::string_view content) {
  std::error_code error;
  std::filesystem::path target(path);
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), error);
  std::string temporary = absl::StrCat(path, ".new");
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    using std::filesystem::perms;
    std::filesystem::permissions(temporary, perms::owner_read | perms::owner_write, error);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) return MakeError(Reason::kFileUnreadable, absl::StrCat("cannot write ", temporary));
  }
  std::filesystem::rename(temporary, path, error);
  if (error)
    return MakeError(Reason::kFileUnreadable,
                     absl::StrCat("cannot write ", path, ": ", error.message()));
  return absl::OkStatus();
}

absl::StatusOr<absl::Duration> ParseSpanFlag(absl::string_view flag, absl::string_view text,
                                             absl::Duration otherwise) {
  if (text.empty()) return otherwise;
  absl::Duration span;
  if (!ParseTimeSpan(text, &span)) {
    return MakeError(
        Reason::kUsageInvalid,
        absl::StrCat("`", flag, "`: must be a duration like 30s or 5m, got '", text, "'"));
  }
  return span;
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseLabelsFlag(
    absl::string_view flag, const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> labels;
  for (const std::string& item : SplitList(texts)) {
    std::vector<std::string> parts = absl::StrSplit(item, absl::MaxSplits('=', 1));
    std::string rule = parts.size() != 2 ? "must be KEY=VALUE" : CheckLabelKey(parts[0]);
    if (rule.empty()) rule = CheckLabelValue(parts[1]);
    if (!rule.empty())
      return MakeError(Reason::kUsageInvalid, absl::StrCat("`", flag, "`: '", item, "': ", rule));
    labels.emplace_back(parts[0], parts[1]);
  }
  return labels;
}

std::vector<std::string> SplitList(const std::vector<std::string>& texts) {
  std::vector<std::string> items;
  for (const std::string& text : texts) {
    for (absl::string_view item : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
      items.emplace_back(absl::StripAsciiWhitespace(item));
    }
  }
  return items;
}

}  // namespace nave::cli
