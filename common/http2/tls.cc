#include "common/http2/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace nave {
namespace {

struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct X509Deleter {
  void operator()(X509* x) const { X509_free(x); }
};
struct PkeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using UniqueBio = std::unique_ptr<BIO, BioDeleter>;
using UniqueX509 = std::unique_ptr<X509, X509Deleter>;
using UniquePkey = std::unique_ptr<EVP_PKEY, PkeyDeleter>;

UniqueBio ReadOnlyBio(absl::string_view text) {
  return UniqueBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

UniqueX509 ReadCertificate(BIO* bio) {
  return UniqueX509(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr));
}

absl::Status LoadRoots(SSL_CTX* ctx, absl::string_view pem) {
  if (pem.empty()) {
    SSL_CTX_set_default_verify_paths(ctx);
    return absl::OkStatus();
  }
  const UniqueBio bio = ReadOnlyBio(pem);
  X509_STORE* store = SSL_CTX_get_cert_store(ctx);
  int count = 0;
  while (const UniqueX509 certificate = ReadCertificate(bio.get())) {
    X509_STORE_add_cert(store, certificate.get());
    ++count;
  }
  ERR_clear_error();
  if (count == 0) return absl::InvalidArgumentError("tls roots: no certificate in the PEM text");
  return absl::OkStatus();
}

absl::Status LoadIdentity(SSL_CTX* ctx, const Http2Tls& tls) {
  const UniqueBio bio = ReadOnlyBio(tls.certificate_pem);
  const UniqueX509 leaf = ReadCertificate(bio.get());
  if (leaf == nullptr || SSL_CTX_use_certificate(ctx, leaf.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError("tls client certificate: no certificate in the PEM text");
  }
  while (UniqueX509 next = ReadCertificate(bio.get())) {
    if (SSL_CTX_add_extra_chain_cert(ctx, next.get()) == 1)
      next.release();  // Owned by the context now.
  }
  ERR_clear_error();
  const UniqueBio key_bio = ReadOnlyBio(tls.private_key_pem);
  const UniquePkey key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  if (key == nullptr) {
    ERR_clear_error();
    return absl::InvalidArgumentError("tls client key: no private key in the PEM text");
  }
  if (SSL_CTX_use_PrivateKey(ctx, key.get()) != 1 || SSL_CTX_check_private_key(ctx) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError("tls client key: it does not belong to the certificate");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<TlsContext>> TlsContext::Make(const Http2Tls& tls) {
  auto context = std::make_shared<TlsContext>();
  context->ctx_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* ctx = context->ctx_.get();
  if (ctx == nullptr) return absl::InternalError("tls: no context");
  SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
  // Partial and moved writes: the output buffer is drained as far as the socket takes it. Released
  // buffers: 34 KB less for each idle connection.
  SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  static constexpr unsigned char kAlpn[] = {2, 'h', '2'};
  SSL_CTX_set_alpn_protos(ctx, kAlpn, sizeof(kAlpn));
  context->insecure_ = tls.insecure_skip_verify;
  context->server_name_ = tls.server_name;
  SSL_CTX_set_verify(ctx, tls.insecure_skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (!tls.insecure_skip_verify) RETURN_IF_ERROR(LoadRoots(ctx, tls.roots_pem));
  if (!tls.certificate_pem.empty()) RETURN_IF_ERROR(LoadIdentity(ctx, tls));
  return context;
}

absl::StatusOr<UniqueSsl> TlsContext::NewConnection(absl::string_view host) const {
  UniqueSsl ssl(SSL_new(ctx_.get()));
  if (ssl == nullptr) return absl::ResourceExhaustedError("tls: no memory for a connection");
  SSL_set_connect_state(ssl.get());
  const std::string name = server_name_.empty() ? std::string(host) : server_name_;
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl.get());
  // An address is matched against the certificate's addresses and never sent as SNI.
  if (X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str()) == 1) return ssl;
  ERR_clear_error();
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (X509_VERIFY_PARAM_set1_host(param, name.c_str(), name.size()) != 1 ||
      SSL_set_tlsext_host_name(ssl.get(), name.c_str()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError(absl::StrCat("tls: \"", name, "\" cannot be a server name"));
  }
  return ssl;
}

absl::Status CheckAlpn(SSL* ssl) {
  const unsigned char* name = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl, &name, &length);
  if (length == 2 && std::memcmp(name, "h2", 2) == 0) return absl::OkStatus();
  return absl::UnavailableError("tls: the server does not offer HTTP/2");
}

std::string TlsErrorText(SSL* ssl) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (const long verify = SSL_get_verify_result(ssl);
      verify != X509_V_OK && SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE) {
    return absl::StrCat("server certificate: ", X509_verify_cert_error_string(verify));
  }
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "connection closed" : reason;
}

}  // namespace nave
