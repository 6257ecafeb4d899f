#include "agent/apply/apply_task.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/apply/retry.h"
#include "agent/observe/drift.h"
#include "agent/plan/body.h"
#include "agent/plan/compare.h"
#include "agent/plan/fields.h"

namespace nave {
namespace {

// "conflict with \"kubectl-edit\" using apps/v1: .spec.replicas" -> kubectl-edit
std::string ManagerOf(const KubeCause& cause) {
  std::vector<std::string> parts = absl::StrSplit(cause.message, '"');
  return parts.size() >= 3 ? parts[1] : "another manager";
}

// The server names the version of an Update, and the subresource that it went through.
bool IsPlainWrite(const KubeCause& cause) {
  return absl::StrContains(cause.message, " using ") &&
         !absl::StrContains(cause.message, " with subresource ");
}

// Our marks are never left to others.
bool IsMark(const std::string& path) {
  return path == absl::StrCat(".metadata.labels.", kAssignmentLabel) ||
         path == absl::StrCat(".metadata.annotations.", kOwnerAnnotation);
}

bool IsUidMismatch(const KubeError& error) {
  return error.error_class == KubeErrorClass::kInvalid &&
         std::any_of(error.causes.begin(), error.causes.end(),
                     [](const KubeCause& cause) { return cause.field == "metadata.uid"; });
}

}  // namespace

std::shared_ptr<ApplyTask> ApplyTask::Start(KubeClient& kube, ApplyJob job,
                                            std::function<bool()> may_write, Done done) {
  std::shared_ptr<ApplyTask> task(
      new ApplyTask(kube, std::move(job), std::move(may_write), std::move(done)));
  const ApplyJob& j = task->job_;
  task->sent_ = BodyDigest(j.body);
  task->previous_is_applied_ =
      j.entry && !j.previous.is_null() && BodyDigest(j.previous) == j.entry->sent;
  task->LeaveOutAgain();
  const bool known = j.entry && !j.entry->uid.empty();
  if (!known || j.must_read || j.contested || j.handed_over) {
    task->Read();
  } else {
    task->Send();
  }
  return task;
}

ApplyTask::ApplyTask(KubeClient& kube, ApplyJob job, std::function<bool()> may_write, Done done)
    : kube_(kube), job_(std::move(job)), may_write_(std::move(may_write)), done_(std::move(done)) {}

template <typename Method>
KubeClient::Callback<KubeResult> ApplyTask::Then(Method method) {
  return [self = shared_from_this(), method](KubeResult result) {
    if (self->done_) (self.get()->*method)(std::move(result));
  };
}

// What belonged to others at the last apply of this very body is not asked for again at every heal.
void ApplyTask::LeaveOutAgain() {
  if (job_.retry_left_out || !job_.entry || job_.entry->sent != sent_) return;
  for (const std::string& path : job_.entry->left_out) {
    if (RemovePath(path, job_.body)) left_out_.push_back(path);
  }
  if (!left_out_.empty()) {
    conflict_ = absl::StrCat("owned by other managers: ", absl::StrJoin(left_out_, ", "));
  }
}

void ApplyTask::Read() {
  if (++reads_ > kReadsMax) {
    KubeError error;
    error.error_class = KubeErrorClass::kConflict;
    error.message = "the object changes faster than it can be applied";
    Fail(std::move(error));
    return;
  }
  kube_.Get(job_.type, job_.key.ns, job_.key.name, Then(&ApplyTask::OnRead));
}

void ApplyTask::OnRead(KubeResult result) {
  if (result.error.error_class == KubeErrorClass::kNotFound ||
      result.error.error_class == KubeErrorClass::kNamespaceMissing) {
    live_ = Value();
  } else if (!result.error.ok()) {
    Fail(std::move(result.error));
    return;
  } else {
    live_ = std::move(result.object);
  }
  read_ = true;
  Decide();
}

void ApplyTask::Decide() {
  ApplySituation situation{.live = &live_,
                           .entry = job_.entry ? &*job_.entry : nullptr,
                           .bare_namespace = job_.bare_namespace,
                           .handed_over = job_.handed_over,
                           .contested = job_.contested};
  OwnershipDecision decision = DecideApply(situation, job_.claimant);
  approach_ = decision.approach;
  ApplyOutcome outcome;
  switch (approach_) {
    case Approach::kUpdate:
      if (IsAsWanted()) {
        KubeResult unchanged;
        unchanged.object = std::move(live_);
        Succeed(std::move(unchanged));
        return;
      }
      Send();
      return;
    case Approach::kCreate:
    case Approach::kTakeBack:
      Send();
      return;
    case Approach::kAdopt:
      // Another object than the one that a conflict was decided about.
      force_ = false;
      DryRun();
      return;
    case Approach::kUseAsIs:
      outcome.kind = ApplyOutcome::Kind::kUsedAsIs;
      break;
    case Approach::kWaitGone:
      outcome.kind = ApplyOutcome::Kind::kWaitGone;
      break;
    case Approach::kRefuse:
      outcome.kind = ApplyOutcome::Kind::kOwnedByOther;
      outcome.detail = decision.owner;
      break;
  }
  outcome.live = std::move(live_);
  Finish(std::move(outcome));
}

// Whether what was read is what was applied last, so that no request is needed.
bool ApplyTask::IsAsWanted() const {
  const InventoryEntry& entry = *job_.entry;
  if (force_ || job_.retry_left_out || job_.contested) return false;
  if (entry.progress == InventoryEntry::Progress::kIntended || entry.sent != sent_) return false;
  Baseline baseline{.uid = entry.uid,
                    .resource_version = entry.resource_version,
                    .generation = entry.generation,
                    .fields = entry.fields,
                    .meta = 0};
  switch (ClassifyChange(live_, baseline, job_.manager)) {
    case Change::kNone:
    case Change::kBenign:
      return true;
    case Change::kSuspect:
      return SettleSuspect(live_, job_.body, baseline, job_.manager);
    case Change::kReplaced:
    case Change::kTerminating:
      return false;
  }
  return false;
}

ApplyRequest ApplyTask::Request() const {
  ApplyRequest request;
  request.type = job_.type;
  request.ns = job_.key.ns;
  request.name = job_.key.name;
  request.field_manager = job_.manager;
  return request;
}

void ApplyTask::DryRun() {
  ApplyRequest request = Request();
  request.dry_run = true;
  request.body = FormatBody(job_.body, "", live_.StringAt("metadata", "resourceVersion"));
  kube_.Apply(std::move(request), Then(&ApplyTask::OnDryRun));
}

void ApplyTask::OnDryRun(KubeResult result) {
  ApplyOutcome outcome;
  outcome.kind = ApplyOutcome::Kind::kNotOwned;
  switch (result.error.error_class) {
    case KubeErrorClass::kNone:
      if (EqualButMarks(result.object, live_)) {
        adopted_ = true;
        Send();
        return;
      }
      outcome.detail = "it differs from the manifest";
      break;
    case KubeErrorClass::kFieldConflict:
      outcome.detail = result.error.causes.empty()
                           ? "it differs from the manifest"
                           : absl::StrCat("it differs at ", result.error.causes.front().field);
      break;
    case KubeErrorClass::kInvalid:
      outcome.detail = absl::StrCat("it cannot be compared: ", result.error.message);
      break;
    case KubeErrorClass::kConflict:
      Read();
      return;
    default:
      Fail(std::move(result.error));
      return;
  }
  outcome.live = std::move(live_);
  Finish(std::move(outcome));
}

void ApplyTask::Send() {
  if (!job_.entry) {
    ApplyOutcome outcome;
    outcome.kind = ApplyOutcome::Kind::kNeedsIntention;
    Finish(std::move(outcome));
    return;
  }
  if (!may_write_()) {
    ApplyOutcome outcome;
    outcome.kind = ApplyOutcome::Kind::kAbandoned;
    Finish(std::move(outcome));
    return;
  }
  ApplyRequest request = Request();
  request.force = force_;
  std::string uid;
  std::string resource_version;
  if (!read_) {
    uid = job_.entry->uid;
  } else if (live_.is_null()) {
    resource_version = "1";  // Refused if it appeared meanwhile.
  } else {
    resource_version = live_.StringAt("metadata", "resourceVersion");
  }
  request.body = FormatBody(job_.body, uid, resource_version);
  kube_.Apply(std::move(request), Then(&ApplyTask::OnSent));
}

void ApplyTask::OnSent(KubeResult result) {
  if (result.error.ok()) {
    Succeed(std::move(result));
    return;
  }
  if (result.error.error_class == KubeErrorClass::kFieldConflict) {
    OnFieldConflict(result.error);
    return;
  }
  if (result.error.error_class == KubeErrorClass::kConflict || IsUidMismatch(result.error)) {
    force_ = false;
    adopted_ = false;
    Read();
    return;
  }
  Fail(std::move(result.error));
}

// Whether we applied this path before: a conflict about it is drift, not the claim of somebody
// else.
bool ApplyTask::WasOurs(const KubeCause& cause) const {
  if (IsMark(cause.field)) return true;
  if (!job_.entry || approach_ == Approach::kAdopt) return false;
  const std::vector<std::string>& foreign = job_.entry->left_out;
  if (std::find(foreign.begin(), foreign.end(), cause.field) != foreign.end()) return false;
  if (job_.entry->sent == sent_) return true;
  if (previous_is_applied_) return FindPath(job_.previous, cause.field).has_value();
  // Nobody remembers what was sent last (a restart between two versions, an answer that was lost).
  // A plain write of an object that is ours is most likely an edit of what we wrote; who applies,
  // or writes through a subresource, means to own the field.
  return IsPlainWrite(cause);
}

void ApplyTask::OnFieldConflict(const KubeError& error) {
  if (force_) {
    // Cannot happen to a forced apply; do not loop.
    Fail(error);
    return;
  }
  std::vector<std::string> foreign;
  for (const KubeCause& cause : error.causes) {
    if (WasOurs(cause)) continue;
    foreign.push_back(cause.field);
    absl::StrAppend(&conflict_, conflict_.empty() ? "" : ", ", ManagerOf(cause), ": ", cause.field);
  }
  for (const std::string& path : foreign) {
    if (RemovePath(path, job_.body)) continue;
    Fail(error);
    return;
  }
  left_out_.insert(left_out_.end(), foreign.begin(), foreign.end());
  force_ = foreign.size() < error.causes.size();
  if (!force_ && foreign.empty()) {
    Fail(error);
    return;
  }
  // Only force needs the version: it must not take more than was just decided about.
  if (force_ && live_.is_null()) {
    Read();
  } else {
    Send();
  }
}

void ApplyTask::Succeed(KubeResult result) {
  ApplyOutcome outcome;
  outcome.warnings = std::move(result.warnings);
  if (result.object.Find("metadata", "deletionTimestamp") != nullptr) {
    outcome.kind = ApplyOutcome::Kind::kWaitGone;
    outcome.live = std::move(result.object);
    Finish(std::move(outcome));
    return;
  }
  outcome.kind = ApplyOutcome::Kind::kApplied;
  InventoryEntry& entry = outcome.entry;
  if (job_.entry) entry.origin = job_.entry->origin;
  if (adopted_) entry.origin = InventoryEntry::Origin::kAdopted;
  if (result.created || approach_ == Approach::kCreate) {
    entry.origin = InventoryEntry::Origin::kCreated;
  }
  entry.key = job_.key;
  entry.version = job_.type.version;
  entry.uid = result.object.StringAt("metadata", "uid");
  entry.progress = InventoryEntry::Progress::kApplied;
  entry.sent = sent_;
  entry.fields = Fingerprint(result.object, job_.manager);
  entry.resource_version = result.object.StringAt("metadata", "resourceVersion");
  entry.generation = GenerationOf(result.object);
  entry.left_out = std::move(left_out_);
  outcome.conflict = std::move(conflict_);
  outcome.dropped = FindDroppedField(result.object, job_.body, job_.manager);
  outcome.live = std::move(result.object);
  Finish(std::move(outcome));
}

void ApplyTask::Fail(KubeError error) {
  ApplyOutcome outcome;
  outcome.kind = ApplyOutcome::Kind::kFailed;
  outcome.error = std::move(error);
  outcome.live = std::move(live_);
  Finish(std::move(outcome));
}

void ApplyTask::Finish(ApplyOutcome outcome) {
  if (Done done = std::exchange(done_, nullptr); done) std::move(done)(std::move(outcome));
}

}  // namespace nave
