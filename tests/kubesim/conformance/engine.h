// Runs one case of the conformance suite: a list of steps, each a call of KubeClient, and what was
// seen of it.
#ifndef NAVE_TESTS_KUBESIM_CONFORMANCE_ENGINE_H_
#define NAVE_TESTS_KUBESIM_CONFORMANCE_ENGINE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/value/value.h"
#include "tests/kubesim/conformance/normalizer.h"
#include "tests/kubesim/conformance/stand.h"

namespace nave::kubesim {

// A step is an object with one of these members:
//   apply, create, replace, patch, delete, get, list: the request; `resource` names the type
//     ("deployments.apps/v1"), `namespace` defaults to the case's own (for a namespaced type),
//     `body` is a value, or a text to be sent as it is.
//   until: a get repeated until the answer has everything that `has` has, or (`gone`: true) is not
//     found; `observe`: true shows the object.
//   list with `names`: true shows the names only.
//   watch: starts one, known by `as`. events: the next `count` events of the watch `of`.
//     end: waits for its end.
//   wait: seconds.
// Besides: `save`: a name for the object answered, so that "${name.metadata.uid}" in later steps
// means it; `hide`: paths ("status", "metadata.managedFields") left out of what was seen;
// `message`: true shows the error's text. "OWN" in any text is this run's own name, which is also
// its namespace.
class Engine {
 public:
  // `own` is a name that nothing else uses.
  Engine(ConformanceStand* stand, std::string own);
  ~Engine();
  // What was seen, one value for each step; a text that begins with "!" when a step could not run.
  Value Run(const Value& steps);

 private:
  struct OpenWatch {
    std::vector<KubeEvent> events;
    size_t taken = 0;
    bool ended = false;
    KubeError end;
    std::unique_ptr<KubeWatch> handle;
  };

  Value Step(const Value& step);
  Value Substitute(const Value& value) const;
  std::string SubstituteText(std::string text) const;
  template <typename T>
  bool Await(std::function<void(KubeClient::Callback<T>)> start, T* out);
  Value Call(const Value& step, const std::string& verb, const Value& request);
  bool Send(const std::string& verb, const Value& request, KubeResult* out);
  Value Until(const Value& step, const Value& request);
  Value List(const Value& step, const Value& request);
  Value Watch(const Value& request);
  Value Events(const Value& step, const Value& request);
  Value End(const Value& step, const Value& request);
  Value Seen(const Value& step, const Value& object);
  std::string NamespaceOf(const Value& request) const;

  ConformanceStand* stand_;
  const std::string own_;
  Normalizer normalizer_;
  std::map<std::string, Value> saved_;
  std::map<std::string, std::shared_ptr<OpenWatch>> watches_;
};

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_CONFORMANCE_ENGINE_H_
