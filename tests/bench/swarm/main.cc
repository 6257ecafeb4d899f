// nave-swarm CONTEXT: takes commands from standard input, one a line, and answers each with one
// line of JSON.
//
//   enroll N | connect N | bundles COUNT OBJECTS | settle | update | mark | await | live
//
// It ends with its input.
#include <signal.h>
#include <sys/resource.h>

#include <iostream>
#include <sstream>

#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/value/codec.h"
#include "tests/bench/swarm/swarm.h"

namespace nave::bench {
namespace {

double Ms(absl::Duration duration) { return absl::ToDoubleMilliseconds(duration); }

std::string Error(const absl::Status& status) {
  return FormatJson(Value(Object{{"error", Value(std::string(status.ToString()))}}));
}

std::string Timed(absl::Time start) {
  return absl::StrFormat("{\"seconds\": %.3f}", absl::ToDoubleSeconds(absl::Now() - start));
}

std::string Update(Swarm& swarm) {
  const absl::StatusOr<Swarm::Fanout> fanout = swarm.Update();
  if (!fanout.ok()) return Error(fanout.status());
  const std::vector<absl::Duration>& acks = fanout->acks;
  return absl::StrFormat(
      "{\"write_ms\": %.3f, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"max_ms\": %.3f, \"acked\": %d}",
      Ms(fanout->write), Ms(acks[acks.size() / 2]), Ms(acks[acks.size() * 99 / 100]),
      Ms(acks.back()), acks.size());
}

std::string Await(Swarm& swarm) {
  const absl::StatusOr<Swarm::Return> back = swarm.AwaitReturn();
  if (!back.ok()) return Error(back.status());
  return absl::StrFormat(
      "{\"seconds\": %.3f, \"welcomes\": %d, \"matched\": %d, \"refusals\": %d, \"contents\": %d, "
      "\"lost\": %d}",
      absl::ToDoubleSeconds(back->all), back->since.welcomes, back->since.welcomes_that_matched,
      back->since.refusals, back->since.contents_taken, back->since.streams_lost);
}

std::string Answer(Swarm& swarm, const std::string& line) {
  std::istringstream words(line);
  std::string command;
  size_t first = 0;
  size_t second = 0;
  words >> command >> first >> second;
  const absl::Time start = absl::Now();
  absl::Status status;
  if (command == "enroll") {
    status = swarm.Enroll(first);
  } else if (command == "connect") {
    status = swarm.Connect(first);
  } else if (command == "bundles") {
    status = swarm.PutBundles(first, second);
  } else if (command == "settle") {
    const absl::StatusOr<size_t> applied = swarm.Settle();
    if (applied.ok()) {
      return absl::StrFormat("{\"applied\": %d, \"connected\": %d, \"seconds\": %.3f}", *applied,
                             swarm.connected(), absl::ToDoubleSeconds(absl::Now() - start));
    }
    status = applied.status();
  } else if (command == "update") {
    return Update(swarm);
  } else if (command == "mark") {
    swarm.Mark();
  } else if (command == "await") {
    return Await(swarm);
  } else if (command == "live") {
    return absl::StrFormat("{\"live\": %d}", swarm.Live());
  } else {
    status = absl::InvalidArgumentError("unknown command: " + command);
  }
  return status.ok() ? Timed(start) : Error(status);
}

int Main(const std::string& context) {
  signal(SIGPIPE, SIG_IGN);
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  setrlimit(RLIMIT_NOFILE, &descriptors);
  absl::StatusOr<std::unique_ptr<HubApi>> api = HubApi::Open(context);
  if (!api.ok()) {
    std::cerr << api.status() << "\n";
    return 1;
  }
  Swarm swarm(*std::move(api));
  for (std::string line; std::getline(std::cin, line);)
    std::cout << Answer(swarm, line) << std::endl;
  return 0;
}

}  // namespace
}  // namespace nave::bench

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: nave-swarm CONTEXT\n";
    return 2;
  }
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return nave::bench::Main(argv[1]);
}
