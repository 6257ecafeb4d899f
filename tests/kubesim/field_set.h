// Sets of field paths, as managedFields keeps them in fieldsV1.
#ifndef NAVE_TESTS_KUBESIM_FIELD_SET_H_
#define NAVE_TESTS_KUBESIM_FIELD_SET_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/value/value.h"

namespace nave::kubesim {

// A path element in the notation of fieldsV1: "f:name", "k:{json of the keys}", "v:json", "i:n".
using FieldPath = std::vector<std::string>;

// A tree of paths. A path is in the set when its node is a member; a node without members below is
// not kept. A plain value type.
struct FieldSet {
  bool member = false;
  std::map<std::string, FieldSet, std::less<>> children;

  bool Empty() const { return !member && children.empty(); }
  void Insert(const FieldPath& path);
  bool Has(const FieldPath& path) const;
  const FieldSet* Child(absl::string_view element) const;
  // The paths of the set, in order.
  std::vector<FieldPath> Paths() const;
  bool operator==(const FieldSet&) const = default;
};

FieldSet Union(const FieldSet& a, const FieldSet& b);
FieldSet Intersection(const FieldSet& a, const FieldSet& b);
// Paths of `a` that are not in `b`; what lies below a path of `b` stays.
FieldSet Difference(const FieldSet& a, const FieldSet& b);
// The same, but a path of `b` takes everything below it along.
FieldSet RecursiveDifference(const FieldSet& a, const FieldSet& b);

// fieldsV1 JSON and back. Anything malformed is left out.
Value FormatFieldsV1(const FieldSet& set);
FieldSet ParseFieldsV1(const Value& fields);

// The text of conflict messages: .spec.containers[name="web"].image
std::string FormatPath(const FieldPath& path);

std::string FieldElement(absl::string_view name);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_FIELD_SET_H_
