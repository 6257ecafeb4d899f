#include "common/pki/tls_tickets.h"

#include <openssl/conf.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/pki/openssl.h"

namespace nave {
namespace {

using ConfPtr = std::unique_ptr<CONF, OpenSslFree<NCONF_free>>;

// The lines of the section that the system's configuration applies to every TLS context; usually
// none.
std::string SystemDefaults() {
  std::string lines;
  char* path = CONF_get1_default_config_file();
  ConfPtr conf(NCONF_new(nullptr));
  long error_line = 0;
  if (path != nullptr && NCONF_load(conf.get(), path, &error_line) == 1) {
    const char* section = NCONF_get_string(conf.get(), nullptr, "openssl_conf");
    for (const char* name : {"ssl_conf", "system_default"}) {
      if (section != nullptr) section = NCONF_get_string(conf.get(), section, name);
    }
    STACK_OF(CONF_VALUE)* values =
        section == nullptr ? nullptr : NCONF_get_section(conf.get(), section);
    for (int i = 0; i < sk_CONF_VALUE_num(values); ++i) {
      const CONF_VALUE* value = sk_CONF_VALUE_value(values, i);
      absl::StrAppend(&lines, value->name, " = ", value->value, "\n");
    }
  }
  OPENSSL_free(path);
  return lines;
}

}  // namespace

void DisableTlsTickets() {
  static std::once_flag once;
  std::call_once(once, [] {
    OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, nullptr);
    // NumTickets is TLS 1.3, the option TLS 1.2.
    std::string text = absl::StrCat(
        "openssl_conf = nave\n[nave]\nssl_conf = nave_ssl\n[nave_ssl]\n"
        "system_default = nave_tls\n[nave_tls]\n",
        SystemDefaults(), "NumTickets = 0\nOptions = -SessionTicket\n");
    ConfPtr conf(NCONF_new(nullptr));
    BioPtr bio = ReadBio(text);
    long error_line = 0;
    if (NCONF_load_bio(conf.get(), bio.get(), &error_line) == 1) {
      CONF_modules_load(conf.get(), nullptr, CONF_MFLAGS_IGNORE_ERRORS);
    }
    ERR_clear_error();
  });
}

}  // namespace nave
