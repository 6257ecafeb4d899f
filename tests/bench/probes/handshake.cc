#include <openssl/ssl.h>
#include <time.h>

#include "tests/bench/probes/probes.h"
#include "tests/bench/probes/test_identities.h"

namespace nave::bench {
namespace {

double ThreadCpu() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// One step of a side; true when its handshake is done.
bool Step(SSL* ssl) {
  const int result = SSL_do_handshake(ssl);
  if (result == 1) return true;
  if (SSL_get_error(ssl, result) != SSL_ERROR_WANT_READ) Die("handshake");
  return false;
}

}  // namespace

double MeasureHandshake(int count) {
  const Identities identities = MakeIdentities();
  SSL_CTX* server_context = MakeContext(identities, true);
  SSL_CTX* client_context = MakeContext(identities, false);
  double spent = 0;
  for (int i = 0; i < count; ++i) {
    SSL* client = SSL_new(client_context);
    SSL_set_connect_state(client);
    BIO* client_bio = nullptr;
    BIO* server_bio = nullptr;
    if (BIO_new_bio_pair(&client_bio, 0, &server_bio, 0) != 1) Die("pair");
    SSL_set_bio(client, client_bio, client_bio);
    bool client_done = false;
    bool server_done = false;
    const double made = ThreadCpu();
    SSL* server = SSL_new(server_context);
    SSL_set_accept_state(server);
    SSL_set_bio(server, server_bio, server_bio);
    spent += ThreadCpu() - made;
    while (!client_done || !server_done) {
      if (!client_done) client_done = Step(client);
      const double before = ThreadCpu();
      if (!server_done) server_done = Step(server);
      spent += ThreadCpu() - before;
    }
    const double end = ThreadCpu();
    SSL_free(server);
    spent += ThreadCpu() - end;
    SSL_free(client);
  }
  SSL_CTX_free(server_context);
  SSL_CTX_free(client_context);
  return spent / count;
}

}  // namespace nave::bench
