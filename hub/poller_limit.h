// gRPC's callback API polls with at least two threads. With its epoll engine the one that takes an
// event wakes the other first, so that on a small machine each message costs two switches of
// threads. There one of the two is kept busy doing nothing.
#ifndef NAVE_HUB_POLLER_LIMIT_H_
#define NAVE_HUB_POLLER_LIMIT_H_

#include <grpcpp/server.h>

#include <memory>

namespace nave {

class PollerLimit {
 public:
  // nullptr where gRPC has more threads than two, where this process has a limit already, or when
  // no thread could be had within a second: all of them poll then. `server` is one that runs, and
  // must outlive the limit.
  static std::unique_ptr<PollerLimit> Make(grpc::Server* server);
  // Gives the thread back and waits until gRPC has it.
  virtual ~PollerLimit() = default;
};

}  // namespace nave

#endif  // NAVE_HUB_POLLER_LIMIT_H_
