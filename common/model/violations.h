// Rules that fields of a request break, each with its path in the file form
// (spec.placement.selector).
#ifndef NAVE_COMMON_MODEL_VIOLATIONS_H_
#define NAVE_COMMON_MODEL_VIOLATIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/reasons.h"

namespace nave {

// Metadata keys of an error that begin so name a field; the value is the rule. On the wire they
// become google.rpc.BadRequest.
inline constexpr absl::string_view kFieldMetadataPrefix = "field:";

// An error about one field: "`field`: rule".
absl::Status FieldError(absl::string_view field, absl::string_view rule,
                        Reason reason = Reason::kInvalidField);

// Collects all violations of one request, so that a user corrects them in one go.
class Violations {
 public:
  void Add(absl::string_view field, absl::string_view rule) { found_.emplace_back(field, rule); }
  bool empty() const { return found_.empty(); }
  // OK when there is none; else INVALID_FIELD with the first violation as text and all of them (at
  // most 20) as metadata.
  absl::Status ToStatus() const;

 private:
  std::vector<std::pair<std::string, std::string>> found_;
};

}  // namespace nave

#endif  // NAVE_COMMON_MODEL_VIOLATIONS_H_
