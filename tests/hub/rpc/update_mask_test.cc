#include "hub/rpc/update_mask.h"

#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/error.h"
#include "nave/v1/bundle.pb.h"

namespace nave {
namespace {

v1::Bundle Parse(const std::string& text) {
  v1::Bundle bundle;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &bundle)) << text;
  return bundle;
}

struct Case {
  std::string name;
  std::vector<std::string> paths;
  std::string wanted;
  std::string record;
  std::string result;  // Or the reason.
};

const std::vector<Case>& Cases() {
  static const auto* cases = new std::vector<Case>{
      {"no mask replaces what users own",
       {},
       R"(spec { default_namespace: "n" } metadata { labels { key: "a" value: "1" } })",
       R"(name: "x" etag: "e" spec { allow_empty: true } metadata { uid: "u" labels { key: "b" value: "2" } }
          status { revision: 3 })",
       R"(name: "x" etag: "e" spec { default_namespace: "n" } metadata { uid: "u" labels { key: "a" value: "1" } }
          status { revision: 3 })"},
      {"no mask and nothing wanted clears",
       {},
       "",
       R"(spec { allow_empty: true } metadata { annotations { key: "a" value: "1" } })",
       "metadata {}"},
      {"a field of the spec",
       {"spec.default_namespace"},
       R"(spec { default_namespace: "n" allow_empty: true })",
       R"(spec { default_namespace: "old" adoption: ADOPTION_IF_NO_DIFF })",
       R"(spec { default_namespace: "n" adoption: ADOPTION_IF_NO_DIFF })"},
      {"the file's spelling",
       {"spec.defaultNamespace"},
       R"(spec { default_namespace: "n" })",
       "",
       R"(spec { default_namespace: "n" })"},
      {"named and not wanted is cleared",
       {"spec.placement"},
       "",
       R"(spec { placement { names: "a" } })",
       "spec {}"},
      {"within a message",
       {"spec.placement.names"},
       R"(spec { placement { names: "b" names: "c" } })",
       R"(spec { placement { names: "a" selector: "x=y" } })",
       R"(spec { placement { names: "b" names: "c" selector: "x=y" } })"},
      {"labels as a whole",
       {"metadata.labels"},
       R"(metadata { labels { key: "a" value: "1" } annotations { key: "n" value: "n" } })",
       R"(metadata { labels { key: "b" value: "2" } })",
       R"(metadata { labels { key: "a" value: "1" } })"},
      {"status is output only", {"status"}, "", "", "INVALID_FIELD"},
      {"uid is output only", {"metadata.uid"}, "", "", "INVALID_FIELD"},
      {"metadata as a whole is output only", {"metadata"}, "", "", "INVALID_FIELD"},
      {"unknown", {"spec.manifest"}, "", "", "UNKNOWN_FIELD"},
      {"unknown at the top", {"specs"}, "", "", "UNKNOWN_FIELD"},
      {"into a list", {"spec.manifests.path"}, "", "", "UNKNOWN_FIELD"},
      {"into a map", {"metadata.labels.a"}, "", "", "UNKNOWN_FIELD"},
      {"empty path", {""}, "", "", "UNKNOWN_FIELD"},
  };
  return *cases;
}

TEST(UpdateMask, ReplacesWhatItNames) {
  for (const Case& c : Cases()) {
    google::protobuf::FieldMask mask;
    for (const std::string& path : c.paths) mask.add_paths(path);
    v1::Bundle record = Parse(c.record);
    absl::Status status = ApplyUpdate(mask, Parse(c.wanted), &record);
    if (!status.ok()) {
      EXPECT_EQ(ErrorReason(status), c.result) << c.name << ": " << status;
      continue;
    }
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equivalent(record, Parse(c.result)))
        << c.name << "\n"
        << record.DebugString();
  }
}

TEST(UpdateMask, NamesTheNearestField) {
  google::protobuf::FieldMask mask;
  mask.add_paths("spec.placment");
  v1::Bundle record;
  absl::Status status = ApplyUpdate(mask, v1::Bundle(), &record);
  EXPECT_NE(status.message().find("'placement'"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace nave
