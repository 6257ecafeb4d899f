#include "agent/agent.h"

#include <utility>

namespace nave {
namespace {

constexpr absl::Duration kBeat = absl::Seconds(2);
// Before a term that could not go on is followed by the next.
constexpr absl::Duration kTermDelay = absl::Seconds(3);

LeadershipOptions LeadershipOf(const AgentOptions& options, uint64_t seed) {
  LeadershipOptions leadership;
  leadership.client = options.kube;
  leadership.executor = options.executor;
  leadership.ns = options.ns;
  leadership.identity = options.pod_name;
  leadership.instance = (options.new_uuid ? options.new_uuid() : Uuid::Random()).ToString();
  leadership.seed = seed;
  leadership.clock = options.clock;
  return leadership;
}

}  // namespace

Agent::Agent(AgentOptions options)
    : options_(std::move(options)),
      random_(options_.seed),
      leadership_(LeadershipOf(options_, random_.Next())) {}

Agent::~Agent() {
  EndTerm();
  options_.executor->Cancel(beat_timer_);
  options_.executor->Cancel(term_timer_);
}

void Agent::Start() {
  Beat();
  leadership_.Start([this] { BeginTerm(); }, [this] { EndTerm(); });
}

void Agent::BeginTerm() {
  if (stopped_ || !leadership_.leading()) return;
  EndTerm();
  term_ = std::make_unique<AgentTerm>(options_, leadership_, random_.Next(),
                                      [this](absl::Status why) { OnTermEnd(why); });
  term_->Start();
}

void Agent::EndTerm() {
  options_.executor->Cancel(term_timer_);
  if (term_ == nullptr) return;
  term_->Stop();
  AgentReport ended;
  term_->FillReport(&ended);
  totals_.dials += ended.dials;
  totals_.sessions += ended.sessions;
  totals_.streams_lost += ended.streams_lost;
  totals_.renewals += ended.renewals;
  term_.reset();
}

void Agent::OnTermEnd(const absl::Status& /*why*/) {
  EndTerm();
  const absl::Duration delay = kTermDelay * (0.5 + random_.Uniform());
  term_timer_ = options_.executor->PostAfter(delay, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.lock() != nullptr) BeginTerm();
  });
}

void Agent::Stop(absl::AnyInvocable<void() &&> done) {
  stopped_ = true;
  EndTerm();
  leadership_.Release(std::move(done));
}

AgentReport Agent::Report() const {
  AgentReport report = totals_;
  report.beat = Now();
  report.leading = leadership_.leading();
  report.lease_contact = leadership_.last_contact();
  if (term_ != nullptr) term_->FillReport(&report);
  return report;
}

void Agent::Beat() {
  board_.Put(Report());
  beat_timer_ = options_.executor->PostAfter(kBeat, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.lock() != nullptr) Beat();
  });
}

}  // namespace nave
