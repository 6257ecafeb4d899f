#include "agent/enroll/pinned_chain.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/pki/certificate.h"
#include "common/pki/openssl.h"

namespace nave {
namespace {

using StorePtr = std::unique_ptr<X509_STORE, OpenSslFree<X509_STORE_free>>;
using StoreContextPtr = std::unique_ptr<X509_STORE_CTX, OpenSslFree<X509_STORE_CTX_free>>;

bool IsAboutTime(int error) {
  return error == X509_V_ERR_CERT_HAS_EXPIRED || error == X509_V_ERR_CERT_NOT_YET_VALID;
}

// X509_V_OK or why the first of `chain` is not a server's certificate under `root`.
int VerifyUnder(X509* root, const std::vector<X509Ptr>& chain, absl::Time now) {
  StorePtr store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), root);
  STACK_OF(X509)* between = sk_X509_new_null();
  for (const X509Ptr& certificate : chain) sk_X509_push(between, certificate.get());
  StoreContextPtr context(X509_STORE_CTX_new());
  int error = X509_V_ERR_UNSPECIFIED;
  if (X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(), between) == 1) {
    X509_VERIFY_PARAM* param = X509_STORE_CTX_get0_param(context.get());
    X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
    X509_VERIFY_PARAM_set_time(param, absl::ToTimeT(now));
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN);
    X509_verify_cert(context.get());
    error = X509_STORE_CTX_get_error(context.get());
  }
  context.reset();
  sk_X509_free(between);
  ERR_clear_error();
  return error;
}

bool Names(X509* certificate, const std::string& host) {
  bool address = X509_check_ip_asc(certificate, host.c_str(), 0) == 1;
  bool name = X509_check_host(certificate, host.c_str(), host.size(), 0, nullptr) == 1;
  ERR_clear_error();
  return address || name;
}

}  // namespace

absl::StatusOr<std::string> CheckPinnedChain(const std::vector<std::string>& chain,
                                             const Digest& pin, const std::string& host,
                                             absl::Time now) {
  std::vector<X509Ptr> certificates = ReadCertificates(absl::StrJoin(chain, ""));
  if (certificates.empty()) {
    return MakeError(Reason::kCaPinMismatch, "the server presented no readable certificate");
  }
  X509* root = certificates.back().get();
  Digest found = SpkiDigest(root);
  if (found != pin) {
    return MakeError(Reason::kCaPinMismatch,
                     absl::StrCat("CA pin: the token says ", pin.Hex(),
                                  ", the server's chain ends with ", found.Hex()));
  }
  int error = VerifyUnder(root, certificates, now);
  if (IsAboutTime(error)) {
    CertificateInfo info = ParseCertificate(chain.front()).value();
    return MakeError(Reason::kHubCertificateExpired,
                     absl::StrCat("the hub's certificate is valid from ",
                                  absl::FormatTime(info.not_before, absl::UTCTimeZone()), " to ",
                                  absl::FormatTime(info.not_after, absl::UTCTimeZone()),
                                  ", and here it is ", absl::FormatTime(now, absl::UTCTimeZone())));
  }
  if (error != X509_V_OK) {
    return MakeError(Reason::kCaPinMismatch,
                     absl::StrCat("the server's certificate is not by the pinned CA: ",
                                  X509_verify_cert_error_string(error)));
  }
  if (!Names(certificates.front().get(), host)) {
    CertificateInfo info = ParseCertificate(chain.front()).value();
    return MakeError(
        Reason::kHubNameMismatch,
        absl::StrCat("the hub was called by \"", host, "\", its certificate names ",
                     absl::StrJoin(info.dns_sans, ", "), ", ", absl::StrJoin(info.ip_sans, ", ")));
  }
  return FormatPem(root);
}

}  // namespace nave
