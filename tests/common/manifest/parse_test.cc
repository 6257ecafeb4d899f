// Manifest input: each row of the table of input rules that is about objects; what is refused, what
// is taken out, what stays.
#include "common/manifest/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "common/value/codec.h"
#include "tests/testing/status_matchers.h"

namespace nave {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The objects as canonical JSON, one a line.
absl::StatusOr<std::string> Read(absl::string_view text,
                                 std::vector<std::string>* warnings = nullptr) {
  absl::StatusOr<std::vector<ManifestObject>> objects = ParseManifestFile("f.yaml", text, warnings);
  if (!objects.ok()) return objects.status();
  std::string out;
  for (const ManifestObject& object : *objects)
    absl::StrAppend(&out, FormatJson(object.object), "\n");
  return out;
}

struct Case {
  const char* name;
  std::string text;
  std::string want;
};

std::string ConfigMap(absl::string_view metadata) {
  return absl::StrCat("apiVersion: v1\nkind: ConfigMap\nmetadata: ", metadata, "\n");
}

constexpr char kBare[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}\n";

TEST(ManifestTest, TakesOutWhatIsNotTheUsers) {
  const Case cases[] = {
      {"server-owned metadata",
       ConfigMap("{name: a, resourceVersion: '5', uid: x, selfLink: /x, generation: 3, "
                 "managedFields: [], "
                 "creationTimestamp: '2020-01-01T00:00:00Z', deletionTimestamp: null, "
                 "deletionGracePeriodSeconds: 0}"),
       kBare},
      {"null and empty metadata maps", ConfigMap("{name: a, labels: , annotations: {}}"), kBare},
      {"null annotation", ConfigMap("{name: a, annotations: {x: null}, labels: {y: ~}}"), kBare},
      {"empty namespace", ConfigMap("{name: a, namespace: ''}"), kBare},
      {"null namespace", ConfigMap("{name: a, namespace: }"), kBare},
      {"own marks",
       ConfigMap("{name: a, labels: {nave.dev/assignment: x}, annotations: {nave.dev/owner: z}}"),
       kBare},
      {"generateName beside a name", ConfigMap("{name: a, generateName: b-}"), kBare},
      {"status", ConfigMap("{name: a}") + "status: {x: 1}\n", kBare},
      {"labels that stay", ConfigMap("{name: a, labels: {x: '1', y: }}"),
       "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"labels\":{\"x\":\"1\"},"
       "\"name\":\"a\"}}\n"},
      {"status of a CRD",
       "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "
       "a.b}\n"
       "status: {acceptedNames: {kind: '', plural: ''}, conditions: [], storedVersions: []}\n",
       "{\"apiVersion\":\"apiextensions.k8s.io/"
       "v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"a.b\"}}\n"},
      {"pod template",
       "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, creationTimestamp: null}\n"
       "spec: {template: {metadata: {creationTimestamp: null, annotations: {}, labels: {app: "
       "a}}}}\n",
       "{\"apiVersion\":\"apps/"
       "v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"template\":"
       "{\"metadata\":{\"labels\":{\"app\":\"a\"}}}}}\n"},
      {"templates of a cron job",
       "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {jobTemplate: {metadata: "
       "{creationTimestamp: "
       "null, labels: }, spec: {template: {metadata: {creationTimestamp: null}}}}}\n",
       "{\"apiVersion\":\"batch/"
       "v1\",\"kind\":\"CronJob\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"jobTemplate\":"
       "{\"metadata\":{},\"spec\":{\"template\":{\"metadata\":{}}}}}}\n"},
      {"volume claims of a stateful set",
       "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {volumeClaimTemplates: "
       "[{metadata: {name: d, "
       "creationTimestamp: null, labels: {}}, status: {}}]}\n",
       "{\"apiVersion\":\"apps/"
       "v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":\"a\"},\"spec\":{"
       "\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"d\"},\"status\":{}}]}}\n"},
      {"labels of a custom resource's template stay",
       "apiVersion: x.dev/v1\nkind: Foo\nmetadata: {name: a}\nspec: {template: {metadata: {labels: "
       "{}}}}\n",
       "{\"apiVersion\":\"x.dev/"
       "v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"template\":{\"metadata\":"
       "{\"labels\":{}}}}}\n"},
      {"rules of an aggregated role",
       "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: "
       "a}\naggregationRule: {x: []}\n"
       "rules: []\n",
       "{\"aggregationRule\":{\"x\":[]},\"apiVersion\":\"rbac.authorization.k8s.io/"
       "v1\",\"kind\":\"ClusterRole\","
       "\"metadata\":{\"name\":\"a\"}}\n"},
      {"rules of a plain role stay",
       "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: "
       "[]\n",
       "{\"apiVersion\":\"rbac.authorization.k8s.io/"
       "v1\",\"kind\":\"ClusterRole\",\"metadata\":{\"name\":\"a\"},"
       "\"rules\":[]}\n"},
      {"null elsewhere stays", ConfigMap("{name: a}") + "immutable: null\n",
       "{\"apiVersion\":\"v1\",\"immutable\":null,\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
       "\"a\"}}\n"},
      {"secret strings become data",
       "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {k: b2xk, o: eA==}\nstringData: "
       "{k: new, e: ''}\n",
       "{\"apiVersion\":\"v1\",\"data\":{\"e\":\"\",\"k\":\"bmV3\",\"o\":\"eA==\"},\"kind\":"
       "\"Secret\",\"metadata\":"
       "{\"name\":\"a\"}}\n"},
      {"secret with only null strings",
       "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n",
       "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"}}\n"},
      {"stringData of another Secret kind stays",
       "apiVersion: x.dev/v1\nkind: Secret\nmetadata: {name: a}\nstringData: {k: v}\n",
       "{\"apiVersion\":\"x.dev/"
       "v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"},\"stringData\":{\"k\":\"v\"}}\n"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    absl::StatusOr<std::string> got = Read(c.text);
    ASSERT_THAT(got, IsOk());
    EXPECT_EQ(*got, c.want);
  }
}

TEST(ManifestTest, PlaceholdersOfCaBundlesGo) {
  std::vector<std::string> warnings;
  absl::StatusOr<std::string> got = Read(
      "apiVersion: admissionregistration.k8s.io/v1\nkind: "
      "ValidatingWebhookConfiguration\nmetadata: {name: a}\n"
      "webhooks:\n- clientConfig: {caBundle: Cg==}\n- clientConfig: {caBundle: ''}\n- "
      "clientConfig: {caBundle: }\n"
      "- clientConfig: {caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==}\n- {}\n",
      &warnings);
  ASSERT_THAT(got, IsOk());
  EXPECT_THAT(
      *got,
      HasSubstr(
          "\"webhooks\":[{\"clientConfig\":{}},{\"clientConfig\":{}},{\"clientConfig\":{}},"
          "{\"clientConfig\":{\"caBundle\":\"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==\"}},{}]"));
  EXPECT_THAT(warnings,
              ElementsAre(HasSubstr("webhooks[0].clientConfig.caBundle holds no certificate")));
  got = Read(
      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "
      "a}\nspec: {conversion: "
      "{webhook: {clientConfig: {caBundle: PLACEHOLDER}}}}\n---\napiVersion: "
      "apiregistration.k8s.io/v1\n"
      "kind: APIService\nmetadata: {name: b}\nspec: {caBundle: ''}\n");
  ASSERT_THAT(got, IsOk());
  EXPECT_THAT(*got, HasSubstr("\"clientConfig\":{}"));
  EXPECT_THAT(*got, HasSubstr("\"spec\":{}"));
}

TEST(ManifestTest, ListsAreFlattened) {
  const Case cases[] = {
      {"list",
       "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: "
       "a}}\n",
       kBare},
      {"typed list gives kind and version",
       "apiVersion: v1\nkind: ConfigMapList\nmetadata: {resourceVersion: '1'}\nitems:\n- metadata: "
       "{name: a}\n",
       kBare},
      {"nested",
       "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":"
       "\"List\",\"items\":[{\"apiVersion\":"
       "\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}]}]}",
       kBare},
      {"empty lists",
       "apiVersion: v1\nkind: List\nitems: []\n---\napiVersion: v1\nkind: List\nitems:\n---\nkind: "
       "List\n",
       ""},
      {"custom resource with items of its own",
       "apiVersion: x.dev/v1\nkind: Menu\nmetadata: {name: m}\nitems: []\n",
       "{\"apiVersion\":\"x.dev/"
       "v1\",\"items\":[],\"kind\":\"Menu\",\"metadata\":{\"name\":\"m\"}}\n"},
      {"named kind that ends in List",
       "apiVersion: x.dev/v1\nkind: AllowList\nmetadata: {name: m}\nitems: [{ip: 1.2.3.4}]\n",
       "{\"apiVersion\":\"x.dev/"
       "v1\",\"items\":[{\"ip\":\"1.2.3.4\"}],\"kind\":\"AllowList\",\"metadata\":{\"name\":\"m\"}}"
       "\n"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    absl::StatusOr<std::string> got = Read(c.text);
    ASSERT_THAT(got, IsOk());
    EXPECT_EQ(*got, c.want);
  }
  EXPECT_THAT(Read("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, "
                   "metadata: {name: a}}\n- 5\n"),
              HasReason(Reason::kManifestInvalid,
                        HasSubstr("f.yaml document 1 (line 1) item 2: want an object")));
}

TEST(ManifestTest, Refuses) {
  const Case cases[] = {
      {"scalar", "hello\n",
       "f.yaml document 1 (line 1): want an object (a mapping with apiVersion and kind), got a "
       "string"},
      {"sequence", "- a\n", "got a list"},
      {"JSON array", "[{}]\n", "got a list"},
      {"second document", ConfigMap("{name: a}") + "---\n\n5\n",
       "f.yaml document 2 (line 6): want an object"},
      {"no kind", "apiVersion: v1\nmetadata: {name: a}\n", "kind is missing"},
      {"wrong case", "apiVersion: v1\nKind: Pod\nmetadata: {name: a}\n",
       "did you mean kind instead of Kind?"},
      {"no apiVersion", "kind: Pod\nmetadata: {name: a}\n", "apiVersion is missing"},
      {"numeric apiVersion", "apiVersion: 1\nkind: Pod\nmetadata: {name: a}\n",
       "apiVersion: want a string, got a number; quote it"},
      {"odd apiVersion", "apiVersion: a/b/c\nkind: Pod\nmetadata: {name: a}\n",
       "apiVersion: want GROUP/VERSION"},
      {"apiVersion without version", "apiVersion: apps/\nkind: Pod\nmetadata: {name: a}\n",
       "apiVersion: want GROUP/VERSION"},
      {"kind of another type", "apiVersion: v1\nkind: [Pod]\nmetadata: {name: a}\n",
       "kind: want a string, got a list"},
      {"kind with a slash", "apiVersion: v1\nkind: Pod/../x\nmetadata: {name: a}\n",
       "kind: want letters"},
      {"no metadata", "apiVersion: v1\nkind: Pod\n", "metadata.name is missing"},
      {"metadata of another type", "apiVersion: v1\nkind: Pod\nmetadata: [a]\n",
       "metadata: want a mapping, got a list"},
      {"no name", ConfigMap("{labels: {a: b}}"), "metadata.name is missing"},
      {"empty name", ConfigMap("{name: ''}"), "metadata.name is empty"},
      {"numeric name", ConfigMap("{name: 123}"),
       "metadata.name: want a string, got a number; quote it"},
      {"name with a slash", ConfigMap("{name: a/b}"),
       "metadata.name: want printable ASCII without"},
      {"name of dots", ConfigMap("{name: ..}"), "metadata.name: want printable ASCII without"},
      {"long name", ConfigMap("{name: " + std::string(254, 'a') + "}"),
       "metadata.name: want at most 253 bytes, got 254"},
      {"generateName", ConfigMap("{generateName: a-}"),
       "metadata.generateName: server-side apply needs"},
      {"numeric namespace", ConfigMap("{name: a, namespace: 5}"),
       "metadata.namespace: want a string"},
      {"bad namespace", ConfigMap("{name: a, namespace: a.b}"),
       "metadata.namespace: want an RFC 1123 label, got \"a.b\""},
      {"numeric label", ConfigMap("{name: a, labels: {v: 1}}"),
       "metadata.labels[v]: want a string, got a number; quote it"},
      {"boolean annotation", ConfigMap("{name: a, annotations: {x.dev/on: yes}}"),
       "metadata.annotations[x.dev/on]: want a string, got a boolean; quote it"},
      {"labels of another type", ConfigMap("{name: a, labels: [x]}"),
       "metadata.labels: want a mapping of strings, got a list"},
      {"number in a ConfigMap", ConfigMap("{name: a}") + "data: {port: 80}\n",
       "ConfigMap a: data[port]: want a string; quote it"},
      {"list as ConfigMap data", ConfigMap("{name: a}") + "data: [80]\n",
       "data: want a mapping of strings"},
      {"number in stringData",
       "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {p: 1}\n",
       "stringData[p]: want a string; quote it"},
      {"long key",
       ConfigMap("{name: a}") + "data:\n  ? \"" + std::string(1001, 'k') + "\"\n  : v\n",
       "has 1001 bytes"},
      {"broken YAML", ConfigMap("{name: a}") + "---\nkind: [\n", "f.yaml: document 2: line "},
      {"spec of a wrong type stays an error of the server's", "apiVersion: v1\nkind: Pod\n",
       "metadata.name is missing"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(Read(c.text), HasReason(Reason::kManifestInvalid, HasSubstr(c.want)));
  }
  EXPECT_THAT(Read("apiVersion: v1\nkind: Pod\nkind: Pod\n"),
              HasReason(Reason::kDuplicateKey,
                        HasSubstr("f.yaml: document 1: line 3: .kind: the key is there twice")));
}

TEST(ManifestTest, MalformedBodiesNeverCrash) {
  // Every kind with rules of its own, with each of these where a rule looks.
  const char* bodies[] = {"5",
                          "x",
                          "[]",
                          "[5]",
                          "{}",
                          "null",
                          "true",
                          "{a: }",
                          "[[]]",
                          "{template: 5}",
                          "{template: {metadata: 5}}",
                          "{jobTemplate: []}",
                          "{volumeClaimTemplates: [5, {}]}",
                          "{conversion: {webhook: 5}}",
                          "{conversion: {webhook: {clientConfig: 5}}}",
                          "{caBundle: 5}"};
  const char* types[] = {"apps/v1\nkind: Deployment",
                         "apps/v1\nkind: StatefulSet",
                         "batch/v1\nkind: CronJob",
                         "apiextensions.k8s.io/v1\nkind: CustomResourceDefinition",
                         "apiregistration.k8s.io/v1\nkind: APIService",
                         "rbac.authorization.k8s.io/v1\nkind: ClusterRole",
                         "admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration",
                         "v1\nkind: Secret",
                         "v1\nkind: ConfigMap"};
  int read = 0;
  for (const char* type : types) {
    for (const char* body : bodies) {
      std::string text = absl::StrCat("apiVersion: ", type, "\nmetadata: {name: a}\n");
      for (const char* field :
           {"spec", "rules", "aggregationRule", "webhooks", "data", "stringData", "status"}) {
        absl::StrAppend(&text, field, ": ", body, "\n");
        absl::StatusOr<std::string> got = Read(text);
        if (got.ok()) {
          ++read;
        } else {
          EXPECT_THAT(got, HasReason(Reason::kManifestInvalid, HasSubstr("f.yaml document 1")))
              << text;
        }
      }
    }
  }
  EXPECT_GT(read, 500);
}

TEST(ManifestTest, LimitsNameTheObjectAndBothNumbers) {
  std::string megabyte(1 << 20, 'x');
  EXPECT_THAT(
      Read(ConfigMap("{name: a, namespace: b}") + "data: {k: " + megabyte + "y}\n"),
      HasReason(
          Reason::kObjectTooLarge,
          HasSubstr("ConfigMap b/a: ConfigMap payload: want at most 1048576 bytes, got 1048577")));
  EXPECT_THAT(Read(ConfigMap("{name: a}") + "data: {k: " + megabyte.substr(200) + "}\n"), IsOk());
  EXPECT_THAT(Read(ConfigMap("{name: a}") + "binaryData: {k: " + megabyte + megabyte + "}\n"),
              HasReason(Reason::kObjectTooLarge, HasSubstr("got 1572864")));
  EXPECT_THAT(Read("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {k: " +
                   megabyte + "y}\n"),
              HasReason(Reason::kObjectTooLarge, HasSubstr("Secret payload")));
  EXPECT_THAT(
      Read("apiVersion: x.dev/v1\nkind: Foo\nmetadata: {name: a}\nspec: {k: " + megabyte + "}\n"),
      HasReason(Reason::kObjectTooLarge,
                HasSubstr("x.dev/Foo a: object as JSON: want at most 1048576")));
  std::string quarter(256 << 10, 'x');
  EXPECT_THAT(Read(ConfigMap("{name: a, annotations: {k: " + quarter + "}}")),
              HasReason(Reason::kObjectTooLarge,
                        HasSubstr("metadata.annotations: want at most 262144 bytes, got 262145")));
  EXPECT_THAT(Read(ConfigMap("{name: a, annotations: {k: " + quarter.substr(1) + "}}")), IsOk());
}

TEST(ManifestTest, DuplicatesAreFoundWhateverTheVersion) {
  EXPECT_THAT(Read("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n---\napiVersion: "
                   "apps/v1beta1\n"
                   "kind: Deployment\nmetadata: {name: a}\n"),
              HasReason(Reason::kDuplicateObject,
                        HasSubstr("apps/Deployment a is there twice: f.yaml document 1 (line 1) "
                                  "and f.yaml document 2 (line 5)")));
  EXPECT_THAT(Read("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n---\napiVersion: "
                   "extensions/v1beta1\n"
                   "kind: Deployment\nmetadata: {name: a}\n"),
              IsOk());
}

TEST(ManifestTest, ObjectsKnowTheirPlace) {
  std::vector<std::string> warnings;
  absl::StatusOr<std::vector<ManifestObject>> objects = ParseManifestFile(
      "web.yaml",
      "# x\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: s}\non: 1\n",
      &warnings);
  ASSERT_THAT(objects, IsOk());
  ASSERT_EQ(objects->size(), 1u);
  EXPECT_EQ((*objects)[0].origin, "web.yaml document 1 (line 2)");
  EXPECT_EQ((*objects)[0].version, "v1");
  EXPECT_EQ((*objects)[0].key, (ObjectKey{"apps", "Deployment", "s", "a"}));
  EXPECT_THAT(warnings, ElementsAre("web.yaml: document 1, line 5: the key on is read as \"true\"; "
                                    "quote it if it is a word"));
}

TEST(ManifestTest, NothingIsNothing) {
  EXPECT_EQ(*Read(""), "");
  EXPECT_EQ(*Read("# only\n---\nnull\n"), "");
}

}  // namespace
}  // namespace nave
