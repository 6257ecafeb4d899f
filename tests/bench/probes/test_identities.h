// Keys and certificates of a server and a client under one CA, as a hub issues them.
#ifndef NAVE_TESTS_BENCH_PROBES_TEST_IDENTITIES_H_
#define NAVE_TESTS_BENCH_PROBES_TEST_IDENTITIES_H_

#include <openssl/ssl.h>

#include <string>

namespace nave::bench {

struct Identities {
  std::string ca_pem;
  std::string server_chain_pem;
  std::string server_key_pem;
  std::string client_chain_pem;
  std::string client_key_pem;
};

// P-256, one level, made anew. Ends the process on failure, as everything here does.
Identities MakeIdentities();

// TLS 1.3 only, both sides with a certificate that the other one verifies, no session tickets. The
// server sends its CA too, the client its own certificate only: what is needed at least. Owned by
// the caller.
SSL_CTX* MakeContext(const Identities& identities, bool server);

// Writes the text and the library's errors to stderr and ends the process.
[[noreturn]] void Die(const char* what);

}  // namespace nave::bench

#endif  // NAVE_TESTS_BENCH_PROBES_TEST_IDENTITIES_H_
