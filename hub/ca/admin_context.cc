#include "hub/ca/admin_context.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace nave {

std::string FormatAdminContext(const AdminContext& context) {
  // The address is quoted: one that begins with a bracket would be a list in YAML.
  return absl::StrCat(
      "apiVersion: nave.dev/v1\nkind: Config\ncurrent-context: ", context.name,
      "\ncontexts:\n- name: ", context.name, "\n  context:\n    hub: \"", context.hub,
      "\"\n    certificate-authority-data: ", absl::Base64Escape(context.roots_pem),
      "\n    client-certificate-data: ", absl::Base64Escape(context.certificate_pem),
      "\n    client-key-data: ", absl::Base64Escape(context.key_pem), "\n");
}

}  // namespace nave
