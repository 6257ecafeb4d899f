#include "hub/rpc/link_service.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/time/clock.h"
#include "common/base/error.h"
#include "common/pki/tls_credentials.h"
#include "common/wire/grpc_status.h"
#include "hub/rpc/link_stream.h"
#include "nave/agent/v1/link.grpc.pb.h"

namespace nave {
namespace {

namespace pb = ::nave::agent::v1;

// Pieces that a blob is sent in.
constexpr size_t kChunkBytes = 256 << 10;
// Wants of one call; an agent asks for the rest in the next.
constexpr int kWantsMax = 10000;

// One FetchBlobs call: the blobs, cut into chunks, one write at a time. Deletes itself.
class FetchReactor : public grpc::ServerWriteReactor<pb::Chunk> {
 public:
  FetchReactor(std::vector<Digest> wants) : wants_(std::move(wants)) {}

  void Fail(const absl::Status& status) { Finish(ToGrpcStatus(status)); }
  void Send(std::vector<BlobPtr> blobs) {
    blobs_ = std::move(blobs);
    Next();
  }
  const std::vector<Digest>& wants() const { return wants_; }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the agent is gone"));
    Next();
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    if (index_ >= wants_.size()) return Finish(grpc::Status::OK);
    chunk_.Clear();
    chunk_.set_digest(std::string(wants_[index_].View()));
    const BlobPtr& blob = blobs_[index_];
    if (blob == nullptr) {
      chunk_.set_superseded(true);
      chunk_.set_last(true);
    } else {
      chunk_.set_encoding(pb::BLOB_ENCODING_ZSTD);
      chunk_.set_data(blob->compressed.substr(offset_, kChunkBytes));
      offset_ += chunk_.data().size();
      chunk_.set_last(offset_ >= blob->compressed.size());
    }
    if (chunk_.last()) {
      ++index_;
      offset_ = 0;
    }
    StartWrite(&chunk_);
  }

  std::vector<Digest> wants_;
  std::vector<BlobPtr> blobs_;
  size_t index_ = 0;
  size_t offset_ = 0;
  pb::Chunk chunk_;
};

using Base = pb::AgentLink::WithRawCallbackMethod_Connect<
    pb::AgentLink::WithCallbackMethod_Enroll<pb::AgentLink::WithCallbackMethod_Renew<
        pb::AgentLink::WithCallbackMethod_FetchBlobs<pb::AgentLink::Service>>>>;

class LinkService : public Base {
 public:
  LinkService(Executor* loop, Executor* worker, SessionHost* host, LinkBackend* backend)
      : loop_(loop), worker_(worker), host_(host), backend_(backend) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Connect(
      grpc::CallbackServerContext* context) override {
    return StartLinkStream(loop_, host_, Identify(*context));
  }

  grpc::ServerUnaryReactor* Enroll(grpc::CallbackServerContext* context,
                                   const pb::EnrollRequest* request,
                                   pb::EnrollResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    EnrollCall call{request->token(), request->csr_pem(), request->kube_system_uid(),
                    request->agent_version(), context->peer()};
    worker_->Post([this, reactor, response, call = std::move(call)] {
      absl::StatusOr<EnrollReply> answer = backend_->Enroll(call);
      if (!answer.ok()) return reactor->Finish(ToGrpcStatus(answer.status()));
      response->set_certificate_pem(answer->certificate_pem);
      response->set_ca_pem(answer->ca_pem);
      response->set_cluster_uid(answer->cluster_uid.ToString());
      response->set_cluster_name(answer->cluster_name);
      response->set_hub_id(answer->hub_id);
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

  grpc::ServerUnaryReactor* Renew(grpc::CallbackServerContext* context,
                                  const pb::RenewRequest* request,
                                  pb::RenewResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    RenewCall call{PeerOf(*context, backend_->Roots(), absl::Now()), request->csr_pem(),
                   context->peer()};
    worker_->Post([this, reactor, response, call = std::move(call)] {
      absl::StatusOr<RenewReply> answer = backend_->Renew(call);
      if (!answer.ok()) return reactor->Finish(ToGrpcStatus(answer.status()));
      response->set_certificate_pem(answer->certificate_pem);
      response->set_ca_pem(answer->ca_pem);
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

  grpc::ServerWriteReactor<pb::Chunk>* FetchBlobs(grpc::CallbackServerContext* context,
                                                  const pb::FetchBlobsRequest* request) override {
    LinkIdentity identity = Identify(*context);
    std::vector<Digest> wants;
    for (const pb::FetchBlobsRequest::Want& want : request->wants()) {
      wants.push_back(Digest::FromBytes(want.digest()).value_or(Digest{}));
    }
    auto* reactor = new FetchReactor(std::move(wants));
    if (identity.refusal.has_value()) {
      bool expired = identity.refusal->reason == RefusalReason::kCertExpired;
      reactor->Fail(MakeError(expired ? Reason::kCertExpired : Reason::kCertUntrusted,
                              identity.refusal->message));
    } else if (request->wants_size() > kWantsMax) {
      reactor->Fail(MakeError(Reason::kLimitExceeded, "wants: at most 10000 in one call"));
    } else {
      worker_->Post([this, reactor, cluster = identity.identity.cluster] {
        absl::StatusOr<std::vector<BlobPtr>> blobs =
            backend_->FetchBlobs(cluster, reactor->wants());
        if (!blobs.ok()) return reactor->Fail(blobs.status());
        reactor->Send(*std::move(blobs));
      });
    }
    return reactor;
  }

 private:
  LinkIdentity Identify(const grpc::CallbackServerContext& context) const {
    Peer peer = PeerOf(context, backend_->Roots(), absl::Now());
    return IdentifyCluster(peer, backend_->HubId(), context.peer());
  }

  Executor* const loop_;
  Executor* const worker_;
  SessionHost* const host_;
  LinkBackend* const backend_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLinkService(Executor* loop, Executor* worker, SessionHost* host,
                                               LinkBackend* backend) {
  return std::make_unique<LinkService>(loop, worker, host, backend);
}

}  // namespace nave
