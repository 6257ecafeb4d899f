// The limits of store.h, checked the same way for every backend, before anything is written.
#ifndef NAVE_HUB_STORE_LIMITS_H_
#define NAVE_HUB_STORE_LIMITS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hub/store/store.h"

namespace nave {

// Bytes that count towards kTxnBytesMax: all keys and values.
size_t TxnBytes(const Txn& txn);

// LIMIT_EXCEEDED naming the limit and the actual number; INVALID_FIELD for an empty key.
absl::Status CheckTxn(const Txn& txn);
absl::Status CheckLeaseTtl(absl::Duration ttl);

// The least key greater than every key with `prefix`; empty: there is none (the prefix is empty or
// all 0xff).
std::string PrefixEnd(absl::string_view prefix);

}  // namespace nave

#endif  // NAVE_HUB_STORE_LIMITS_H_
