// What probes and metrics say of a running agent. Written by the loop, read by the thread of the
// probes.
#ifndef NAVE_AGENT_REPORT_H_
#define NAVE_AGENT_REPORT_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "absl/time/time.h"

namespace nave {

// Times are those of the agent's clock (BootTime in a process).
struct AgentReport {
  // When the loop last said that it lives.
  absl::Time beat = absl::InfinitePast();
  bool leading = false;
  // The Lease was last read or written.
  absl::Time lease_contact = absl::InfinitePast();
  // A live session.
  bool live = false;
  // Reason words; empty: none.
  std::string hold_reason;
  // What the leader waits for, for people: "an identity", "its state", "the hub". Empty: nothing.
  std::string waits_for;
  std::string cluster_name;
  uint64_t dials = 0;
  uint64_t sessions = 0;
  // Ends of the session by cause, and certificates made.
  uint64_t streams_lost = 0;
  uint64_t renewals = 0;
  absl::Time certificate_not_after = absl::InfinitePast();
  // Keys by phase.
  std::map<std::string, uint32_t> phases;
};

// Thread-safe.
class ReportBoard {
 public:
  void Put(AgentReport report) {
    std::lock_guard<std::mutex> lock(mutex_);
    report_ = std::move(report);
  }
  AgentReport Get() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return report_;
  }

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  AgentReport report_;
};

// "" when the probe passes, else why it does not. Pure.
// Alive: the loop works. Losing the hub or the API server is no reason to be restarted.
std::string LivenessProblem(const AgentReport& report, absl::Time now);
// Ready: leading with a live session, or a standby that saw the Lease in the last 30 s.
std::string ReadinessProblem(const AgentReport& report, absl::Time now);
// Prometheus text; `resident_bytes` is the process's.
std::string FormatMetrics(const AgentReport& report, const std::string& version,
                          uint64_t resident_bytes, absl::Time now);

}  // namespace nave

#endif  // NAVE_AGENT_REPORT_H_
