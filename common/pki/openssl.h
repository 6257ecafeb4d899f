// Owners of OpenSSL objects and the few conversions that every file of this layer needs. Private to
// certificate code: no other header includes it.
#ifndef NAVE_COMMON_PKI_OPENSSL_H_
#define NAVE_COMMON_PKI_OPENSSL_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"

namespace nave {

template <auto Free>
struct OpenSslFree {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

using BioPtr = std::unique_ptr<BIO, OpenSslFree<BIO_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpenSslFree<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, OpenSslFree<X509_free>>;
using CsrPtr = std::unique_ptr<X509_REQ, OpenSslFree<X509_REQ_free>>;

// A read-only BIO over `text`, which must outlive it.
BioPtr ReadBio(absl::string_view text);
// What was written to a memory BIO.
std::string BioText(BIO* bio);

// All certificates of a PEM text, in order. Empty when there is none or one of them cannot be read.
std::vector<X509Ptr> ReadCertificates(absl::string_view pem);
// nullptr when the text is no unencrypted private key. Never asks for a passphrase.
KeyPtr ReadPrivateKey(absl::string_view pem);
std::string FormatPem(X509* certificate);

// DER of the SubjectPublicKeyInfo; empty on failure.
std::string PublicKeyDer(const EVP_PKEY* key);
// SHA-256 of the certificate's SubjectPublicKeyInfo.
Digest SpkiDigest(X509* certificate);
bool IsP256(const EVP_PKEY* key);

// InfinitePast when the time cannot be read.
absl::Time FromAsn1Time(const ASN1_TIME* time);

// The oldest error of this thread's OpenSSL queue as text; clears the queue.
std::string TakeOpenSslError();

}  // namespace nave

#endif  // NAVE_COMMON_PKI_OPENSSL_H_
