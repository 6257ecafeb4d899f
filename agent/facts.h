// What the spoke is: its version and its nodes, read from its API server now and then.
#ifndef NAVE_AGENT_FACTS_H_
#define NAVE_AGENT_FACTS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/kube/kube_client.h"
#include "common/model/cluster.h"
#include "common/runtime/executor.h"

namespace nave {

// A quantity of Kubernetes ("4", "3920m", "16Gi", "1e3") in thousandths; 0 for what cannot be read.
// Pure.
uint64_t ParseQuantityMillis(absl::string_view text);

// Adds a Node to the facts. Pure.
void AddNode(const Value& node, Facts* facts);

// Loop thread only; client and executor must outlive it. Reads at once and then every five minutes,
// each page of nodes on its own, so that a large cluster is never in memory as a whole. What is
// forbidden or fails stays as it was known.
class FactsReader {
 public:
  FactsReader(KubeClient& client, Executor& executor, std::function<void(const Facts&)> on_facts);
  ~FactsReader();
  FactsReader(const FactsReader&) = delete;
  FactsReader& operator=(const FactsReader&) = delete;

  void Start();

 private:
  void ReadVersion();
  void ReadNodes(std::string continue_token);
  void End(bool nodes_read);
  template <typename F>
  auto Guarded(F task);

  KubeClient& client_;
  Executor& executor_;
  const std::function<void(const Facts&)> on_facts_;
  Facts known_;
  Facts reading_;
  TimerId timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave

#endif  // NAVE_AGENT_FACTS_H_
