#include "hub/fleet/live.h"

#include <algorithm>
#include <utility>

namespace nave {
namespace {

constexpr size_t kUnknownMax = 1000;

}  // namespace

LiveTable::Map LiveTable::Snapshot() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return clusters_;
}

std::shared_ptr<const ClusterLive> LiveTable::Find(const Uuid& cluster) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return clusters_.Find(cluster);
}

void LiveTable::Set(const Uuid& cluster, std::shared_ptr<const ClusterLive> live) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    clusters_.Set(cluster, std::move(live));
  }
  if (on_change_) on_change_(cluster);
}

void LiveTable::Erase(const Uuid& cluster) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    clusters_.Erase(cluster);
  }
  if (on_change_) on_change_(cluster);
}

void LiveTable::NoteUnknown(const UnknownCluster& unknown) {
  std::lock_guard<std::mutex> lock(mutex_);
  UnknownCluster& entry = unknown_[unknown.uid];
  uint32_t generation = std::max(entry.generation, unknown.generation);
  entry = unknown;
  entry.generation = generation;
  if (unknown_.size() <= kUnknownMax) return;
  auto oldest = std::min_element(
      unknown_.begin(), unknown_.end(),
      [](const auto& a, const auto& b) { return a.second.last_seen < b.second.last_seen; });
  unknown_.erase(oldest);
}

void LiveTable::ForgetUnknown(const Uuid& cluster) {
  std::lock_guard<std::mutex> lock(mutex_);
  unknown_.erase(cluster);
}

std::vector<UnknownCluster> LiveTable::Unknown() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<UnknownCluster> unknown;
  for (const auto& [uid, entry] : unknown_) unknown.push_back(entry);
  return unknown;
}

StatusSummary Summarize(const Uuid& cluster, const ClusterLive& live) {
  StatusSummary summary;
  summary.cluster = cluster;
  summary.hold_reason = live.hold_reason;
  summary.agent_version = live.agent_version;
  summary.last_seen = live.last_seen();
  summary.facts = live.facts;
  for (const auto& [bundle, status] : live.assignments) {
    StatusSummary::Assignment assignment;
    assignment.bundle = bundle;
    assignment.name = status->name;
    assignment.revision = status->revision;
    assignment.digest = status->digest;
    assignment.phase = status->phase;
    assignment.health = status->health;
    assignment.counts = status->counts;
    assignment.reason = status->reason;
    assignment.since = status->since;
    summary.assignments.push_back(std::move(assignment));
  }
  return summary;
}

ClusterLive FromSummary(const StatusSummary& summary) {
  ClusterLive live;
  live.hold_reason = summary.hold_reason;
  live.agent_version = summary.agent_version;
  live.facts = summary.facts;
  live.last_seen_ns = std::make_shared<std::atomic<int64_t>>(absl::ToUnixNanos(summary.last_seen));
  for (const StatusSummary::Assignment& assignment : summary.assignments) {
    auto status = std::make_shared<AssignmentStatus>();
    status->key = assignment.bundle;
    status->name = assignment.name;
    status->revision = assignment.revision;
    status->digest = assignment.digest;
    status->phase = assignment.phase;
    status->health = assignment.health;
    status->counts = assignment.counts;
    status->reason = assignment.reason;
    status->since = assignment.since;
    status->not_ok_total = assignment.counts.not_ok;
    live.assignments[assignment.bundle] = std::move(status);
  }
  return live;
}

}  // namespace nave
