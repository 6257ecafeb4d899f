#include "common/pki/certificate.h"

#include <arpa/inet.h>
#include <openssl/err.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "common/base/error.h"
#include "common/pki/openssl.h"

namespace nave {
namespace {

constexpr size_t kSerialBytes = 16;

absl::string_view StringOf(const ASN1_STRING* text) {
  return absl::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                           static_cast<size_t>(ASN1_STRING_length(text)));
}

std::string CommonName(X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return "";
  unsigned char* utf8 = nullptr;
  int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return "";
  std::string name(reinterpret_cast<char*>(utf8), static_cast<size_t>(size));
  OPENSSL_free(utf8);
  return name;
}

std::string FormatAddress(absl::string_view raw) {
  char text[INET6_ADDRSTRLEN] = {};
  int family = raw.size() == 4 ? AF_INET : AF_INET6;
  if (raw.size() != 4 && raw.size() != 16) return "";
  inet_ntop(family, raw.data(), text, sizeof(text));
  return text;
}

void ReadAlternativeNames(X509* certificate, CertificateInfo* info) {
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  if (names == nullptr) return;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    switch (name->type) {
      case GEN_URI:
        info->uri_sans.emplace_back(StringOf(name->d.uniformResourceIdentifier));
        break;
      case GEN_DNS:
        info->dns_sans.emplace_back(StringOf(name->d.dNSName));
        break;
      case GEN_IPADD:
        info->ip_sans.push_back(FormatAddress(StringOf(name->d.iPAddress)));
        break;
      default:
        break;
    }
  }
  GENERAL_NAMES_free(names);
}

CertificateInfo ReadInfo(X509* certificate) {
  CertificateInfo info;
  info.common_name = CommonName(certificate);
  std::string serial(StringOf(X509_get0_serialNumber(certificate)));
  info.serial = absl::BytesToHexString(serial);
  if (serial.size() <= kSerialBytes) {
    // A small generation begins with zero bytes, which DER leaves out.
    serial.insert(0, kSerialBytes - serial.size(), '\0');
    for (int i = 0; i < 4; ++i) {
      info.generation = info.generation << 8 | static_cast<uint8_t>(serial[i]);
    }
  }
  info.not_before = FromAsn1Time(X509_get0_notBefore(certificate));
  info.not_after = FromAsn1Time(X509_get0_notAfter(certificate));
  info.spki = SpkiDigest(certificate);
  info.is_ca = X509_check_ca(certificate) == 1;
  info.self_issued =
      X509_NAME_cmp(X509_get_subject_name(certificate), X509_get_issuer_name(certificate)) == 0;
  ReadAlternativeNames(certificate, &info);
  return info;
}

absl::Status NoCertificate() {
  return MakeError(Reason::kCertificateInvalid, "the text holds no readable PEM certificate");
}

}  // namespace

absl::StatusOr<CertificateInfo> ParseCertificate(absl::string_view pem) {
  std::vector<X509Ptr> certificates = ReadCertificates(pem);
  if (certificates.empty()) return NoCertificate();
  CertificateInfo info = ReadInfo(certificates.front().get());
  ERR_clear_error();
  return info;
}

absl::StatusOr<std::vector<std::string>> SplitCertificates(absl::string_view pem) {
  std::vector<X509Ptr> certificates = ReadCertificates(pem);
  if (certificates.empty()) return NoCertificate();
  std::vector<std::string> texts;
  for (const X509Ptr& certificate : certificates) texts.push_back(FormatPem(certificate.get()));
  return texts;
}

absl::StatusOr<Digest> SpkiPin(absl::string_view pem) {
  std::vector<X509Ptr> certificates = ReadCertificates(pem);
  if (certificates.empty()) return NoCertificate();
  return SpkiDigest(certificates.front().get());
}

absl::Status CheckKeyMatches(absl::string_view certificate_pem, absl::string_view key_pem) {
  std::vector<X509Ptr> certificates = ReadCertificates(certificate_pem);
  if (certificates.empty()) return NoCertificate();
  KeyPtr key = ReadPrivateKey(key_pem);
  if (key == nullptr) {
    return MakeError(Reason::kCertificateInvalid, "the text holds no readable PEM private key");
  }
  bool matches = X509_check_private_key(certificates.front().get(), key.get()) == 1;
  ERR_clear_error();
  if (matches) return absl::OkStatus();
  return MakeError(Reason::kCertificateInvalid, "the certificate is for another private key");
}

std::string CompleteChain(absl::string_view chain_pem, absl::string_view roots_pem) {
  std::string chain(chain_pem);
  std::vector<X509Ptr> certificates = ReadCertificates(chain_pem);
  if (certificates.empty()) return chain;
  X509* last = certificates.back().get();
  std::vector<X509Ptr> roots = ReadCertificates(roots_pem);
  bool ends_with_root = std::any_of(roots.begin(), roots.end(), [&](const X509Ptr& root) {
    return X509_cmp(root.get(), last) == 0;
  });
  if (ends_with_root) return chain;
  for (const X509Ptr& root : roots) {
    bool issued = X509_check_issued(root.get(), last) == X509_V_OK &&
                  X509_verify(last, X509_get0_pubkey(root.get())) == 1;
    if (!issued) continue;
    if (!chain.empty() && chain.back() != '\n') chain += '\n';
    chain += FormatPem(root.get());
    break;
  }
  ERR_clear_error();
  return chain;
}

}  // namespace nave
