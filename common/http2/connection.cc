#include "common/http2/connection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace nave {
namespace {

constexpr size_t kOutBytesMax = 64 * 1024;
constexpr uint32_t kRefusedStream = 7;
constexpr size_t kReservedWindows = 4;

}  // namespace

Http2Connection::Http2Connection(IoThread& io, const Http2Options& options, DialOptions dial,
                                 std::string authority, ConnectionOwner* owner,
                                 ConnectionCounters* counters)
    : io_(io),
      options_(options),
      authority_(std::move(authority)),
      owner_(owner),
      counters_(counters),
      self_(std::make_shared<Http2Connection*>(this)) {
  transport_ = Dial(io, std::move(dial), this);
}

// Cancels no timers: the I/O thread may be gone already, and they hold the connection weakly.
Http2Connection::~Http2Connection() { counters_->streams_active -= streams_.size(); }

size_t Http2Connection::StreamLimit() const {
  const size_t allowed = std::min(session_->PeerStreamsMax(), options_.streams_max);
  // Small limits keep half: a reserve of ten of ten would leave nothing.
  return allowed - std::min(options_.streams_reserved, allowed / 2);
}

bool Http2Connection::CanTake() const {
  return open_ && !draining_ && !dead_ && streams_.size() < StreamLimit();
}

void Http2Connection::OnOpen() {
  open_ = true;
  ++counters_->connections_opened;
  session_ = MakeHttp2Session(
      this, options_.stream_window_bytes,
      std::min<uint64_t>(uint64_t{options_.stream_window_bytes} * kReservedWindows, 1u << 30));
  last_received_ = std::chrono::steady_clock::now();
  ArmPing(options_.ping_after);
  if (draining_) {
    CloseWhenDrained();
    return;
  }
  owner_->OnChanged();
  Flush();
}

void Http2Connection::Submit(const std::shared_ptr<Exchange>& exchange) {
  exchange->body_sent = 0;
  absl::StatusOr<int32_t> id =
      session_->Submit(options_.plaintext ? "http" : "https", authority_, exchange->request,
                       exchange->has_body() ? exchange.get() : nullptr);
  if (!id.ok()) {
    if (id.status().code() == absl::StatusCode::kInvalidArgument) {
      owner_->OnFinished(exchange,
                         {Http2Failure::kBadRequest, std::string(id.status().message()), {}});
    } else {
      // The connection has used up its stream numbers.
      draining_ = true;
      owner_->OnRefused(exchange, std::string(id.status().message()), true);
    }
    return;
  }
  exchange->connection = this;
  exchange->id = *id;
  streams_[*id] = exchange;
  ++counters_->streams_active;
  if (exchange->request.header_timeout != absl::InfiniteDuration()) {
    exchange->header_timer =
        io_.PostAfter(exchange->request.header_timeout, [weak = std::weak_ptr(self_), id = *id] {
          if (const auto self = weak.lock()) (*self)->OnHeaderTimeout(id);
        });
  }
}

void Http2Connection::Flush() {
  if (dead_ || !open_) return;
  while (true) {
    if (out_begin_ == out_.size()) {
      out_.clear();
      out_begin_ = 0;
      if (const absl::Status status = session_->TakeOutput(out_, kOutBytesMax); !status.ok()) {
        Die(status);
        return;
      }
      if (out_.empty()) break;
    }
    const size_t taken = transport_->Write(absl::string_view(out_).substr(out_begin_));
    counters_->bytes_sent += taken;
    out_begin_ += taken;
    if (out_begin_ < out_.size()) return;  // OnWritable goes on.
  }
  // An idle connection holds no buffer.
  std::string().swap(out_);
  CloseWhenDrained();
}

void Http2Connection::Cancel(Exchange& exchange) {
  const int32_t id = exchange.id;
  Detach(id);
  if (dead_) return;
  session_->Reset(id);
  owner_->OnChanged();
  Flush();
}

void Http2Connection::ResumeBody(Exchange& exchange) {
  session_->Resume(exchange.id);
  Flush();
}

void Http2Connection::Consume(Exchange& exchange, size_t bytes) {
  bytes = std::min(bytes, exchange.bytes_unconsumed);
  exchange.bytes_unconsumed -= bytes;
  session_->Consume(exchange.id, bytes);
  Flush();
}

void Http2Connection::Drain() {
  draining_ = true;
  if (open_) CloseWhenDrained();
}

void Http2Connection::CloseWhenDrained() {
  if (dead_ || !draining_ || !streams_.empty()) return;
  Die(absl::UnavailableError(goaway_text_.empty() ? "connection closed" : goaway_text_));
}

void Http2Connection::OnData(absl::string_view data) {
  if (dead_) return;
  last_received_ = std::chrono::steady_clock::now();
  ping_sent_ = false;
  counters_->bytes_received += data.size();
  const absl::Status status = session_->Feed(data);
  ReportAfterFeed();
  if (dead_) return;
  if (!status.ok()) {
    // Lets the GOAWAY that names the error leave, if the socket takes it.
    Flush();
    Die(status);
    return;
  }
  owner_->OnChanged();
  Flush();
  if (!dead_ && !session_->IsAlive()) {
    Die(absl::UnavailableError(goaway_text_.empty() ? "http2: connection ended" : goaway_text_));
  }
}

void Http2Connection::ReportAfterFeed() {
  if (std::exchange(answered_, false)) {
    proven_ = true;
    owner_->OnAnswer();
  }
  std::vector<int32_t> too_large = std::move(too_large_);
  too_large_.clear();
  for (const int32_t id : too_large) {
    const std::shared_ptr<Exchange> exchange = Detach(id);
    if (exchange == nullptr) continue;
    session_->Reset(id);
    owner_->OnFinished(exchange,
                       {Http2Failure::kTooLarge,
                        absl::StrCat("response body: want at most ",
                                     exchange->request.response_bytes_max, " bytes, got more"),
                        {}});
  }
  std::vector<Closed> closed = std::move(closed_);
  closed_.clear();
  for (Closed& one : closed) ReportClosed(one);
  if (std::exchange(went_away_, false)) LeaveGoingAway();
}

void Http2Connection::ReportClosed(Closed& closed) {
  const std::shared_ptr<Exchange>& exchange = closed.exchange;
  if (closed.complete) {
    Http2End end;
    if (const auto found = trailers_.find(exchange->id); found != trailers_.end()) {
      end.trailers = std::move(found->second);
      trailers_.erase(found);
    }
    owner_->OnFinished(exchange, std::move(end));
    return;
  }
  trailers_.erase(exchange->id);
  const std::string why =
      absl::StrCat(authority_, ": stream reset by the server: ", Http2ErrorName(closed.error_code),
                   draining_ ? absl::StrCat(" (", goaway_text_, ")") : "");
  if (closed.error_code == kRefusedStream && !exchange->headers_seen) {
    owner_->OnRefused(exchange, why, draining_);
  } else {
    owner_->OnFinished(exchange, {Http2Failure::kLost, why, {}});
  }
}

void Http2Connection::LeaveGoingAway() {
  std::vector<int32_t> leaving;
  for (const auto& [id, exchange] : streams_) {
    if (exchange->request.leave_on_goaway) leaving.push_back(id);
  }
  for (const int32_t id : leaving) {
    const std::shared_ptr<Exchange> exchange = Detach(id);
    session_->Reset(id);
    owner_->OnFinished(
        exchange, {Http2Failure::kGoingAway, absl::StrCat(authority_, ": ", goaway_text_), {}});
  }
}

Exchange* Http2Connection::Find(int32_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

std::shared_ptr<Exchange> Http2Connection::Detach(int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return nullptr;
  std::shared_ptr<Exchange> exchange = std::move(found->second);
  streams_.erase(found);
  --counters_->streams_active;
  io_.Cancel(std::exchange(exchange->header_timer, 0));
  exchange->connection = nullptr;
  // What the receiver has not taken yet must not hold the connection's window.
  if (session_ != nullptr && exchange->bytes_unconsumed > 0) {
    session_->Consume(id, std::exchange(exchange->bytes_unconsumed, 0));
  }
  return exchange;
}

void Http2Connection::OnHeaders(int32_t id, int status, Http2Headers headers) {
  Exchange* exchange = Find(id);
  if (exchange == nullptr) return;
  answered_ = true;
  exchange->headers_seen = true;
  io_.Cancel(std::exchange(exchange->header_timer, 0));
  exchange->delivery->Headers(status, std::move(headers));
}

void Http2Connection::OnData(int32_t id, absl::string_view data) {
  Exchange* exchange = Find(id);
  if (exchange == nullptr || exchange->too_large) return;
  exchange->bytes_received += data.size();
  exchange->bytes_unconsumed += data.size();
  const size_t limit = exchange->request.response_bytes_max;
  if (limit != 0 && exchange->bytes_received > limit) {
    exchange->too_large = true;
    too_large_.push_back(id);
    return;
  }
  exchange->delivery->Data(data);
}

void Http2Connection::OnTrailers(int32_t id, Http2Headers trailers) {
  if (Find(id) != nullptr) trailers_[id] = std::move(trailers);
}

void Http2Connection::OnStreamClosed(int32_t id, bool complete, uint32_t error_code) {
  const Exchange* exchange = Find(id);
  // One that is too large is reported as that.
  if (exchange == nullptr || exchange->too_large) return;
  closed_.push_back({Detach(id), complete, error_code});
}

void Http2Connection::OnGoAway(int32_t, uint32_t error_code, absl::string_view debug) {
  draining_ = true;
  went_away_ = true;
  goaway_text_ = absl::StrCat("the server is going away: ", Http2ErrorName(error_code));
  if (!debug.empty())
    absl::StrAppend(&goaway_text_, " (", absl::CHexEscape(debug.substr(0, 200)), ")");
}

void Http2Connection::ArmPing(absl::Duration after) {
  if (options_.ping_after == absl::InfiniteDuration()) return;
  ping_timer_ = io_.PostAfter(after, [weak = std::weak_ptr(self_)] {
    if (const auto self = weak.lock()) (*self)->OnPingTimer();
  });
}

void Http2Connection::OnPingTimer() {
  ping_timer_ = 0;
  if (dead_) return;
  const absl::Duration silence =
      absl::FromChrono(std::chrono::steady_clock::now() - last_received_);
  if (ping_sent_) {
    // A process that was stopped for a while finds the timer due and the answer unread: reads come
    // first.
    io_.Post([weak = std::weak_ptr(self_)] {
      const auto self = weak.lock();
      if (self == nullptr || (*self)->dead_) return;
      Http2Connection& connection = **self;
      if (connection.ping_sent_) {
        connection.Die(absl::UnavailableError(absl::StrCat(
            connection.authority_, ": no answer to a PING for ",
            absl::FormatDuration(connection.options_.ping_timeout), ", the connection is dead")));
      } else {
        connection.ArmPing(connection.options_.ping_after);
      }
    });
    return;
  }
  if (silence < options_.ping_after) {
    ArmPing(options_.ping_after - silence);
    return;
  }
  ping_sent_ = true;
  session_->Ping();
  ArmPing(options_.ping_timeout);
  Flush();
}

void Http2Connection::OnHeaderTimeout(int32_t id) {
  const std::shared_ptr<Exchange> exchange = Detach(id);
  if (exchange == nullptr || dead_) return;
  session_->Reset(id);
  owner_->OnFinished(exchange,
                     {Http2Failure::kTimeout,
                      absl::StrCat(authority_, ": no answer for ",
                                   absl::FormatDuration(exchange->request.header_timeout)),
                      {}});
  if (dead_) return;
  owner_->OnChanged();
  Flush();
}

void Http2Connection::Die(const absl::Status& why) {
  if (dead_) return;
  dead_ = true;
  io_.Cancel(std::exchange(ping_timer_, 0));
  while (!streams_.empty()) {
    const std::shared_ptr<Exchange> exchange = Detach(streams_.begin()->first);
    owner_->OnFinished(exchange, {Http2Failure::kLost, std::string(why.message()), {}});
  }
  transport_.reset();
  owner_->OnDead(this, why, open_);
}

}  // namespace nave
