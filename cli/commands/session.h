// One run of navectl: the settings, the connection (made when a command first needs it) and the
// streams. stdout is for data, stderr for talk.
#ifndef NAVE_CLI_COMMANDS_SESSION_H_
#define NAVE_CLI_COMMANDS_SESSION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/client/hub_client.h"
#include "cli/commands/world.h"
#include "cli/context/config.h"
#include "cli/context/settings.h"
#include "cli/output/exit_code.h"
#include "cli/output/style.h"

namespace nave::cli {

// Flags that every command has.
struct GlobalFlags {
  ConnectionFlags connection;
  std::string color = "auto";
  bool ascii = false;
  bool quiet = false;
  bool no_input = false;
  std::string request_timeout;
};

enum class OutputFormat { kTable, kWide, kJson, kYaml, kName };
// USAGE_INVALID; empty is kTable.
absl::StatusOr<OutputFormat> ParseOutputFormat(absl::string_view word);

// Not thread-safe.
class Session {
 public:
  // `world` must outlive it. USAGE_INVALID for bad global flags.
  static absl::StatusOr<std::unique_ptr<Session>> Make(const GlobalFlags& flags,
                                                       const World* world);

  // Reads the configuration and the settings on first use. CONFIG_INVALID, NO_CONTEXT,
  // FILE_UNREADABLE.
  absl::StatusOr<const Settings*> GetSettings();
  absl::StatusOr<std::string> Project();
  absl::StatusOr<HubClient*> Hub();
  // The configuration as it is on disk, for `config`.
  absl::StatusOr<Config> ReadConfig() const;
  absl::Status WriteConfig(const Config& config) const;
  Setting config_path() const;

  absl::Time Now() const { return world_->now(); }
  void Sleep(absl::Duration span) const { world_->sleep(span); }
  std::string RequestId() const { return world_->request_id(); }
  const World& world() const { return *world_; }

  // Data.
  void Print(absl::string_view text);
  // Talk: left out with --quiet. `text` ends with a line feed.
  void Say(absl::string_view text);
  // Talk that is never left out.
  void Warn(absl::string_view text);
  const Style& out_style() const { return out_style_; }
  const Style& err_style() const { return err_style_; }

  // A person can be asked.
  bool CanAsk() const {
    return world_->in_is_terminal && world_->err_is_terminal && !flags_.no_input;
  }
  // The line that the person typed, without white space around it.
  std::string Ask(absl::string_view question);
  // All of stdin.
  std::string ReadInput() const;

  // Format of errors: that of the command's -o.
  void set_output(OutputFormat format) { output_ = format; }
  OutputFormat output() const { return output_; }

 private:
  Session(const GlobalFlags& flags, const World* world) : flags_(flags), world_(world) {}
  absl::StatusOr<ConnectionOptions> MakeConnection();

  GlobalFlags flags_;
  const World* world_;
  Style out_style_;
  Style err_style_;
  absl::Duration request_timeout_ = absl::Seconds(30);
  OutputFormat output_ = OutputFormat::kTable;
  std::unique_ptr<Settings> settings_;
  std::unique_ptr<HubClient> hub_;
};

// FILE_UNREADABLE.
absl::StatusOr<std::string> ReadFile(const std::string& path);
// Replaces it whole, readable by the user only; makes its folder. FILE_UNREADABLE.
absl::Status WritePrivateFile(const std::string& path, absl::string_view content);

// "30s", "5m", "-1". USAGE_INVALID names the flag.
absl::StatusOr<absl::Duration> ParseSpanFlag(absl::string_view flag, absl::string_view text,
                                             absl::Duration otherwise);

// "a=b,c=d". USAGE_INVALID.
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseLabelsFlag(
    absl::string_view flag, const std::vector<std::string>& texts);
// Splits each at commas.
std::vector<std::string> SplitList(const std::vector<std::string>& texts);

}  // namespace nave::cli

#endif  // NAVE_CLI_COMMANDS_SESSION_H_
