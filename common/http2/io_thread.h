// The thread that runs the sockets of HTTP/2 clients.
#ifndef NAVE_COMMON_HTTP2_IO_THREAD_H_
#define NAVE_COMMON_HTTP2_IO_THREAD_H_

#include <memory>

#include "common/runtime/executor.h"

namespace nave {

// An event loop on a thread of its own; any number of clients may share one. It is an Executor too,
// so protocol code that belongs to a connection runs here without locks. All signals are blocked on
// the thread (a write to a closed socket must not raise SIGPIPE in the process).
//
// The destructor runs what was posted before, drops timers, and joins; when the last owner lets go
// on the thread itself, the thread ends by itself.
class IoThread : public Executor {};

std::shared_ptr<IoThread> MakeIoThread();

}  // namespace nave

#endif  // NAVE_COMMON_HTTP2_IO_THREAD_H_
