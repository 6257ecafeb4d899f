#include "tests/kubesim/sim_kube_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/kube/classify.h"
#include "common/value/codec.h"

namespace nave::kubesim {
namespace {

// An answer, or none.
using Answer = std::optional<SimResponse>;
using OnAnswer = absl::AnyInvocable<void(Answer) &&>;

SimRequest RequestFor(const ResourceType& type, std::string ns, std::string name,
                      SimRequest::Verb verb) {
  SimRequest request;
  request.verb = verb;
  request.group = type.group;
  request.version = type.version;
  request.plural = type.plural;
  request.ns = std::move(ns);
  request.name = std::move(name);
  return request;
}

KubeError ErrorOf(const Answer& answer, const RequestInfo& info) {
  if (!answer.has_value()) return UnreachableError("connection lost");
  if (answer->ok()) return {};
  std::vector<std::pair<std::string, std::string>> headers;
  if (answer->retry_after_s.has_value()) {
    headers.emplace_back("retry-after", absl::StrCat(*answer->retry_after_s));
  }
  std::string body = answer->text.empty() ? FormatJson(answer->body) : answer->text;
  headers.emplace_back("content-type", answer->text.empty() ? "application/json" : "text/plain");
  return ClassifyResponse(answer->code, headers, body, info);
}

KubeResult ResultOf(Answer answer, const RequestInfo& info) {
  KubeResult out;
  out.error = ErrorOf(answer, info);
  if (!out.error.ok()) return out;
  out.created = answer->code == 201;
  out.warnings = std::move(answer->warnings);
  // A Status says that the deletion was complete.
  if (answer->body.StringAt("kind") != "Status") out.object = std::move(answer->body);
  return out;
}

RequestInfo InfoOf(const ResourceType& type, std::string ns, bool is_write) {
  RequestInfo info;
  info.is_write = is_write;
  info.plural = type.plural;
  info.ns = std::move(ns);
  return info;
}

// Items of metadata-only answers look like others: their own apiVersion and kind, nothing but
// metadata besides.
Value WithType(const ResourceType& type, Value object) {
  object["apiVersion"] =
      Value(type.group.empty() ? type.version : absl::StrCat(type.group, "/", type.version));
  object["kind"] = Value(type.kind);
  return object;
}

}  // namespace

SimStepper::SimStepper(KubeSim* sim, Executor* executor) : sim_(sim), executor_(executor) {
  sim_->on_work = [this] { Schedule(); };
  Schedule();
}

SimStepper::~SimStepper() {
  *alive_ = false;
  sim_->on_work = nullptr;
  executor_->Cancel(timer_);
}

void SimStepper::Schedule() {
  absl::Time next = std::max(sim_->NextStep(), executor_->Now());
  if (next == absl::InfiniteFuture() || next >= due_) return;
  executor_->Cancel(timer_);
  due_ = next;
  timer_ = executor_->PostAt(next, [this, alive = alive_] {
    if (!*alive) return;
    timer_ = 0;
    due_ = absl::InfiniteFuture();
    sim_->Step(executor_->Now());
    Schedule();
  });
}

// Outlives the client while timers refer to it.
struct SimKubeClient::State : std::enable_shared_from_this<State> {
  struct Pending {
    SimRequest request;
    OnAnswer done;
    bool arrived = false;
  };
  struct OpenWatch {
    std::function<void(KubeEvent)> on_event;
    Callback<KubeError> on_end;
    WatchRequest request;
    KubeSim::WatchId sim_watch = 0;
    // Events of one watch keep their order.
    absl::Time last_due = absl::InfinitePast();
    bool ending = false;
  };

  KubeSim* sim = nullptr;
  Executor* executor = nullptr;
  SimKubeClientOptions options;
  std::mt19937_64 random;
  bool alive = true;
  bool cut = false;
  uint64_t next_id = 1;
  std::map<uint64_t, Pending> pending;
  std::map<uint64_t, std::shared_ptr<OpenWatch>> watches;

  absl::Duration Delay() {
    absl::Duration delay = options.latency;
    if (options.jitter > absl::ZeroDuration()) {
      int64_t range = absl::ToInt64Nanoseconds(options.jitter);
      delay += absl::Nanoseconds(static_cast<int64_t>(random() % static_cast<uint64_t>(range + 1)));
    }
    return delay;
  }

  void Send(SimRequest request, OnAnswer done);
  void OnArrival(uint64_t id);
  void Finish(uint64_t id, Answer answer);
  void FinishAfter(uint64_t id, absl::Duration delay, Answer answer);
  void BreakAll();
  void Die();
  void BeginWatch(uint64_t id);
  void OnWatchEvent(const std::shared_ptr<OpenWatch>& watch, uint64_t id, WatchEvent event);
  void EndWatch(uint64_t id, absl::Duration delay, KubeError error);
};

void SimKubeClient::State::Send(SimRequest request, OnAnswer done) {
  request.user = options.user;
  uint64_t id = next_id++;
  pending.emplace(id, Pending{std::move(request), std::move(done)});
  if (cut) return FinishAfter(id, options.unreachable_after, std::nullopt);
  executor->PostAfter(Delay(), [self = shared_from_this(), id] { self->OnArrival(id); });
}

void SimKubeClient::State::OnArrival(uint64_t id) {
  auto it = pending.find(id);
  if (it == pending.end() || it->second.arrived) return;
  it->second.arrived = true;
  SimFault fault;
  if (sim->fault) fault = sim->fault(it->second.request);
  switch (fault.kind) {
    case SimFault::Kind::kNone:
      return FinishAfter(id, fault.delay + Delay(),
                         sim->Handle(it->second.request, executor->Now()));
    case SimFault::Kind::kAnswer:
      return FinishAfter(id, fault.delay + Delay(), std::move(fault.answer));
    case SimFault::Kind::kDropAfter:
      sim->Handle(it->second.request, executor->Now());
      [[fallthrough]];
    case SimFault::Kind::kDropBefore:
    case SimFault::Kind::kSilent:
      return FinishAfter(id, fault.delay + options.unreachable_after, std::nullopt);
  }
}

void SimKubeClient::State::FinishAfter(uint64_t id, absl::Duration delay, Answer answer) {
  executor->PostAfter(delay, [self = shared_from_this(), id, answer = std::move(answer)]() mutable {
    self->Finish(id, std::move(answer));
  });
}

void SimKubeClient::State::Finish(uint64_t id, Answer answer) {
  auto it = pending.find(id);
  if (it == pending.end()) return;
  OnAnswer done = std::move(it->second.done);
  pending.erase(it);
  std::move(done)(std::move(answer));
}

void SimKubeClient::State::BreakAll() {
  std::map<uint64_t, Pending> broken = std::move(pending);
  pending.clear();
  for (auto& [id, entry] : broken) {
    if (!entry.arrived && random() % 2 == 0) sim->Handle(entry.request, executor->Now());
    // A new number, so that an answer that is on its way finds nobody.
    uint64_t fresh = next_id++;
    entry.arrived = true;
    pending.emplace(fresh, std::move(entry));
    FinishAfter(fresh, options.unreachable_after, std::nullopt);
  }
  std::vector<uint64_t> open;
  for (const auto& [id, watch] : watches) open.push_back(id);
  for (uint64_t id : open) {
    EndWatch(id, options.unreachable_after, UnreachableError("connection lost"));
  }
}

void SimKubeClient::State::Die() {
  alive = false;
  for (auto& [id, entry] : pending) {
    if (entry.arrived || !entry.request.IsWrite() || cut) continue;
    switch (random() % 3) {
      case 0:
        sim->Handle(entry.request, executor->Now());
        break;
      case 1:
        executor->PostAfter(Delay(), [self = shared_from_this(), request = entry.request] {
          self->sim->Handle(request, self->executor->Now());
        });
        break;
      default:
        break;
    }
  }
  pending.clear();
  for (auto& [id, watch] : watches) {
    if (watch->sim_watch != 0) sim->StopWatch(watch->sim_watch);
  }
  watches.clear();
}

void SimKubeClient::State::BeginWatch(uint64_t id) {
  auto it = watches.find(id);
  if (it == watches.end() || it->second->ending) return;
  std::shared_ptr<OpenWatch> watch = it->second;
  const WatchRequest& wanted = watch->request;
  SimRequest request = RequestFor(wanted.type, wanted.ns, "", SimRequest::Verb::kList);
  request.user = options.user;
  request.label_selector = wanted.label_selector;
  request.resource_version = wanted.resource_version;
  request.metadata_only = wanted.metadata_only;
  request.bookmarks = true;
  request.timeout_seconds = 300 + static_cast<int>(random() % 301);
  RequestInfo info = InfoOf(wanted.type, wanted.ns, false);
  SimFault fault;
  if (sim->fault) fault = sim->fault(request);
  if (fault.kind == SimFault::Kind::kAnswer) {
    return EndWatch(id, fault.delay + Delay(), ErrorOf(std::move(fault.answer), info));
  }
  if (fault.kind != SimFault::Kind::kNone) {
    return EndWatch(id, fault.delay + options.unreachable_after,
                    UnreachableError("connection lost"));
  }
  SimResponse error;
  std::weak_ptr<State> weak = shared_from_this();
  KubeSim::WatchId started = sim->StartWatch(
      request, executor->Now(),
      [weak, watch, id](WatchEvent event) {
        std::shared_ptr<State> self = weak.lock();
        if (self != nullptr) self->OnWatchEvent(watch, id, std::move(event));
      },
      &error);
  if (started == 0) return EndWatch(id, Delay(), ErrorOf(std::move(error), info));
  watch->sim_watch = started;
}

void SimKubeClient::State::OnWatchEvent(const std::shared_ptr<OpenWatch>& watch, uint64_t id,
                                        WatchEvent event) {
  if (watch->ending || !alive) return;
  watch->last_due = std::max(watch->last_due, executor->Now() + Delay());
  if (event.type.empty() || event.type == "ERROR") {
    RequestInfo info = InfoOf(watch->request.type, watch->request.ns, false);
    KubeError error = event.type.empty() ? KubeError() : ClassifyStatusObject(event.object, info);
    // The sim has forgotten the watch already.
    watch->sim_watch = 0;
    return EndWatch(id, watch->last_due - executor->Now(), std::move(error));
  }
  KubeEvent out;
  out.type = event.type == "ADDED"      ? KubeEvent::Type::kAdded
             : event.type == "MODIFIED" ? KubeEvent::Type::kModified
             : event.type == "DELETED"  ? KubeEvent::Type::kDeleted
                                        : KubeEvent::Type::kBookmark;
  out.object = WithType(watch->request.type, std::move(event.object));
  executor->PostAt(watch->last_due, [self = shared_from_this(), watch, id, out = std::move(out)] {
    // A cut loses what is on the way; a normal end does not.
    if (self->watches.count(id) > 0 && !self->cut) watch->on_event(out);
  });
}

void SimKubeClient::State::EndWatch(uint64_t id, absl::Duration delay, KubeError error) {
  auto it = watches.find(id);
  if (it == watches.end() || it->second->ending) return;
  std::shared_ptr<OpenWatch> watch = it->second;
  watch->ending = true;
  if (watch->sim_watch != 0) sim->StopWatch(watch->sim_watch);
  watch->sim_watch = 0;
  executor->PostAfter(delay, [self = shared_from_this(), id, error = std::move(error)]() mutable {
    auto found = self->watches.find(id);
    if (found == self->watches.end()) return;
    std::shared_ptr<OpenWatch> ended = std::move(found->second);
    self->watches.erase(found);
    std::move(ended->on_end)(std::move(error));
  });
}

namespace {

// Runs `stop` when destroyed.
class StoppedByDestructor : public KubeWatch {
 public:
  explicit StoppedByDestructor(std::function<void()> stop) : stop_(std::move(stop)) {}
  ~StoppedByDestructor() override { stop_(); }

 private:
  std::function<void()> stop_;
};

}  // namespace

SimKubeClient::SimKubeClient(KubeSim* sim, Executor* executor, SimKubeClientOptions options)
    : state_(std::make_shared<State>()) {
  state_->sim = sim;
  state_->executor = executor;
  state_->options = std::move(options);
  state_->random.seed(state_->options.seed);
}

SimKubeClient::~SimKubeClient() { state_->Die(); }

void SimKubeClient::SetCut(bool cut) {
  if (cut && !state_->cut) state_->BreakAll();
  state_->cut = cut;
}

bool SimKubeClient::cut() const { return state_->cut; }

void SimKubeClient::Discover(Callback<Discovery> done) {
  SimRequest probe;  // Counts as a request for faults; what it names does not exist.
  probe.plural = "discovery";
  state_->Send(std::move(probe), [state = state_, done = std::move(done)](Answer answer) mutable {
    Discovery out;
    if (!answer.has_value()) {
      out.error = UnreachableError("connection lost");
    } else if (!answer->ok() && answer->code != 404) {
      out.error = ErrorOf(answer, {});
    } else {
      for (const KindInfo* kind : state->sim->Kinds()) {
        ResourceType type{kind->group,  kind->version,    kind->kind,
                          kind->plural, kind->namespaced, {}};
        type.verbs = {"create", "delete", "deletecollection", "get",
                      "list",   "patch",  "update",           "watch"};
        out.types.push_back(std::move(type));
      }
    }
    std::move(done)(std::move(out));
  });
}

void SimKubeClient::GetServerVersion(Callback<KubeResult> done) {
  SimRequest probe;
  probe.plural = "version";
  state_->Send(std::move(probe), [state = state_, done = std::move(done)](Answer answer) mutable {
    KubeResult out;
    if (!answer.has_value()) {
      out.error = UnreachableError("connection lost");
    } else if (!answer->ok() && answer->code != 404) {
      out.error = ErrorOf(answer, {});
    } else {
      out.object["gitVersion"] = Value(state->sim->options().git_version);
    }
    std::move(done)(std::move(out));
  });
}

namespace {

// Completion of the requests that answer with one object.
template <typename Done>
OnAnswer AnswerWith(RequestInfo info, Done done) {
  return [info = std::move(info), done = std::move(done)](Answer answer) mutable {
    std::move(done)(ResultOf(std::move(answer), info));
  };
}

}  // namespace

void SimKubeClient::Apply(ApplyRequest request, Callback<KubeResult> done) {
  SimRequest out = RequestFor(request.type, request.ns, request.name, SimRequest::Verb::kPatch);
  out.patch = SimRequest::Patch::kApply;
  out.body = std::move(request.body);
  out.field_manager = std::move(request.field_manager);
  out.field_validation = "Strict";
  out.force = request.force;
  out.dry_run = request.dry_run;
  state_->Send(std::move(out), AnswerWith(InfoOf(request.type, request.ns, true), std::move(done)));
}

void SimKubeClient::Get(ResourceType type, std::string ns, std::string name,
                        Callback<KubeResult> done) {
  RequestInfo info = InfoOf(type, ns, false);
  state_->Send(RequestFor(type, std::move(ns), std::move(name), SimRequest::Verb::kGet),
               AnswerWith(std::move(info), std::move(done)));
}

void SimKubeClient::List(ListRequest request, Callback<ListPage> done) {
  SimRequest out = RequestFor(request.type, request.ns, "", SimRequest::Verb::kList);
  out.label_selector = request.label_selector;
  out.limit = request.limit;
  out.continue_token = request.continue_token;
  out.resource_version = request.resource_version;
  out.metadata_only = request.metadata_only;
  RequestInfo info = InfoOf(request.type, request.ns, false);
  state_->Send(std::move(out), [info = std::move(info), type = request.type,
                                done = std::move(done)](Answer answer) mutable {
    ListPage page;
    page.error = ErrorOf(answer, info);
    if (page.error.ok()) {
      page.resource_version = answer->body.StringAt("metadata", "resourceVersion");
      page.continue_token = answer->body.StringAt("metadata", "continue");
      Array* items = answer->body["items"].mutable_array();
      for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
        page.items.push_back(WithType(type, std::move((*items)[i])));
      }
    }
    std::move(done)(std::move(page));
  });
}

void SimKubeClient::Create(ResourceType type, std::string ns, std::string body,
                           Callback<KubeResult> done) {
  RequestInfo info = InfoOf(type, ns, true);
  SimRequest out = RequestFor(type, std::move(ns), "", SimRequest::Verb::kCreate);
  out.body = std::move(body);
  out.field_manager = "nave-agent";
  state_->Send(std::move(out), AnswerWith(std::move(info), std::move(done)));
}

void SimKubeClient::Replace(ResourceType type, std::string ns, std::string name, std::string body,
                            Callback<KubeResult> done) {
  RequestInfo info = InfoOf(type, ns, true);
  SimRequest out = RequestFor(type, std::move(ns), std::move(name), SimRequest::Verb::kUpdate);
  out.body = std::move(body);
  out.field_manager = "nave-agent";
  state_->Send(std::move(out), AnswerWith(std::move(info), std::move(done)));
}

void SimKubeClient::Patch(PatchRequest request, Callback<KubeResult> done) {
  SimRequest out = RequestFor(request.type, request.ns, request.name, SimRequest::Verb::kPatch);
  out.patch =
      request.patch_type == PatchType::kJson ? SimRequest::Patch::kJson : SimRequest::Patch::kMerge;
  out.body = std::move(request.body);
  out.field_manager = std::move(request.field_manager);
  out.dry_run = request.dry_run;
  state_->Send(std::move(out), AnswerWith(InfoOf(request.type, request.ns, true), std::move(done)));
}

void SimKubeClient::Delete(DeleteRequest request, Callback<KubeResult> done) {
  SimRequest out = RequestFor(request.type, request.ns, request.name, SimRequest::Verb::kDelete);
  Value options(Object{{"kind", Value("DeleteOptions")}, {"apiVersion", Value("v1")}});
  options["propagationPolicy"] =
      Value(request.propagation == DeletePropagation::kBackground   ? "Background"
            : request.propagation == DeletePropagation::kForeground ? "Foreground"
                                                                    : "Orphan");
  if (!request.uid.empty()) options["preconditions"]["uid"] = Value(request.uid);
  if (!request.resource_version.empty()) {
    options["preconditions"]["resourceVersion"] = Value(request.resource_version);
  }
  if (request.dry_run) options["dryRun"] = Value(Array{Value("All")});
  out.dry_run = request.dry_run;  // For the audit; the body is what counts.
  out.body = FormatJson(options);
  state_->Send(std::move(out), AnswerWith(InfoOf(request.type, request.ns, true), std::move(done)));
}

std::unique_ptr<KubeWatch> SimKubeClient::Watch(WatchRequest request,
                                                std::function<void(KubeEvent)> on_event,
                                                Callback<KubeError> on_end) {
  auto watch = std::make_shared<State::OpenWatch>();
  watch->on_event = std::move(on_event);
  watch->on_end = std::move(on_end);
  watch->request = std::move(request);
  uint64_t id = state_->next_id++;
  state_->watches.emplace(id, watch);
  if (state_->cut) {
    state_->EndWatch(id, state_->options.unreachable_after, UnreachableError("connection lost"));
  } else {
    state_->executor->PostAfter(state_->Delay(), [state = state_, id] { state->BeginWatch(id); });
  }
  std::weak_ptr<State> weak = state_;
  return std::make_unique<StoppedByDestructor>([weak, id] {
    std::shared_ptr<State> state = weak.lock();
    if (state == nullptr) return;
    auto it = state->watches.find(id);
    if (it == state->watches.end()) return;
    if (it->second->sim_watch != 0) state->sim->StopWatch(it->second->sim_watch);
    state->watches.erase(it);
  });
}

}  // namespace nave::kubesim
