#include "cli/resources/requests.h"

#include "absl/strings/str_cat.h"
#include "cli/client/hub_client.h"
#include "nave/v1/meta.pb.h"

namespace nave::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// "clusterSets" for ClusterSet and so on, with a capital: the plural in method names.
std::string PluralOf(const KindInfo& kind) {
  if (kind.kind == "BundleRevision") return "BundleRevisions";
  std::string plural(kind.collection);
  plural[0] = static_cast<char>(plural[0] - 'a' + 'A');
  return plural;
}

// The empty request of a method of the kind's service; null when there is none.
MessagePtr NewRequest(const KindInfo& kind, const std::string& method_name) {
  MessagePtr resource(kind.make());
  const auto* file = resource->GetDescriptor()->file();
  for (int i = 0; i < file->service_count(); ++i) {
    const auto* method = file->service(i)->FindMethodByName(method_name);
    if (method != nullptr) return NewMessage(*method->input_type());
  }
  return nullptr;
}

const FieldDescriptor* Field(const Message& message, const std::string& name) {
  return message.GetDescriptor()->FindFieldByName(name);
}

void SetInt(Message* message, const std::string& field, int value) {
  if (const auto* found = Field(*message, field))
    message->GetReflection()->SetInt32(message, found, value);
}

void SetScope(const ListOptions& options, Message* request) {
  SetText(request, "label_selector", options.label_selector);
  SetText(request, "parent", options.parent);
  SetText(request, "about", options.about);
}

}  // namespace

void SetText(Message* message, const std::string& field, absl::string_view value) {
  if (const auto* found = Field(*message, field)) {
    message->GetReflection()->SetString(message, found, std::string(value));
  }
}

void SetBool(Message* message, const std::string& field, bool value) {
  if (const auto* found = Field(*message, field))
    message->GetReflection()->SetBool(message, found, value);
}

const std::string& NameOf(const Message& resource) {
  static thread_local std::string scratch;
  return resource.GetReflection()->GetStringReference(resource, Field(resource, "name"), &scratch);
}

const std::string& EtagOf(const Message& resource) {
  static thread_local std::string scratch;
  return resource.GetReflection()->GetStringReference(resource, Field(resource, "etag"), &scratch);
}

MessagePtr MakeGetRequest(const KindInfo& kind, absl::string_view name, bool full) {
  MessagePtr request = NewRequest(kind, absl::StrCat("Get", kind.kind));
  SetText(request.get(), "name", name);
  const auto* view = Field(*request, "view");
  if (full && view != nullptr)
    request->GetReflection()->SetEnumValue(request.get(), view, v1::VIEW_FULL);
  return request;
}

MessagePtr MakeListRequest(const KindInfo& kind, const ListOptions& options,
                           absl::string_view page_token) {
  MessagePtr request = NewRequest(kind, absl::StrCat("List", PluralOf(kind)));
  SetScope(options, request.get());
  SetInt(request.get(), "page_size", options.page_size);
  SetText(request.get(), "page_token", page_token);
  return request;
}

std::vector<const Message*> ItemsOf(const Message& response) {
  std::vector<const Message*> items;
  const auto& type = *response.GetDescriptor();
  const auto& r = *response.GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (!field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    for (int at = 0; at < r.FieldSize(response, field); ++at)
      items.push_back(&r.GetRepeatedMessage(response, field, at));
  }
  return items;
}

std::string NextPageTokenOf(const Message& response) {
  return response.GetReflection()->GetString(response, Field(response, "next_page_token"));
}

MessagePtr MakeWatchRequest(const KindInfo& kind, const ListOptions& options,
                            absl::string_view resource_version) {
  MessagePtr request = NewRequest(kind, absl::StrCat("Watch", PluralOf(kind)));
  if (request == nullptr) return nullptr;
  SetScope(options, request.get());
  SetText(request.get(), "resource_version", resource_version);
  return request;
}

WatchEvent WatchEventOf(const Message& response) {
  WatchEvent event;
  const auto& type = *response.GetDescriptor();
  const auto& r = *response.GetReflection();
  switch (r.GetEnumValue(response, Field(response, "type"))) {
    case v1::WATCH_EVENT_TYPE_ITEM:
      event.type = WatchEvent::Type::kItem;
      break;
    case v1::WATCH_EVENT_TYPE_DELETED:
      event.type = WatchEvent::Type::kDeleted;
      break;
    case v1::WATCH_EVENT_TYPE_SYNCED:
      event.type = WatchEvent::Type::kSynced;
      break;
    default:
      break;
  }
  event.resource_version = r.GetString(response, Field(response, "resource_version"));
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && r.HasField(response, field)) {
      event.item = &r.GetMessage(response, field);
    }
  }
  return event;
}

MessagePtr MakeUpdateRequest(const KindInfo& kind, const Message& resource,
                             const std::vector<std::string>& mask, const WriteOptions& options) {
  MessagePtr request = NewRequest(kind, absl::StrCat("Update", kind.kind));
  if (request == nullptr) return nullptr;
  const auto& type = *request->GetDescriptor();
  const auto& r = *request->GetReflection();
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->message_type() == resource.GetDescriptor()) {
      r.MutableMessage(request.get(), type.field(i))->CopyFrom(resource);
    }
  }
  Message* update_mask = r.MutableMessage(request.get(), Field(*request, "update_mask"));
  const auto* paths = Field(*update_mask, "paths");
  for (const std::string& path : mask)
    update_mask->GetReflection()->AddString(update_mask, paths, path);
  if (mask.empty()) r.ClearField(request.get(), Field(*request, "update_mask"));
  SetBool(request.get(), "allow_missing", true);
  SetBool(request.get(), "validate_only", options.validate_only);
  SetText(request.get(), "request_id", options.request_id);
  return request;
}

MessagePtr MakeDeleteRequest(const KindInfo& kind, absl::string_view name,
                             const DeleteOptions& options) {
  MessagePtr request = NewRequest(kind, absl::StrCat("Delete", kind.kind));
  if (request == nullptr) return nullptr;
  SetText(request.get(), "name", name);
  SetText(request.get(), "etag", options.etag);
  SetBool(request.get(), "validate_only", options.validate_only);
  SetText(request.get(), "request_id", options.request_id);
  SetBool(request.get(), "orphan", options.orphan);
  SetText(request.get(), "confirm", options.confirm);
  return request;
}

}  // namespace nave::cli
