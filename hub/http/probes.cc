#include "hub/http/probes.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace nave {

HttpAnswer AnswerProbe(const HttpRequest& request, const std::vector<ReadyCheck>& checks) {
  HttpAnswer answer;
  if (request.path == "/livez") {
    answer.body = "ok\n";
    return answer;
  }
  if (request.path != "/readyz") {
    answer.status = 404;
    answer.body =
        absl::StrCat("no such path: ", request.path, "; there are /livez, /readyz and /metrics\n");
    return answer;
  }
  std::string lines;
  bool ready = true;
  for (const ReadyCheck& check : checks) {
    bool good = check.trouble.empty();
    ready = ready && good;
    absl::StrAppend(&lines, good ? "[+]" : "[-]", check.name,
                    good ? " ok" : absl::StrCat(" failed: ", check.trouble), "\n");
  }
  answer.status = ready ? 200 : 503;
  bool verbose = request.query == "verbose" || request.query.rfind("verbose", 0) == 0;
  answer.body = ready && !verbose ? "ok\n" : absl::StrCat(lines, ready ? "ready\n" : "not ready\n");
  return answer;
}

HttpHandler MakeProbeHandler(std::function<std::vector<ReadyCheck>()> checks,
                             const MetricRegistry* metrics) {
  return [checks = std::move(checks), metrics](const HttpRequest& request) {
    if (request.path == "/metrics") {
      HttpAnswer answer;
      answer.content_type = kMetricsContentType;
      answer.body = metrics->Text();
      return answer;
    }
    return AnswerProbe(request, request.path == "/readyz" ? checks() : std::vector<ReadyCheck>());
  };
}

}  // namespace nave
