// The kinds that the simulator serves from the start.
#ifndef NAVE_TESTS_KUBESIM_KINDS_H_
#define NAVE_TESTS_KUBESIM_KINDS_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/kubesim/schema.h"

namespace nave::kubesim {

// One served (group, version, plural).
struct KindInfo {
  std::string group;
  std::string version;
  std::string kind;
  std::string plural;
  std::string singular;
  bool namespaced = false;
  // /status exists, and the main endpoint ignores status.
  bool status = false;
  // metadata.generation counts changes of everything but metadata and status.
  bool generation = false;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  // Custom resources only: the CRD that brought it and what owns `schema`.
  std::string crd;
  std::shared_ptr<const Schemas> schemas;
  const Schema* schema = nullptr;
  std::shared_ptr<const Value> open_api;

  std::string ApiVersion() const { return group.empty() ? version : group + "/" + version; }
  // "deployments.apps"; "secrets".
  std::string Resource() const { return group.empty() ? plural : plural + "." + group; }
  bool custom() const { return !crd.empty(); }
};

const std::vector<KindInfo>& BuiltinKinds();

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_KINDS_H_
