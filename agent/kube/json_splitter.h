// Cuts a stream of concatenated JSON objects, as a watch sends them, into the objects' texts. Pure.
#ifndef NAVE_AGENT_KUBE_JSON_SPLITTER_H_
#define NAVE_AGENT_KUBE_JSON_SPLITTER_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace nave {

// Only braces and strings are looked at: whether an object is valid JSON is for its parser to say.
// Not thread-safe.
class JsonSplitter {
 public:
  // Objects longer than `object_bytes_max` are an error.
  explicit JsonSplitter(size_t object_bytes_max) : object_bytes_max_(object_bytes_max) {}

  // Takes the next bytes and calls `on_object` for each object that they complete; the view is
  // valid during the call. Stops when `on_object` returns false. INVALID_ARGUMENT when something
  // else than an object begins or one is too long: nothing after it can be trusted.
  absl::Status Feed(absl::string_view data,
                    const std::function<bool(absl::string_view)>& on_object);

  // True when an object has begun and is not complete.
  bool IsInside() const { return depth_ > 0; }

 private:
  const size_t object_bytes_max_;
  std::string pending_;  // The beginning of an object that came in earlier pieces.
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_JSON_SPLITTER_H_
