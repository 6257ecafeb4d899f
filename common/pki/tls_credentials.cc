#include "common/pki/tls_credentials.h"

#include <grpc/grpc_security.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <utility>
#include <vector>

#include "common/pki/tls_tickets.h"

namespace nave {
namespace {

// What one listening port has taken of the files.
struct PortCertificates {
  std::shared_ptr<CertificateFiles> files;
  uint64_t version = 0;
};

// gRPC calls this before each handshake of a port, one at a time.
grpc_ssl_certificate_config_reload_status FetchCertificates(
    void* port_certificates, grpc_ssl_server_certificate_config** config) {
  auto* port = static_cast<PortCertificates*>(port_certificates);
  std::shared_ptr<const CertificateBundle> bundle = port->files->Current();
  if (bundle->version == port->version) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  grpc_ssl_pem_key_cert_pair pair = {bundle->key_pem.c_str(), bundle->chain_pem.c_str()};
  *config = grpc_ssl_server_certificate_config_create(bundle->roots_pem.c_str(), &pair, 1);
  port->version = bundle->version;
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

class ReloadingServerCredentials final : public grpc::ServerCredentials {
 public:
  explicit ReloadingServerCredentials(std::shared_ptr<CertificateFiles> files)
      : files_(std::move(files)) {}

  // Callers are authenticated by PeerOf in the handlers, not in here.
  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*processor*/) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    // Of its own for each port: "unchanged" is an answer about one port's last reading.
    auto* port = new PortCertificates{files_, 0};
    grpc_server_credentials* credentials = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(
            GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY, FetchCertificates, port));
    // The server outlives this object. The destructor of a processor that processes nothing is the
    // hook that runs when the last handshake is over.
    grpc_server_credentials_set_auth_metadata_processor(
        credentials,
        {nullptr, [](void* state) { delete static_cast<PortCertificates*>(state); }, port});
    int bound = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return bound;
  }

  std::shared_ptr<CertificateFiles> files_;
};

std::string PropertyOf(const grpc::AuthContext& auth, const char* name) {
  std::vector<grpc::string_ref> values = auth.FindPropertyValues(name);
  return values.empty() ? "" : std::string(values.front().data(), values.front().size());
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(
    std::shared_ptr<CertificateFiles> files) {
  DisableTlsTickets();
  return std::make_shared<ReloadingServerCredentials>(std::move(files));
}

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentials(absl::string_view roots_pem,
                                                                 absl::string_view certificate_pem,
                                                                 absl::string_view key_pem) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = std::string(roots_pem);
  options.pem_cert_chain = std::string(certificate_pem);
  options.pem_private_key = std::string(key_pem);
  return grpc::SslCredentials(options);
}

Peer PeerOf(const grpc::ServerContextBase& context, absl::string_view roots_pem, absl::Time now) {
  std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  if (auth == nullptr) return VerifyPeer("", "", roots_pem, now);
  return VerifyPeer(PropertyOf(*auth, GRPC_X509_PEM_CERT_PROPERTY_NAME),
                    PropertyOf(*auth, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME), roots_pem, now);
}

}  // namespace nave
