// Defaults and validation of the built-in kinds, as far as clients notice them. Pure.
#ifndef NAVE_TESTS_KUBESIM_ADMISSION_H_
#define NAVE_TESTS_KUBESIM_ADMISSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/value/value.h"
#include "tests/kubesim/api.h"
#include "tests/kubesim/kinds.h"

namespace nave::kubesim {

// Fills what the server fills: defaults, stringData into data, service addresses (from `address`, a
// number of its own), what a new object's status starts as. `live` is null for a creation.
void SetDefaults(const KindInfo& kind, const Value* live, uint64_t address, Value* object);

// What a real server refuses with 422. Empty: fine.
std::vector<StatusCause> Validate(const KindInfo& kind, const Value* live, const Value& object);

// A condition of status; replaced when the list has one of that type. lastTransitionTime moves with
// the status only.
void SetCondition(Value* object, absl::string_view type, bool status, absl::string_view reason,
                  absl::string_view message, absl::Time now);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_ADMISSION_H_
