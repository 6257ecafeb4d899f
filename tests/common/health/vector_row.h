// Rows of health.tsv as objects. The file describes each object in a few words; this reads the
// words.
#ifndef NAVE_TESTS_COMMON_HEALTH_VECTOR_ROW_H_
#define NAVE_TESTS_COMMON_HEALTH_VECTOR_ROW_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/model/health.h"
#include "common/value/value.h"

namespace nave {

// One object and what it must be judged as.
struct HealthExample {
  // The words it was made of.
  std::string words;
  Value object;
  Health health = Health::kUnknown;
  // Empty: any.
  std::string reason;
};

// Reads rows in the order of the file: a row may refer to an earlier one. Not thread-safe.
class HealthRowReader {
 public:
  // `now`: what "created now" means.
  explicit HealthRowReader(absl::Time now) : now_(now) {}

  // The examples of one row (several where it says "a / b" or "a, or b"). An error when a word is
  // not understood.
  absl::StatusOr<std::vector<HealthExample>> Read(absl::string_view id, absl::string_view input,
                                                  absl::string_view expected);

 private:
  absl::StatusOr<Value> Build(absl::string_view words, std::string* kind);

  absl::Time now_;
  // Words by the number of the row.
  std::map<std::string, std::string> words_by_number_;
};

}  // namespace nave

#endif  // NAVE_TESTS_COMMON_HEALTH_VECTOR_ROW_H_
