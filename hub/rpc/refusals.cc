#include "hub/rpc/refusals.h"

#include "absl/strings/string_view.h"
#include "common/base/error.h"

namespace nave {
namespace {

// "ipv4:10.0.0.1:5234" without the port, which is another one in each connection.
std::string HostOf(absl::string_view address) {
  size_t colon = address.rfind(':');
  return std::string(colon == absl::string_view::npos ? address : address.substr(0, colon));
}

}  // namespace

void Refusals::Add(const Caller& caller, const std::string& method, const absl::Status& status,
                   absl::Time now) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::pair<std::string, std::string> key(caller.user, HostOf(caller.address));
  if (records_.size() >= kCallersMax && records_.count(key) == 0) key = {"", "many"};
  AuditRecord& record = records_[key];
  record.count = record.user.empty() && record.method.empty() ? 1 : record.count + 1;
  record.time = now;
  record.user = key.first;
  record.from = key.second;
  record.method = method;
  record.result = ErrorReason(status);
  record.detail = std::string(status.message());
}

std::vector<AuditRecord> Refusals::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<AuditRecord> taken;
  for (auto& [key, record] : records_) taken.push_back(std::move(record));
  records_.clear();
  return taken;
}

bool Refusals::empty() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return records_.empty();
}

}  // namespace nave
