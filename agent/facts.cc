#include "agent/facts.h"

#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "common/base/log.h"

namespace nave {
namespace {

constexpr absl::Duration kInterval = absl::Minutes(5);
constexpr size_t kNodesPerPage = 50;

struct Suffix {
  absl::string_view text;
  double factor;
};
constexpr Suffix kSuffixes[] = {{"m", 1e-3},
                                {"k", 1e3},
                                {"M", 1e6},
                                {"G", 1e9},
                                {"T", 1e12},
                                {"P", 1e15},
                                {"Ki", 1024.0},
                                {"Mi", 1048576.0},
                                {"Gi", 1073741824.0},
                                {"Ti", 1099511627776.0},
                                {"Pi", 1125899906842624.0},
                                {"", 1.0}};

const ResourceType& NodeType() {
  static const auto& type =
      *new ResourceType{"", "v1", "Node", "nodes", false, {"get", "list", "watch"}};
  return type;
}

}  // namespace

uint64_t ParseQuantityMillis(absl::string_view text) {
  const size_t end = text.find_first_not_of("0123456789.eE+-");
  const absl::string_view suffix = end == absl::string_view::npos ? "" : text.substr(end);
  double number = 0;
  if (!absl::SimpleAtod(text.substr(0, text.size() - suffix.size()), &number) || number < 0) {
    return 0;
  }
  for (const Suffix& known : kSuffixes) {
    if (known.text != suffix) continue;
    const double millis = number * known.factor * 1000;
    return millis < 1e18 ? static_cast<uint64_t>(std::llround(millis)) : 0;
  }
  return 0;
}

void AddNode(const Value& node, Facts* facts) {
  ++facts->nodes;
  std::string version = node.StringAt("status", "nodeInfo", "kubeletVersion");
  if (!version.empty()) ++facts->node_versions[version];
  facts->cpu_millis += ParseQuantityMillis(node.StringAt("status", "allocatable", "cpu"));
  facts->memory_bytes +=
      ParseQuantityMillis(node.StringAt("status", "allocatable", "memory")) / 1000;
  const Value* conditions = node.Find("status", "conditions");
  if (conditions == nullptr || conditions->array() == nullptr) return;
  for (const Value& condition : *conditions->array()) {
    if (condition.StringAt("type") == "Ready" && condition.StringAt("status") == "True") {
      ++facts->nodes_ready;
    }
  }
}

FactsReader::FactsReader(KubeClient& client, Executor& executor,
                         std::function<void(const Facts&)> on_facts)
    : client_(client), executor_(executor), on_facts_(std::move(on_facts)) {}

FactsReader::~FactsReader() { executor_.Cancel(timer_); }

template <typename F>
auto FactsReader::Guarded(F task) {
  return [alive = std::weak_ptr<bool>(alive_), task = std::move(task)](auto&&... args) mutable {
    if (alive.lock() != nullptr) task(std::forward<decltype(args)>(args)...);
  };
}

void FactsReader::Start() { ReadVersion(); }

void FactsReader::ReadVersion() {
  reading_ = Facts{};
  client_.GetServerVersion(Guarded([this](KubeResult result) {
    reading_.kubernetes_version =
        result.error.ok() ? result.object.StringAt("gitVersion") : known_.kubernetes_version;
    ReadNodes("");
  }));
}

void FactsReader::ReadNodes(std::string continue_token) {
  ListRequest request;
  request.type = NodeType();
  request.limit = kNodesPerPage;
  request.continue_token = std::move(continue_token);
  client_.List(std::move(request), Guarded([this](ListPage page) {
                 if (!page.error.ok()) return End(/*nodes_read=*/false);
                 for (const Value& node : page.items) AddNode(node, &reading_);
                 if (!page.continue_token.empty()) return ReadNodes(std::move(page.continue_token));
                 End(/*nodes_read=*/true);
               }));
}

void FactsReader::End(bool nodes_read) {
  if (!nodes_read) {
    Facts facts = known_;
    facts.kubernetes_version = reading_.kubernetes_version;
    reading_ = std::move(facts);
  }
  timer_ = executor_.PostAfter(kInterval, Guarded([this] { ReadVersion(); }));
  if (reading_ == known_) return;
  known_ = reading_;
  on_facts_(known_);
}

}  // namespace nave
