#include "cli/client/hub_client.h"

#include "absl/strings/str_cat.h"

namespace nave::cli {

using google::protobuf::Descriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

const MethodDescriptor* MethodOf(const Message& request) {
  const Descriptor* type = request.GetDescriptor();
  const auto* file = type->file();
  for (int i = 0; i < file->service_count(); ++i) {
    for (int at = 0; at < file->service(i)->method_count(); ++at) {
      const MethodDescriptor* method = file->service(i)->method(at);
      if (method->input_type() == type) return method;
    }
  }
  return nullptr;
}

std::string MethodPath(const MethodDescriptor& method) {
  return absl::StrCat("/", method.service()->full_name(), "/", method.name());
}

std::unique_ptr<Message> NewMessage(const Descriptor& type) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

}  // namespace nave::cli
