#include "agent/rpc/grpc_calls.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/wire/grpc_status.h"
#include "common/wire/link.h"
#include "nave/agent/v1/link.pb.h"

namespace nave {
namespace {

namespace v1 = ::nave::agent::v1;

constexpr char kConnect[] = "/nave.agent.v1.AgentLink/Connect";
constexpr char kFetchBlobs[] = "/nave.agent.v1.AgentLink/FetchBlobs";
// 16 MiB over a line of 50 kB/s take six minutes.
constexpr std::chrono::minutes kFetchTimeout(15);
// A listing of 5,000 objects, uncompressible.
constexpr size_t kBlobBytesMax = 8 << 20;

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

// --- CallShare

void CallShare::Tell(absl::AnyInvocable<void(HubLinkListener&) &&> task) {
  loop_.Post([this, task = std::move(task)]() mutable {
    if (listener_ != nullptr) std::move(task)(*listener_);
  });
}

void CallShare::AddCall() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++calls_;
}

void CallShare::RemoveCall() {
  std::lock_guard<std::mutex> lock(mutex_);
  --calls_;
  // Under the lock: whoever waits may take this away once it is given up.
  changed_.notify_all();
}

void CallShare::WaitForCalls() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return calls_ == 0; });
}

// --- StreamCall

StreamCall::StreamCall(std::shared_ptr<CallShare> share, uint64_t attempt,
                       std::shared_ptr<grpc::Channel> channel)
    : share_(std::move(share)), attempt_(attempt), channel_(std::move(channel)) {}

void StreamCall::Start() {
  share_->AddCall();
  self_ = shared_from_this();
  grpc::GenericStub stub(channel_);
  stub.PrepareBidiStreamingCall(&context_, kConnect, grpc::StubOptions(), this);
  // The loop starts operations too, until End.
  AddHold();
  StartRead(&read_);
  // Told later, as this runs on the loop; but before anything that the call brings.
  share_->Post([self = self_] {
    HubLinkListener* listener = self->share_->listener();
    if (!self->closed_ && listener != nullptr) listener->OnStreamUp(self->attempt_);
  });
  // Last: the call may be over, and `self_` given up, at any moment from here on.
  StartCall();
}

void StreamCall::Send(const AgentFrame& frame) {
  write_ = BufferOf(SerializeAgentFrame(frame));
  std::lock_guard<std::mutex> lock(mutex_);
  if (!ended_) StartWrite(&write_);
}

void StreamCall::ReadNext() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!ended_) StartRead(&read_);
}

void StreamCall::End() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(ended_, true)) return;
  }
  RemoveHold();
}

void StreamCall::Close() {
  if (std::exchange(closed_, true)) return;
  context_.TryCancel();
  End();
}

void StreamCall::OnReadDone(bool ok) {
  if (!ok) return End();
  absl::StatusOr<HubFrame> frame = ParseHubFrame(BytesOf(read_));
  read_.Clear();
  if (!frame.ok()) {
    broken_ = frame.status();
    context_.TryCancel();
    return End();
  }
  share_->Post([self = shared_from_this(), frame = *std::move(frame)]() mutable {
    HubLinkListener* listener = self->share_->listener();
    if (self->closed_ || listener == nullptr) return;
    listener->OnFrame(self->attempt_, std::move(frame));
    self->ReadNext();
  });
}

void StreamCall::OnWriteDone(bool ok) {
  // A write that failed is told by the end of the stream.
  if (!ok) return;
  share_->Post([self = shared_from_this()] {
    HubLinkListener* listener = self->share_->listener();
    if (!self->closed_ && listener != nullptr) listener->OnWritten(self->attempt_);
  });
}

void StreamCall::OnDone(const grpc::Status& status) {
  absl::Status why = broken_.ok() ? FromGrpcStatus(status) : broken_;
  std::shared_ptr<CallShare> share = share_;
  // The channel goes on the loop, not on a thread of the channel's own.
  share->Post([self = std::move(self_), why = std::move(why)]() mutable {
    HubLinkListener* listener = self->share_->listener();
    const bool tell = !std::exchange(self->closed_, true) && listener != nullptr;
    self->channel_.reset();
    if (tell) listener->OnStreamDown(self->attempt_, std::move(why));
  });
  share->RemoveCall();
}

// --- FetchCall

FetchCall::FetchCall(std::shared_ptr<CallShare> share, const FetchRequest& request,
                     std::shared_ptr<grpc::Channel> channel)
    : share_(std::move(share)), id_(request.id), channel_(std::move(channel)) {
  v1::FetchBlobsRequest message;
  for (const Digest& digest : request.wants) {
    message.add_wants()->set_digest(std::string(digest.View()));
  }
  write_ = BufferOf(message.SerializeAsString());
}

void FetchCall::Start() {
  share_->AddCall();
  self_ = shared_from_this();
  context_.set_deadline(std::chrono::system_clock::now() + kFetchTimeout);
  grpc::GenericStub stub(channel_);
  // On the wire a call with one request is a stream of one.
  stub.PrepareBidiStreamingCall(&context_, kFetchBlobs, grpc::StubOptions(), this);
  StartWriteLast(&write_, grpc::WriteOptions());
  StartRead(&read_);
  StartCall();
}

void FetchCall::Cancel() {
  cancelled_ = true;
  context_.TryCancel();
}

void FetchCall::OnReadDone(bool ok) {
  if (!ok) return;
  broken_ = Take();
  read_.Clear();
  if (!broken_.ok()) return context_.TryCancel();
  StartRead(&read_);
}

absl::Status FetchCall::Take() {
  v1::Chunk chunk;
  if (!chunk.ParseFromString(BytesOf(read_))) {
    return MakeError(Reason::kProtocolError, "chunk: cannot be read");
  }
  std::optional<Digest> digest = Digest::FromBytes(chunk.digest());
  if (!digest.has_value()) return MakeError(Reason::kProtocolError, "chunk: no digest");
  if (chunk.superseded()) {
    superseded_.push_back(*digest);
    return absl::OkStatus();
  }
  if (chunk.encoding() != v1::BLOB_ENCODING_ZSTD) {
    return MakeError(Reason::kProtocolError, "chunk: unknown encoding");
  }
  std::string& data = partial_[*digest];
  data.append(chunk.data());
  if (data.size() > kBlobBytesMax) {
    return MakeError(Reason::kProtocolError, absl::StrCat("blob: over ", kBlobBytesMax, " bytes"));
  }
  if (!chunk.last()) return absl::OkStatus();
  share_->Post([self = shared_from_this(), digest = *digest, data = std::move(data)]() mutable {
    HubLinkListener* listener = self->share_->listener();
    if (!self->cancelled_ && listener != nullptr) {
      listener->OnBlob(self->id_, digest, std::move(data));
    }
  });
  partial_.erase(*digest);
  return absl::OkStatus();
}

void FetchCall::OnDone(const grpc::Status& status) {
  absl::Status why = broken_.ok() ? FromGrpcStatus(status) : broken_;
  std::shared_ptr<CallShare> share = share_;
  share->Post([self = std::move(self_), why = std::move(why)]() mutable {
    HubLinkListener* listener = self->share_->listener();
    self->over_ = true;
    self->channel_.reset();
    if (self->cancelled_ || listener == nullptr) return;
    listener->OnFetchDone(self->id_, std::move(why), std::move(self->superseded_));
  });
  share->RemoveCall();
}

}  // namespace nave
