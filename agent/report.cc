#include "agent/report.h"

#include "absl/strings/str_cat.h"

namespace nave {
namespace {

constexpr absl::Duration kBeatMax = absl::Minutes(1);
constexpr absl::Duration kStandbyContactMax = absl::Seconds(30);

void AddMetric(std::string* text, const char* name, const char* type, const char* help,
               const std::string& value, const std::string& labels = "") {
  absl::StrAppend(text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n", name,
                  labels, " ", value, "\n");
}

}  // namespace

std::string LivenessProblem(const AgentReport& report, absl::Time now) {
  if (now - report.beat <= kBeatMax) return "";
  return absl::StrCat("the loop has not run for ", absl::FormatDuration(now - report.beat));
}

std::string ReadinessProblem(const AgentReport& report, absl::Time now) {
  if (report.leading) {
    if (report.live) return "";
    return absl::StrCat("leading, waits for ",
                        report.waits_for.empty() ? "the hub" : report.waits_for);
  }
  if (now - report.lease_contact <= kStandbyContactMax) return "";
  return "standby, the Lease was not read in the last 30 s";
}

std::string FormatMetrics(const AgentReport& report, const std::string& version,
                          uint64_t resident_bytes, absl::Time now) {
  std::string text;
  auto flag = [](bool on) { return on ? std::string("1") : std::string("0"); };
  AddMetric(&text, "nave_agent_build_info", "gauge", "Version of the agent.", "1",
            absl::StrCat("{version=\"", version, "\"}"));
  AddMetric(&text, "nave_agent_leader", "gauge", "Whether this process leads.",
            flag(report.leading));
  AddMetric(&text, "nave_agent_connected", "gauge", "Whether a session with the hub lives.",
            flag(report.live));
  AddMetric(&text, "nave_agent_on_hold", "gauge", "Whether the agent takes nothing from the hub.",
            flag(!report.hold_reason.empty()),
            absl::StrCat("{reason=\"", report.hold_reason, "\"}"));
  AddMetric(&text, "nave_agent_dials_total", "counter", "Attempts to reach the hub.",
            absl::StrCat(report.dials));
  AddMetric(&text, "nave_agent_sessions_total", "counter", "Sessions that the hub welcomed.",
            absl::StrCat(report.sessions));
  AddMetric(&text, "nave_agent_streams_lost_total", "counter", "Streams that ended.",
            absl::StrCat(report.streams_lost));
  AddMetric(&text, "nave_agent_certificate_renewals_total", "counter", "Certificates renewed.",
            absl::StrCat(report.renewals));
  if (report.certificate_not_after != absl::InfinitePast()) {
    AddMetric(&text, "nave_agent_certificate_expiry_timestamp_seconds", "gauge",
              "End of the client certificate.",
              absl::StrCat(absl::ToUnixSeconds(report.certificate_not_after)));
  }
  absl::StrAppend(&text, "# HELP nave_agent_assignments Bundles on this cluster by phase.\n",
                  "# TYPE nave_agent_assignments gauge\n");
  for (const auto& [phase, count] : report.phases) {
    absl::StrAppend(&text, "nave_agent_assignments{phase=\"", phase, "\"} ", count, "\n");
  }
  AddMetric(&text, "nave_agent_loop_lag_seconds", "gauge", "Since the loop last ran.",
            absl::StrCat(absl::ToDoubleSeconds(now - report.beat)));
  AddMetric(&text, "process_resident_memory_bytes", "gauge", "Memory in use.",
            absl::StrCat(resident_bytes));
  return text;
}

}  // namespace nave
