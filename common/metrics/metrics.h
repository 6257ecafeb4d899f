// The metrics of a process, in the text form that Prometheus reads.
//
// Names follow the Prometheus conventions: prefix nave_hub_ or nave_agent_, base units (seconds,
// bytes), _total for counters. Labels have few values: never the name of a cluster, bundle or
// object.
#ifndef NAVE_COMMON_METRICS_METRICS_H_
#define NAVE_COMMON_METRICS_METRICS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace nave {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

// Counts events; never falls. Thread-safe, lock-free.
class Counter {
 public:
  virtual ~Counter() = default;
  virtual void Increment(double by = 1) = 0;
};

// A value that goes up and down. Thread-safe, lock-free.
class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void Set(double value) = 0;
  virtual void Add(double value) = 0;
};

// Counts observations by size. Thread-safe.
class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void Observe(double value) = 0;
};

// Thread-safe. What Add… returns is owned by the registry and lives as long. The same name with the
// same labels gives the same metric again. A name belongs to one kind of metric and has one help
// text; a name or label that Prometheus does not allow, or a name used for two kinds, is a mistake
// of the caller and ends the process.
class MetricRegistry {
 public:
  virtual ~MetricRegistry() = default;
  virtual Counter& AddCounter(absl::string_view name, absl::string_view help,
                              const MetricLabels& labels = {}) = 0;
  virtual Gauge& AddGauge(absl::string_view name, absl::string_view help,
                          const MetricLabels& labels = {}) = 0;
  // `bounds`: upper bounds of the buckets, rising; the last bucket (+Inf) is added. Those of a
  // name's first use count.
  virtual Histogram& AddHistogram(absl::string_view name, absl::string_view help,
                                  const std::vector<double>& bounds,
                                  const MetricLabels& labels = {}) = 0;
  // A gauge whose value is read by each Text(), on that thread. `read` must be thread-safe; call
  // RemoveFunctions before anything that it uses goes.
  virtual void AddGaugeFunction(absl::string_view name, absl::string_view help,
                                std::function<double()> read, const MetricLabels& labels = {}) = 0;
  // No function of AddGaugeFunction runs after this returns.
  virtual void RemoveFunctions() = 0;
  // The exposition format, version 0.0.4: serve it as kMetricsContentType. Metrics come sorted by
  // name.
  virtual std::string Text() const = 0;
};

std::unique_ptr<MetricRegistry> MakeMetricRegistry();

inline constexpr char kMetricsContentType[] = "text/plain; version=0.0.4; charset=utf-8";

// Adds process_resident_memory_bytes, process_cpu_seconds_total, process_open_fds, process_threads
// and process_start_time_seconds as gauges that are read from /proc, and build_info{version}.
void AddProcessMetrics(MetricRegistry& registry, absl::string_view version);

}  // namespace nave

#endif  // NAVE_COMMON_METRICS_METRICS_H_
