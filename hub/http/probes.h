// /livez, /readyz and /metrics of the hub as texts.
#ifndef NAVE_HUB_HTTP_PROBES_H_
#define NAVE_HUB_HTTP_PROBES_H_

#include <functional>
#include <string>
#include <vector>

#include "common/httpserver/http_server.h"
#include "common/metrics/metrics.h"

namespace nave {

// One thing that has to be in order for the hub to serve.
struct ReadyCheck {
  std::string name;
  // Empty: in order.
  std::string trouble;
};

// `livez` is 200 as long as the process answers; `readyz` is 503 with the failing checks named, and
// lists all of them with ?verbose or when one fails. Anything else: 404.
HttpAnswer AnswerProbe(const HttpRequest& request, const std::vector<ReadyCheck>& checks);

// For HttpServer. `checks` runs on the server's thread and must return soon.
HttpHandler MakeProbeHandler(std::function<std::vector<ReadyCheck>()> checks,
                             const MetricRegistry* metrics);

}  // namespace nave

#endif  // NAVE_HUB_HTTP_PROBES_H_
