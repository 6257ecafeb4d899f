#include "agent/observe/catalog.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"

namespace nave {
namespace {

constexpr absl::Duration kIntervalMin = absl::Seconds(1);
constexpr absl::Duration kRetryMax = absl::Seconds(30);

}  // namespace

Catalog::Catalog(KubeClient& kube, Executor& executor)
    : executor_(executor), cache_(kube, executor) {}

Catalog::~Catalog() { Stop(); }

void Catalog::Stop() {
  stopped_ = true;
  if (timer_ != 0) executor_.Cancel(std::exchange(timer_, 0));
  alive_.reset();
}

void Catalog::Refresh() {
  wanted_ = true;
  if (stopped_ || running_ || timer_ != 0) return;
  const absl::Time earliest = last_start_ + kIntervalMin;
  if (executor_.Now() >= earliest) {
    Start();
    return;
  }
  timer_ = executor_.PostAt(earliest, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    timer_ = 0;
    Start();
  });
}

void Catalog::Start() {
  if (stopped_) return;
  running_ = true;
  wanted_ = false;
  last_start_ = executor_.Now();
  cache_.Refresh([this, alive = std::weak_ptr<bool>(alive_)](KubeError error) {
    if (!alive.expired()) OnDiscovered(error);
  });
}

void Catalog::OnDiscovered(const KubeError& error) {
  running_ = false;
  if (!error.ok()) {
    LogWarning("discovery failed", {{"error", error.message}});
    const absl::Duration delay =
        std::min(kIntervalMin * (1 << std::min(failures_++, 5)), kRetryMax);
    timer_ = executor_.PostAfter(delay, [this, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.expired()) return;
      timer_ = 0;
      Start();
    });
    return;
  }
  failures_ = 0;
  if (on_refreshed) on_refreshed();
  if (wanted_) Refresh();
}

const ResourceType* Catalog::Find(absl::string_view group, absl::string_view kind,
                                  absl::string_view version) const {
  for (const ResourceType& type : cache_.types()) {
    if (type.kind == kind && type.group == group && type.version == version) return &type;
  }
  return nullptr;
}

const ResourceType* Catalog::FindAny(absl::string_view group, absl::string_view kind) const {
  for (const ResourceType& type : cache_.types()) {
    if (type.kind == kind && type.group == group) return &type;
  }
  return nullptr;
}

const ResourceType* Catalog::FindFor(absl::string_view group, absl::string_view kind,
                                     absl::string_view version) const {
  const ResourceType* exact = Find(group, kind, version);
  return exact != nullptr ? exact : FindAny(group, kind);
}

bool Catalog::IsUncertain(absl::string_view group) const {
  const std::vector<std::string>& failed = failed_groups();
  return !known() || std::find(failed.begin(), failed.end(), group) != failed.end();
}

std::vector<const ResourceType*> Catalog::Preferred() const {
  std::vector<const ResourceType*> preferred;
  std::set<std::pair<absl::string_view, absl::string_view>> seen;
  for (const ResourceType& type : cache_.types()) {
    if (seen.emplace(type.group, type.plural).second) preferred.push_back(&type);
  }
  return preferred;
}

}  // namespace nave
