// What the tests of the simulator share: requests in short, and time.
#ifndef NAVE_TESTS_KUBESIM_KUBESIM_FIXTURE_H_
#define NAVE_TESTS_KUBESIM_KUBESIM_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/kubesim/kubesim.h"

namespace nave::kubesim {

class KubeSimTest : public testing::Test {
 protected:
  KubeSimTest() { Namespace("a"); }

  SimResponse Do(SimRequest request) { return sim_.Handle(request, now_); }

  SimRequest For(absl::string_view resource, absl::string_view ns, absl::string_view name,
                 SimRequest::Verb verb) {
    SimRequest request;
    for (const KindInfo* kind : sim_.Kinds()) {
      if (kind->Resource() != resource) continue;
      request.group = kind->group;
      request.version = kind->version;
      request.plural = kind->plural;
    }
    request.ns = std::string(ns);
    request.name = std::string(name);
    request.verb = verb;
    return request;
  }

  SimResponse Create(absl::string_view resource, absl::string_view ns, absl::string_view body) {
    SimRequest request = For(resource, ns, "", SimRequest::Verb::kCreate);
    request.body = std::string(body);
    request.field_manager = "creator";
    return Do(request);
  }

  SimRequest ApplyOf(absl::string_view resource, absl::string_view ns, absl::string_view name,
                     absl::string_view body, absl::string_view manager = "m", bool force = false) {
    SimRequest request = For(resource, ns, name, SimRequest::Verb::kPatch);
    request.body = std::string(body);
    request.field_manager = std::string(manager);
    request.field_validation = "Strict";
    request.force = force;
    return request;
  }
  SimResponse Apply(absl::string_view resource, absl::string_view ns, absl::string_view name,
                    absl::string_view body, absl::string_view manager = "m", bool force = false) {
    return Do(ApplyOf(resource, ns, name, body, manager, force));
  }
  SimResponse ApplyMap(absl::string_view data, absl::string_view manager = "m", bool force = false,
                       absl::string_view metadata = "") {
    return Apply("configmaps", "a", "x",
                 absl::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x")",
                              metadata, R"(},"data":)", data, "}"),
                 manager, force);
  }

  void Namespace(absl::string_view name) {
    Create("namespaces", "", absl::StrCat(R"({"metadata":{"name":")", name, R"("}})"));
    Settle();
  }
  SimResponse Delete(absl::string_view resource, absl::string_view ns, absl::string_view name,
                     absl::string_view body = "") {
    SimRequest request = For(resource, ns, name, SimRequest::Verb::kDelete);
    request.body = std::string(body);
    return Do(request);
  }
  // Lets everything happen that happens without waiting.
  void Settle() { sim_.Step(now_); }
  void Wait(absl::Duration duration) {
    absl::Time end = now_ + duration;
    while (sim_.NextStep() <= end) {
      now_ = std::max(now_, sim_.NextStep());
      sim_.Step(now_);
    }
    now_ = end;
  }
  std::string Version(absl::string_view resource, absl::string_view ns, absl::string_view name) {
    ObjectPtr found = sim_.Find(resource, ns, name);
    return found == nullptr ? "" : found->StringAt("metadata", "resourceVersion");
  }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  KubeSim sim_{KubeSimOptions(), now_};
};

inline constexpr char kDeployment[] =
    R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},
  "spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},
  "spec":{"containers":[{"name":"c","image":"nginx:1","ports":[{"containerPort":80}]}]}}}})";

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_KUBESIM_FIXTURE_H_
