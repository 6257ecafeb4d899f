#include "hub/program.h"

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "hub/config/config.h"
#include "hub/hub.h"

extern char** environ;

namespace nave {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitConfig = 78;

// What happened / why / next step / code, as navectl prints errors too.
void PrintError(const absl::Status& status) {
  std::string reason = ErrorReason(status);
  std::cerr << "Error: " << status.message() << " (" << reason << ")\n";
  if (const ReasonInfo* info = FindReason(reason); info != nullptr)
    std::cerr << "  Next:  " << info->next << "\n";
}

std::map<std::string, std::string> NaveEnvironment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    absl::string_view text = *entry;
    size_t equals = text.find('=');
    if (!absl::StartsWith(text, "NAVE_") || equals == absl::string_view::npos) continue;
    variables[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }
  return variables;
}

struct CommandLine {
  std::string config_file;
  std::map<std::string, std::string> flags;
  bool print_config = false;
  bool with_origins = false;
  bool check_config = false;
  bool version = false;
};

// nullopt: an exit code was decided (help or a usage error) and stands in `exit_code`.
std::optional<CommandLine> ParseCommandLine(int argc, char** argv, int* exit_code) {
  CommandLine command;
  CLI::App app{"The hub of a fleet of Kubernetes clusters.", "nave-hub"};
  app.add_option("--config", command.config_file, "configuration file (YAML)")
      ->envname("NAVE_CONFIG");
  std::map<std::string, std::string> given;
  for (const Setting& setting : HubSettings()) {
    app.add_option(absl::StrCat("--", FlagName(setting.name)), given[FlagName(setting.name)],
                   absl::StrCat(setting.help, " [", EnvironmentName(setting.name), "; default ",
                                setting.format(HubConfig{}), "]"));
  }
  CLI::App* config = app.add_subcommand("config", "look at the configuration");
  config->require_subcommand(1);
  CLI::App* print = config->add_subcommand("print", "print the effective configuration");
  print->add_flag("--origins", command.with_origins, "say where each value came from");
  CLI::App* check = config->add_subcommand("check", "check the configuration and exit");
  CLI::App* version = app.add_subcommand("version", "print the version");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int code = app.exit(error);
    *exit_code = code == 0 ? 0 : kExitUsage;
    return std::nullopt;
  }
  for (const Setting& setting : HubSettings()) {
    std::string name = FlagName(setting.name);
    if (app.count(absl::StrCat("--", name)) > 0) command.flags[name] = given[name];
  }
  command.print_config = print->parsed();
  command.check_config = check->parsed();
  command.version = version->parsed();
  return command;
}

absl::StatusOr<EffectiveConfig> LoadConfig(const CommandLine& command) {
  std::string content;
  if (!command.config_file.empty()) {
    std::ifstream file(command.config_file);
    if (!file) {
      return MakeError(Reason::kConfigInvalid,
                       absl::StrCat(command.config_file, ": the file cannot be read"));
    }
    std::stringstream text;
    text << file.rdbuf();
    content = text.str();
  }
  return LoadHubConfig(command.config_file, content, NaveEnvironment(), command.flags);
}

bool WritePorts(const std::string& path, const HubPorts& ports) {
  std::string temporary = path + ".new";
  std::ofstream file(temporary, std::ios::trunc);
  file << "{\"api\":" << ports.api << ",\"agents\":" << ports.agents
       << ",\"health\":" << ports.health << "}\n";
  file.close();
  return file.good() && rename(temporary.c_str(), path.c_str()) == 0;
}

// Set by the hub when the process must end; the signal wakes the main thread.
std::atomic<bool> fatal{false};

int Serve(const CommandLine& command, const HubConfig& config) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals, signal);
  // Before any thread is made, so that all inherit it and only this one takes them.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  absl::StatusOr<std::unique_ptr<Hub>> hub = Hub::Start(config, [](absl::Status status) {
    LogError("the hub must stop", {{"error", status.message()}, {"reason", ErrorReason(status)}});
    fatal = true;
    kill(getpid(), SIGUSR1);
  });
  if (!hub.ok()) {
    PrintError(hub.status());
    return kExitFailure;
  }
  if (std::string made = (*hub)->admin_context_made(); !made.empty()) {
    std::cerr << "First start. The administrator's context is in " << made << "\n"
              << "  Next:  navectl --config " << made << " status\n";
  }
  if (!config.ports_file.empty() && !WritePorts(config.ports_file, (*hub)->ports())) {
    LogError("ports file not written", {{"path", config.ports_file}});
    return kExitFailure;
  }
  while (true) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) continue;
    if (signal == SIGHUP) {
      // Certificates and keys are re-read by themselves; what is left is the log level.
      absl::StatusOr<EffectiveConfig> again = LoadConfig(command);
      if (again.ok()) {
        SetLogLevel(again->config.log_level);
        LogInfo("configuration read again");
      } else {
        LogWarning("configuration kept as it was", {{"error", again.status().message()}});
      }
      continue;
    }
    if (signal == SIGUSR1) {
      if (fatal)
        _exit(kExitFailure);  // What the store holds is no longer ours: nothing more is written.
      continue;
    }
    LogInfo("stopping", {{"signal", signal}});
    // The second signal means now.
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    (*hub)->Stop();
    hub->reset();
    return 0;
  }
}

}  // namespace

int RunHubProgram(int argc, char** argv) {
  // Costs every lock of gRPC its share, and Debian's build has it on.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  int exit_code = 0;
  std::optional<CommandLine> command = ParseCommandLine(argc, argv, &exit_code);
  if (!command.has_value()) return exit_code;
  if (command->version) {
    std::cout << "nave-hub " << kHubVersion << "\n";
    return 0;
  }
  absl::StatusOr<EffectiveConfig> effective = LoadConfig(*command);
  if (!effective.ok()) {
    PrintError(effective.status());
    return kExitConfig;
  }
  if (command->check_config) {
    std::cout << "configuration is good\n";
    return 0;
  }
  if (command->print_config) {
    std::cout << FormatHubConfig(*effective, command->with_origins);
    return 0;
  }
  SetUpLog("nave-hub", effective->config.log_format, effective->config.log_level);
  return Serve(*command, effective->config);
}

}  // namespace nave
