// Notices two agents that use one identity and take the session from each other. Pure.
#ifndef NAVE_HUB_SESSION_DUPLICATE_WATCH_H_
#define NAVE_HUB_SESSION_DUPLICATE_WATCH_H_

#include <deque>
#include <map>

#include "absl/time/time.h"
#include "common/base/uuid.h"

namespace nave {

// Per cluster. A restarted agent is a new instance and never comes back as an old one, so restarts
// trip nothing; only an instance that was superseded and returns counts.
class DuplicateWatch {
 public:
  // `winner` got the session that `loser` (another instance) had.
  void OnSuperseded(const Uuid& winner, const Uuid& loser, absl::Time now) {
    superseded_[loser] = now;
    last_dial_[loser] = now;
    if (superseded_.erase(winner) > 0) comebacks_.push_back(now);
    while (!comebacks_.empty() && now - comebacks_.front() > absl::Minutes(1))
      comebacks_.pop_front();
  }
  // More than 3 comebacks in a minute.
  bool IsFight() const { return comebacks_.size() > 3; }
  // Every dial of a locked cluster.
  void OnDial(const Uuid& instance, absl::Time now) { last_dial_[instance] = now; }
  // One contender is left: nobody else dialled for 5 minutes.
  bool OthersSilent(const Uuid& instance, absl::Time now) const {
    for (const auto& [other, last] : last_dial_) {
      if (other != instance && now - last < absl::Minutes(5)) return false;
    }
    return true;
  }
  void Reset() { *this = DuplicateWatch(); }

 private:
  std::map<Uuid, absl::Time> superseded_;
  std::map<Uuid, absl::Time> last_dial_;
  std::deque<absl::Time> comebacks_;
};

}  // namespace nave

#endif  // NAVE_HUB_SESSION_DUPLICATE_WATCH_H_
