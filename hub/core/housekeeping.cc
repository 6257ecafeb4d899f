#include "hub/core/housekeeping.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "hub/ca/server_certificate.h"
#include "hub/records/codec.h"
#include "hub/records/keys.h"

namespace nave {
namespace {

constexpr absl::Duration kRoundEvery = absl::Hours(1);
// Deletions of one transaction.
constexpr size_t kDeletesMax = 90;

void LogIfFailed(absl::string_view what, const absl::Status& status) {
  if (!status.ok())
    LogWarning("housekeeping is put off", {{"what", what}, {"error", status.message()}});
}

}  // namespace

absl::StatusOr<size_t> PruneEvents(RecordStore* records, absl::Time now) {
  std::vector<std::pair<absl::Time, std::string>> events;
  RETURN_IF_ERROR(
      ForEachRecord(*records->store(), KindPrefix(KeyKind::kEvent), 0, [&](const KeyValue& kv) {
        absl::StatusOr<Event> event = DecodeRecord<Event>(kv.value);
        // One that cannot be read is the first to go.
        events.emplace_back(event.ok() ? event->last_time : absl::InfinitePast(), kv.key);
        return absl::OkStatus();
      }));
  std::sort(events.begin(), events.end());
  size_t too_many = events.size() > kEventsMax ? events.size() - kEventsMax : 0;
  size_t going = too_many;
  while (going < events.size() && events[going].first < now - kEventsFor) ++going;
  for (size_t begin = 0; begin < going; begin += kDeletesMax) {
    RecordTxn txn;
    for (size_t i = begin; i < std::min(going, begin + kDeletesMax); ++i)
      txn.Delete(events[i].second);
    RETURN_IF_ERROR(records->Commit(std::move(txn)).status());
  }
  return going;
}

Housekeeping::Housekeeping(Parts parts)
    : parts_(std::move(parts)), collector_(parts_.records, parts_.blobs) {}

void Housekeeping::Start() {
  parts_.executor->PostAfter(kRoundEvery, [this] {
    Round();
    Start();
  });
}

void Housekeeping::Round() {
  absl::Time now = parts_.executor->Now();
  LogIfFailed("events", PruneEvents(parts_.records, now).status());
  LogIfFailed("content", collector_.Collect(now).status());
  LogIfFailed("server certificate",
              EnsureServerCertificate(parts_.server_paths, *parts_.ca->Authority(),
                                      parts_.server_names, now)
                  .status());
}

}  // namespace nave
