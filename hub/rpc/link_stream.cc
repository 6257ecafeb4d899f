#include "hub/rpc/link_stream.h"

#include <utility>
#include <vector>

#include "common/wire/link.h"

namespace nave {
namespace {

using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// A slice that keeps the shared set alive until gRPC has sent it.
grpc::Slice ShareSlice(const BlobSetPtr& set) {
  auto* reference = new BlobSetPtr(set);
  return grpc::Slice(
      const_cast<char*>(set->encoded.data()), set->encoded.size(),
      [](void* user_data) { delete static_cast<BlobSetPtr*>(user_data); }, reference);
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

class LinkReactor;

// What the session host holds. Loop thread only; outlives the reactor.
class LinkStream : public AgentStream {
 public:
  explicit LinkStream(LinkReactor* reactor) : reactor_(reactor) {}
  void Write(HubFrame frame) override;
  void Close() override;
  void Detach() { reactor_ = nullptr; }

 private:
  LinkReactor* reactor_;
};

// gRPC's threads only convert and post; reads, writes and the end are started from the loop.
class LinkReactor : public Reactor {
 public:
  LinkReactor(Executor* loop, SessionHost* host, LinkIdentity identity)
      : loop_(loop), host_(host), stream_(std::make_shared<LinkStream>(this)) {
    loop_->Post([this, identity = std::move(identity)]() mutable { Begin(std::move(identity)); });
  }

  // On the loop.
  void Write(const HubFrame& frame) {
    outgoing_ = EncodeFrame(frame);
    StartWrite(&outgoing_);
  }
  void End() {
    if (finished_) return;
    finished_ = true;
    Finish(grpc::Status::OK);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      loop_->Post([this] { End(); });
      return;
    }
    absl::StatusOr<AgentFrame> frame = ParseAgentFrame(ToString(incoming_));
    loop_->Post([this, frame = std::move(frame)]() mutable {
      if (refused_ || finished_) return;
      if (frame.ok()) {
        host_->OnFrame(id_, *std::move(frame));
      } else {
        host_->OnBadFrame(id_, std::string(frame.status().message()));
      }
      // The next frame is taken when this one was handled: HTTP/2's own windows are the
      // back-pressure.
      if (!finished_) StartRead(&incoming_);
    });
  }
  void OnWriteDone(bool ok) override {
    loop_->Post([this, ok] {
      if (!ok || refused_) return End();
      host_->OnWritten(id_);
    });
  }
  void OnCancel() override {
    loop_->Post([this] { End(); });
  }
  void OnDone() override {
    loop_->Post([this] {
      stream_->Detach();
      if (id_ != 0) host_->OnClosed(id_);
      delete this;
    });
  }

 private:
  void Begin(LinkIdentity identity) {
    if (identity.refusal.has_value()) {
      refused_ = true;
      return Write(HubFrame{{}, {}, *std::move(identity.refusal)});
    }
    id_ = host_->OnOpen(identity.identity, stream_);
    StartRead(&incoming_);
  }

  Executor* const loop_;
  SessionHost* const host_;
  std::shared_ptr<LinkStream> stream_;
  StreamId id_ = 0;
  bool refused_ = false;
  bool finished_ = false;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
};

void LinkStream::Write(HubFrame frame) {
  if (reactor_ != nullptr) reactor_->Write(frame);
}

void LinkStream::Close() {
  if (reactor_ != nullptr) reactor_->End();
}

}  // namespace

LinkIdentity IdentifyCluster(const Peer& peer, absl::string_view hub_id,
                             absl::string_view address) {
  LinkIdentity result;
  auto refuse = [&](RefusalReason reason, std::string message) {
    result.refusal = Refusal{reason, std::move(message), std::nullopt};
    return result;
  };
  if (peer.outcome == PeerOutcome::kNone) {
    return refuse(RefusalReason::kCertUntrusted, "no client certificate was presented");
  }
  std::optional<Uuid> uid = Uuid::Parse(peer.uri.name);
  bool ours = peer.uri.hub_id == hub_id && peer.uri.kind == PeerKind::kCluster && uid.has_value();
  if (peer.outcome == PeerOutcome::kUntrusted || !ours) {
    return refuse(
        RefusalReason::kCertUntrusted,
        peer.detail.empty() ? "the certificate is not that of a cluster of this hub" : peer.detail);
  }
  if (peer.outcome == PeerOutcome::kExpired) {
    return refuse(RefusalReason::kCertExpired, "the certificate has expired");
  }
  result.identity = {*uid, peer.common_name, peer.generation, peer.not_after, std::string(address)};
  return result;
}

Reactor* StartLinkStream(Executor* loop, SessionHost* host, LinkIdentity identity) {
  return new LinkReactor(loop, host, std::move(identity));
}

grpc::ByteBuffer EncodeFrame(const HubFrame& frame) {
  std::vector<grpc::Slice> slices;
  for (const BlobSetPtr& set : frame.shared_blobs) {
    if (!set->encoded.empty()) slices.push_back(ShareSlice(set));
  }
  slices.emplace_back(SerializeBlobs(frame.blobs) + SerializeHubFrameRest(frame));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

}  // namespace nave
