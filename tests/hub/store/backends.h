// The backends that the conformance suite runs against.
#ifndef NAVE_TESTS_HUB_STORE_BACKENDS_H_
#define NAVE_TESTS_HUB_STORE_BACKENDS_H_

#include <vector>

#include "tests/hub/store/harness.h"

namespace nave {

std::vector<Backend> Backends();
// Those whose store several threads may use.
std::vector<Backend> ThreadedBackends();

}  // namespace nave

#endif  // NAVE_TESTS_HUB_STORE_BACKENDS_H_
