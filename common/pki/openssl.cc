#include "common/pki/openssl.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <ctime>

namespace nave {
namespace {

// Without a callback OpenSSL would ask the terminal for the passphrase of an encrypted key.
int NoPassphrase(char*, int, int, void*) { return -1; }

}  // namespace

BioPtr ReadBio(absl::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string BioText(BIO* bio) {
  char* data = nullptr;
  long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : "";
}

std::vector<X509Ptr> ReadCertificates(absl::string_view pem) {
  std::vector<X509Ptr> certificates;
  BioPtr bio = ReadBio(pem);
  ERR_clear_error();
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)) {
    certificates.emplace_back(next);
  }
  // The end of the text is the only good reason to stop.
  bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!at_end) certificates.clear();
  return certificates;
}

KeyPtr ReadPrivateKey(absl::string_view pem) {
  BioPtr bio = ReadBio(pem);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  return key;
}

std::string FormatPem(X509* certificate) {
  BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return BioText(bio.get());
}

std::string PublicKeyDer(const EVP_PKEY* key) {
  unsigned char* der = nullptr;
  int size = i2d_PUBKEY(key, &der);
  if (size <= 0) return "";
  std::string text(reinterpret_cast<char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return text;
}

Digest SpkiDigest(X509* certificate) {
  // The encoding as it came: a pin is over the bytes that the certificate carries.
  unsigned char* der = nullptr;
  int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  if (size <= 0) return Digest{};
  Digest digest =
      Sha256(absl::string_view(reinterpret_cast<char*>(der), static_cast<size_t>(size)));
  OPENSSL_free(der);
  return digest;
}

bool IsP256(const EVP_PKEY* key) {
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC) return false;
  char group[64] = {};
  size_t size = 0;
  if (EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof(group),
                                     &size) != 1) {
    return false;
  }
  return absl::string_view(group) == SN_X9_62_prime256v1;
}

absl::Time FromAsn1Time(const ASN1_TIME* time) {
  std::tm tm = {};
  if (time == nullptr || ASN1_TIME_to_tm(time, &tm) != 1) return absl::InfinitePast();
  return absl::FromTimeT(timegm(&tm));
}

std::string TakeOpenSslError() {
  char text[256] = "unknown error";
  unsigned long code = ERR_get_error();
  if (code != 0) ERR_error_string_n(code, text, sizeof(text));
  ERR_clear_error();
  return text;
}

}  // namespace nave
