// Certificates for gRPC: credentials of servers and channels, and the one place that reads who is
// calling.
//
// A server asks for a client certificate and lets gRPC verify nothing: PeerOf does, in every
// handler, so that a caller with a bad certificate gets an answer. What gRPC itself says about a
// peer is true even of a self-signed certificate then, and is never read.
#ifndef NAVE_COMMON_PKI_TLS_CREDENTIALS_H_
#define NAVE_COMMON_PKI_TLS_CREDENTIALS_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/pki/certificate_files.h"
#include "common/pki/verify_peer.h"

namespace grpc {
class ChannelCredentials;
class ServerContextBase;
class ServerCredentials;
}  // namespace grpc

namespace nave {

// For any number of ports of any number of servers. Each handshake uses what `files` has at that
// moment, so a rotation on disk needs no restart; sessions that stand are not touched. Turns TLS
// tickets off for the whole process.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(
    std::shared_ptr<CertificateFiles> files);

// For a channel to a hub. `roots_pem` must not be empty (gRPC would trust the system's CAs).
// Without certificate and key (both empty) the channel presents none. The server's certificate must
// name the host that is dialled.
std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(absl::string_view roots_pem,
                                                                 absl::string_view certificate_pem,
                                                                 absl::string_view key_pem);

// Who calls. May be called from any thread while the call lives.
Peer PeerOf(const grpc::ServerContextBase& context, absl::string_view roots_pem, absl::Time now);

}  // namespace nave

#endif  // NAVE_COMMON_PKI_TLS_CREDENTIALS_H_
