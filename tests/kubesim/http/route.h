// What an HTTP request to an API server asks for. Pure.
#ifndef NAVE_TESTS_KUBESIM_HTTP_ROUTE_H_
#define NAVE_TESTS_KUBESIM_HTTP_ROUTE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/kubesim/api.h"

namespace nave::kubesim {

// As it came, without HTTP around it.
struct HttpInput {
  std::string method;
  std::string target;  // Path and query.
  // Lower-case names.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// Value of the first header `name` (lower-case); "" when there is none.
std::string HeaderOf(const HttpInput& input, absl::string_view name);

struct Route {
  enum class Kind {
    kResource,  // `request`.
    kWatch,     // `request`, a kList.
    kDocument,  // Discovery, version, health: `path`.
    kControl,   // /kubesim/...: for whoever runs the simulator.
    kRefused,   // `refusal`.
  };
  Kind kind = Kind::kDocument;
  std::string path;  // Without the query, decoded.
  std::map<std::string, std::string> query;
  SimRequest request;
  SimResponse refusal;
};

Route ParseRoute(const HttpInput& input);

// "%41+" to "A " (a plus is a space in queries only).
std::string UrlDecode(absl::string_view text, bool query);

// Whether one of the media types of an Accept header is `type` with all of `parameters`
// ("as=Table"). An empty header accepts everything without parameters.
bool Accepts(absl::string_view header, absl::string_view type,
             const std::vector<std::string>& parameters);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_HTTP_ROUTE_H_
