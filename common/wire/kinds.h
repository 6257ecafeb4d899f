// The kinds of the public API: how files, names and people call them.
#ifndef NAVE_COMMON_WIRE_KINDS_H_
#define NAVE_COMMON_WIRE_KINDS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace google::protobuf {
class Message;
}

namespace nave {

struct KindInfo {
  // As in files: Bundle.
  absl::string_view kind;
  // As in resource names: bundles.
  absl::string_view collection;
  // Lower-case words for the command line, singular first.
  std::vector<absl::string_view> words;
  // Names begin with projects/{project}.
  bool in_project = false;
  // Users write it.
  bool writable = true;
  // An empty message of the kind; the caller owns it.
  google::protobuf::Message* (*make)() = nullptr;
};

const std::vector<KindInfo>& Kinds();
// By kind, collection or word, case ignored; nullptr when there is none.
const KindInfo* FindKind(absl::string_view word);
// Of a resource message; nullptr for other messages.
const KindInfo* KindOf(const google::protobuf::Message& message);

}  // namespace nave

#endif  // NAVE_COMMON_WIRE_KINDS_H_
