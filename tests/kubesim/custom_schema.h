// What the schema of a custom resource says beyond types: defaults and limits. Pure.
#ifndef NAVE_TESTS_KUBESIM_CUSTOM_SCHEMA_H_
#define NAVE_TESTS_KUBESIM_CUSTOM_SCHEMA_H_

#include <string>
#include <vector>

#include "common/value/value.h"
#include "tests/kubesim/api.h"
#include "tests/kubesim/schema.h"

namespace nave::kubesim {

// Puts defaults where fields are absent, in what is there.
void DefaultFromSchema(const Schema& schema, Value* value);

// Adds what `value` (at `path`) breaks of required, minimum, maximum, enum, pattern, and the limits
// of lengths.
void CheckOpenApi(const Value& value, const Value& open_api, const std::string& path,
                  std::vector<StatusCause>* causes);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_CUSTOM_SCHEMA_H_
