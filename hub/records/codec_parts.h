// Parts that several records share, between values and messages. Of the codec only.
#ifndef NAVE_HUB_RECORDS_CODEC_PARTS_H_
#define NAVE_HUB_RECORDS_CODEC_PARTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/base/uuid.h"
#include "common/model/cluster.h"
#include "common/model/meta.h"
#include "hub/records/envelope.h"
#include "nave/store/v1/records.pb.h"

namespace nave::codec {

namespace pb = ::nave::store::v1;

inline std::string ToBytes(const Uuid& uuid) {
  return uuid.IsNone() ? std::string() : std::string(uuid.View());
}
inline std::string ToBytes(const Digest& digest) {
  return digest.IsNone() ? std::string() : std::string(digest.View());
}

// Nanoseconds, clamped to what 64 bits hold; not to be called with "never".
int64_t ToNanos(absl::Time time);
inline absl::Time FromNanos(bool present, int64_t nanos) {
  return present ? absl::FromUnixNanos(nanos) : absl::InfinitePast();
}

// Sets or leaves out an optional time: NAVE_SET_TIME(message, since, time) sets message->since_ns.
#define NAVE_SET_TIME(message, field, time) \
  if ((time) != absl::InfinitePast()) (message)->set_##field##_ns(::nave::codec::ToNanos(time))
#define NAVE_GET_TIME(message, field) \
  ::nave::codec::FromNanos((message).has_##field##_ns(), (message).field##_ns())

// Reads parts of one message and remembers the first that is wrong.
class Reader {
 public:
  Uuid ReadUuid(const std::string& bytes, absl::string_view field);
  Digest ReadDigest(const std::string& bytes, absl::string_view field);
  void Fail(absl::string_view field, absl::string_view rule);
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

// An enum of the model and its stored counterpart, pair by pair, so that neither side's numbers
// matter to the other.
template <typename Model, typename Stored>
struct EnumPair {
  Model model;
  Stored stored;
};

template <typename Model, typename Stored, size_t N>
Stored ToStored(const EnumPair<Model, Stored> (&pairs)[N], Model value) {
  for (const auto& pair : pairs) {
    if (pair.model == value) return pair.stored;
  }
  return static_cast<Stored>(0);
}

template <typename Model, typename Stored, size_t N>
Model FromStored(const EnumPair<Model, Stored> (&pairs)[N], Stored value, absl::string_view field,
                 Reader* reader) {
  for (const auto& pair : pairs) {
    if (pair.stored == value) return pair.model;
  }
  reader->Fail(field, "is of no known value");
  return pairs[0].model;
}

void ToMessage(const ObjectMeta& meta, pb::Meta* message);
ObjectMeta FromMessage(const pb::Meta& message, Reader* reader);
void ToMessage(const Condition& condition, pb::Condition* message);
Condition FromMessage(const pb::Condition& message, Reader* reader);
void ToMessage(const Facts& facts, pb::Facts* message);
Facts FromMessage(const pb::Facts& message, Reader* reader);

template <typename Strings>
void ToStrings(const Strings& values, google::protobuf::RepeatedPtrField<std::string>* strings) {
  for (const auto& value : values) *strings->Add() = value;
}

inline std::vector<std::string> FromStrings(
    const google::protobuf::RepeatedPtrField<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

// Maps of messages iterate in no fixed order; serialised so that equal values have equal bytes.
std::string Serialize(const google::protobuf::MessageLite& message);

inline std::string Wrap(const google::protobuf::MessageLite& message) {
  return WrapPlain(Serialize(message));
}

// Parses the envelope's payload into `message`.
absl::Status Unwrap(absl::string_view value, google::protobuf::MessageLite* message);

}  // namespace nave::codec

#endif  // NAVE_HUB_RECORDS_CODEC_PARTS_H_
