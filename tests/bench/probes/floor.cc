#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/bench/probes/probes.h"
#include "tests/bench/probes/test_identities.h"

namespace nave::bench {
namespace {

constexpr int kAnswerBytes = 32;

double Cpu() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double Wall() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double ResidentBytes() {
  FILE* file = fopen("/proc/self/statm", "r");
  long size = 0;
  long resident = 0;
  if (file == nullptr || fscanf(file, "%ld %ld", &size, &resident) != 2) Die("statm");
  fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void SetUp(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

// One connection, non-blocking once it stands.
struct Peer {
  SSL* ssl = nullptr;
  int wanted = 0;
};

// Takes what there is; true when the whole message has come.
bool Take(Peer& peer) {
  char buffer[16384];
  while (peer.wanted > 0) {
    const int got = SSL_read(peer.ssl, buffer, sizeof(buffer));
    if (got <= 0) {
      if (SSL_get_error(peer.ssl, got) == SSL_ERROR_WANT_READ) return false;
      Die("read");
    }
    peer.wanted -= got;
  }
  return true;
}

void Send(Peer& peer, const std::string& message) {
  if (SSL_write(peer.ssl, message.data(), static_cast<int>(message.size())) !=
      static_cast<int>(message.size())) {
    Die("write");
  }
}

int Watch(int poll, int socket, uint32_t index) {
  fcntl(socket, F_SETFL, O_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = index;
  return epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event);
}

// The clients: each answers each message, until the server closes.
[[noreturn]] void RunClients(const Identities& identities, sockaddr_in address, int connections,
                             int bytes) {
  SSL_CTX* context = MakeContext(identities, false);
  const int poll = epoll_create1(0);
  const std::string answer(kAnswerBytes, 'a');
  std::vector<Peer> peers(static_cast<size_t>(connections));
  for (int i = 0; i < connections; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    SetUp(fd);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) Die("connect");
    Peer& peer = peers[static_cast<size_t>(i)];
    peer.ssl = SSL_new(context);
    SSL_set_fd(peer.ssl, fd);
    if (SSL_connect(peer.ssl) != 1) Die("connect");
    peer.wanted = bytes;
    if (Watch(poll, fd, static_cast<uint32_t>(i)) != 0) Die("watch");
  }
  std::vector<epoll_event> events(256);
  for (;;) {
    const int count = epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      Peer& peer = peers[events[static_cast<size_t>(i)].data.u32];
      char probe = 0;
      if (recv(SSL_get_fd(peer.ssl), &probe, 1, MSG_PEEK) == 0) _exit(0);
      if (!Take(peer)) continue;
      peer.wanted = bytes;
      Send(peer, answer);
    }
  }
}

std::vector<Peer> AcceptAll(int listener, SSL_CTX* context, int poll, int connections) {
  std::vector<Peer> peers(static_cast<size_t>(connections));
  for (int i = 0; i < connections; ++i) {
    const int fd = accept(listener, nullptr, nullptr);
    if (fd < 0) Die("accept");
    SetUp(fd);
    Peer& peer = peers[static_cast<size_t>(i)];
    peer.ssl = SSL_new(context);
    SSL_set_fd(peer.ssl, fd);
    if (SSL_accept(peer.ssl) != 1) Die("accept");
    if (Watch(poll, fd, static_cast<uint32_t>(i)) != 0) Die("watch");
  }
  return peers;
}

// One message to each, one answer from each.
void Round(std::vector<Peer>& peers, int poll, const std::string& message) {
  for (Peer& peer : peers) {
    peer.wanted = kAnswerBytes;
    Send(peer, message);
  }
  size_t left = peers.size();
  std::vector<epoll_event> events(256);
  while (left > 0) {
    const int count = epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      Peer& peer = peers[events[static_cast<size_t>(i)].data.u32];
      if (peer.wanted > 0 && Take(peer)) --left;
    }
  }
}

}  // namespace

Floor MeasureFloor(int connections, int rounds, int bytes) {
  rlimit descriptors{};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  setrlimit(RLIMIT_NOFILE, &descriptors);
  const Identities identities = MakeIdentities();
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(listener, 1024) != 0)
    Die("listen");
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);

  const pid_t clients = fork();
  if (clients == 0) RunClients(identities, address, connections, bytes);
  SSL_CTX* context = MakeContext(identities, true);
  const int poll = epoll_create1(0);
  // One connection first: what the library sets up once is not a connection's.
  std::vector<Peer> peers = AcceptAll(listener, context, poll, 1);
  const double resident = ResidentBytes();
  epoll_ctl(poll, EPOLL_CTL_DEL, SSL_get_fd(peers[0].ssl), nullptr);
  std::vector<Peer> more = AcceptAll(listener, context, poll, connections - 1);
  const std::string message(static_cast<size_t>(bytes), 'm');
  Round(more, poll, message);  // Warms up.
  Floor floor;
  floor.connection_bytes = (ResidentBytes() - resident) / static_cast<double>(connections - 1);
  const double cpu = Cpu();
  const double wall = Wall();
  for (int i = 0; i < rounds; ++i) Round(more, poll, message);
  const double trips = static_cast<double>(rounds) * static_cast<double>(more.size());
  floor.round_trip_cpu_s = (Cpu() - cpu) / trips;
  floor.round_trip_wall_s = (Wall() - wall) / trips;
  for (Peer& peer : more) close(SSL_get_fd(peer.ssl));
  close(SSL_get_fd(peers[0].ssl));
  waitpid(clients, nullptr, 0);
  return floor;
}

}  // namespace nave::bench
