// The registry's text, and that concurrent use counts everything.
#include "common/metrics/metrics.h"

#include <thread>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nave {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metrics, TextIsSortedByNameAndLabel) {
  const std::unique_ptr<MetricRegistry> registry = MakeMetricRegistry();
  registry->AddGauge("nave_hub_z", "Last.").Set(2.5);
  registry->AddCounter("nave_hub_a_total", "First.", {{"result", "refused"}}).Increment();
  registry->AddCounter("nave_hub_a_total", "First.", {{"result", "accepted"}}).Increment(3);
  EXPECT_EQ(registry->Text(),
            "# HELP nave_hub_a_total First.\n"
            "# TYPE nave_hub_a_total counter\n"
            "nave_hub_a_total{result=\"accepted\"} 3\n"
            "nave_hub_a_total{result=\"refused\"} 1\n"
            "# HELP nave_hub_z Last.\n"
            "# TYPE nave_hub_z gauge\n"
            "nave_hub_z 2.5\n");
}

TEST(Metrics, SameNameAndLabelsAreOneMetric) {
  const std::unique_ptr<MetricRegistry> registry = MakeMetricRegistry();
  registry->AddCounter("nave_hub_a_total", "A.").Increment();
  registry->AddCounter("nave_hub_a_total", "A.").Increment();
  EXPECT_THAT(registry->Text(), HasSubstr("nave_hub_a_total 2\n"));
}

TEST(Metrics, HistogramHasCumulativeBuckets) {
  const std::unique_ptr<MetricRegistry> registry = MakeMetricRegistry();
  Histogram& histogram = registry->AddHistogram("nave_hub_lag_seconds", "Lag.", {0.1, 1});
  for (double value : {0.05, 0.5, 0.5, 5.0}) histogram.Observe(value);
  const std::string text = registry->Text();
  EXPECT_THAT(text, HasSubstr("nave_hub_lag_seconds_bucket{le=\"0.1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("nave_hub_lag_seconds_bucket{le=\"1\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("nave_hub_lag_seconds_bucket{le=\"+Inf\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("nave_hub_lag_seconds_count 4\n"));
}

TEST(Metrics, FunctionsAreReadAtEachTextUntilRemoved) {
  const std::unique_ptr<MetricRegistry> registry = MakeMetricRegistry();
  int reads = 0;
  registry->AddGaugeFunction("nave_hub_reads", "Reads.", [&] { return ++reads; });
  EXPECT_THAT(registry->Text(), HasSubstr("nave_hub_reads 1\n"));
  EXPECT_THAT(registry->Text(), HasSubstr("nave_hub_reads 2\n"));
  registry->RemoveFunctions();
  registry->Text();
  EXPECT_EQ(reads, 2);
}

TEST(Metrics, LabelValuesAreEscaped) {
  const std::unique_ptr<MetricRegistry> registry = MakeMetricRegistry();
  registry->AddGauge("nave_hub_a", "A.", {{"text", "a\"b\\c\nd"}}).Set(1);
  EXPECT_THAT(registry->Text(), HasSubstr("nave_hub_a{text=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

TEST(Metrics, ThreadsLoseNothing) {
  const std::unique_ptr<MetricRegistry> registry = MakeMetricRegistry();
  Counter& counter = registry->AddCounter("nave_hub_a_total", "A.");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10000; ++n) counter.Increment();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(registry->Text(), HasSubstr("nave_hub_a_total 40000\n"));
}

TEST(Metrics, ProcessMetricsAreRead) {
  const std::unique_ptr<MetricRegistry> registry = MakeMetricRegistry();
  AddProcessMetrics(*registry, "1.2.3");
  const std::string text = registry->Text();
  EXPECT_THAT(text, HasSubstr("build_info{version=\"1.2.3\"} 1\n"));
  for (const char* name : {"process_resident_memory_bytes", "process_threads", "process_open_fds",
                           "process_start_time_seconds"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + name + " "));
    EXPECT_THAT(text, Not(HasSubstr(std::string("\n") + name + " 0\n"))) << name;
  }
}

}  // namespace
}  // namespace nave
