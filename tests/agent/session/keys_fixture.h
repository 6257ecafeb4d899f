// A session that has joined, and bundles to give it.
#ifndef NAVE_TESTS_AGENT_SESSION_KEYS_FIXTURE_H_
#define NAVE_TESTS_AGENT_SESSION_KEYS_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>

#include "tests/agent/session/harness.h"

namespace nave {

inline Upsert UpsertOf(int n, const TestBundle& bundle, bool confirmed = false) {
  return {Key(n), "", bundle.digest, 100, confirmed};
}
inline Tombstone TombstoneOf(int n, bool confirmed = false) {
  return {Key(n), "BundleDeleted", Propagation::kDelete, confirmed};
}

class Keys : public ::testing::Test {
 protected:
  Keys() {
    h.Join(10);
    h.Send(h.Batch(10, {}));
    h.AckStatus();
    h.sent.clear();
  }
  const TestBundle one = MakeBundle({{"a", "1"}});
  const TestBundle two = MakeBundle({{"a", "2"}});
  const TestBundle bad = [] {
    TestBundle bundle;
    const std::string listing = "no listing";
    bundle.digest = Sha256(listing);
    bundle.blobs = {MakeBlob(listing)};
    return bundle;
  }();
  Harness h;
};

}  // namespace nave

#endif  // NAVE_TESTS_AGENT_SESSION_KEYS_FIXTURE_H_
