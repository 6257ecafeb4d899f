#include "tests/cli/testing/run_cli.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "cli/program/run.h"

namespace nave::cli {
namespace {

// The runner keeps its hub over several runs.
class Borrowed : public HubClient {
 public:
  explicit Borrowed(FakeHub* hub) : hub_(hub) {}
  absl::Status Call(const google::protobuf::Message& request,
                    google::protobuf::Message* response) override {
    return hub_->Call(request, response);
  }
  absl::Status Stream(const google::protobuf::Message& request, absl::Time deadline,
                      google::protobuf::Message* response,
                      absl::FunctionRef<bool()> on_response) override {
    return hub_->Stream(request, deadline, response, on_response);
  }

 private:
  FakeHub* hub_;
};

}  // namespace

CliRunner::CliRunner() {
  std::string name = (std::filesystem::temp_directory_path() / "navectl-test-XXXXXX").string();
  folder = mkdtemp(name.data());
  environment["NAVECTL_CONFIG"] =
      WriteFile("config.yaml",
                "apiVersion: nave.dev/v1\nkind: Config\ncurrent-context: test\ncontexts:\n- name: "
                "test\n  context:\n"
                "    hub: hub.test:8443\n    certificate-authority-data: Q0E=\n    "
                "client-certificate-data: Q0VSVA==\n"
                "    client-key-data: S0VZ\n");
}

CliRunner::~CliRunner() {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
}

std::string CliRunner::WriteFile(const std::string& name, const std::string& content) {
  std::filesystem::path path = std::filesystem::path(folder) / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

CliResult CliRunner::Run(const std::vector<std::string>& arguments, const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  int requests = 0;
  World world;
  world.environment = [this](absl::string_view name) {
    auto found = environment.find(std::string(name));
    return found == environment.end() ? std::string() : found->second;
  };
  world.now = [this] { return now; };
  world.sleep = [this](absl::Duration span) { now += span; };
  world.connect = [this](const ConnectionOptions& options) -> std::unique_ptr<HubClient> {
    connection = options;
    return std::make_unique<Borrowed>(&hub);
  };
  world.request_id = [&requests] { return absl::StrCat("request-", ++requests); };
  world.in = &in;
  world.out = &out;
  world.err = &err;
  world.in_is_terminal = world.err_is_terminal = terminal;
  CliResult result;
  result.code = RunNavectl(arguments, world);
  result.out = out.str();
  result.err = err.str();
  return result;
}

}  // namespace nave::cli
