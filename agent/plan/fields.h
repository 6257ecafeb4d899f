// Field ownership as the server keeps it in metadata.managedFields, and paths as it names them in
// conflicts.
#ifndef NAVE_AGENT_PLAN_FIELDS_H_
#define NAVE_AGENT_PLAN_FIELDS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/digest.h"
#include "common/value/value.h"

namespace nave {

// The fieldsV1 of the apply entry of `manager` (not of a subresource); nullptr when it has none.
const Value* OwnFields(const Value& live, absl::string_view manager);

// What must stay the same for "nobody touched what is ours" when the resourceVersion moved. Kinds
// with a generation: our fieldsV1 entry (compare the generation too). Kinds without: the whole
// object but status, managedFields and resourceVersion, and our entry.
Digest Fingerprint(const Value& live, absl::string_view manager);

// Whether the spec of this object is counted by metadata.generation.
bool HasGeneration(const Value& live);
int64_t GenerationOf(const Value& live);

// The first path of our entry in `answer` that the answered object does not have although `body`
// sets it to something: the server (or a CRD's storage version) does not know the field. Empty:
// none.
std::string FindDroppedField(const Value& answer, const Value& body, absl::string_view manager);

// One step of a path: a field's name, or an index of a list.
struct PathStep {
  std::string field;
  size_t index = 0;
  bool is_index = false;
};

// Finds in `body` what the server calls `path` in a conflict
// (".spec.template.spec.containers[name=\"web\"].image"). Field names may hold dots, so every split
// is tried. nullopt: not in the body.
std::optional<std::vector<PathStep>> FindPath(const Value& body, absl::string_view path);

// Removes what FindPath found. False when there is nothing.
bool RemovePath(absl::string_view path, Value& body);

}  // namespace nave

#endif  // NAVE_AGENT_PLAN_FIELDS_H_
