// The only file that sees prometheus-cpp.
#include "common/metrics/metrics.h"

#include <dirent.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace nave {
namespace {

prometheus::Labels ToLabels(const MetricLabels& labels) {
  return prometheus::Labels(labels.begin(), labels.end());
}

class CounterOf : public Counter {
 public:
  explicit CounterOf(prometheus::Counter& counter) : counter_(counter) {}
  void Increment(double by) override { counter_.Increment(by); }

 private:
  prometheus::Counter& counter_;
};

class GaugeOf : public Gauge {
 public:
  explicit GaugeOf(prometheus::Gauge& gauge) : gauge_(gauge) {}
  void Set(double value) override { gauge_.Set(value); }
  void Add(double value) override { gauge_.Increment(value); }

 private:
  prometheus::Gauge& gauge_;
};

class HistogramOf : public Histogram {
 public:
  explicit HistogramOf(prometheus::Histogram& histogram) : histogram_(histogram) {}
  void Observe(double value) override { histogram_.Observe(value); }

 private:
  prometheus::Histogram& histogram_;
};

class PrometheusRegistry : public MetricRegistry {
 public:
  Counter& AddCounter(absl::string_view name, absl::string_view help,
                      const MetricLabels& labels) override {
    std::lock_guard lock(mutex_);
    prometheus::Counter& counter = prometheus::BuildCounter()
                                       .Name(std::string(name))
                                       .Help(std::string(help))
                                       .Register(registry_)
                                       .Add(ToLabels(labels));
    return Keep<Counter>(counters_, std::make_unique<CounterOf>(counter));
  }

  Gauge& AddGauge(absl::string_view name, absl::string_view help,
                  const MetricLabels& labels) override {
    std::lock_guard lock(mutex_);
    return Keep<Gauge>(gauges_, std::make_unique<GaugeOf>(RegisterGauge(name, help, labels)));
  }

  Histogram& AddHistogram(absl::string_view name, absl::string_view help,
                          const std::vector<double>& bounds, const MetricLabels& labels) override {
    std::lock_guard lock(mutex_);
    prometheus::Histogram& histogram = prometheus::BuildHistogram()
                                           .Name(std::string(name))
                                           .Help(std::string(help))
                                           .Register(registry_)
                                           .Add(ToLabels(labels), bounds);
    return Keep<Histogram>(histograms_, std::make_unique<HistogramOf>(histogram));
  }

  void AddGaugeFunction(absl::string_view name, absl::string_view help,
                        std::function<double()> read, const MetricLabels& labels) override {
    std::lock_guard lock(mutex_);
    functions_.emplace_back(&RegisterGauge(name, help, labels), std::move(read));
  }

  void RemoveFunctions() override {
    std::lock_guard lock(mutex_);
    functions_.clear();
  }

  std::string Text() const override {
    {
      std::lock_guard lock(mutex_);
      for (const auto& [gauge, read] : functions_) gauge->Set(read());
    }
    std::vector<prometheus::MetricFamily> families = registry_.Collect();
    std::sort(families.begin(), families.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    for (prometheus::MetricFamily& family : families) {
      std::sort(family.metric.begin(), family.metric.end(),
                [](const auto& a, const auto& b) { return a.label < b.label; });
    }
    std::ostringstream out;
    prometheus::TextSerializer().Serialize(out, families);
    return out.str();
  }

 private:
  prometheus::Gauge& RegisterGauge(absl::string_view name, absl::string_view help,
                                   const MetricLabels& labels) {
    return prometheus::BuildGauge()
        .Name(std::string(name))
        .Help(std::string(help))
        .Register(registry_)
        .Add(ToLabels(labels));
  }

  template <typename T>
  static T& Keep(std::deque<std::unique_ptr<T>>& kept, std::unique_ptr<T> metric) {
    kept.push_back(std::move(metric));
    return *kept.back();
  }

  mutable std::mutex mutex_;  // Guards what follows; the registry has a lock of its own.
  prometheus::Registry registry_;
  std::deque<std::unique_ptr<Counter>> counters_;
  std::deque<std::unique_ptr<Gauge>> gauges_;
  std::deque<std::unique_ptr<Histogram>> histograms_;
  std::vector<std::pair<prometheus::Gauge*, std::function<double()>>> functions_;
};

// Field `number` of /proc/self/stat, counted from 1 as in proc(5); 0 when it cannot be read.
double StatField(size_t number) {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  // The second field, the program's name, may have spaces; the last ')' ends it.
  const size_t end = line.rfind(')');
  if (end == std::string::npos) return 0;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(line).substr(end + 2), ' ');
  double value = 0;
  if (number < 3 || number - 3 >= fields.size() || !absl::SimpleAtod(fields[number - 3], &value))
    return 0;
  return value;
}

double OpenDescriptors() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int count = -3;  // ".", ".." and the folder's own.
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

double StartTime() {
  std::ifstream file("/proc/uptime");
  double up = 0;
  file >> up;
  const double age = up - StatField(22) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<double>(time(nullptr)) - age;
}

}  // namespace

std::unique_ptr<MetricRegistry> MakeMetricRegistry() {
  return std::make_unique<PrometheusRegistry>();
}

void AddProcessMetrics(MetricRegistry& registry, absl::string_view version) {
  static const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const double page = static_cast<double>(sysconf(_SC_PAGESIZE));
  registry.AddGaugeFunction("process_resident_memory_bytes", "Resident memory.",
                            [] { return StatField(24) * page; });
  registry.AddGaugeFunction("process_cpu_seconds_total", "CPU time, user and system.",
                            [] { return (StatField(14) + StatField(15)) / ticks; });
  registry.AddGaugeFunction("process_threads", "Threads.", [] { return StatField(20); });
  registry.AddGaugeFunction("process_open_fds", "Open file descriptors.", OpenDescriptors);
  registry.AddGauge("process_start_time_seconds", "Start of the process, seconds since 1970.")
      .Set(StartTime());
  registry
      .AddGauge("build_info", "Always 1; the label says what was built.",
                {{"version", std::string(version)}})
      .Set(1);
}

}  // namespace nave
