#include "cli/resources/print.h"

#include "absl/strings/str_cat.h"
#include "cli/resources/requests.h"
#include "cli/resources/target.h"
#include "common/value/codec.h"
#include "common/wire/file_form.h"
#include "common/wire/kinds.h"

namespace nave::cli {

using google::protobuf::Message;

std::string FormatAsJson(const std::vector<const Message*>& resources, bool single) {
  if (single && resources.size() == 1) return FormatJsonPretty(ToValue(*resources[0])) + "\n";
  Array items;
  for (const Message* resource : resources) items.push_back(ToValue(*resource));
  Value list;
  list["apiVersion"] = Value(kApiVersion);
  list["kind"] = Value("List");
  list["items"] = Value(std::move(items));
  return FormatJsonPretty(list) + "\n";
}

std::string FormatAsYaml(const std::vector<const Message*>& resources) {
  std::string text;
  for (const Message* resource : resources) {
    if (!text.empty()) absl::StrAppend(&text, "---\n");
    absl::StrAppend(&text, FormatYaml(ToValue(*resource)));
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  return text;
}

std::string FormatAsNames(const std::vector<const Message*>& resources, absl::string_view project) {
  std::string text;
  for (const Message* resource : resources) {
    const KindInfo* kind = KindOf(*resource);
    absl::StrAppend(&text, ShortName(*kind, NameOf(*resource), project), "\n");
  }
  return text;
}

}  // namespace nave::cli
