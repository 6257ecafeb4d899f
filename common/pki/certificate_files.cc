#include "common/pki/certificate_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/pki/certificate.h"

namespace nave {
namespace {

// A file system's clock may stand still for some milliseconds (2 s on the coarsest): a change so
// soon after another one may leave the times as they were.
constexpr absl::Duration kStampsSettle = absl::Seconds(2);

}  // namespace

absl::StatusOr<std::string> ReadCertificateFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad()) {
    return MakeError(Reason::kCertificateInvalid,
                     absl::StrCat("file ", path, ": ", std::strerror(errno == 0 ? EIO : errno)));
  }
  return content;
}

absl::StatusOr<std::shared_ptr<CertificateFiles>> CertificateFiles::Open(CertificatePaths paths) {
  std::shared_ptr<CertificateFiles> files(new CertificateFiles(std::move(paths)));
  Stamps stamps = files->TakeStamps();
  ASSIGN_OR_RETURN(CertificateBundle bundle, files->Read());
  bundle.version = 1;
  std::lock_guard<std::mutex> lock(files->mutex_);
  files->stamps_ = stamps;
  files->current_ = std::make_shared<const CertificateBundle>(std::move(bundle));
  return files;
}

CertificateFiles::Stamp CertificateFiles::StampOf(const std::string& path) {
  struct stat info = {};
  Stamp stamp;
  if (stat(path.c_str(), &info) != 0) return stamp;
  stamp.seconds = info.st_mtim.tv_sec;
  stamp.nanoseconds = info.st_mtim.tv_nsec;
  stamp.size = info.st_size;
  stamp.inode = info.st_ino;
  return stamp;
}

CertificateFiles::Stamps CertificateFiles::TakeStamps() const {
  return {StampOf(paths_.certificate), StampOf(paths_.key), StampOf(paths_.roots)};
}

absl::StatusOr<CertificateBundle> CertificateFiles::Read() const {
  CertificateBundle bundle;
  ASSIGN_OR_RETURN(std::string chain, ReadCertificateFile(paths_.certificate));
  ASSIGN_OR_RETURN(bundle.key_pem, ReadCertificateFile(paths_.key));
  ASSIGN_OR_RETURN(bundle.roots_pem, ReadCertificateFile(paths_.roots));
  absl::StatusOr<CertificateInfo> info = ParseCertificate(chain);
  if (!info.ok()) return Prepend(info.status(), absl::StrCat("file ", paths_.certificate));
  bundle.not_after = info->not_after;
  absl::Status matches = CheckKeyMatches(chain, bundle.key_pem);
  if (!matches.ok()) {
    return Prepend(matches, absl::StrCat("files ", paths_.certificate, " and ", paths_.key));
  }
  absl::Status roots = SplitCertificates(bundle.roots_pem).status();
  if (!roots.ok()) return Prepend(roots, absl::StrCat("file ", paths_.roots));
  bundle.chain_pem = CompleteChain(chain, bundle.roots_pem);
  return bundle;
}

std::shared_ptr<const CertificateBundle> CertificateFiles::Current() {
  std::lock_guard<std::mutex> lock(mutex_);
  Stamps stamps = TakeStamps();
  if (!settled_ || stamps != stamps_) Reload(stamps);
  return current_;
}

void CertificateFiles::Reload(const Stamps& stamps) {
  stamps_ = stamps;
  absl::Time now = absl::Now();
  settled_ = true;
  for (const Stamp& stamp : stamps) {
    absl::Time changed =
        absl::FromUnixSeconds(stamp.seconds) + absl::Nanoseconds(stamp.nanoseconds);
    if (now - changed < kStampsSettle) settled_ = false;
  }
  absl::StatusOr<CertificateBundle> read = Read();
  if (!read.ok()) {
    // A bad state is read again at every look: what makes it good may come within the same tick of
    // the clock.
    settled_ = false;
    Sha256Builder state;
    state.Add(absl::string_view(reinterpret_cast<const char*>(&stamps), sizeof(stamps)));
    state.Add(read.status().message());
    Digest digest = state.Finish();
    if (digest == failed_) return;
    failed_ = digest;
    ++failures_;
    LogWarning("certificate files not taken, the old ones stay in use",
               {{"error", read.status().message()}, {"reason", ErrorReason(read.status())}});
    return;
  }
  bool same = read->chain_pem == current_->chain_pem && read->key_pem == current_->key_pem &&
              read->roots_pem == current_->roots_pem;
  if (same) return;
  read->version = current_->version + 1;
  LogInfo("certificate files taken",
          {{"file", paths_.certificate},
           {"not_after", absl::FormatTime(read->not_after, absl::UTCTimeZone())}});
  current_ = std::make_shared<const CertificateBundle>(*std::move(read));
}

uint64_t CertificateFiles::failures() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return failures_;
}

}  // namespace nave
