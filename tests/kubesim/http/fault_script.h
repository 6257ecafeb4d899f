// Faults and refusals that whoever runs the simulator asks for. Pure.
#ifndef NAVE_TESTS_KUBESIM_HTTP_FAULT_SCRIPT_H_
#define NAVE_TESTS_KUBESIM_HTTP_FAULT_SCRIPT_H_

#include <string>
#include <vector>

#include "common/value/value.h"
#include "tests/kubesim/kubesim.h"

namespace nave::kubesim {

// Rules in the order in which they were added; the first that matches a request decides.
class FaultScript {
 public:
  // {"kind": answer|dropBefore|dropAfter|silent|none, "verb", "resource", "namespace", "name",
  //  "code", "reason", "message", "retryAfterSeconds", "delayMs", "count"}: selectors that are
  // absent match everything; a count of 0 (the default is 1) is for ever. Returns what is wrong
  // with the rule, "" when it was added.
  std::string Add(const Value& rule);
  void Clear() { rules_.clear(); }
  SimFault Decide(const SimRequest& request);

 private:
  struct Rule {
    std::string verb, resource, ns, name;
    int64_t left = 1;  // Negative: for ever.
    SimFault fault;
  };
  std::vector<Rule> rules_;
};

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_HTTP_FAULT_SCRIPT_H_
