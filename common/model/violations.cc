#include "common/model/violations.h"

#include "absl/strings/str_cat.h"
#include "common/base/error.h"

namespace nave {
namespace {

constexpr size_t kViolationsMax = 20;

}  // namespace

absl::Status FieldError(absl::string_view field, absl::string_view rule, Reason reason) {
  return MakeError(reason, absl::StrCat("`", field, "`: ", rule),
                   {{absl::StrCat(kFieldMetadataPrefix, field), std::string(rule)}});
}

absl::Status Violations::ToStatus() const {
  if (found_.empty()) return absl::OkStatus();
  std::string text = absl::StrCat("`", found_[0].first, "`: ", found_[0].second);
  if (found_.size() > 1) absl::StrAppend(&text, " (and ", found_.size() - 1, " more)");
  ErrorMetadata metadata;
  for (const auto& [field, rule] : found_) {
    if (metadata.size() >= kViolationsMax) break;
    metadata.emplace_back(absl::StrCat(kFieldMetadataPrefix, field), rule);
  }
  return MakeError(Reason::kInvalidField, text, std::move(metadata));
}

}  // namespace nave
