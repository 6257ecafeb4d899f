// Quantities and nodes; what the probes say.
#include "agent/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/report.h"
#include "common/value/codec.h"

namespace nave {
namespace {

TEST(Facts, Quantities) {
  struct Case {
    const char* text;
    uint64_t millis;
  };
  const Case cases[] = {
      {"4", 4000},      {"3920m", 3920}, {"0.5", 500}, {"1Ki", 1024000}, {"16Gi", 17179869184000},
      {"1e3", 1000000}, {"", 0},         {"x", 0},     {"-1", 0},        {"5Zi", 0}};
  for (const Case& c : cases) EXPECT_EQ(ParseQuantityMillis(c.text), c.millis) << c.text;
}

TEST(Facts, NodesAreCounted) {
  Facts facts;
  for (const char* ready : {"True", "False"}) {
    Value node = ParseJson(R"({"status":{"nodeInfo":{"kubeletVersion":"v1.34.1"},
      "allocatable":{"cpu":"1500m","memory":"2Ki"}}})")
                     .value();
    Value condition{Object{}};
    condition["type"] = "Ready";
    condition["status"] = ready;
    node["status"]["conditions"] = Array{condition};
    AddNode(node, &facts);
  }
  EXPECT_EQ(facts.nodes, 2u);
  EXPECT_EQ(facts.nodes_ready, 1u);
  EXPECT_EQ(facts.node_versions.at("v1.34.1"), 2u);
  EXPECT_EQ(facts.cpu_millis, 3000u);
  EXPECT_EQ(facts.memory_bytes, 4096u);
}

TEST(Report, Probes) {
  const absl::Time now = absl::FromUnixSeconds(1000);
  AgentReport report;
  report.beat = now;
  EXPECT_EQ(LivenessProblem(report, now), "");
  EXPECT_NE(LivenessProblem(report, now + absl::Minutes(2)), "");
  EXPECT_NE(ReadinessProblem(report, now), "");
  report.lease_contact = now - absl::Seconds(30);
  EXPECT_EQ(ReadinessProblem(report, now), "");
  report.leading = true;
  report.waits_for = "an identity";
  EXPECT_THAT(ReadinessProblem(report, now), testing::HasSubstr("an identity"));
  report.live = true;
  EXPECT_EQ(ReadinessProblem(report, now), "");
}

TEST(Report, MetricsAreText) {
  AgentReport report;
  report.phases["Applied"] = 3;
  report.hold_reason = "StateLost";
  const std::string text = FormatMetrics(report, "1.2.3", 42, absl::FromUnixSeconds(1));
  EXPECT_THAT(text, testing::HasSubstr("nave_agent_assignments{phase=\"Applied\"} 3\n"));
  EXPECT_THAT(text, testing::HasSubstr("nave_agent_on_hold{reason=\"StateLost\"} 1\n"));
  EXPECT_THAT(text, testing::HasSubstr("process_resident_memory_bytes 42\n"));
}

}  // namespace
}  // namespace nave
