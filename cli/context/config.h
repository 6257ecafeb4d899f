// The configuration file of navectl: named contexts, each a hub and how to be known there. Pure:
// texts in, texts out.
//
//   apiVersion: nave.dev/v1
//   kind: Config
//   current-context: nave
//   contexts:
//   - name: nave
//     context:
//       hub: 127.0.0.1:8443
//       project: shop                                  # optional
//       certificate-authority-data: <base64 of PEM>    # or certificate-authority: FILE
//       client-certificate-data: <base64 of PEM>       # or client-certificate: FILE
//       client-key-data: <base64 of PEM>               # or client-key: FILE
//       token-file: FILE                               # a bearer token instead of a certificate
// Files are relative to the folder of the configuration file.
#ifndef NAVE_CLI_CONTEXT_CONFIG_H_
#define NAVE_CLI_CONTEXT_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nave::cli {

// A PEM text that stands in the file itself, or the file that has it.
struct PemSource {
  std::string data;  // Decoded.
  std::string file;
  bool empty() const { return data.empty() && file.empty(); }
  bool operator==(const PemSource&) const = default;
};

struct Context {
  std::string name;
  std::string hub;
  std::string project;
  PemSource authority;
  PemSource certificate;
  PemSource key;
  std::string token_file;
  bool operator==(const Context&) const = default;
};

struct Config {
  std::string current_context;
  std::vector<Context> contexts;

  const Context* Find(absl::string_view name) const;
  std::vector<std::string> Names() const;
  bool operator==(const Config&) const = default;
};

// Empty text: no contexts. CONFIG_INVALID names `path`, the key, and the nearest key for an unknown
// one.
absl::StatusOr<Config> ParseConfig(absl::string_view path, absl::string_view text);

// With `redact` keys are left out ("REDACTED"), for people to look at.
std::string FormatConfig(const Config& config, bool redact = false);

// `from`'s contexts added to `into`; one of a name that exists is replaced only with `overwrite`,
// else ALREADY_EXISTS. The current context becomes that of `from`. `rename` (may be empty) names
// the context when `from` has just one.
absl::Status MergeConfig(const Config& from, absl::string_view rename, bool overwrite,
                         Config* into);

}  // namespace nave::cli

#endif  // NAVE_CLI_CONTEXT_CONFIG_H_
