// Values read with a schema: the sets of fields that they hold, merging, comparing and cutting, as
// server-side apply needs them. Pure.
#ifndef NAVE_TESTS_KUBESIM_TYPED_H_
#define NAVE_TESTS_KUBESIM_TYPED_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/value/value.h"
#include "tests/kubesim/field_set.h"
#include "tests/kubesim/schema.h"

namespace nave::kubesim {

// What is wrong with `value`: wrong types, unknown fields, duplicate and missing list keys;
// ".spec.x: text". Empty: fine.
std::vector<std::string> CheckTyped(const Value& value, const Schema& schema);

// Paths that `value` sets, as an applied configuration owns them.
FieldSet FieldsOf(const Value& value, const Schema& schema);

// `config` laid over `live`. Items of list maps keep the order of `config`, live-only items their
// place.
Value MergeTyped(const Value& live, const Value& config, const Schema& schema);

struct Comparison {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
};
Comparison CompareTyped(const Value& before, const Value& after, const Schema& schema);

// `value` without the members of `paths` and all below them. What becomes empty goes too.
Value RemoveFields(const Value& value, const FieldSet& paths, const Schema& schema);

// `set` and all struct fields on the way to its members.
FieldSet WithNamedParents(const FieldSet& set, const Schema& schema);

// Fields that `schema` does not know, removed from `value`; their paths without the leading dot
// ("spec.x") in `removed`.
void DropUnknown(Value* value, const Schema& schema, std::vector<std::string>* removed);

// Null members of maps of strings as the server reads them: empty texts.
void NullsToEmpty(Value* value, const Schema& schema);

// Without null members, at any depth.
void StripNulls(Value* value);

// The key of a list item in a list of `schema` ("k:{…}" or "v:…"); empty when a key is missing.
std::string ItemKey(const Value& item, const Schema& schema);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_TYPED_H_
