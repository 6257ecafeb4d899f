#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <utility>

#include "tests/common/http2/test_server.h"

namespace nave {
namespace {

template <typename Write>
std::string ToPem(Write write) {
  BIO* bio = BIO_new(BIO_s_mem());
  write(bio);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

void AddExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// `issuer` null: self-signed, a CA.
X509* MakeCertificate(const char* name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key,
                      const char* names) {
  static long serial = 1;
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 24 * 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_issuer_name(certificate, issuer == nullptr ? subject : X509_get_subject_name(issuer));
  if (issuer == nullptr)
    AddExtension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  if (names != nullptr) AddExtension(certificate, issuer, NID_subject_alt_name, names);
  X509_sign(certificate, issuer == nullptr ? key : issuer_key, EVP_sha256());
  return certificate;
}

std::string PemOf(X509* certificate) {
  return ToPem([&](BIO* bio) { PEM_write_bio_X509(bio, certificate); });
}

std::string PemOf(EVP_PKEY* key) {
  return ToPem(
      [&](BIO* bio) { PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

}  // namespace

TestCertificates MakeTestCertificates() {
  EVP_PKEY* ca_key = EVP_EC_gen("P-256");
  EVP_PKEY* server_key = EVP_EC_gen("P-256");
  EVP_PKEY* client_key = EVP_EC_gen("P-256");
  X509* ca = MakeCertificate("test-ca", ca_key, nullptr, nullptr, nullptr);
  X509* server = MakeCertificate("test-server", server_key, ca, ca_key,
                                 "DNS:localhost,IP:127.0.0.1,DNS:test.example");
  X509* client = MakeCertificate("test-client", client_key, ca, ca_key, nullptr);
  TestCertificates made{PemOf(ca), PemOf(server), PemOf(server_key), PemOf(client),
                        PemOf(client_key)};
  for (X509* one : {ca, server, client}) X509_free(one);
  for (EVP_PKEY* one : {ca_key, server_key, client_key}) EVP_PKEY_free(one);
  return made;
}

}  // namespace nave
