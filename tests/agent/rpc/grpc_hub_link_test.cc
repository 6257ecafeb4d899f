// The link over real TLS and gRPC: frames and blobs both ways, and every way in which a stream
// ends.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "agent/rpc/hub_link.h"
#include "common/base/error.h"
#include "common/pki/tls_credentials.h"
#include "common/wire/link.h"
#include "nave/agent/v1/link.grpc.pb.h"
#include "tests/common/pki/test_pki.h"

namespace nave {
namespace {

namespace v1 = ::nave::agent::v1;
using testing::Contains;
using testing::ElementsAre;
using testing::StartsWith;

HubFrame FrameWith(StatusAck ack) {
  HubFrame frame;
  frame.body = ack;
  return frame;
}

// Answers each Ping with StatusAck 1, 2, …; a Hello ends the stream with a Refusal; Facts ends it
// with an error; KeySet is answered with bytes that are no frame (of `bad_bytes`).
class HubService final : public v1::AgentLink::Service {
 public:
  grpc::Status Connect(grpc::ServerContext* context,
                       grpc::ServerReaderWriter<v1::HubFrame, v1::AgentFrame>* stream) override {
    v1::AgentFrame frame;
    uint64_t seq = 0;
    while (stream->Read(&frame)) {
      HubFrame answer;
      if (frame.has_hello()) {
        answer.body = Refusal{RefusalReason::kNotAccepted, "wait", absl::Seconds(3)};
        Write(stream, answer);
        return grpc::Status::OK;
      }
      if (frame.has_facts()) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "going");
      if (frame.has_key_set()) {
        v1::HubFrame bad;
        bad.mutable_welcome();
        bad.mutable_pong();
        if (large) bad.add_blobs()->set_data(std::string(kFrameBytesMax + 1, 'x'));
        stream->Write(bad);
        continue;
      }
      answer = FrameWith(StatusAck{++seq});
      Write(stream, answer);
    }
    cancelled = context->IsCancelled();
    return grpc::Status::OK;
  }

  grpc::Status FetchBlobs(grpc::ServerContext* context, const v1::FetchBlobsRequest* request,
                          grpc::ServerWriter<v1::Chunk>* writer) override {
    for (const auto& want : request->wants()) {
      v1::Chunk chunk;
      chunk.set_digest(want.digest());
      if (want.digest() == std::string(Sha256("old").View())) {
        chunk.set_superseded(true);
        chunk.set_last(true);
        writer->Write(chunk);
        continue;
      }
      chunk.set_encoding(v1::BLOB_ENCODING_ZSTD);
      for (int i = 0; i < 3; ++i) {
        chunk.set_data(absl::StrCat("part", i));
        chunk.set_last(i == 2);
        writer->Write(chunk);
      }
    }
    while (hang_fetches && !context->IsCancelled()) absl::SleepFor(absl::Milliseconds(2));
    return grpc::Status::OK;
  }

  std::atomic<bool> large = false;
  std::atomic<bool> hang_fetches = false;
  std::atomic<bool> cancelled = false;

 private:
  static void Write(grpc::ServerReaderWriter<v1::HubFrame, v1::AgentFrame>* stream,
                    const HubFrame& frame) {
    v1::HubFrame message;
    message.ParseFromString(SerializeHubFrame(frame));
    stream->Write(message);
  }
};

// Writes down what it is told, as words.
class Recorder final : public HubLinkListener {
 public:
  void OnStreamUp(uint64_t attempt) override { Add(absl::StrCat("up ", attempt)); }
  void OnWritten(uint64_t attempt) override { Add(absl::StrCat("written ", attempt)); }
  void OnFrame(uint64_t attempt, HubFrame frame) override {
    if (const auto* ack = std::get_if<StatusAck>(&frame.body)) {
      Add(absl::StrCat("ack ", attempt, " ", ack->seq));
    } else if (const auto* refusal = std::get_if<Refusal>(&frame.body)) {
      Add(absl::StrCat("refusal ", attempt, " ", FormatRefusalReason(refusal->reason)));
    } else {
      Add("frame");
    }
  }
  void OnStreamDown(uint64_t attempt, absl::Status status) override {
    Add(absl::StrCat("down ", attempt, " ", ErrorReason(status)));
  }
  void OnBlob(uint64_t fetch, const Digest& digest, std::string compressed) override {
    Add(absl::StrCat("blob ", fetch, " ", digest.Hex().substr(0, 4), " ", compressed));
  }
  void OnFetchDone(uint64_t fetch, absl::Status status, std::vector<Digest> superseded) override {
    Add(absl::StrCat("fetched ", fetch, " ", ErrorReason(status), " ", superseded.size()));
  }

  // Waits until something that begins with `word` was told; "" after a generous time.
  std::string Await(const std::string& word) {
    absl::MutexLock lock(&mutex_);
    std::string found;
    auto told = [&] {
      for (const std::string& text : told_) {
        if (absl::string_view(text).substr(0, word.size()) == word) found = text;
      }
      return !found.empty();
    };
    mutex_.AwaitWithTimeout(absl::Condition(&told), absl::Seconds(60));
    return found;
  }
  std::vector<std::string> told() {
    absl::MutexLock lock(&mutex_);
    return told_;
  }

 private:
  void Add(std::string text) {
    absl::MutexLock lock(&mutex_);
    told_.push_back(std::move(text));
  }
  absl::Mutex mutex_;
  std::vector<std::string> told_;
};

class GrpcHubLinkTest : public testing::Test {
 protected:
  GrpcHubLinkTest() {
    const absl::Time now = absl::Now();
    TestIdentity server = IssueTo(ca_, ServerSpec(), now);
    agent_ = IssueTo(ca_, ClusterSpecOf(), now);
    folder_.Write("crt", server.chain_pem);
    folder_.Write("key", server.key_pem);
    folder_.Write("ca", ca_.certificate_pem);
    StartServer();
    On([this] {
      link_ = MakeGrpcHubLink(*loop_);
      link_->SetListener(&recorder_);
    });
  }
  ~GrpcHubLinkTest() override {
    On([this] { link_.reset(); });
    loop_.reset();
    StopServer();
  }

  void StartServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(
        absl::StrCat("127.0.0.1:", port_),
        MakeServerCredentials(
            CertificateFiles::Open({folder_.File("crt"), folder_.File("key"), folder_.File("ca")})
                .value()),
        &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void StopServer() {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }
  void On(std::function<void()> task) {
    absl::Notification done;
    loop_->Post([&] {
      task();
      done.Notify();
    });
    done.WaitForNotification();
  }
  HubEndpoint Endpoint() {
    return {absl::StrCat("127.0.0.1:", port_), ca_.certificate_pem, agent_.chain_pem,
            agent_.key_pem};
  }
  void Dial(uint64_t attempt) {
    On([&] { link_->Dial(attempt, Endpoint()); });
    recorder_.Await(absl::StrCat("up ", attempt));
  }
  // Waits until the next frame may be sent, as the link wants it.
  void Send(uint64_t attempt, AgentFrame frame) {
    const size_t before = Written(attempt);
    On([&] { link_->Send(attempt, frame); });
    if (server_ == nullptr) return;
    for (int i = 0; i < 30'000 && Written(attempt) == before; ++i) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  size_t Written(uint64_t attempt) {
    const std::vector<std::string> told = recorder_.told();
    return std::count(told.begin(), told.end(), absl::StrCat("written ", attempt));
  }

  TestCa ca_{"hub", absl::Now()};
  TestIdentity agent_;
  TestDirectory folder_;
  HubService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Executor> loop_ = MakeThreadExecutor();
  Recorder recorder_;
  std::unique_ptr<HubLink> link_;
};

TEST_F(GrpcHubLinkTest, FramesGoBothWays) {
  Dial(1);
  for (int i = 1; i <= 3; ++i) {
    Send(1, Ping{});
    EXPECT_EQ(recorder_.Await(absl::StrCat("ack 1 ", i)), absl::StrCat("ack 1 ", i));
  }
  EXPECT_THAT(recorder_.told(), Contains("written 1").Times(3));
}

TEST_F(GrpcHubLinkTest, ARefusalComesBeforeTheEnd) {
  Dial(1);
  Send(1, Hello{});
  EXPECT_THAT(recorder_.Await("down 1"), StartsWith("down 1"));
  EXPECT_THAT(recorder_.told(), Contains("refusal 1 NOT_ACCEPTED"));
}

TEST_F(GrpcHubLinkTest, AnErrorOfTheHubEndsTheStream) {
  Dial(1);
  Send(1, Facts{});
  EXPECT_EQ(recorder_.Await("down 1"), "down 1 HUB_UNREACHABLE");
}

TEST_F(GrpcHubLinkTest, AHubThatStopsEndsTheStream) {
  Dial(1);
  Send(1, Ping{});
  recorder_.Await("ack 1");
  StopServer();
  EXPECT_EQ(recorder_.Await("down 1"), "down 1 HUB_UNREACHABLE");
  StartServer();
  Dial(2);
  Send(2, Ping{});
  EXPECT_EQ(recorder_.Await("ack 2"), "ack 2 1");
}

TEST_F(GrpcHubLinkTest, NobodyThere) {
  StopServer();
  Dial(1);
  Send(1, Hello{});
  EXPECT_EQ(recorder_.Await("down 1"), "down 1 HUB_UNREACHABLE");
}

TEST_F(GrpcHubLinkTest, AHubOfAnotherCaIsNotTalkedTo) {
  HubEndpoint endpoint = Endpoint();
  endpoint.ca_pem = TestCa("other", absl::Now()).certificate_pem;
  On([&] { link_->Dial(1, endpoint); });
  EXPECT_EQ(recorder_.Await("down 1"), "down 1 HUB_UNREACHABLE");
}

TEST_F(GrpcHubLinkTest, WhatIsNoFrameEndsTheStream) {
  Dial(1);
  Send(1, KeySet{});
  EXPECT_EQ(recorder_.Await("down 1"), "down 1 PROTOCOL_ERROR");
  service_.large = true;
  Dial(2);
  Send(2, KeySet{});
  EXPECT_THAT(recorder_.Await("down 2"), StartsWith("down 2"));
}

TEST_F(GrpcHubLinkTest, AClosedStreamSaysNothing) {
  Dial(1);
  Send(1, Ping{});
  recorder_.Await("ack 1");
  On([&] {
    link_->Send(1, Ping{});
    link_->Close(1);
    link_->Send(1, Ping{});
  });
  Dial(2);
  Send(2, Ping{});
  recorder_.Await("ack 2");
  EXPECT_THAT(recorder_.told(), Contains("ack 1 1"));
  EXPECT_THAT(recorder_.told(), testing::Not(Contains("ack 1 2")));
  EXPECT_THAT(recorder_.told(), testing::Not(Contains(StartsWith("down"))));
}

TEST_F(GrpcHubLinkTest, BlobsComeInChunks) {
  Dial(1);
  Send(1, Ping{});
  recorder_.Await("ack 1");
  FetchRequest request{7, {Sha256("a"), Sha256("old"), Sha256("b")}};
  On([&] { link_->Fetch(request); });
  EXPECT_EQ(recorder_.Await("fetched 7"), "fetched 7  1");
  std::vector<std::string> blobs;
  for (const std::string& text : recorder_.told()) {
    if (text.substr(0, 4) == "blob") blobs.push_back(text);
  }
  EXPECT_THAT(
      blobs,
      ElementsAre(absl::StrCat("blob 7 ", Sha256("a").Hex().substr(0, 4), " part0part1part2"),
                  absl::StrCat("blob 7 ", Sha256("b").Hex().substr(0, 4), " part0part1part2")));
}

TEST_F(GrpcHubLinkTest, AFetchNeedsAStreamAndCanBeCancelled) {
  On([&] { link_->Fetch({1, {Sha256("a")}}); });
  EXPECT_EQ(recorder_.Await("fetched 1"), "fetched 1 HUB_UNREACHABLE 0");
  Dial(1);
  Send(1, Ping{});
  recorder_.Await("ack 1");
  service_.hang_fetches = true;
  On([&] { link_->Fetch({2, {Sha256("a")}}); });
  recorder_.Await("blob 2");
  On([&] { link_->CancelFetch(2); });
  service_.hang_fetches = false;
  On([&] { link_->Fetch({3, {Sha256("a")}}); });
  recorder_.Await("fetched 3");
  EXPECT_THAT(recorder_.told(), testing::Not(Contains(StartsWith("fetched 2"))));
}

TEST_F(GrpcHubLinkTest, EndsWithCallsUnderWay) {
  service_.hang_fetches = true;
  for (uint64_t attempt = 1; attempt <= 20; ++attempt) {
    Dial(attempt);
    On([&] {
      link_->Send(attempt, Ping{});
      link_->Fetch({attempt, {Sha256("a")}});
      if (attempt % 2 == 0) link_->Close(attempt);
      if (attempt % 5 == 0) {
        link_.reset();
        link_ = MakeGrpcHubLink(*loop_);
        link_->SetListener(&recorder_);
      }
    });
  }
}

}  // namespace
}  // namespace nave
