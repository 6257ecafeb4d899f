// What one manifest object must be, and what is taken out of it before it is named by its digest.
// Private to the layer.
#ifndef NAVE_COMMON_MANIFEST_NORMALIZE_H_
#define NAVE_COMMON_MANIFEST_NORMALIZE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave {

// Checks what makes an object one: apiVersion, kind, a fixed name, a valid namespace, labels and
// annotations of strings. MANIFEST_INVALID with the field. `object` may be any value.
absl::Status CheckObject(const Value& object);

// Takes out what the API server owns or would change without anybody's wish, so that a manifest at
// rest equals its live object: status, server-owned metadata, our own marks, null or empty labels
// and annotations (in pod templates too), `rules` of aggregated ClusterRoles, caBundles that hold
// no certificate; writes a Secret's stringData as data. Wants an object that CheckObject passed;
// MANIFEST_INVALID for a payload that is not text. `warnings` may be null.
absl::Status NormalizeObject(Value* object, std::vector<std::string>* warnings);

// Sizes that the API server refuses (OBJECT_TOO_LARGE), and keys that its parser cannot read
// (MANIFEST_INVALID). Wants a normalized object.
absl::Status CheckLimits(const Value& object);

// Whether `name` is an RFC 1123 label: what a namespace must be.
bool IsNamespaceName(absl::string_view name);

}  // namespace nave

#endif  // NAVE_COMMON_MANIFEST_NORMALIZE_H_
