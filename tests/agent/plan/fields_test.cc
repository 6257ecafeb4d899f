// Goal: our entry in managedFields, its fingerprint, dropped fields, and the paths of conflicts.
// Method: tables of JSON.
#include "agent/plan/fields.h"

#include <string>

#include "common/value/codec.h"
#include "gtest/gtest.h"

namespace nave {
namespace {

Value Json(absl::string_view text) {
  auto value = ParseJson(text);
  EXPECT_TRUE(value.ok()) << value.status() << " " << std::string(text);
  return *value;
}

constexpr char kManager[] = "nave-agent-1";

Value Live(absl::string_view fields, absl::string_view rest) {
  Value live = Json(rest);
  Value entry = Json(R"({"manager":"nave-agent-1","operation":"Apply","apiVersion":"v1"})");
  entry["fieldsV1"] = Json(fields);
  Value update = Json(R"({"manager":"nave-agent-1","operation":"Update","fieldsV1":{"f:z":{}}})");
  live["metadata"]["managedFields"] = Array{update, entry};
  return live;
}

TEST(OwnFieldsTest, TakesTheApplyEntryOnly) {
  Value live = Live(R"({"f:data":{}})", R"({"metadata":{}})");
  ASSERT_NE(OwnFields(live, kManager), nullptr);
  EXPECT_EQ(*OwnFields(live, kManager), Json(R"({"f:data":{}})"));
  EXPECT_EQ(OwnFields(live, "other"), nullptr);
}

TEST(FingerprintTest, KindsWithGenerationLookAtOurEntryOnly) {
  Value live =
      Live(R"({"f:spec":{}})", R"({"metadata":{"generation":1},"spec":{"a":1},"status":{"x":1}})");
  Value status = live;
  status["status"]["x"] = 2;
  status["metadata"]["resourceVersion"] = "9";
  EXPECT_EQ(Fingerprint(live, kManager), Fingerprint(status, kManager));
  Value lost = Live(R"({})", R"({"metadata":{"generation":1},"spec":{"a":1}})");
  EXPECT_NE(Fingerprint(live, kManager), Fingerprint(lost, kManager));
}

TEST(FingerprintTest, KindsWithoutLookAtTheObjectMinusStatus) {
  Value live = Live(R"({"f:spec":{}})",
                    R"({"metadata":{"resourceVersion":"1"},"spec":{"a":1},"status":{"x":1}})");
  Value status = live;
  status["status"]["x"] = 2;
  status["metadata"]["resourceVersion"] = "9";
  EXPECT_EQ(Fingerprint(live, kManager), Fingerprint(status, kManager));
  Value spec = live;
  spec["spec"]["a"] = 2;
  EXPECT_NE(Fingerprint(live, kManager), Fingerprint(spec, kManager));
  Value label = live;
  label["metadata"]["labels"]["x"] = "y";
  EXPECT_NE(Fingerprint(live, kManager), Fingerprint(label, kManager));
}

TEST(FindDroppedFieldTest, Table) {
  struct Case {
    const char* name;
    const char* fields;
    const char* answer;
    const char* body;
    const char* want;
  };
  const Case cases[] = {
      {"all_there", R"({"f:data":{".":{},"f:a":{}}})", R"({"metadata":{},"data":{"a":"b"}})",
       R"({"data":{"a":"b"}})", ""},
      {"leaf_gone", R"({"f:spec":{"f:new":{}}})", R"({"metadata":{},"spec":{}})",
       R"({"spec":{"new":1}})", ".spec.new"},
      {"item_by_key",
       R"({"f:spec":{"f:c":{"k:{\"name\":\"w\"}":{".":{},"f:image":{},"f:new":{}}}}})",
       R"({"metadata":{},"spec":{"c":[{"name":"v"},{"name":"w","image":"i"}]}})",
       R"({"spec":{"c":[{"name":"w","image":"i","new":true}]}})", R"(.spec.c[{"name":"w"}].new)"},
      {"set_value", R"({"f:metadata":{"f:finalizers":{"v:\"x\"":{}}}})",
       R"({"metadata":{"finalizers":["x"]}})", R"({"metadata":{"finalizers":["x"]}})", ""},
      {"empty_map_may_go", R"({"f:spec":{"f:e":{}}})", R"({"metadata":{},"spec":{}})",
       R"({"spec":{"e":{}}})", ""},
      {"false_may_go", R"({"f:spec":{"f:e":{}}})", R"({"metadata":{},"spec":{}})",
       R"({"spec":{"e":false}})", ""},
      {"string_data", R"({"f:stringData":{"f:a":{}}})", R"({"metadata":{}})",
       R"({"stringData":{"a":"b"}})", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(FindDroppedField(Live(c.fields, c.answer), Json(c.body), kManager), c.want);
  }
}

TEST(FindPathTest, RemovesWhatTheServerNames) {
  constexpr char kBody[] = R"({"metadata":{"labels":{"app":"w","app.kubernetes.io/name":"x"}},
      "data":{"a.b":"1","a":"2"},
      "spec":{"replicas":3,"template":{"spec":{"containers":[
        {"name":"a","image":"i","ports":[{"containerPort":80},{"containerPort":81,"protocol":"UDP"}]},
        {"name":"b, \"c\"]","image":"j"}]}},"set":["x","y"],"atomic":[1,2]}})";
  struct Case {
    const char* path;
    const char* gone;  // What must no longer be in the text; nullptr: the path is not found.
  };
  const Case cases[] = {
      {".spec.replicas", R"("replicas")"},
      {".metadata.labels.app.kubernetes.io/name", R"("app.kubernetes.io/name")"},
      {".metadata.labels.app", R"("app":)"},
      {".data.a.b", R"("a.b")"},
      {R"(.spec.template.spec.containers[name="a"].image)", R"("image":"i")"},
      {R"(.spec.template.spec.containers[name="b, \"c\"]"].image)", R"("image":"j")"},
      {R"(.spec.template.spec.containers[name="a"].ports[containerPort=81,protocol="UDP"])", "UDP"},
      {R"(.spec.template.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"].containerPort)",
       R"("containerPort":80)"},
      {R"(.spec.set[="x"])", R"("x",)"},
      {".spec.atomic", "atomic"},
      {".spec.other", nullptr},
      {".spec.template.spec.containers[name=\"z\"].image", nullptr},
      {".spec.template[", nullptr},
      {"", nullptr},
      {"nonsense", nullptr},
      {".spec.set[=x]", nullptr},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.path);
    Value body = Json(kBody);
    const bool removed = RemovePath(c.path, body);
    EXPECT_EQ(removed, c.gone != nullptr);
    if (c.gone != nullptr) {
      EXPECT_NE(FormatJson(Json(kBody)).find(c.gone), std::string::npos);
      EXPECT_EQ(FormatJson(body).find(c.gone), std::string::npos) << FormatJson(body);
    } else {
      EXPECT_EQ(body, Json(kBody));
    }
  }
}

}  // namespace
}  // namespace nave
