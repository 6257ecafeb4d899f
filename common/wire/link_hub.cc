// Frames that the hub says.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/link.h"
#include "common/wire/link_internal.h"

namespace nave {
namespace link {

absl::Status ReadUuid(absl::string_view field, absl::string_view bytes, Uuid* out) {
  auto uuid = Uuid::FromBytes(bytes);
  if (!uuid.has_value())
    return ProtocolError(absl::StrCat(field, ": want 16 bytes, got ", bytes.size()));
  *out = *uuid;
  return absl::OkStatus();
}

absl::Status ReadDigest(absl::string_view field, absl::string_view bytes, Digest* out) {
  auto digest = Digest::FromBytes(bytes);
  if (!digest.has_value())
    return ProtocolError(absl::StrCat(field, ": want 32 bytes, got ", bytes.size()));
  *out = *digest;
  return absl::OkStatus();
}

void WriteAt(const At& at, pb::At* out) {
  out->set_term(at.term);
  WriteUuid(at.nonce, out->mutable_nonce());
  out->set_revision(at.revision);
}

absl::Status ReadAt(absl::string_view field, const pb::At& at, At* out) {
  *out = At{};
  if (at.term() == 0) return absl::OkStatus();
  out->term = at.term();
  out->revision = at.revision();
  return ReadUuid(absl::StrCat(field, ".nonce"), at.nonce(), &out->nonce);
}

namespace {

// The registry of reasons in link.proto starts at 0 and has no gap, as the model's enum.
constexpr int kRefusalReasonLast = static_cast<int>(RefusalReason::kProtocolError);
static_assert(kRefusalReasonLast == pb::REFUSAL_REASON_PROTOCOL_ERROR);
static_assert(static_cast<int>(RefusalReason::kSuperseded) == pb::REFUSAL_REASON_SUPERSEDED);
static_assert(static_cast<int>(RefusalReason::kBehind) == pb::REFUSAL_REASON_BEHIND);

constexpr absl::Duration kLivenessMin = absl::Milliseconds(1);
constexpr absl::Duration kLivenessMax = absl::Hours(1);

// `proto` in [min, 1 h]; `otherwise` when absent or out of Duration's range.
absl::Duration ReadSpan(bool present, const google::protobuf::Duration& proto, absl::Duration min,
                        absl::Duration otherwise) {
  if (!present) return otherwise;
  auto span = DurationFromProto(proto);
  if (!span.has_value()) return otherwise;
  return std::clamp(*span, min, kLivenessMax);
}

void ToProto(const Welcome& welcome, pb::Welcome* out) {
  out->set_protocol(welcome.protocol);
  out->set_epoch(welcome.epoch);
  out->set_hub_id(Word(welcome.hub_id));
  WriteAt(welcome.current, out->mutable_current());
  out->set_history_contains_yours(welcome.history_contains_yours);
  out->set_adopt(welcome.adopt);
  out->set_set_matches(welcome.set_matches);
  if (welcome.status.has_value()) {
    WriteUuid(welcome.status->instance_id, out->mutable_status()->mutable_instance_id());
    out->mutable_status()->set_seq(welcome.status->seq);
  }
  DurationToProto(welcome.ping_interval, out->mutable_ping_interval());
  DurationToProto(welcome.dead_after, out->mutable_dead_after());
  DurationToProto(welcome.reconnect_spread, out->mutable_reconnect_spread());
  out->mutable_limits()->set_frame_bytes(kFrameBytesMax);
  out->mutable_limits()->set_status_objects(kStatusObjectsMax);
  if (!TimeToProto(welcome.hub_time, out->mutable_hub_time())) out->clear_hub_time();
}

absl::Status FromProto(const pb::Welcome& welcome, Welcome* out) {
  const Welcome defaults;
  out->protocol = welcome.protocol();
  out->epoch = welcome.epoch();
  out->hub_id = Word(welcome.hub_id());
  RETURN_IF_ERROR(ReadAt("welcome.current", welcome.current(), &out->current));
  if (out->current.IsNone()) return ProtocolError("welcome.current: has no term");
  out->history_contains_yours = welcome.history_contains_yours();
  out->adopt = welcome.adopt();
  out->set_matches = welcome.set_matches();
  if (welcome.has_status()) {
    StatusCursor& cursor = out->status.emplace();
    RETURN_IF_ERROR(ReadUuid("welcome.status.instance_id", welcome.status().instance_id(),
                             &cursor.instance_id));
    cursor.seq = welcome.status().seq();
  }
  out->ping_interval = ReadSpan(welcome.has_ping_interval(), welcome.ping_interval(), kLivenessMin,
                                defaults.ping_interval);
  out->dead_after =
      ReadSpan(welcome.has_dead_after(), welcome.dead_after(), kLivenessMin, defaults.dead_after);
  out->reconnect_spread = ReadSpan(welcome.has_reconnect_spread(), welcome.reconnect_spread(),
                                   absl::ZeroDuration(), defaults.reconnect_spread);
  out->hub_time = welcome.has_hub_time() ? TimeFromProto(welcome.hub_time()) : absl::InfinitePast();
  return absl::OkStatus();
}

void ToProto(const Refusal& refusal, pb::Refusal* out) {
  out->set_reason(static_cast<pb::RefusalReason>(refusal.reason));
  out->set_message(Text(refusal.message));
  if (refusal.retry_after.has_value())
    DurationToProto(*refusal.retry_after, out->mutable_retry_after());
}

Refusal FromProto(const pb::Refusal& refusal) {
  Refusal out;
  // A reason of a later hub: unspecified, handled as a lost stream.
  int reason = refusal.reason();
  if (reason >= 0 && reason <= kRefusalReasonLast) out.reason = static_cast<RefusalReason>(reason);
  out.message = Text(refusal.message());
  if (refusal.has_retry_after()) {
    auto after = DurationFromProto(refusal.retry_after());
    if (after.has_value()) out.retry_after = std::clamp(*after, absl::ZeroDuration(), kLivenessMax);
  }
  return out;
}

void ToProto(const DesiredBatch& batch, pb::DesiredBatch* out) {
  WriteAt(batch.at, out->mutable_at());
  out->set_part(batch.part);
  out->set_last(batch.last);
  out->set_items(batch.items);
  if (!batch.desired_root.IsNone()) WriteDigest(batch.desired_root, out->mutable_desired_root());
  for (const Upsert& upsert : batch.upserts) {
    pb::Upsert* added = out->add_upserts();
    WriteUuid(upsert.key, added->mutable_key());
    added->set_name(Word(upsert.name));
    WriteDigest(upsert.digest, added->mutable_digest());
    added->set_size(upsert.size);
    added->set_confirmed(upsert.confirmed);
  }
  for (const Tombstone& tombstone : batch.tombstones) {
    pb::Tombstone* added = out->add_tombstones();
    WriteUuid(tombstone.key, added->mutable_key());
    added->set_reason(Word(tombstone.reason));
    added->set_propagation(tombstone.propagation == Propagation::kOrphan ? pb::PROPAGATION_ORPHAN
                                                                         : pb::PROPAGATION_DELETE);
    added->set_confirmed(tombstone.confirmed);
  }
  for (const Uuid& key : batch.not_desired) WriteUuid(key, out->add_not_desired());
}

absl::Status FromProto(const pb::Tombstone& tombstone, Tombstone* out) {
  RETURN_IF_ERROR(ReadUuid("desired_batch.tombstones.key", tombstone.key(), &out->key));
  out->reason = Word(tombstone.reason());
  out->confirmed = tombstone.confirmed();
  switch (tombstone.propagation()) {
    case pb::PROPAGATION_DELETE:
      out->propagation = Propagation::kDelete;
      return absl::OkStatus();
    case pb::PROPAGATION_ORPHAN:
      out->propagation = Propagation::kOrphan;
      return absl::OkStatus();
    // An order that is not understood must not become a deletion.
    default:
      return ProtocolError(absl::StrCat("desired_batch.tombstones.propagation: unknown value ",
                                        static_cast<int>(tombstone.propagation())));
  }
}

absl::Status FromProto(const pb::DesiredBatch& batch, DesiredBatch* out) {
  RETURN_IF_ERROR(ReadAt("desired_batch.at", batch.at(), &out->at));
  if (out->at.IsNone()) return ProtocolError("desired_batch.at: has no term");
  out->part = batch.part();
  out->last = batch.last();
  out->items = batch.items();
  if (!batch.desired_root().empty()) {
    RETURN_IF_ERROR(
        ReadDigest("desired_batch.desired_root", batch.desired_root(), &out->desired_root));
  } else if (batch.last()) {
    return ProtocolError("desired_batch.desired_root: missing on the last part");
  }
  for (const pb::Upsert& upsert : batch.upserts()) {
    Upsert& added = out->upserts.emplace_back();
    RETURN_IF_ERROR(ReadUuid("desired_batch.upserts.key", upsert.key(), &added.key));
    added.name = Word(upsert.name());
    RETURN_IF_ERROR(ReadDigest("desired_batch.upserts.digest", upsert.digest(), &added.digest));
    added.size = upsert.size();
    added.confirmed = upsert.confirmed();
  }
  for (const pb::Tombstone& tombstone : batch.tombstones()) {
    RETURN_IF_ERROR(FromProto(tombstone, &out->tombstones.emplace_back()));
  }
  for (const std::string& key : batch.not_desired()) {
    RETURN_IF_ERROR(ReadUuid("desired_batch.not_desired", key, &out->not_desired.emplace_back()));
  }
  return absl::OkStatus();
}

struct HubBodyWriter {
  pb::HubFrame* out;
  void operator()(std::monostate) const {}
  void operator()(const Welcome& body) const { ToProto(body, out->mutable_welcome()); }
  void operator()(const Refusal& body) const { ToProto(body, out->mutable_refusal()); }
  void operator()(const DesiredBatch& body) const { ToProto(body, out->mutable_desired_batch()); }
  void operator()(const StatusAck& body) const { out->mutable_status_ack()->set_seq(body.seq); }
  void operator()(const Pong&) const { out->mutable_pong(); }
  void operator()(const Drain&) const {
    out->mutable_drain()->set_reason(pb::DRAIN_REASON_STOPPING);
  }
};

absl::Status ReadBlobs(pb::HubFrame* proto, std::vector<BlobPtr>* out) {
  out->reserve(proto->blobs_size());
  for (pb::Blob& blob : *proto->mutable_blobs()) {
    if (blob.encoding() != pb::BLOB_ENCODING_ZSTD) {
      return ProtocolError(
          absl::StrCat("blobs.encoding: unknown value ", static_cast<int>(blob.encoding())));
    }
    auto read = std::make_shared<Blob>();
    read->compressed = std::move(*blob.mutable_data());
    out->push_back(std::move(read));
  }
  return absl::OkStatus();
}

absl::Status ReadBody(const pb::HubFrame& proto, HubFrame* out) {
  int bodies = proto.has_welcome() + proto.has_refusal() + proto.has_desired_batch() +
               proto.has_status_ack() + proto.has_pong() + proto.has_drain();
  if (bodies > 1) return ProtocolError("frame: has several bodies");
  if (proto.has_welcome()) return FromProto(proto.welcome(), &out->body.emplace<Welcome>());
  if (proto.has_desired_batch())
    return FromProto(proto.desired_batch(), &out->body.emplace<DesiredBatch>());
  if (proto.has_refusal()) out->body = FromProto(proto.refusal());
  if (proto.has_status_ack()) out->body = StatusAck{proto.status_ack().seq()};
  if (proto.has_pong()) out->body = Pong{};
  if (proto.has_drain()) out->body = Drain{};
  return absl::OkStatus();
}

size_t VarintBytes(size_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

}  // namespace
}  // namespace link

std::string SerializeBlobs(const std::vector<BlobPtr>& blobs) {
  link::pb::HubFrame proto;
  for (const BlobPtr& blob : blobs) {
    link::pb::Blob* added = proto.add_blobs();
    added->set_encoding(link::pb::BLOB_ENCODING_ZSTD);
    added->set_data(blob->compressed);
  }
  return proto.SerializeAsString();
}

size_t SerializedBlobBytes(size_t compressed_bytes) {
  size_t inner = 2 + 1 + link::VarintBytes(compressed_bytes) + compressed_bytes;
  return 1 + link::VarintBytes(inner) + inner;
}

std::string SerializeHubFrameRest(const HubFrame& frame) {
  link::pb::HubFrame proto;
  std::visit(link::HubBodyWriter{&proto}, frame.body);
  return proto.SerializeAsString();
}

absl::StatusOr<HubFrame> ParseHubFrame(absl::string_view bytes) {
  if (bytes.size() > kFrameBytesMax) {
    return link::ProtocolError(
        absl::StrCat("frame: at most ", kFrameBytesMax, " bytes, got ", bytes.size()));
  }
  link::pb::HubFrame proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return link::ProtocolError("frame: the bytes are not a HubFrame");
  }
  HubFrame frame;
  RETURN_IF_ERROR(link::ReadBlobs(&proto, &frame.blobs));
  RETURN_IF_ERROR(link::ReadBody(proto, &frame));
  return frame;
}

}  // namespace nave
