// What a hub keeps in its data directory beside the store: who it is, its CA, its server
// certificate, the first administrator's context and the store's encryption key. Made at the first
// start, never overwritten.
#ifndef NAVE_HUB_CA_DATA_DIRECTORY_H_
#define NAVE_HUB_CA_DATA_DIRECTORY_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/pki/authority.h"
#include "common/pki/certificate_files.h"
#include "hub/ca/issue.h"
#include "hub/records/envelope.h"

namespace nave {

// What is there at a start.
struct DataDirectoryFiles {
  // Content of hub.id; nullopt: no such file.
  std::optional<std::string> hub_id;
  bool ca_certificate = false;
  bool ca_key = false;
  bool server_certificate = false;
  bool encryption_key = false;
  bool admin_context = false;
  bool operator==(const DataDirectoryFiles&) const = default;
};

// What has to be made.
struct StartPlan {
  bool make_hub_id = false;
  bool make_ca_key = false;
  bool make_ca_certificate = false;
  bool make_encryption_key = false;
  bool make_admin_context = false;
  // The files of a hub that was complete stand beside an empty store: the hub starts under its id
  // and says so; agents hold until `navectl hub adopt --accept-unknown`.
  bool database_lost = false;
  bool operator==(const StartPlan&) const = default;
};

// `store_hub_id`: what the store says in /v1/meta/hub; nullopt: the store is new. Beside a store
// nothing that it depends on is made anew: CA_MISSING, KEY_MISSING, HUB_ID_MISMATCH. CONFIG_INVALID
// when hub.id holds no UUID. A first start that was interrupted is continued.
absl::StatusOr<StartPlan> PlanStart(const DataDirectoryFiles& files,
                                    const std::optional<std::string>& store_hub_id);

struct DataDirectoryOptions {
  // Made with mode 0700 when missing.
  std::string path;
  // Names and addresses that agents and users call this hub by.
  std::vector<std::string> advertise;
  // host:port for the administrator's context.
  std::string api_address;
  // Empty: encryption.key in the data directory.
  std::string encryption_key_path;
};

// The hub's CA on disk, loaded again when its files change. Thread-safe.
class HubCa {
 public:
  // The first certificate of `certificate_path` signs; all of them are trusted.
  static absl::StatusOr<std::shared_ptr<HubCa>> Open(const std::string& certificate_path,
                                                     const std::string& key_path);
  // Never null.
  std::shared_ptr<const CertificateAuthority> Authority();
  // What agents and users are told to trust, PEM.
  std::string RootsPem();
  uint64_t failures() const { return files_->failures(); }

 private:
  HubCa() = default;
  // Under the lock.
  void Refresh();

  std::shared_ptr<CertificateFiles> files_;
  std::mutex mutex_;  // Guards what follows.
  std::shared_ptr<const CertificateAuthority> authority_;
  std::string roots_pem_;
  uint64_t version_ = 0;
};

// An open data directory.
struct DataDirectory {
  std::string hub_id;
  std::shared_ptr<HubCa> ca;
  CertificatePaths server_paths;
  ServerNames server_names;
  EncryptionKeys encryption_keys;
  std::string admin_context_path;
  // The administrator's context was made by this start: print its path (never its content).
  bool admin_context_made = false;
  bool database_lost = false;
};

// Looks, decides by PlanStart, makes what is missing. Each file appears whole or not at all, so a
// start that is cut off anywhere can be repeated. Errors of PlanStart, CERTIFICATE_INVALID,
// CONFIG_INVALID, STORE_READ_ONLY, DISK_FULL.
absl::StatusOr<DataDirectory> OpenDataDirectory(const DataDirectoryOptions& options,
                                                const std::optional<std::string>& store_hub_id,
                                                absl::Time now);

}  // namespace nave

#endif  // NAVE_HUB_CA_DATA_DIRECTORY_H_
