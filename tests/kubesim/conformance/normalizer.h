// Answers of different servers, made comparable: what may differ from run to run gets a name by its
// first appearance. Pure.
#ifndef NAVE_TESTS_KUBESIM_CONFORMANCE_NORMALIZER_H_
#define NAVE_TESTS_KUBESIM_CONFORMANCE_NORMALIZER_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/kube/kube_client.h"
#include "common/value/value.h"

namespace nave::kubesim {

// What two runs have in common whatever their clocks and controllers did: owners of fields are in
// order of their names (a server puts those of one second in another order than those of two), and
// no controller's note of a Deployment's revision stands there.
Value Comparable(const Value& value);

class Normalizer {
 public:
  // `own` is what this run put into names, to be shown as "OWN".
  explicit Normalizer(std::string own) : own_(std::move(own)) {}
  Value Object(const Value& object);
  Value Error(const KubeError& error, bool with_message);

 private:
  void Learn(const std::string& key, const Value& value);
  Value Walk(const std::string& key, const Value& value);
  std::string Text(const std::string& text) const;
  std::string Named(const char* kind, const std::string& text);

  const std::string own_;
  std::map<std::string, std::string> names_;
  std::map<std::string, std::string> uids_;
  std::map<std::string, int> counts_;
};

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_CONFORMANCE_NORMALIZER_H_
