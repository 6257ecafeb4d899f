// nave-bench-probe handshake [COUNT] | floor [CONNECTIONS] [ROUNDS] [BYTES]: prints one line of
// JSON.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/probes/probes.h"

int main(int argc, char** argv) {
  const auto number = [&](int index, int otherwise) {
    return argc > index ? atoi(argv[index]) : otherwise;
  };
  if (argc > 1 && strcmp(argv[1], "handshake") == 0) {
    printf("{\"cpu_s\": %.9f}\n", nave::bench::MeasureHandshake(number(2, 1000)));
    return 0;
  }
  if (argc > 1 && strcmp(argv[1], "floor") == 0) {
    const nave::bench::Floor floor =
        nave::bench::MeasureFloor(number(2, 1000), number(3, 10), number(4, 2048));
    printf(
        "{\"round_trip_cpu_s\": %.9f, \"round_trip_wall_s\": %.9f, \"connection_bytes\": %.0f}\n",
        floor.round_trip_cpu_s, floor.round_trip_wall_s, floor.connection_bytes);
    return 0;
  }
  fprintf(stderr,
          "usage: nave-bench-probe handshake [COUNT] | floor [CONNECTIONS] [ROUNDS] [BYTES]\n");
  return 2;
}
