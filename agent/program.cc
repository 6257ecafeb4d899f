#include "agent/program.h"

#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/config/config.h"
#include "agent/process.h"
#include "common/base/error.h"
#include "common/base/log.h"

extern char** environ;

namespace nave {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitConfig = 78;

void PrintError(const absl::Status& status) {
  const std::string reason = ErrorReason(status);
  std::cerr << "Error: " << status.message() << " (" << reason << ")\n";
  if (const ReasonInfo* info = FindReason(reason); info != nullptr) {
    std::cerr << "  Next:  " << info->next << "\n";
  }
}

int ExitCodeOf(const absl::Status& status) {
  return ErrorReason(status) == GetReasonInfo(Reason::kConfigInvalid).upper ? kExitConfig
                                                                            : kExitFailure;
}

std::map<std::string, std::string> EnvironmentOfNave() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    const size_t equals = text.find('=');
    if (!absl::StartsWith(text, "NAVE_") || equals == absl::string_view::npos) continue;
    variables[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }
  return variables;
}

// nullopt: the program ends with `exit_code` (help, version, or a usage error).
std::optional<AgentConfigInput> ParseCommandLine(int argc, char** argv, int* exit_code) {
  AgentConfigInput input;
  CLI::App app{"The agent of a cluster that a hub manages.", "nave-agent"};
  app.set_version_flag("--version", kAgentVersion);
  app.add_option("--config", input.file_path, "configuration file (YAML) [NAVE_CONFIG]")
      ->envname("NAVE_CONFIG");
  std::map<std::string, std::string> given;
  for (const AgentSetting& setting : AgentSettings()) {
    app.add_option(absl::StrCat("--", setting.flag), given[setting.flag],
                   absl::StrCat(setting.help, " [", setting.environment, "]"));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error) == 0 ? 0 : kExitUsage;
    return std::nullopt;
  }
  for (const AgentSetting& setting : AgentSettings()) {
    if (app.count(absl::StrCat("--", setting.flag)) > 0) {
      input.flags[setting.flag] = given[setting.flag];
    }
  }
  input.environment = EnvironmentOfNave();
  input.environment.erase("NAVE_CONFIG");
  return input;
}

absl::StatusOr<AgentConfig> LoadConfig(AgentConfigInput input) {
  if (!input.file_path.empty()) {
    std::ifstream file(input.file_path);
    if (!file) {
      return MakeError(Reason::kConfigInvalid,
                       absl::StrCat(input.file_path, ": the file cannot be read"));
    }
    std::stringstream text;
    text << file.rdbuf();
    input.file_content = text.str();
  }
  std::vector<std::string> warnings;
  absl::StatusOr<AgentConfig> config = LoadAgentConfig(input, &warnings);
  for (const std::string& warning : warnings) LogWarning("configuration", {{"warning", warning}});
  return config;
}

// A small machine's memory matters more than the speed of allocating threads.
void TuneMemory() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 128 << 10);
  // Its tables grow with every lock of gRPC, and Debian's build has it on.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

int Serve(const AgentConfig& config) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT}) sigaddset(&signals, signal);
  // Before any thread is made, so that all inherit it and only this one takes them.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  absl::StatusOr<std::unique_ptr<AgentProcess>> process = AgentProcess::Start(config);
  if (!process.ok()) {
    PrintError(process.status());
    return ExitCodeOf(process.status());
  }
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
  LogInfo("stopping", {{"signal", signal}});
  // A second one ends the process at once.
  std::thread([signals] {
    int again = 0;
    if (sigwait(&signals, &again) == 0) _exit(kExitFailure);
  }).detach();
  process->reset();
  LogInfo("stopped");
  return 0;
}

}  // namespace

int RunAgentProgram(int argc, char** argv) {
  TuneMemory();
  int exit_code = 0;
  std::optional<AgentConfigInput> input = ParseCommandLine(argc, argv, &exit_code);
  if (!input.has_value()) return exit_code;
  SetUpLog("nave-agent", LogFormat::kJson, LogLevel::kInfo);
  absl::StatusOr<AgentConfig> config = LoadConfig(*std::move(input));
  if (!config.ok()) {
    PrintError(config.status());
    return kExitConfig;
  }
  SetUpLog("nave-agent", config->log_format, config->log_level);
  return Serve(*config);
}

}  // namespace nave
