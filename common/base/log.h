// Structured logs: one line per event on stderr, JSON or text, with a constant message and
// key=value fields.
#ifndef NAVE_COMMON_BASE_LOG_H_
#define NAVE_COMMON_BASE_LOG_H_

#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace nave {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

// A field's value: any string or number. Never pass manifest content, tokens or keys.
struct LogField {
  template <typename T>
  LogField(absl::string_view k, const T& v) : key(k), value(absl::StrCat(v)) {}
  absl::string_view key;
  std::string value;
};

// Sets format and least level of the process. Thread-safe. `logger` names the process in each line.
void SetUpLog(absl::string_view logger, LogFormat format, LogLevel least);
void SetLogLevel(LogLevel least);

// Writes one line. Thread-safe; never blocks on anything but stderr. `message` is constant text: an
// event's name that a person would search for. kInfo: a change of state that a user would ask
// about; kWarning: will be tried again, but someone may need to act; kError: gave up.
void Log(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields = {});

inline void LogDebug(absl::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kDebug, message, fields);
}
inline void LogInfo(absl::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, message, fields);
}
inline void LogWarning(absl::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarning, message, fields);
}
inline void LogError(absl::string_view message, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, message, fields);
}

}  // namespace nave

#endif  // NAVE_COMMON_BASE_LOG_H_
