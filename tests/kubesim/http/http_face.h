// The simulator as an API server on loopback: HTTP/2 over TLS with bearer tokens.
#ifndef NAVE_TESTS_KUBESIM_HTTP_HTTP_FACE_H_
#define NAVE_TESTS_KUBESIM_HTTP_HTTP_FACE_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tests/kubesim/kubesim.h"

namespace nave::kubesim {

struct HttpFaceOptions {
  KubeSimOptions sim;
  // Users by bearer token, besides the tokens that the simulator itself issues.
  std::map<std::string, std::string> tokens = {{"admin-token", "admin"}};
  int port = 0;  // 0: a free one.
};

// Runs threads of its own; the simulator lives on one of them. Besides the API, for whoever holds
// one of `tokens`: POST and DELETE /kubesim/faults (see FaultScript), GET /kubesim/audit,
// POST /kubesim/compact.
class HttpFace {
 public:
  virtual ~HttpFace() = default;
  // 127.0.0.1.
  virtual int port() const = 0;
  virtual std::string ca_pem() const = 0;
  // A kubeconfig for the user of `token`.
  virtual std::string Kubeconfig(const std::string& token) const = 0;
  // Runs `use` on the simulator's thread and waits for it.
  virtual void WithSim(const std::function<void(KubeSim&)>& use) = 0;
};

std::unique_ptr<HttpFace> StartHttpFace(HttpFaceOptions options);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_HTTP_HTTP_FACE_H_
