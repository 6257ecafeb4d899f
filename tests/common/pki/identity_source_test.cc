// Goal: nothing but PeerOf takes an identity from gRPC, whose own words about a peer hold for
// self-signed certificates too. Method: reads the source tree.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace nave {
namespace {

TEST(IdentitySourceTest, OnlyPeerOfReadsTheAuthContext) {
  const std::string root = NAVE_SOURCE_DIR;
  const std::string reader = root + "/common/pki/tls_credentials.cc";
  const std::vector<std::string> never = {"IsPeerAuthenticated", "GetPeerIdentity",
                                          "peer_spiffe_id", "GRPC_PEER_SPIFFE_ID_PROPERTY_NAME"};
  int files = 0;
  for (const char* folder : {"hub", "agent", "common", "cli"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root + "/" + folder)) {
      std::string extension = entry.path().extension();
      if (extension != ".cc" && extension != ".h") continue;
      ++files;
      std::ifstream file(entry.path());
      std::string line;
      for (int number = 1; std::getline(file, line); ++number) {
        for (const std::string& word : never) {
          EXPECT_EQ(line.find(word), std::string::npos) << entry.path() << ":" << number;
        }
        if (entry.path() == reader) continue;
        EXPECT_EQ(line.find("auth_context("), std::string::npos) << entry.path() << ":" << number;
      }
    }
  }
  EXPECT_GT(files, 20) << "the tree was not found";
}

}  // namespace
}  // namespace nave
