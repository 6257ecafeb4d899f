#include "hub/store/limits.h"

#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"

namespace nave {
namespace {

absl::Status CheckMax(absl::string_view subject, absl::string_view unit, size_t max,
                      size_t actual) {
  if (actual <= max) return absl::OkStatus();
  return MakeError(Reason::kLimitExceeded,
                   absl::StrCat(subject, ": want at most ", max, " ", unit, ", got ", actual),
                   {{"limit", absl::StrCat(max)}, {"actual", absl::StrCat(actual)}});
}

absl::Status CheckKey(absl::string_view key) {
  if (!key.empty()) return absl::OkStatus();
  return MakeError(Reason::kInvalidField, "transaction: a key must not be empty");
}

}  // namespace

size_t TxnBytes(const Txn& txn) {
  size_t bytes = 0;
  for (const Compare& compare : txn.compares) bytes += compare.key.size();
  for (const Write& write : txn.writes) {
    bytes += write.key.size() + (write.value.has_value() ? write.value->size() : 0);
  }
  return bytes;
}

absl::Status CheckTxn(const Txn& txn) {
  RETURN_IF_ERROR(CheckMax("transaction", "compares", kTxnComparesMax, txn.compares.size()));
  RETURN_IF_ERROR(CheckMax("transaction", "writes", kTxnWritesMax, txn.writes.size()));
  for (const Compare& compare : txn.compares) RETURN_IF_ERROR(CheckKey(compare.key));
  std::unordered_set<std::string> keys;
  for (const Write& write : txn.writes) {
    RETURN_IF_ERROR(CheckKey(write.key));
    if (write.value.has_value()) {
      RETURN_IF_ERROR(CheckMax(absl::StrCat("value of ", write.key), "bytes", kValueBytesMax,
                               write.value->size()));
    }
    if (txn.writes.size() > 1 && !keys.insert(write.key).second) {
      return CheckMax(absl::StrCat("transaction: key ", write.key), "write", 1, 2);
    }
  }
  return CheckMax("transaction", "bytes of keys and values", kTxnBytesMax, TxnBytes(txn));
}

absl::Status CheckLeaseTtl(absl::Duration ttl) {
  if (ttl >= kLeaseTtlMin) return absl::OkStatus();
  return MakeError(
      Reason::kLimitExceeded,
      absl::StrCat("lease: want a time to live of at least ", absl::FormatDuration(kLeaseTtlMin),
                   ", got ", absl::FormatDuration(ttl)),
      {{"limit", absl::FormatDuration(kLeaseTtlMin)}, {"actual", absl::FormatDuration(ttl)}});
}

std::string PrefixEnd(absl::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<uint8_t>(end.back()) == 0xff) end.pop_back();
  if (!end.empty()) end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return end;
}

}  // namespace nave
