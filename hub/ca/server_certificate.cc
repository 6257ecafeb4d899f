#include "hub/ca/server_certificate.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "hub/ca/private_file.h"

namespace nave {
namespace {

std::vector<std::string> Sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

bool ServerCertificateIsDue(const CertificateInfo& present, const ServerNames& wanted,
                            absl::Time now) {
  return now >= present.not_after - kServerCertificateRenewBefore ||
         Sorted(present.dns_sans) != wanted.dns || Sorted(present.ip_sans) != wanted.ip;
}

absl::StatusOr<bool> EnsureServerCertificate(const CertificatePaths& paths,
                                             const CertificateAuthority& authority,
                                             const ServerNames& names, absl::Time now) {
  bool has_certificate = FileExists(paths.certificate);
  if (!FileExists(paths.key)) {
    if (has_certificate) {
      return MakeError(Reason::kCertificateInvalid,
                       absl::StrCat("file ", paths.certificate, ": its key ", paths.key,
                                    " is missing; put it there, or remove the certificate too "
                                    "and both are made"));
    }
    ASSIGN_OR_RETURN(std::string key, GenerateKey());
    RETURN_IF_ERROR(WriteFileAtomically(paths.key, key, 0600, IfExists::kRefuse));
  }
  if (has_certificate) {
    ASSIGN_OR_RETURN(std::string chain, ReadCertificateFile(paths.certificate));
    ASSIGN_OR_RETURN(std::string roots, ReadCertificateFile(paths.roots));
    absl::StatusOr<CertificateInfo> present = ParseCertificate(chain);
    if (!present.ok()) return Prepend(present.status(), absl::StrCat("file ", paths.certificate));
    ASSIGN_OR_RETURN(std::vector<std::string> parts, SplitCertificates(chain));
    bool ours = CompleteChain(parts.front(), roots) != parts.front();
    if (!ours || !ServerCertificateIsDue(*present, names, now)) return false;
  }
  ASSIGN_OR_RETURN(std::string key, ReadCertificateFile(paths.key));
  absl::StatusOr<std::string> chain = IssueServerCertificate(authority, names, key, now);
  if (!chain.ok()) return Prepend(chain.status(), absl::StrCat("file ", paths.key));
  RETURN_IF_ERROR(WriteFileAtomically(paths.certificate, *chain, 0644, IfExists::kReplace));
  LogInfo("server certificate issued", {{"file", paths.certificate}});
  return true;
}

}  // namespace nave
