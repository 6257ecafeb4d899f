#include "cli/commands/follow.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/resources/fetch.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"

namespace nave::cli {
namespace {

using google::protobuf::Message;

constexpr absl::Duration kRetryMin = absl::Milliseconds(500);
constexpr absl::Duration kRetryMax = absl::Seconds(10);
constexpr absl::Duration kPoll = absl::Seconds(1);

bool MustStartAnew(const absl::Status& status) {
  return status.code() == absl::StatusCode::kOutOfRange ||
         status.code() == absl::StatusCode::kResourceExhausted;
}

// Kinds without a watch are asked again and again.
absl::Status PollOne(Session& session, HubClient* hub, const Target& target, absl::Time deadline,
                     absl::FunctionRef<bool(const Message*)> on_state) {
  while (true) {
    auto found = FetchOne(hub, target);
    if (!found.ok() && found.status().code() != absl::StatusCode::kNotFound) return found.status();
    if (!on_state(found.ok() ? found->get() : nullptr)) return absl::OkStatus();
    if (session.Now() >= deadline) return MakeError(Reason::kTimeout, "the time ran out");
    session.Sleep(kPoll);
  }
}

}  // namespace

std::string ParentOf(const Target& target) {
  std::string project = ProjectOf(target.name);
  return project.empty() ? "" : ProjectName(project);
}

absl::Status Follow(Session& session, const KindInfo& kind, const ListOptions& options,
                    absl::Time deadline, absl::FunctionRef<bool(const WatchEvent&)> on_event) {
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  std::string resume;
  absl::Duration wait = kRetryMin;
  bool ever = false;
  while (true) {
    MessagePtr request = MakeWatchRequest(kind, options, resume);
    if (request == nullptr) {
      return MakeError(Reason::kUsageInvalid,
                       absl::StrCat("a ", KindWord(kind), " cannot be watched"));
    }
    MessagePtr response = NewMessage(*MethodOf(*request)->output_type());
    bool stopped = false;
    if (resume.empty() && !on_event({WatchEvent::Type::kRestart, nullptr, ""}))
      return absl::OkStatus();
    absl::Status status = hub->Stream(*request, deadline, response.get(), [&] {
      WatchEvent event = WatchEventOf(*response);
      ever = true;
      wait = kRetryMin;
      // What comes before SYNCED is no point to resume from: the rest of the items would be missed.
      if (event.type == WatchEvent::Type::kSynced || !resume.empty())
        resume = event.resource_version;
      stopped = !on_event(event);
      return !stopped;
    });
    if (stopped) return absl::OkStatus();
    if (MustStartAnew(status)) {
      resume.clear();
    } else if (status.code() != absl::StatusCode::kUnavailable || !ever) {
      return status;
    }
    if (session.Now() + wait >= deadline) return MakeError(Reason::kTimeout, "the time ran out");
    if (status.code() == absl::StatusCode::kUnavailable && wait == kRetryMin) {
      session.Say("The hub does not answer; trying again.\n");
    }
    session.Sleep(wait);
    wait = std::min(wait * 2, kRetryMax);
  }
}

absl::Status FollowOne(Session& session, const Target& target, absl::Time deadline,
                       absl::FunctionRef<bool(const Message*)> on_state) {
  ASSIGN_OR_RETURN(HubClient * hub, session.Hub());
  ListOptions options;
  options.parent = ParentOf(target);
  if (MakeWatchRequest(*target.kind, options, "") == nullptr)
    return PollOne(session, hub, target, deadline, on_state);
  bool seen = false;
  return Follow(session, *target.kind, options, deadline, [&](const WatchEvent& event) {
    if (event.type == WatchEvent::Type::kRestart) seen = false;
    if (event.type == WatchEvent::Type::kSynced) return seen ? true : on_state(nullptr);
    if (event.item == nullptr || NameOf(*event.item) != target.name) return true;
    seen = event.type == WatchEvent::Type::kItem;
    return on_state(seen ? event.item : nullptr);
  });
}

}  // namespace nave::cli
