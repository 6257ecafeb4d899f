// A watch request of HttpKubeClient. Internal.
#ifndef NAVE_AGENT_KUBE_HTTP_WATCH_H_
#define NAVE_AGENT_KUBE_HTTP_WATCH_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "agent/kube/http_caller.h"
#include "agent/kube/kube_client.h"

namespace nave {

// Starts a watch that the server ends after `lifetime`. `caller` must outlive every use of the
// watch but its destruction.
std::unique_ptr<KubeWatch> StartHttpWatch(HttpCaller& caller, WatchRequest request,
                                          absl::Duration lifetime,
                                          std::function<void(KubeEvent)> on_event,
                                          KubeClient::Callback<KubeError> on_end);

// Items of metadata-only answers under the name of their own type; what a server sent beyond
// metadata goes.
void KeepMetadataOnly(const ResourceType& type, Value& object);

}  // namespace nave

#endif  // NAVE_AGENT_KUBE_HTTP_WATCH_H_
