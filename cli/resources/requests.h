// Requests of any kind, made from the kind's descriptors: names and numbers of fields are equal
// over all kinds (AIP), so one function serves all. Pure.
#ifndef NAVE_CLI_RESOURCES_REQUESTS_H_
#define NAVE_CLI_RESOURCES_REQUESTS_H_

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/wire/kinds.h"

namespace nave::cli {

using MessagePtr = std::unique_ptr<google::protobuf::Message>;

// Fields of any resource.
const std::string& NameOf(const google::protobuf::Message& resource);
const std::string& EtagOf(const google::protobuf::Message& resource);

// `full`: manifests with their content.
MessagePtr MakeGetRequest(const KindInfo& kind, absl::string_view name, bool full = false);

struct ListOptions {
  // projects/p or projects/- for kinds of a project; of revisions the bundle's name. Ignored by the
  // other kinds.
  std::string parent;
  std::string label_selector;
  // Events only: bundles/b, clusters/c or hub.
  std::string about;
  int page_size = 500;
};
MessagePtr MakeListRequest(const KindInfo& kind, const ListOptions& options,
                           absl::string_view page_token);
// The resources in an answer to it, owned by `response`.
std::vector<const google::protobuf::Message*> ItemsOf(const google::protobuf::Message& response);
std::string NextPageTokenOf(const google::protobuf::Message& response);

// nullptr for kinds that cannot be watched.
MessagePtr MakeWatchRequest(const KindInfo& kind, const ListOptions& options,
                            absl::string_view resource_version);
struct WatchEvent {
  // kRestart: what was sent before counts no more. Made here, not by the hub.
  enum class Type { kOther, kItem, kDeleted, kSynced, kRestart };
  Type type = Type::kOther;
  const google::protobuf::Message* item = nullptr;  // Owned by the response; null for kSynced.
  std::string resource_version;
};
WatchEvent WatchEventOf(const google::protobuf::Message& response);

struct WriteOptions {
  bool validate_only = false;
  std::string request_id;
};
// Creates or replaces. `mask` (may be empty): the paths to replace.
MessagePtr MakeUpdateRequest(const KindInfo& kind, const google::protobuf::Message& resource,
                             const std::vector<std::string>& mask, const WriteOptions& options);

struct DeleteOptions {
  bool validate_only = false;
  std::string request_id;
  std::string etag;
  bool orphan = false;
  std::string confirm;
};
// nullptr for kinds without Delete (clusters: remove or forget; revisions, events).
MessagePtr MakeDeleteRequest(const KindInfo& kind, absl::string_view name,
                             const DeleteOptions& options);

// Sets a field when the message has it; does nothing when it has not.
void SetText(google::protobuf::Message* message, const std::string& field, absl::string_view value);
void SetBool(google::protobuf::Message* message, const std::string& field, bool value);

}  // namespace nave::cli

#endif  // NAVE_CLI_RESOURCES_REQUESTS_H_
