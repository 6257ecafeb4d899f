#include "tests/cli/testing/fake_hub.h"

#include <google/protobuf/util/message_differencer.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/error.h"
#include "nave/v1/meta.pb.h"

namespace nave::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

const FieldDescriptor* Field(const Message& message, const char* name) {
  return message.GetDescriptor()->FindFieldByName(name);
}

std::string Text(const Message& message, const char* name) {
  const FieldDescriptor* field = Field(message, name);
  return field == nullptr ? "" : message.GetReflection()->GetString(message, field);
}

bool Flag(const Message& message, const char* name) {
  const FieldDescriptor* field = Field(message, name);
  return field != nullptr && message.GetReflection()->GetBool(message, field);
}

// The first singular or repeated message field that is a resource.
const FieldDescriptor* ResourceField(const Message& message) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (field->message_type() != nullptr &&
        field->message_type()->FindFieldByName("etag") != nullptr)
      return field;
  }
  return nullptr;
}

std::string Collection(const google::protobuf::Descriptor& type) {
  for (const KindInfo& kind : Kinds()) {
    if (type.name() == std::string(kind.kind)) return std::string(kind.collection);
  }
  return "";
}

absl::Status Missing(const std::string& name) {
  return MakeError(Reason::kNotFound, absl::StrCat("there is no ", name), {{"resource", name}});
}

}  // namespace

void FakeHub::Put(const Message& resource) {
  MessagePtr copy(resource.New());
  copy->CopyFrom(resource);
  SetText(copy.get(), "etag", absl::StrCat("\"", ++etags_, "\""));
  resources_[NameOf(resource)] = std::move(copy);
}

const Message* FakeHub::Find(const std::string& name) const {
  auto found = resources_.find(name);
  return found == resources_.end() ? nullptr : found->second.get();
}

void FakeHub::ThenBreak(absl::Status status, std::function<void()> change) {
  changes_.push_back([this, status, change] {
    change();
    break_ = status;
  });
}

std::vector<std::string> FakeHub::CallsOf(const std::string& method) const {
  std::vector<std::string> found;
  for (const std::string& call : calls_) {
    if (call == method || absl::StartsWith(call, method + " ")) found.push_back(call);
  }
  return found;
}

std::vector<std::string> FakeHub::NamesFor(const Message& request,
                                           const std::string& collection) const {
  std::vector<std::string> names;
  std::string parent = Text(request, "parent");
  for (const auto& [name, resource] : resources_) {
    if (Collection(*resource->GetDescriptor()) != collection) continue;
    bool any = parent.empty() || parent == "-" || parent == "projects/-";
    if (any || absl::StartsWith(name, parent + "/")) names.push_back(name);
  }
  return names;
}

absl::Status FakeHub::List(const Message& request, Message* response) {
  const FieldDescriptor* field = ResourceField(*response);
  std::vector<std::string> names = NamesFor(request, Collection(*field->message_type()));
  size_t first = 0;
  (void)absl::SimpleAtoi(Text(request, "page_token"), &first);
  size_t end = std::min(names.size(), first + pages_max);
  for (size_t i = first; i < end; ++i) {
    response->GetReflection()->AddMessage(response, field)->CopyFrom(*resources_[names[i]]);
  }
  if (end < names.size()) SetText(response, "next_page_token", absl::StrCat(end));
  return absl::OkStatus();
}

absl::Status FakeHub::Update(const Message& request, Message* response) {
  const Message& wanted = request.GetReflection()->GetMessage(request, ResourceField(request));
  const Message* present = Find(NameOf(wanted));
  if (present == nullptr && !Flag(request, "allow_missing")) return Missing(NameOf(wanted));
  MessagePtr next(wanted.New());
  next->CopyFrom(wanted);
  // As the hub: the etag stays when nothing that people decide changes.
  const FieldDescriptor* spec = Field(wanted, "spec");
  bool same = present != nullptr && google::protobuf::util::MessageDifferencer::Equals(
                                        present->GetReflection()->GetMessage(*present, spec),
                                        wanted.GetReflection()->GetMessage(wanted, spec));
  SetText(next.get(), "etag", same ? EtagOf(*present) : absl::StrCat("\"", ++etags_, "\""));
  response->CopyFrom(*next);
  if (!Flag(request, "validate_only")) resources_[NameOf(wanted)] = std::move(next);
  return absl::OkStatus();
}

absl::Status FakeHub::Call(const Message& request, Message* response) {
  const std::string& method = MethodOf(request)->name();
  std::string shown = request.ShortDebugString();
  calls_.push_back(shown.empty() ? method : absl::StrCat(method, " ", shown));
  if (!failure_.ok()) return failure_;
  auto answer = answers_.find(request.GetDescriptor()->full_name());
  if (answer != answers_.end()) return answer->second(request, response);
  if (absl::StartsWith(method, "List") && ResourceField(*response) != nullptr)
    return List(request, response);
  if (absl::StartsWith(method, "Update")) return Update(request, response);
  std::string name = Text(request, "name");
  const Message* found = Find(name);
  if (absl::StartsWith(method, "Get") && !name.empty()) {
    if (found == nullptr) return Missing(name);
    response->CopyFrom(*found);
    return absl::OkStatus();
  }
  if (absl::StartsWith(method, "Delete")) {
    if (found == nullptr) return Missing(name);
    // A bundle stays until the test takes it away.
    if (Collection(*found->GetDescriptor()) == "bundles") {
      response->CopyFrom(*found);
    } else if (!Flag(request, "validate_only")) {
      Remove(name);
    }
    return absl::OkStatus();
  }
  return absl::OkStatus();  // An empty answer.
}

absl::Status FakeHub::Stream(const Message& request, absl::Time, Message* response,
                             absl::FunctionRef<bool()> on_response) {
  calls_.push_back(absl::StrCat(MethodOf(request)->name(), " ", request.ShortDebugString()));
  if (!failure_.ok()) return failure_;
  const FieldDescriptor* field = ResourceField(*response);
  const FieldDescriptor* type = Field(*response, "type");
  std::string collection = Collection(*field->message_type());
  std::map<std::string, std::string> sent;  // Name to serialised content.
  auto send = [&](int event, const Message* resource) {
    response->Clear();
    response->GetReflection()->SetEnumValue(response, type, event);
    SetText(response, "resource_version", absl::StrCat(100 + etags_));
    if (resource != nullptr)
      response->GetReflection()->MutableMessage(response, field)->CopyFrom(*resource);
    return on_response();
  };
  bool resumed = !Text(request, "resource_version").empty();
  bool synced = false;
  while (true) {
    std::vector<std::string> names = NamesFor(request, collection);
    for (const std::string& name : names) {
      std::string content = resources_[name]->SerializeAsString();
      if (sent[name] == content) continue;
      sent[name] = content;
      if (!send(v1::WATCH_EVENT_TYPE_ITEM, resources_[name].get())) return absl::OkStatus();
    }
    for (auto at = sent.begin(); at != sent.end();) {
      if (resources_.contains(at->first)) {
        ++at;
        continue;
      }
      MessagePtr gone(response->GetReflection()->GetMessage(*response, field).New());
      SetText(gone.get(), "name", at->first);
      at = sent.erase(at);
      if (!send(v1::WATCH_EVENT_TYPE_DELETED, gone.get())) return absl::OkStatus();
    }
    if (!synced && !resumed && !send(v1::WATCH_EVENT_TYPE_SYNCED, nullptr)) return absl::OkStatus();
    synced = true;
    if (changes_.empty()) return MakeError(Reason::kTimeout, "deadline exceeded");
    auto change = changes_.front();
    changes_.erase(changes_.begin());
    change();
    if (!break_.ok()) return std::exchange(break_, absl::OkStatus());
  }
}

}  // namespace nave::cli
