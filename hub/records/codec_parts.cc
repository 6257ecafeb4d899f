#include "hub/records/codec_parts.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hub/records/codec.h"

namespace nave {
namespace codec {
namespace {

constexpr EnumPair<ConditionStatus, pb::ConditionStatus> kConditionStatuses[] = {
    {ConditionStatus::kUnknown, pb::CONDITION_STATUS_UNKNOWN},
    {ConditionStatus::kTrue, pb::CONDITION_STATUS_TRUE},
    {ConditionStatus::kFalse, pb::CONDITION_STATUS_FALSE},
};

absl::Status Corrupt(absl::string_view what) {
  return MakeError(Reason::kStoreCorrupt, absl::StrCat("value: ", what));
}

}  // namespace

int64_t ToNanos(absl::Time time) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  if (time >= absl::FromUnixNanos(kMax)) return kMax;
  if (time <= absl::FromUnixNanos(kMin)) return kMin;
  return absl::ToUnixNanos(time);
}

Uuid Reader::ReadUuid(const std::string& bytes, absl::string_view field) {
  if (bytes.empty()) return {};
  std::optional<Uuid> uuid = Uuid::FromBytes(bytes);
  if (!uuid.has_value()) Fail(field, absl::StrCat("want 16 bytes, got ", bytes.size()));
  return uuid.value_or(Uuid{});
}

Digest Reader::ReadDigest(const std::string& bytes, absl::string_view field) {
  if (bytes.empty()) return {};
  std::optional<Digest> digest = Digest::FromBytes(bytes);
  if (!digest.has_value()) Fail(field, absl::StrCat("want 32 bytes, got ", bytes.size()));
  return digest.value_or(Digest{});
}

void Reader::Fail(absl::string_view field, absl::string_view rule) {
  if (status_.ok()) status_ = Corrupt(absl::StrCat(field, ": ", rule));
}

void ToMessage(const ObjectMeta& meta, pb::Meta* message) {
  message->set_uid(ToBytes(meta.uid));
  message->mutable_labels()->insert(meta.labels.begin(), meta.labels.end());
  message->mutable_annotations()->insert(meta.annotations.begin(), meta.annotations.end());
  message->set_generation(meta.generation);
  NAVE_SET_TIME(message, create_time, meta.create_time);
  NAVE_SET_TIME(message, update_time, meta.update_time);
  NAVE_SET_TIME(message, delete_time, meta.delete_time);
}

ObjectMeta FromMessage(const pb::Meta& message, Reader* reader) {
  ObjectMeta meta;
  meta.uid = reader->ReadUuid(message.uid(), "uid");
  meta.labels.insert(message.labels().begin(), message.labels().end());
  meta.annotations.insert(message.annotations().begin(), message.annotations().end());
  meta.generation = message.generation();
  meta.create_time = NAVE_GET_TIME(message, create_time);
  meta.update_time = NAVE_GET_TIME(message, update_time);
  meta.delete_time = NAVE_GET_TIME(message, delete_time);
  return meta;
}

void ToMessage(const Condition& condition, pb::Condition* message) {
  message->set_type(condition.type);
  message->set_status(ToStored(kConditionStatuses, condition.status));
  message->set_reason(condition.reason);
  message->set_message(condition.message);
  NAVE_SET_TIME(message, since, condition.since);
  message->set_observed_generation(condition.observed_generation);
}

Condition FromMessage(const pb::Condition& message, Reader* reader) {
  Condition condition;
  condition.type = message.type();
  condition.status = FromStored(kConditionStatuses, message.status(), "condition status", reader);
  condition.reason = message.reason();
  condition.message = message.message();
  condition.since = NAVE_GET_TIME(message, since);
  condition.observed_generation = message.observed_generation();
  return condition;
}

void ToMessage(const Facts& facts, pb::Facts* message) {
  message->set_kubernetes_version(facts.kubernetes_version);
  message->set_nodes(facts.nodes);
  message->set_nodes_ready(facts.nodes_ready);
  message->mutable_node_versions()->insert(facts.node_versions.begin(), facts.node_versions.end());
  message->set_cpu_millis(facts.cpu_millis);
  message->set_memory_bytes(facts.memory_bytes);
  for (const auto& part : facts.conditions) ToMessage(part, message->add_conditions());
}

Facts FromMessage(const pb::Facts& message, Reader* reader) {
  Facts facts;
  facts.kubernetes_version = message.kubernetes_version();
  facts.nodes = message.nodes();
  facts.nodes_ready = message.nodes_ready();
  facts.node_versions.insert(message.node_versions().begin(), message.node_versions().end());
  facts.cpu_millis = message.cpu_millis();
  facts.memory_bytes = message.memory_bytes();
  for (const auto& part : message.conditions())
    facts.conditions.push_back(FromMessage(part, reader));
  return facts;
}

std::string Serialize(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

absl::Status Unwrap(absl::string_view value, google::protobuf::MessageLite* message) {
  ASSIGN_OR_RETURN(std::string payload, UnwrapPlain(value));
  if (message->ParseFromString(payload)) return absl::OkStatus();
  return Corrupt(absl::StrCat("not a ", message->GetTypeName()));
}

}  // namespace codec

std::string EncodeText(absl::string_view text) { return WrapPlain(text); }

absl::StatusOr<std::string> DecodeText(absl::string_view value) { return UnwrapPlain(value); }

std::string EncodeNumber(uint64_t number) { return WrapPlain(absl::StrCat(number)); }

absl::StatusOr<uint64_t> DecodeNumber(absl::string_view value) {
  ASSIGN_OR_RETURN(std::string text, UnwrapPlain(value));
  uint64_t number = 0;
  if (absl::SimpleAtoi(text, &number)) return number;
  return codec::Corrupt("want a number");
}

}  // namespace nave
