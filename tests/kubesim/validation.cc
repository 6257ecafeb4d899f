#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/value/codec.h"
#include "tests/kubesim/admission.h"
#include "tests/kubesim/custom_schema.h"
#include "tests/kubesim/selectors.h"

namespace nave::kubesim {
namespace {

constexpr size_t kAnnotationBytes = 262144;
constexpr size_t kDataBytes = 1048576;

class Validator {
 public:
  Validator(const KindInfo& kind, const Value* live, const Value& object)
      : kind_(kind), live_(live), object_(object) {}

  std::vector<StatusCause> Run() {
    CheckMetadata();
    if (!kind_.custom()) {
      CheckKind();
    } else if (kind_.open_api != nullptr) {
      CheckOpenApi(object_, *kind_.open_api, "", &causes_);
    }
    return std::move(causes_);
  }

 private:
  void Fail(absl::string_view reason, absl::string_view field, absl::string_view message) {
    causes_.push_back({std::string(reason), std::string(message), std::string(field)});
  }
  void Required(absl::string_view field) { Fail("FieldValueRequired", field, "Required value"); }
  void InvalidValue(absl::string_view field, const Value& value, absl::string_view why) {
    Fail("FieldValueInvalid", field,
         absl::StrCat("Invalid value: ", FormatJson(value).substr(0, 200), ": ", why));
  }
  void ForbiddenChange(absl::string_view field, absl::string_view why) {
    Fail("FieldValueForbidden", field, absl::StrCat("Forbidden: ", why));
  }

  template <typename... Keys>
  const Value* Old(Keys... keys) const {
    return live_ == nullptr ? nullptr : live_->Find(keys...);
  }
  static bool Same(const Value* a, const Value* b) {
    if (a == nullptr || b == nullptr) return a == b;
    return *a == *b;
  }
  template <typename... Keys>
  void Immutable(absl::string_view field, Keys... keys) {
    if (live_ == nullptr) return;
    const Value* now = object_.Find(keys...);
    if (Same(live_->Find(keys...), now)) return;
    InvalidValue(field, now == nullptr ? Value() : *now, "field is immutable");
  }

  void CheckMetadata();
  void CheckName(const std::string& name);
  void CheckKind();
  void CheckWorkload();
  void CheckStatefulSetChange();
  void CheckPodSpec(const Value* spec, const std::string& path);
  void CheckPod();
  void CheckService();
  void CheckData();
  void CheckCrd();

  const KindInfo& kind_;
  const Value* live_;
  const Value& object_;
  std::vector<StatusCause> causes_;
};

bool IsSubdomain(const std::string& name) {
  if (name.empty() || name.size() > 253) return false;
  for (absl::string_view label : absl::StrSplit(name, '.')) {
    if (label.empty() || label.front() == '-' || label.back() == '-') return false;
    for (char c : label) {
      if (!absl::ascii_islower(c) && !absl::ascii_isdigit(c) && c != '-') return false;
    }
  }
  return true;
}

// "name" or "prefix.example/name".
bool IsQualifiedName(const std::string& name) {
  size_t slash = name.find('/');
  if (slash != std::string::npos && !IsSubdomain(name.substr(0, slash))) return false;
  std::string rest = slash == std::string::npos ? name : name.substr(slash + 1);
  if (rest.empty() || rest.size() > 63) return false;
  if (!absl::ascii_isalnum(rest.front()) || !absl::ascii_isalnum(rest.back())) return false;
  return std::all_of(rest.begin(), rest.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  });
}

bool IsLabelValue(const std::string& value) {
  if (value.size() > 63) return false;
  if (value.empty()) return true;
  if (!absl::ascii_isalnum(value.front()) || !absl::ascii_isalnum(value.back())) return false;
  return std::all_of(value.begin(), value.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  });
}

void Validator::CheckName(const std::string& name) {
  static const auto* const label_kinds = new std::set<std::string>{"Namespace", "Service"};
  // RBAC names are free but for slashes.
  if (kind_.group == "rbac.authorization.k8s.io") {
    if (absl::StrContains(name, '/'))
      InvalidValue("metadata.name", Value(name), "may not contain '/'");
    return;
  }
  bool label = label_kinds->count(kind_.kind) > 0;
  if (!IsSubdomain(name) || (label && (name.size() > 63 || absl::StrContains(name, '.')))) {
    InvalidValue("metadata.name", Value(name),
                 absl::StrCat("a lowercase RFC 1123 ", label ? "label" : "subdomain",
                              " must consist of lower case alphanumeric characters or '-'"));
  }
}

void Validator::CheckMetadata() {
  if (live_ == nullptr) CheckName(object_.StringAt("metadata", "name"));
  if (live_ != nullptr &&
      object_.StringAt("metadata", "uid") != live_->StringAt("metadata", "uid")) {
    InvalidValue("metadata.uid", *object_.Find("metadata", "uid"), "field is immutable");
  }
  size_t bytes = 0;
  const Value* annotations = object_.Find("metadata", "annotations");
  if (annotations != nullptr && annotations->object() != nullptr) {
    for (const auto& [key, value] : *annotations->object()) {
      bytes += key.size() + value.StringOr("").size();
    }
  }
  if (bytes > kAnnotationBytes) {
    Fail("FieldValueTooLong", "metadata.annotations",
         absl::StrCat("Too long: may not be more than ", kAnnotationBytes, " bytes"));
  }
  const Value* labels = object_.Find("metadata", "labels");
  if (labels != nullptr && labels->object() != nullptr) {
    for (const auto& [key, value] : *labels->object()) {
      if (!IsQualifiedName(key)) {
        InvalidValue("metadata.labels", Value(key),
                     "name part must consist of alphanumeric characters, '-', '_' or '.'");
      }
      if (!IsLabelValue(value.StringOr(""))) {
        InvalidValue("metadata.labels", value,
                     "a valid label must consist of at most 63 alphanumeric "
                     "characters, '-', '_' or '.'");
      }
    }
  }
  const Value* finalizers = object_.Find("metadata", "finalizers");
  if (finalizers == nullptr || finalizers->array() == nullptr) return;
  static const auto* const plain =
      new std::set<std::string>{"foregroundDeletion", "kubernetes", "orphan"};
  for (size_t i = 0; i < finalizers->array()->size(); ++i) {
    std::string name = (*finalizers->array())[i].StringOr("");
    bool qualified = absl::StrContains(name, '/') && IsQualifiedName(name);
    if (qualified || plain->count(name) > 0) continue;
    InvalidValue(absl::StrCat("metadata.finalizers[", i, "]"), Value(name),
                 "name is neither a standard finalizer name nor is it fully qualified");
  }
  if (live_ == nullptr || live_->Find("metadata", "deletionTimestamp") == nullptr) return;
  const Value* before = live_->Find("metadata", "finalizers");
  for (const Value& finalizer : *finalizers->array()) {
    bool known = before != nullptr && before->array() != nullptr &&
                 std::count(before->array()->begin(), before->array()->end(), finalizer) > 0;
    if (!known) {
      ForbiddenChange("metadata.finalizers",
                      "no new finalizers can be added if the object is being deleted");
    }
  }
}

void Validator::CheckPodSpec(const Value* spec, const std::string& path) {
  const Value* containers = spec == nullptr ? nullptr : spec->Find("containers");
  if (containers == nullptr || containers->array() == nullptr || containers->array()->empty()) {
    Required(absl::StrCat(path, ".containers"));
    return;
  }
  std::set<std::string> volumes;
  const Value* declared = spec->Find("volumes");
  if (declared != nullptr && declared->array() != nullptr) {
    for (const Value& volume : *declared->array()) volumes.insert(volume.StringAt("name"));
  }
  size_t index = 0;
  for (const Value& container : *containers->array()) {
    std::string at = absl::StrCat(path, ".containers[", index++, "]");
    if (container.StringAt("name").empty()) Required(absl::StrCat(at, ".name"));
    if (container.StringAt("image").empty()) Required(absl::StrCat(at, ".image"));
    const Value* mounts = container.Find("volumeMounts");
    if (mounts == nullptr || mounts->array() == nullptr) continue;
    size_t mount_index = 0;
    for (const Value& mount : *mounts->array()) {
      std::string field = absl::StrCat(at, ".volumeMounts[", mount_index++, "].name");
      if (volumes.count(mount.StringAt("name")) > 0) continue;
      Fail("FieldValueNotFound", field,
           absl::StrCat("Not found: \"", mount.StringAt("name"), "\""));
    }
  }
}

void Validator::CheckWorkload() {
  const Value* selector = object_.Find("spec", "selector");
  const Value* labels = object_.Find("spec", "template", "metadata", "labels");
  if (kind_.kind != "Job") {
    if (selector == nullptr) {
      Required("spec.selector");
    } else if (!LabelSelectorMatches(*selector, labels)) {
      InvalidValue("spec.template.metadata.labels", labels == nullptr ? Value() : *labels,
                   "`selector` does not match template `labels`");
    }
  }
  const Value* replicas = object_.Find("spec", "replicas");
  if (replicas != nullptr && replicas->IntOr(0) < 0) {
    InvalidValue("spec.replicas", *replicas, "must be greater than or equal to 0");
  }
  CheckPodSpec(object_.Find("spec", "template", "spec"), "spec.template.spec");
  if (kind_.kind == "StatefulSet") {
    CheckStatefulSetChange();
  } else {
    Immutable("spec.selector", "spec", "selector");
  }
  if (kind_.kind == "Job") {
    Immutable("spec.template", "spec", "template");
    Immutable("spec.completions", "spec", "completions");
    std::string policy = object_.StringAt("spec", "template", "spec", "restartPolicy");
    if (policy != "Never" && policy != "OnFailure") {
      Fail("FieldValueNotSupported", "spec.template.spec.restartPolicy",
           absl::StrCat("Unsupported value: \"", policy,
                        "\": supported values: \"OnFailure\", \"Never\""));
    }
  }
}

void Validator::CheckStatefulSetChange() {
  if (live_ == nullptr) return;
  auto fixed = [](const Value& object) {
    Value spec = object.Find("spec") == nullptr ? Value(Object()) : *object.Find("spec");
    for (const char* name :
         {"replicas", "ordinals", "template", "updateStrategy", "minReadySeconds",
          "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy"}) {
      if (Object* members = spec.mutable_object()) members->erase(name);
    }
    return spec;
  };
  if (fixed(*live_) == fixed(object_)) return;
  ForbiddenChange("spec",
                  "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                  "'template', 'updateStrategy', 'revisionHistoryLimit', "
                  "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden");
}

void Validator::CheckPod() {
  CheckPodSpec(object_.Find("spec"), "spec");
  if (live_ == nullptr) return;
  auto fixed = [](const Value& object) {
    Value spec = object.Find("spec") == nullptr ? Value(Object()) : *object.Find("spec");
    if (Object* members = spec.mutable_object()) {
      for (const char* name :
           {"activeDeadlineSeconds", "tolerations", "nodeName", "terminationGracePeriodSeconds"}) {
        members->erase(name);
      }
    }
    for (const char* list : {"containers", "initContainers"}) {
      if (spec.Find(list) == nullptr || spec[list].mutable_array() == nullptr) continue;
      for (Value& container : *spec[list].mutable_array()) {
        if (Object* members = container.mutable_object()) members->erase("image");
      }
    }
    return spec;
  };
  if (fixed(*live_) == fixed(object_)) return;
  ForbiddenChange(
      "spec",
      "pod updates may not change fields other than `spec.containers[*].image`, "
      "`spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations`, "
      "`spec.terminationGracePeriodSeconds`");
}

void Validator::CheckService() {
  std::string type = object_.StringAt("spec", "type");
  const Value* ports = object_.Find("spec", "ports");
  bool headless = object_.StringAt("spec", "clusterIP") == "None";
  if (type == "ExternalName") return;
  if ((ports == nullptr || ports->array() == nullptr || ports->array()->empty()) && !headless) {
    Required("spec.ports");
    return;
  }
  if (ports != nullptr && ports->array() != nullptr) {
    std::set<std::string> names;
    size_t index = 0;
    for (const Value& port : *ports->array()) {
      std::string at = absl::StrCat("spec.ports[", index++, "]");
      const Value* number = port.Find("port");
      int64_t value = number == nullptr ? 0 : number->IntOr(0);
      if (value < 1 || value > 65535) {
        InvalidValue(absl::StrCat(at, ".port"), Value(value),
                     "must be between 1 and 65535, inclusive");
      }
      const Value* target = port.Find("targetPort");
      int64_t target_value = target == nullptr ? 0 : target->IntOr(1);
      if (target_value < 1 || target_value > 65535) {
        InvalidValue(absl::StrCat(at, ".targetPort"), Value(target_value),
                     "must be between 1 and 65535, inclusive");
      }
      std::string name = port.StringAt("name");
      if (name.empty() && ports->array()->size() > 1) Required(absl::StrCat(at, ".name"));
      if (!name.empty() && !names.insert(name).second) {
        Fail("FieldValueDuplicate", absl::StrCat(at, ".name"),
             absl::StrCat("Duplicate value: \"", name, "\""));
      }
    }
  }
  if (live_ != nullptr && live_->StringAt("spec", "type") != "ExternalName") {
    Immutable("spec.clusterIP", "spec", "clusterIP");
  }
}

void Validator::CheckData() {
  size_t bytes = 0;
  for (const char* member : {"data", "binaryData"}) {
    const Value* data = object_.Find(member);
    if (data == nullptr || data->object() == nullptr) continue;
    for (const auto& [key, value] : *data->object()) {
      // Secrets hold base64: three bytes in four characters.
      size_t size = value.StringOr("").size();
      bytes += kind_.kind == "Secret" ? size / 4 * 3 : size;
      bool valid =
          !key.empty() && key.size() <= 253 && std::all_of(key.begin(), key.end(), [](char c) {
            return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
          });
      if (!valid) {
        InvalidValue(absl::StrCat(member, "[", key, "]"), Value(key),
                     "a valid config key must consist of alphanumeric characters, '-', '_' or '.'");
      }
    }
  }
  if (bytes > kDataBytes) {
    Fail("FieldValueTooLong", kind_.kind == "Secret" ? "data" : "",
         absl::StrCat("Too long: may not be more than ", kDataBytes, " bytes"));
  }
  if (kind_.kind == "Secret") Immutable("type", "type");
  const Value* immutable = Old("immutable");
  if (immutable == nullptr || !immutable->BoolOr(false)) return;
  if (!Same(Old("data"), object_.Find("data"))) {
    ForbiddenChange("data", "field is immutable when `immutable` is set");
  }
  if (!Same(immutable, object_.Find("immutable"))) {
    ForbiddenChange("immutable", "field is immutable when `immutable` is set");
  }
}

void Validator::CheckCrd() {
  std::string want = absl::StrCat(object_.StringAt("spec", "names", "plural"), ".",
                                  object_.StringAt("spec", "group"));
  if (object_.StringAt("metadata", "name") != want) {
    InvalidValue("metadata.name", Value(object_.StringAt("metadata", "name")),
                 "must be spec.names.plural+\".\"+spec.group");
  }
  if (object_.StringAt("spec", "names", "kind").empty()) Required("spec.names.kind");
  std::string scope = object_.StringAt("spec", "scope");
  if (scope != "Namespaced" && scope != "Cluster") {
    Fail("FieldValueNotSupported", "spec.scope",
         absl::StrCat("Unsupported value: \"", scope,
                      "\": supported values: \"Cluster\", \"Namespaced\""));
  }
  const Value* versions = object_.Find("spec", "versions");
  size_t storage = 0;
  size_t index = 0;
  if (versions != nullptr && versions->array() != nullptr) {
    for (const Value& version : *versions->array()) {
      const Value* flag = version.Find("storage");
      if (flag != nullptr && flag->BoolOr(false)) ++storage;
      if (version.Find("schema", "openAPIV3Schema") == nullptr) {
        Required(absl::StrCat("spec.versions[", index, "].schema.openAPIV3Schema"));
      }
      ++index;
    }
  }
  if (storage != 1) {
    InvalidValue("spec.versions", Value(),
                 "must have exactly one version marked as storage version");
  }
  Immutable("spec.group", "spec", "group");
  Immutable("spec.scope", "spec", "scope");
  Immutable("spec.names.plural", "spec", "names", "plural");
  Immutable("spec.names.kind", "spec", "names", "kind");
}

void Validator::CheckKind() {
  const std::string& name = kind_.kind;
  if (name == "Deployment" || name == "ReplicaSet" || name == "StatefulSet" ||
      name == "DaemonSet" || name == "Job") {
    CheckWorkload();
  } else if (name == "Pod") {
    CheckPod();
  } else if (name == "Service") {
    CheckService();
  } else if (name == "ConfigMap" || name == "Secret") {
    CheckData();
  } else if (name == "CustomResourceDefinition") {
    CheckCrd();
  } else if (name == "RoleBinding" || name == "ClusterRoleBinding") {
    if (live_ != nullptr && !Same(Old("roleRef"), object_.Find("roleRef"))) {
      InvalidValue("roleRef", *object_.Find("roleRef"), "cannot change roleRef");
    }
  } else if (name == "PersistentVolumeClaim") {
    for (const char* field : {"accessModes", "storageClassName", "volumeMode", "selector"}) {
      if (live_ != nullptr && !Same(live_->Find("spec", field), object_.Find("spec", field))) {
        ForbiddenChange("spec", "spec is immutable after creation except resources.requests");
        break;
      }
    }
  } else if (name == "StorageClass") {
    Immutable("provisioner", "provisioner");
    if (live_ != nullptr && !Same(Old("parameters"), object_.Find("parameters"))) {
      ForbiddenChange("parameters", "updates to parameters are forbidden.");
    }
  } else if (name == "PriorityClass") {
    if (live_ != nullptr && !Same(Old("value"), object_.Find("value"))) {
      ForbiddenChange("value", "may not be changed in an update.");
    }
  }
}

}  // namespace

std::vector<StatusCause> Validate(const KindInfo& kind, const Value* live, const Value& object) {
  return Validator(kind, live, object).Run();
}

}  // namespace nave::kubesim
