#include "common/pki/authority.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/base/uuid.h"
#include "common/pki/openssl.h"

namespace nave {
namespace {

constexpr long kX509Version3 = 2;
constexpr long kCsrVersion1 = 0;
constexpr int kDigitalSignature = 0;  // Bits of the extension keyUsage.
constexpr int kCertificateSign = 5;
constexpr int kCrlSign = 6;

absl::Status OpenSslFailed(absl::string_view what) {
  return MakeError(Reason::kInternal, absl::StrCat(what, ": ", TakeOpenSslError()));
}

absl::StatusOr<KeyPtr> RequirePrivateKey(absl::string_view key_pem) {
  KeyPtr key = ReadPrivateKey(key_pem);
  if (key != nullptr) return key;
  return MakeError(Reason::kCertificateInvalid, "the text holds no readable PEM private key");
}

// Ed25519 and its like hash by themselves.
const EVP_MD* SignatureHash(EVP_PKEY* key) {
  int base = EVP_PKEY_get_base_id(key);
  return base == EVP_PKEY_ED25519 || base == EVP_PKEY_ED448 ? nullptr : EVP_sha256();
}

bool SetName(X509_NAME* name, absl::string_view common_name) {
  return X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common_name.data()),
                                    static_cast<int>(common_name.size()), -1, 0) == 1;
}

bool SetTimes(X509* certificate, absl::Time not_before, absl::Time not_after) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate), absl::ToTimeT(not_before)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), absl::ToTimeT(not_after)) != nullptr;
}

bool SetSerial(X509* certificate, uint32_t generation) {
  std::string serial = RandomBytes(16);
  for (int i = 0; i < 4; ++i) serial[i] = static_cast<char>(generation >> (24 - 8 * i) & 0xff);
  BIGNUM* number = BN_bin2bn(reinterpret_cast<const unsigned char*>(serial.data()),
                             static_cast<int>(serial.size()), nullptr);
  bool ok = number != nullptr &&
            BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return ok;
}

bool AddBasicConstraints(X509* certificate, bool ca) {
  BASIC_CONSTRAINTS* constraints = BASIC_CONSTRAINTS_new();
  if (ca) {
    constraints->ca = 0xff;
    constraints->pathlen = ASN1_INTEGER_new();
    ASN1_INTEGER_set(constraints->pathlen, 0);
  }
  bool ok = X509_add1_ext_i2d(certificate, NID_basic_constraints, constraints, 1, 0) == 1;
  BASIC_CONSTRAINTS_free(constraints);
  return ok;
}

bool AddKeyUsage(X509* certificate, std::initializer_list<int> bits) {
  ASN1_BIT_STRING* usage = ASN1_BIT_STRING_new();
  for (int bit : bits) ASN1_BIT_STRING_set_bit(usage, bit, 1);
  bool ok = X509_add1_ext_i2d(certificate, NID_key_usage, usage, 1, 0) == 1;
  ASN1_BIT_STRING_free(usage);
  return ok;
}

bool AddExtendedKeyUsage(X509* certificate, bool server, bool client) {
  EXTENDED_KEY_USAGE* usage = sk_ASN1_OBJECT_new_null();
  if (server) sk_ASN1_OBJECT_push(usage, OBJ_nid2obj(NID_server_auth));
  if (client) sk_ASN1_OBJECT_push(usage, OBJ_nid2obj(NID_client_auth));
  bool ok = X509_add1_ext_i2d(certificate, NID_ext_key_usage, usage, 0, 0) == 1;
  sk_ASN1_OBJECT_free(usage);  // The objects are OpenSSL's own constants.
  return ok;
}

// Subject key identifier of `certificate` and authority key identifier from `issuer`, so that of
// two overlapping CAs the right one is found.
bool AddKeyIdentifiers(X509* certificate, X509* issuer) {
  auto identifier = [](X509* of) {
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    X509_pubkey_digest(of, EVP_sha1(), hash, &size);
    ASN1_OCTET_STRING* text = ASN1_OCTET_STRING_new();
    ASN1_OCTET_STRING_set(text, hash, static_cast<int>(size));
    return text;
  };
  ASN1_OCTET_STRING* subject = identifier(certificate);
  bool ok = X509_add1_ext_i2d(certificate, NID_subject_key_identifier, subject, 0, 0) == 1;
  ASN1_OCTET_STRING_free(subject);

  // A supplied CA may name its key in another way than by this hash.
  const ASN1_OCTET_STRING* named = X509_get0_subject_key_id(issuer);
  AUTHORITY_KEYID* authority = AUTHORITY_KEYID_new();
  authority->keyid = named != nullptr ? ASN1_OCTET_STRING_dup(named) : identifier(issuer);
  ok = ok && X509_add1_ext_i2d(certificate, NID_authority_key_identifier, authority, 0, 0) == 1;
  AUTHORITY_KEYID_free(authority);
  return ok;
}

void PushText(GENERAL_NAMES* names, int type, absl::string_view text) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_IA5STRING* value = ASN1_IA5STRING_new();
  ASN1_STRING_set(value, text.data(), static_cast<int>(text.size()));
  GENERAL_NAME_set0_value(name, type, value);
  sk_GENERAL_NAME_push(names, name);
}

bool PushAddress(GENERAL_NAMES* names, const std::string& text) {
  unsigned char raw[16];
  int size = 0;
  if (inet_pton(AF_INET, text.c_str(), raw) == 1) {
    size = 4;
  } else if (inet_pton(AF_INET6, text.c_str(), raw) == 1) {
    size = 16;
  } else {
    return false;
  }
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_OCTET_STRING* value = ASN1_OCTET_STRING_new();
  ASN1_OCTET_STRING_set(value, raw, size);
  GENERAL_NAME_set0_value(name, GEN_IPADD, value);
  sk_GENERAL_NAME_push(names, name);
  return true;
}

absl::Status AddAlternativeNames(X509* certificate, const CertificateSpec& spec) {
  if (spec.uri_sans.empty() && spec.dns_sans.empty() && spec.ip_sans.empty()) {
    return absl::OkStatus();
  }
  struct NamesFree {
    void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  };
  std::unique_ptr<GENERAL_NAMES, NamesFree> names(sk_GENERAL_NAME_new_null());
  for (const std::string& uri : spec.uri_sans) PushText(names.get(), GEN_URI, uri);
  for (const std::string& dns : spec.dns_sans) PushText(names.get(), GEN_DNS, dns);
  for (const std::string& ip : spec.ip_sans) {
    if (!PushAddress(names.get(), ip)) {
      return MakeError(Reason::kInvalidField, absl::StrCat("not an IP address: \"", ip, "\""));
    }
  }
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) != 1) {
    return OpenSslFailed("subject alternative names");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> GenerateKey() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslFailed("key generation");
  BioPtr bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
      1) {
    return OpenSslFailed("key encoding");
  }
  return BioText(bio.get());
}

absl::StatusOr<std::string> PublicKeyOf(absl::string_view key_pem) {
  ASSIGN_OR_RETURN(KeyPtr key, RequirePrivateKey(key_pem));
  std::string der = PublicKeyDer(key.get());
  if (der.empty()) return OpenSslFailed("public key");
  return der;
}

absl::StatusOr<std::string> MakeCsr(absl::string_view key_pem, absl::string_view common_name) {
  ASSIGN_OR_RETURN(KeyPtr key, RequirePrivateKey(key_pem));
  CsrPtr csr(X509_REQ_new());
  BioPtr bio(BIO_new(BIO_s_mem()));
  bool ok = X509_REQ_set_version(csr.get(), kCsrVersion1) == 1 &&
            SetName(X509_REQ_get_subject_name(csr.get()), common_name) &&
            X509_REQ_set_pubkey(csr.get(), key.get()) == 1 &&
            X509_REQ_sign(csr.get(), key.get(), SignatureHash(key.get())) > 0 &&
            PEM_write_bio_X509_REQ(bio.get(), csr.get()) == 1;
  if (!ok) return OpenSslFailed("certificate request");
  return BioText(bio.get());
}

absl::StatusOr<Csr> ParseCsr(absl::string_view csr_pem) {
  BioPtr bio = ReadBio(csr_pem);
  CsrPtr request(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  EVP_PKEY* key = request == nullptr ? nullptr : X509_REQ_get0_pubkey(request.get());
  ERR_clear_error();
  if (key == nullptr) {
    return MakeError(Reason::kCsrInvalid, "the text is no PEM certificate request");
  }
  if (!IsP256(key)) {
    return MakeError(Reason::kCsrInvalid, "the request's key: want P-256, got another kind");
  }
  bool signed_by_key = X509_REQ_verify(request.get(), key) == 1;
  ERR_clear_error();
  if (!signed_by_key) {
    return MakeError(Reason::kCsrInvalid, "the request is not signed by its own key");
  }
  Csr csr;
  csr.public_key = PublicKeyDer(key);
  csr.spki = Sha256(csr.public_key);
  return csr;
}

absl::StatusOr<std::string> MakeCaCertificate(absl::string_view key_pem,
                                              absl::string_view common_name,
                                              absl::Duration validity, absl::Time now) {
  ASSIGN_OR_RETURN(KeyPtr key, RequirePrivateKey(key_pem));
  X509Ptr ca(X509_new());
  bool ok = X509_set_version(ca.get(), kX509Version3) == 1 && SetSerial(ca.get(), 0) &&
            SetName(X509_get_subject_name(ca.get()), common_name) &&
            X509_set_issuer_name(ca.get(), X509_get_subject_name(ca.get())) == 1 &&
            SetTimes(ca.get(), now - kCertificateBackdate, now + validity) &&
            X509_set_pubkey(ca.get(), key.get()) == 1 && AddBasicConstraints(ca.get(), true) &&
            AddKeyUsage(ca.get(), {kCertificateSign, kCrlSign}) &&
            AddKeyIdentifiers(ca.get(), ca.get()) &&
            X509_sign(ca.get(), key.get(), SignatureHash(key.get())) > 0;
  if (!ok) return OpenSslFailed("CA certificate");
  return FormatPem(ca.get());
}

struct CertificateAuthority::Handles {
  X509Ptr certificate;
  KeyPtr key;
};

CertificateAuthority::CertificateAuthority() : handles_(std::make_unique<Handles>()) {}
CertificateAuthority::~CertificateAuthority() = default;

absl::StatusOr<std::shared_ptr<const CertificateAuthority>> CertificateAuthority::Load(
    absl::string_view certificate_pem, absl::string_view key_pem) {
  std::vector<X509Ptr> certificates = ReadCertificates(certificate_pem);
  if (certificates.empty()) {
    return MakeError(Reason::kCertificateInvalid, "the text holds no readable PEM certificate");
  }
  X509* certificate = certificates.front().get();
  ASSIGN_OR_RETURN(KeyPtr key, RequirePrivateKey(key_pem));
  bool matches = X509_check_private_key(certificate, key.get()) == 1;
  bool signs = X509_check_ca(certificate) == 1 &&
               (X509_get_key_usage(certificate) & X509v3_KU_KEY_CERT_SIGN) != 0;
  ERR_clear_error();
  if (!matches) {
    return MakeError(Reason::kCertificateInvalid, "the CA certificate is for another private key");
  }
  if (!signs) {
    return MakeError(Reason::kCertificateInvalid, "the certificate may not sign others: no CA");
  }
  std::shared_ptr<CertificateAuthority> authority(new CertificateAuthority());
  authority->certificate_pem_ = FormatPem(certificate);
  authority->pin_ = SpkiDigest(certificate);
  authority->not_after_ = FromAsn1Time(X509_get0_notAfter(certificate));
  authority->handles_->certificate = std::move(certificates.front());
  authority->handles_->key = std::move(key);
  return authority;
}

absl::StatusOr<std::string> CertificateAuthority::Issue(const CertificateSpec& spec,
                                                        absl::Time now) const {
  if (spec.common_name.empty() || spec.common_name.size() > 64) {
    return MakeError(Reason::kInvalidField, absl::StrCat("common name: want 1 to 64 bytes, got \"",
                                                         spec.common_name, "\""));
  }
  const unsigned char* der = reinterpret_cast<const unsigned char*>(spec.public_key.data());
  KeyPtr subject_key(d2i_PUBKEY(nullptr, &der, static_cast<long>(spec.public_key.size())));
  if (subject_key == nullptr) return OpenSslFailed("public key to certify");
  X509* issuer = handles_->certificate.get();
  EVP_PKEY* key = handles_->key.get();

  X509Ptr leaf(X509_new());
  bool ok =
      X509_set_version(leaf.get(), kX509Version3) == 1 && SetSerial(leaf.get(), spec.generation) &&
      SetName(X509_get_subject_name(leaf.get()), spec.common_name) &&
      X509_set_issuer_name(leaf.get(), X509_get_subject_name(issuer)) == 1 &&
      SetTimes(leaf.get(), now - kCertificateBackdate, std::min(now + spec.validity, not_after_)) &&
      X509_set_pubkey(leaf.get(), subject_key.get()) == 1 &&
      AddBasicConstraints(leaf.get(), false) && AddKeyUsage(leaf.get(), {kDigitalSignature}) &&
      AddExtendedKeyUsage(leaf.get(), spec.server, spec.client) &&
      AddKeyIdentifiers(leaf.get(), issuer);
  if (!ok) return OpenSslFailed("certificate");
  RETURN_IF_ERROR(AddAlternativeNames(leaf.get(), spec));
  if (X509_sign(leaf.get(), key, SignatureHash(key)) <= 0) return OpenSslFailed("signature");
  return FormatPem(leaf.get()) + certificate_pem_;
}

}  // namespace nave
