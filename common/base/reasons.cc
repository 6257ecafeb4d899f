#include "common/base/reasons.h"

#include <cstddef>

namespace nave {
namespace {

constexpr ReasonInfo kReasons[] = {
#define NAVE_REASON(camel, upper, code, summary, next) \
  {Reason::k##camel, #camel, #upper, absl::StatusCode::code, summary, next},
#include "common/base/reasons.def"
#undef NAVE_REASON
};

}  // namespace

const ReasonInfo& GetReasonInfo(Reason reason) { return kReasons[static_cast<size_t>(reason)]; }

const ReasonInfo* FindReason(absl::string_view word) {
  for (const ReasonInfo& info : kReasons) {
    if (info.camel == word || info.upper == word) return &info;
  }
  return nullptr;
}

}  // namespace nave
