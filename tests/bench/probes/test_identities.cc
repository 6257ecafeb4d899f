#include "tests/bench/probes/test_identities.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>

#include "absl/time/clock.h"
#include "common/pki/authority.h"

namespace nave::bench {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> result, const char* what) {
  if (!result.ok()) Die(what);
  return *std::move(result);
}

BIO* Read(const std::string& pem) {
  return BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
}

void UseIdentity(SSL_CTX* context, const std::string& chain, const std::string& key,
                 bool whole_chain) {
  BIO* in = Read(chain);
  X509* leaf = PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
  if (SSL_CTX_use_certificate(context, leaf) != 1) Die("certificate");
  X509_free(leaf);
  while (X509* next = !whole_chain ? nullptr : PEM_read_bio_X509(in, nullptr, nullptr, nullptr))
    SSL_CTX_add0_chain_cert(context, next);
  ERR_clear_error();  // The end of the text.
  BIO_free(in);
  in = Read(key);
  EVP_PKEY* private_key = PEM_read_bio_PrivateKey(in, nullptr, nullptr, nullptr);
  if (SSL_CTX_use_PrivateKey(context, private_key) != 1) Die("key");
  EVP_PKEY_free(private_key);
  BIO_free(in);
}

}  // namespace

void Die(const char* what) {
  fprintf(stderr, "probe: %s\n", what);
  ERR_print_errors_fp(stderr);
  exit(1);
}

Identities MakeIdentities() {
  const absl::Time now = absl::Now();
  Identities made;
  const std::string ca_key = OrDie(GenerateKey(), "CA key");
  made.ca_pem = OrDie(MakeCaCertificate(ca_key, "probe", absl::Hours(24), now), "CA");
  const auto authority = OrDie(CertificateAuthority::Load(made.ca_pem, ca_key), "CA");

  made.server_key_pem = OrDie(GenerateKey(), "server key");
  CertificateSpec server;
  server.common_name = "server";
  server.public_key = OrDie(PublicKeyOf(made.server_key_pem), "server key");
  server.dns_sans = {"localhost"};
  server.ip_sans = {"127.0.0.1"};
  server.server = true;
  made.server_chain_pem = OrDie(authority->Issue(server, now), "server certificate");

  made.client_key_pem = OrDie(GenerateKey(), "client key");
  CertificateSpec client;
  client.common_name = "client";
  client.public_key = OrDie(PublicKeyOf(made.client_key_pem), "client key");
  client.uri_sans = {
      "spiffe://c0ffee00-0000-4000-8000-000000000000/cluster/c0ffee00-0000-4000-8000-000000000001"};
  client.client = true;
  made.client_chain_pem = OrDie(authority->Issue(client, now), "client certificate");
  return made;
}

SSL_CTX* MakeContext(const Identities& identities, bool server) {
  SSL_CTX* context = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN |
                                SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  UseIdentity(context, server ? identities.server_chain_pem : identities.client_chain_pem,
              server ? identities.server_key_pem : identities.client_key_pem, server);
  BIO* in = Read(identities.ca_pem);
  X509* root = PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context), root);
  X509_free(root);
  BIO_free(in);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return context;
}

}  // namespace nave::bench
