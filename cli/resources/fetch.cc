#include "cli/resources/fetch.h"

#include <utility>

#include "common/base/status_macros.h"

namespace nave::cli {

using google::protobuf::Message;

absl::StatusOr<MessagePtr> CallAny(HubClient* hub, const Message& request) {
  MessagePtr response = NewMessage(*MethodOf(request)->output_type());
  RETURN_IF_ERROR(hub->Call(request, response.get()));
  return response;
}

absl::StatusOr<MessagePtr> FetchOne(HubClient* hub, const Target& target, bool full) {
  return CallAny(hub, *MakeGetRequest(*target.kind, target.name, full));
}

absl::StatusOr<std::vector<MessagePtr>> FetchAll(HubClient* hub, const KindInfo& kind,
                                                 const ListOptions& options) {
  std::vector<MessagePtr> all;
  std::string token;
  do {
    ASSIGN_OR_RETURN(MessagePtr page, CallAny(hub, *MakeListRequest(kind, options, token)));
    for (const Message* item : ItemsOf(*page)) {
      MessagePtr copy(item->New());
      copy->CopyFrom(*item);
      all.push_back(std::move(copy));
    }
    token = NextPageTokenOf(*page);
  } while (!token.empty());
  return all;
}

absl::Status FetchPages(HubClient* hub, Message* request, Message* response,
                        absl::FunctionRef<void()> take) {
  std::string token;
  do {
    SetText(request, "page_token", token);
    response->Clear();
    RETURN_IF_ERROR(hub->Call(*request, response));
    take();
    token = NextPageTokenOf(*response);
  } while (!token.empty());
  return absl::OkStatus();
}

}  // namespace nave::cli
