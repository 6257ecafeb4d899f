// A certificate, its key and the trusted roots on disk, re-read when the files change, so that a
// rotation needs no restart. A pair that cannot be read, or whose halves do not belong together (as
// while it is being replaced), changes nothing: what was good stays in use until something good
// takes its place.
#ifndef NAVE_COMMON_PKI_CERTIFICATE_FILES_H_
#define NAVE_COMMON_PKI_CERTIFICATE_FILES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/digest.h"

namespace nave {

struct CertificatePaths {
  // PEM. The certificate first, then those that lead to a root.
  std::string certificate;
  std::string key;
  // The CAs that peers' certificates are checked against; also completes the chain that is sent.
  std::string roots;
};

// What is in use at one moment.
struct CertificateBundle {
  // Ends with the root that issued it, so that a peer that knows only the root's pin can check it.
  std::string chain_pem;
  std::string key_pem;
  std::string roots_pem;
  absl::Time not_after = absl::InfinitePast();
  // Counts the good readings, from 1: equal numbers of one CertificateFiles mean equal content.
  uint64_t version = 0;
};

// Thread-safe.
class CertificateFiles {
 public:
  // Reads once. CERTIFICATE_INVALID names the file when that fails; there is nothing to keep then.
  static absl::StatusOr<std::shared_ptr<CertificateFiles>> Open(CertificatePaths paths);

  // What is good now: looks at the files' times first (three stat calls; a reading when one
  // changed). Never null.
  std::shared_ptr<const CertificateBundle> Current();

  // Changes of the files that were bad and are not in use. For a metric.
  uint64_t failures() const;

 private:
  // What tells one state of a file from another without reading it.
  struct Stamp {
    int64_t seconds = 0;
    int64_t nanoseconds = 0;
    int64_t size = -1;
    uint64_t inode = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::array<Stamp, 3>;

  explicit CertificateFiles(CertificatePaths paths) : paths_(std::move(paths)) {}
  static Stamp StampOf(const std::string& path);
  Stamps TakeStamps() const;
  absl::StatusOr<CertificateBundle> Read() const;
  // Under the lock.
  void Reload(const Stamps& stamps);

  const CertificatePaths paths_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::shared_ptr<const CertificateBundle> current_;
  // Of the last reading, good or bad.
  Stamps stamps_;
  // The stamps can be relied on to show the next change: see Reload.
  bool settled_ = false;
  // The last reading that was counted as a failure, so that a bad state counts once.
  Digest failed_;
  uint64_t failures_ = 0;
};

// Whole content of a file. CERTIFICATE_INVALID names the path when it cannot be read.
absl::StatusOr<std::string> ReadCertificateFile(const std::string& path);

}  // namespace nave

#endif  // NAVE_COMMON_PKI_CERTIFICATE_FILES_H_
