// The agent of one cluster: leadership, and a term for as long as it leads.
#ifndef NAVE_AGENT_AGENT_H_
#define NAVE_AGENT_AGENT_H_

#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "agent/agent_options.h"
#include "agent/leader/leadership.h"
#include "agent/report.h"
#include "agent/term.h"

namespace nave {

// Everything on one loop: all methods are for its thread, and nothing blocks. The simulation runs
// it as it is, over its own client, link, executor and reconciler or the real one.
class Agent {
 public:
  explicit Agent(AgentOptions options);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void Start();
  // No write starts after this returns. `done` when the Lease was given back (or could not be, 5 s
  // later).
  void Stop(absl::AnyInvocable<void() &&> done);

  AgentReport Report() const;
  // Kept up to date while the agent runs; may be read from any thread.
  const ReportBoard& board() const { return board_; }
  // nullptr when it does not lead.
  const AgentTerm* term() const { return term_.get(); }

 private:
  void BeginTerm();
  void EndTerm();
  void OnTermEnd(const absl::Status& why);
  void Beat();
  absl::Time Now() const { return options_.clock ? options_.clock() : options_.executor->Now(); }

  const AgentOptions options_;
  SplitMix random_;
  Leadership leadership_;
  std::unique_ptr<AgentTerm> term_;
  // Of the terms before.
  AgentReport totals_;
  ReportBoard board_;
  TimerId beat_timer_ = 0;
  TimerId term_timer_ = 0;
  bool stopped_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace nave

#endif  // NAVE_AGENT_AGENT_H_
