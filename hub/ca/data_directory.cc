#include "hub/ca/data_directory.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/uuid.h"
#include "hub/ca/admin_context.h"
#include "hub/ca/private_file.h"
#include "hub/ca/server_certificate.h"

namespace nave {
namespace {

// Where everything stands.
struct Layout {
  explicit Layout(const DataDirectoryOptions& options)
      : hub_id(options.path + "/hub.id"),
        ca_certificate(options.path + "/ca.crt"),
        ca_key(options.path + "/ca.key"),
        admin_context(options.path + "/admin.yaml"),
        encryption_key(options.encryption_key_path.empty() ? options.path + "/encryption.key"
                                                           : options.encryption_key_path),
        server{options.path + "/server.crt", options.path + "/server.key", ca_certificate} {}

  std::string hub_id;
  std::string ca_certificate;
  std::string ca_key;
  std::string admin_context;
  std::string encryption_key;
  CertificatePaths server;
};

bool IsCanonicalUuid(absl::string_view text) {
  std::optional<Uuid> uuid = Uuid::Parse(text);
  return uuid.has_value() && !uuid->IsNone() && uuid->ToString() == text;
}

absl::StatusOr<DataDirectoryFiles> LookAround(const Layout& layout) {
  DataDirectoryFiles files;
  if (FileExists(layout.hub_id)) {
    ASSIGN_OR_RETURN(std::string text, ReadCertificateFile(layout.hub_id));
    files.hub_id = std::string(absl::StripAsciiWhitespace(text));
  }
  files.ca_certificate = FileExists(layout.ca_certificate);
  files.ca_key = FileExists(layout.ca_key);
  files.server_certificate = FileExists(layout.server.certificate);
  files.encryption_key = FileExists(layout.encryption_key);
  files.admin_context = FileExists(layout.admin_context);
  return files;
}

absl::Status MakeCaFiles(const Layout& layout, const StartPlan& plan, const std::string& hub_id,
                         absl::Time now) {
  if (plan.make_ca_key) {
    ASSIGN_OR_RETURN(std::string key, GenerateKey());
    RETURN_IF_ERROR(WriteFileAtomically(layout.ca_key, key, 0600, IfExists::kRefuse));
  }
  if (plan.make_ca_certificate) {
    ASSIGN_OR_RETURN(std::string key, ReadCertificateFile(layout.ca_key));
    absl::StatusOr<std::string> certificate =
        MakeCaCertificate(key, absl::StrCat("nave-hub ", hub_id), kCaValidity, now);
    if (!certificate.ok()) {
      return Prepend(certificate.status(), absl::StrCat("file ", layout.ca_key));
    }
    RETURN_IF_ERROR(
        WriteFileAtomically(layout.ca_certificate, *certificate, 0644, IfExists::kRefuse));
  }
  return absl::OkStatus();
}

absl::Status MakeAdminContext(const Layout& layout, const DataDirectoryOptions& options,
                              const DataDirectory& directory, absl::Time now) {
  AdminContext context;
  context.hub = options.api_address;
  context.roots_pem = directory.ca->RootsPem();
  ASSIGN_OR_RETURN(context.key_pem, GenerateKey());
  ASSIGN_OR_RETURN(context.certificate_pem,
                   IssueUserCertificate(*directory.ca->Authority(), directory.hub_id, kAdminUser,
                                        context.key_pem, now));
  return WriteFileAtomically(layout.admin_context, FormatAdminContext(context), 0600,
                             IfExists::kRefuse);
}

}  // namespace

absl::StatusOr<StartPlan> PlanStart(const DataDirectoryFiles& files,
                                    const std::optional<std::string>& store_hub_id) {
  if (files.hub_id.has_value() && !IsCanonicalUuid(*files.hub_id)) {
    return MakeError(Reason::kConfigInvalid, "file hub.id: must hold a UUID in lower case");
  }
  bool has_ca = files.ca_certificate && files.ca_key;
  if (store_hub_id.has_value()) {
    if (!has_ca) {
      return MakeError(Reason::kCaMissing,
                       absl::StrCat("the store of hub ", *store_hub_id, " is here, but ",
                                    files.ca_certificate ? "ca.key" : "ca.crt", " is not"));
    }
    if (!files.encryption_key) {
      return MakeError(Reason::kKeyMissing,
                       absl::StrCat("the store of hub ", *store_hub_id,
                                    " is here, but its encryption key file is not"));
    }
    if (files.hub_id != store_hub_id) {
      return MakeError(Reason::kHubIdMismatch,
                       absl::StrCat("the store is of hub ", *store_hub_id, ", the data directory ",
                                    files.hub_id.has_value() ? "of hub " + *files.hub_id
                                                             : std::string("has no hub.id")));
    }
  }
  if (files.ca_certificate && !files.ca_key) {
    return MakeError(Reason::kCaMissing, "ca.crt is here, but ca.key is not");
  }
  StartPlan plan;
  plan.make_hub_id = !files.hub_id.has_value();
  plan.make_ca_key = !files.ca_key;
  plan.make_ca_certificate = !files.ca_certificate;
  plan.make_encryption_key = !files.encryption_key;
  plan.make_admin_context = !files.admin_context;
  // The administrator's context is made last: all of them together are a first start that was
  // complete.
  plan.database_lost = !store_hub_id.has_value() && files.hub_id.has_value() && has_ca &&
                       files.encryption_key && files.server_certificate && files.admin_context;
  return plan;
}

absl::StatusOr<std::shared_ptr<HubCa>> HubCa::Open(const std::string& certificate_path,
                                                   const std::string& key_path) {
  std::shared_ptr<HubCa> ca(new HubCa());
  ASSIGN_OR_RETURN(ca->files_,
                   CertificateFiles::Open({certificate_path, key_path, certificate_path}));
  std::shared_ptr<const CertificateBundle> bundle = ca->files_->Current();
  absl::StatusOr<std::shared_ptr<const CertificateAuthority>> authority =
      CertificateAuthority::Load(bundle->chain_pem, bundle->key_pem);
  if (!authority.ok()) return Prepend(authority.status(), absl::StrCat("file ", certificate_path));
  std::lock_guard<std::mutex> lock(ca->mutex_);
  ca->authority_ = *std::move(authority);
  ca->roots_pem_ = bundle->roots_pem;
  ca->version_ = bundle->version;
  return ca;
}

void HubCa::Refresh() {
  std::shared_ptr<const CertificateBundle> bundle = files_->Current();
  if (bundle->version == version_) return;
  version_ = bundle->version;
  absl::StatusOr<std::shared_ptr<const CertificateAuthority>> authority =
      CertificateAuthority::Load(bundle->chain_pem, bundle->key_pem);
  if (!authority.ok()) {
    LogWarning("CA files not taken, the old ones stay in use",
               {{"error", authority.status().message()}});
    return;
  }
  authority_ = *std::move(authority);
  roots_pem_ = bundle->roots_pem;
}

std::shared_ptr<const CertificateAuthority> HubCa::Authority() {
  std::lock_guard<std::mutex> lock(mutex_);
  Refresh();
  return authority_;
}

std::string HubCa::RootsPem() {
  std::lock_guard<std::mutex> lock(mutex_);
  Refresh();
  return roots_pem_;
}

absl::StatusOr<DataDirectory> OpenDataDirectory(const DataDirectoryOptions& options,
                                                const std::optional<std::string>& store_hub_id,
                                                absl::Time now) {
  DataDirectory directory;
  ASSIGN_OR_RETURN(directory.server_names, ServerNamesOf(options.advertise));
  Layout layout(options);
  ASSIGN_OR_RETURN(DataDirectoryFiles files, LookAround(layout));
  ASSIGN_OR_RETURN(StartPlan plan, PlanStart(files, store_hub_id));

  if (mkdir(options.path.c_str(), 0700) != 0 && errno != EEXIST) {
    return FileError("cannot make directory", options.path, errno);
  }
  directory.hub_id = plan.make_hub_id ? Uuid::Random().ToString() : *files.hub_id;
  if (plan.make_hub_id) {
    RETURN_IF_ERROR(
        WriteFileAtomically(layout.hub_id, directory.hub_id + "\n", 0644, IfExists::kRefuse));
  }
  RETURN_IF_ERROR(MakeCaFiles(layout, plan, directory.hub_id, now));
  ASSIGN_OR_RETURN(directory.ca, HubCa::Open(layout.ca_certificate, layout.ca_key));
  if (plan.make_encryption_key) {
    RETURN_IF_ERROR(WriteFileAtomically(layout.encryption_key, EncryptionKeys::NewFileText(), 0600,
                                        IfExists::kRefuse));
  }
  ASSIGN_OR_RETURN(std::string key_file, ReadCertificateFile(layout.encryption_key));
  absl::StatusOr<EncryptionKeys> keys = EncryptionKeys::Parse(key_file);
  if (!keys.ok()) return Prepend(keys.status(), layout.encryption_key);
  directory.encryption_keys = *std::move(keys);
  RETURN_IF_ERROR(EnsureServerCertificate(layout.server, *directory.ca->Authority(),
                                          directory.server_names, now)
                      .status());
  if (plan.make_admin_context) {
    RETURN_IF_ERROR(MakeAdminContext(layout, options, directory, now));
  }
  directory.server_paths = layout.server;
  directory.admin_context_path = layout.admin_context;
  directory.admin_context_made = plan.make_admin_context;
  directory.database_lost = plan.database_lost;
  return directory;
}

}  // namespace nave
