// The state of a resource in one word, with its tone. Pure.
#ifndef NAVE_CLI_RESOURCES_WORDS_H_
#define NAVE_CLI_RESOURCES_WORDS_H_

#include <google/protobuf/repeated_ptr_field.h>
#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/output/style.h"
#include "nave/v1/bundle.pb.h"
#include "nave/v1/cluster.pb.h"

namespace nave::cli {

struct StateWord {
  std::string word;
  Tone tone = Tone::kPlain;
  // CamelCase; may be empty.
  std::string reason;
  std::string message;
  absl::Time since = absl::InfinitePast();
};

StateWord StateOf(const v1::Cluster& cluster);
// Deleting, RemovalHeld, Ready, or the health word.
StateWord StateOf(const v1::Bundle& bundle);
StateWord StateOf(const v1::Assignment& assignment);

// nullptr when there is none of that type.
const v1::Condition* FindCondition(
    const google::protobuf::RepeatedPtrField<v1::Condition>& conditions, absl::string_view type);

// The word of an enum value as files have it: PhaseWord -> "OnHold". "-" for what is unspecified.
template <typename Enum>
std::string WordOf(Enum value);
std::string EnumValueWord(const google::protobuf::EnumDescriptor* type, int number);

Tone ToneOf(v1::Health health);

// InfinitePast when absent.
absl::Time TimeOf(bool present, const google::protobuf::Timestamp& time);

template <typename Enum>
std::string WordOf(Enum value) {
  return EnumValueWord(google::protobuf::GetEnumDescriptor<Enum>(), static_cast<int>(value));
}

}  // namespace nave::cli

#endif  // NAVE_CLI_RESOURCES_WORDS_H_
