#include "common/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace nave {
namespace {

struct LogState {
  std::shared_ptr<spdlog::logger> sink =
      std::make_shared<spdlog::logger>("nave", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  std::atomic<LogFormat> format = LogFormat::kText;
  std::atomic<LogLevel> least = LogLevel::kInfo;
  std::string logger = "nave";
  LogState() {
    sink->set_pattern("%v");
    sink->set_level(spdlog::level::trace);
    sink->flush_on(spdlog::level::trace);
  }
};

LogState& State() {
  static LogState* state =
      new LogState;  // Never destroyed: threads may log until the process ends.
  return *state;
}

constexpr absl::string_view kLevelNames[] = {"debug", "info", "warning", "error"};

void AppendJsonString(std::string* out, absl::string_view text) {
  out->push_back('"');
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(out, "\\u%04x", static_cast<unsigned>(c));
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

}  // namespace

void SetUpLog(absl::string_view logger, LogFormat format, LogLevel least) {
  State().logger = std::string(logger);
  State().format = format;
  State().least = least;
}

void SetLogLevel(LogLevel least) { State().least = least; }

void Log(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields) {
  LogState& state = State();
  if (level < state.least) return;
  std::string time = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
  absl::string_view level_name = kLevelNames[static_cast<int>(level)];
  std::string line;
  if (state.format == LogFormat::kJson) {
    absl::StrAppend(&line, "{\"ts\":\"", time, "\",\"level\":\"", level_name, "\",\"msg\":");
    AppendJsonString(&line, message);
    line.append(",\"logger\":");
    AppendJsonString(&line, state.logger);
    for (const LogField& field : fields) {
      line.push_back(',');
      AppendJsonString(&line, field.key);
      line.push_back(':');
      AppendJsonString(&line, field.value);
    }
    line.push_back('}');
  } else {
    absl::StrAppend(&line, time, " ", level_name, " ", message);
    for (const LogField& field : fields) {
      absl::StrAppend(&line, " ", field.key, "=");
      bool plain =
          !field.value.empty() && field.value.find_first_of(" \"\n\t=") == std::string::npos;
      if (plain) {
        line.append(field.value);
      } else {
        AppendJsonString(&line, field.value);
      }
    }
  }
  state.sink->log(spdlog::level::info, line);
}

}  // namespace nave
