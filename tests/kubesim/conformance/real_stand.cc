// Real API servers: those whose kubeconfigs NAVE_KUBECONFIGS lists (separated by colons), with
// their versions in NAVE_KUBE_VERSIONS. Never the KUBECONFIG of whoever runs this.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/kubesim/conformance/stand.h"

namespace nave::kubesim {
namespace {

std::vector<std::string> Listed(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return {};
  return absl::StrSplit(text, ':', absl::SkipEmpty());
}

}  // namespace

std::vector<std::string> StandNames() {
  std::vector<std::string> names;
  for (const std::string& version : Listed("NAVE_KUBE_VERSIONS")) {
    names.push_back(absl::StrReplaceAll(version, {{".", "_"}}));
  }
  // A test that fails, so that a run without a server cannot pass for one with.
  if (names.empty()) names.emplace_back("no_server");
  return names;
}

ConformanceStand& Stand(const std::string& name) {
  static auto* const stands = new std::map<std::string, std::unique_ptr<ConformanceStand>>();
  std::unique_ptr<ConformanceStand>& stand = (*stands)[name];
  if (stand != nullptr) return *stand;
  const std::vector<std::string> paths = Listed("NAVE_KUBECONFIGS");
  const std::vector<std::string> names = StandNames();
  for (size_t i = 0; i < names.size() && i < paths.size(); ++i) {
    if (names[i] != name) continue;
    std::ifstream file(paths[i]);
    stand = MakeHttpStand({std::istreambuf_iterator<char>(file), {}});
    return *stand;
  }
  std::fprintf(stderr,
               "NAVE_KUBECONFIGS names no server: start this test by tests/kube/stand.py\n");
  std::exit(1);
}

}  // namespace nave::kubesim
