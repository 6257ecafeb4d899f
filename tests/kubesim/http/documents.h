// What an API server says of itself: discovery in both forms, version, health. Pure.
#ifndef NAVE_TESTS_KUBESIM_HTTP_DOCUMENTS_H_
#define NAVE_TESTS_KUBESIM_HTTP_DOCUMENTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/kubesim/api.h"
#include "tests/kubesim/kinds.h"

namespace nave::kubesim {

struct DocumentRequest {
  std::string path;
  std::string accept;
  // What is served now, in each group the preferred version first.
  std::vector<const KindInfo*> kinds;
  std::string git_version;
};

// 404 as text for paths that are none. Content type of the answer in `content_type`.
SimResponse Document(const DocumentRequest& request, std::string* content_type);

}  // namespace nave::kubesim

#endif  // NAVE_TESTS_KUBESIM_HTTP_DOCUMENTS_H_
