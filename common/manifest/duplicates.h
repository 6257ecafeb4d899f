// One object twice. Private to the layer.
#ifndef NAVE_COMMON_MANIFEST_DUPLICATES_H_
#define NAVE_COMMON_MANIFEST_DUPLICATES_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/manifest/parse.h"

namespace nave {

// DUPLICATE_OBJECT when two objects have one key, whatever their versions; the message names both
// places. An object without a namespace counts as in `default_namespace` too (empty: not looked
// at): on the spoke the two would be one.
absl::Status CheckDuplicates(const std::vector<ManifestObject>& objects,
                             absl::string_view default_namespace);

}  // namespace nave

#endif  // NAVE_COMMON_MANIFEST_DUPLICATES_H_
