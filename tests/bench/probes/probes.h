// What the machine can do at best, for the ratios of the table.
#ifndef NAVE_TESTS_BENCH_PROBES_PROBES_H_
#define NAVE_TESTS_BENCH_PROBES_PROBES_H_

namespace nave::bench {

// CPU seconds of the server's side of one mutual TLS 1.3 handshake, both sides in this process: the
// mean of `count`.
double MeasureHandshake(int count);

struct Floor {
  double round_trip_cpu_s =
      0;  // CPU of the server's process, of one message out and its answer back.
  double round_trip_wall_s = 0;
  double connection_bytes = 0;  // Resident memory of the server's process.
};

// A server and its clients in two processes, raw TLS records on `connections` sockets over
// loopback, no HTTP/2: a message of `bytes` to each and a short answer back, `rounds` times. The
// server runs in the calling process.
Floor MeasureFloor(int connections, int rounds, int bytes);

}  // namespace nave::bench

#endif  // NAVE_TESTS_BENCH_PROBES_PROBES_H_
