// Field ownership: what server-side apply and plain writes do to an object and to its
// managedFields. Pure.
#ifndef NAVE_TESTS_KUBESIM_MANAGED_FIELDS_H_
#define NAVE_TESTS_KUBESIM_MANAGED_FIELDS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/value/value.h"
#include "tests/kubesim/field_set.h"
#include "tests/kubesim/schema.h"

namespace nave::kubesim {

struct ManagedEntry {
  std::string manager;
  bool apply = false;
  std::string api_version;
  std::string subresource;
  std::string time;  // RFC 3339, seconds.
  FieldSet fields;
};
using ManagedEntries = std::vector<ManagedEntry>;

// metadata.managedFields of `object`. Entries that cannot be read are left out.
ManagedEntries ReadManagedFields(const Value& object);
// Sorts and writes; without entries the member is removed.
void WriteManagedFields(ManagedEntries entries, Value* object);

// Who writes, and how.
struct FieldWriter {
  std::string manager;
  std::string api_version;
  std::string subresource;
  bool force = false;
  // What this endpoint does not let its caller own ("f:status" of the main one).
  FieldSet reset;
  absl::Time now;
};

struct FieldConflict {
  ManagedEntry owner;  // fields = the paths in conflict.
};

struct ApplyOutcome {
  std::vector<FieldConflict> conflicts;
  Value object;  // With managedFields; meaningless after conflicts.
};

// Server-side apply of `config` onto `live` ({apiVersion, kind, metadata{name, namespace}} when it
// does not exist; `exists` tells). `config` passed CheckTyped.
ApplyOutcome ApplyFields(const Value& live, bool exists, const Value& config, const Schema& schema,
                         const FieldWriter& writer);

// Ownership after a plain write turned `live` (null: created) into `written`; managedFields in
// `written` are what the caller sent. Returns `written` with the new managedFields.
Value UpdateFields(const Value& live, Value written, const Schema& schema,
                   const FieldWriter& writer);

// Whether two objects are the same but for the times in managedFields and the resourceVersion.
bool SameButTimes(const Value& a, const Value& b);

// "Apply failed with 1 conflict: conflict with …", as the server words it.
std::string FormatConflicts(const std::vector<FieldConflict>& conflicts);
// The text of one cause: conflict with "x" using v1.
std::string FormatOwner(const ManagedEntry& owner);

std::string FormatRfc3339(absl::Time time);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_MANAGED_FIELDS_H_
