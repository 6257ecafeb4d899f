// JSON patch, merge patch and strategic merge patch. Pure.
#ifndef NAVE_TESTS_KUBESIM_PATCHES_H_
#define NAVE_TESTS_KUBESIM_PATCHES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "common/value/value.h"
#include "tests/kubesim/schema.h"

namespace nave::kubesim {

// RFC 7386.
Value MergePatch(Value target, const Value& patch);

enum class JsonPatchResult { kOk, kMalformed, kFailed };
// RFC 6902. kFailed: a path that does not exist or a test that does not hold; `target` is then half
// changed.
JsonPatchResult JsonPatch(Value* target, const Value& operations, std::string* error);

// Kubernetes' own merge: list maps are merged by their keys; $patch, $retainKeys,
// $deleteFromPrimitiveList and $setElementOrder are understood.
Value StrategicMergePatch(Value target, const Value& patch, const Schema& schema);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_PATCHES_H_
