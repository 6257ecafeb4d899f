#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/kubesim/admission.h"
#include "tests/kubesim/custom_schema.h"

namespace nave::kubesim {
namespace {

// Sets a member that is absent. `at` must be an object.
void Default(Value* at, absl::string_view key, Value value) {
  Object* object = at->mutable_object();
  if (object != nullptr && object->count(key) == 0) {
    object->emplace(std::string(key), std::move(value));
  }
}

Value* Member(Value* at, absl::string_view key) {
  Object* object = at->mutable_object();
  if (object == nullptr) return nullptr;
  auto it = object->find(key);
  return it == object->end() ? nullptr : &it->second;
}

template <typename Visit>
void ForItems(Value* at, absl::string_view key, Visit visit) {
  Value* list = Member(at, key);
  if (list == nullptr || list->mutable_array() == nullptr) return;
  for (Value& item : *list->mutable_array()) visit(&item);
}

void DefaultProbe(Value* container, absl::string_view key) {
  Value* probe = Member(container, key);
  if (probe == nullptr) return;
  Default(probe, "timeoutSeconds", 1);
  Default(probe, "periodSeconds", 10);
  Default(probe, "successThreshold", 1);
  Default(probe, "failureThreshold", 3);
  if (Value* get = Member(probe, "httpGet")) {
    Default(get, "path", "/");
    Default(get, "scheme", "HTTP");
  }
}

void DefaultContainer(Value* container) {
  std::string image = container->StringAt("image");
  absl::string_view last = absl::string_view(image).substr(image.find_last_of('/') + 1);
  bool latest = !absl::StrContains(image, '@') &&
                (!absl::StrContains(last, ':') || absl::EndsWith(last, ":latest"));
  Default(container, "imagePullPolicy", latest ? "Always" : "IfNotPresent");
  Default(container, "terminationMessagePath", "/dev/termination-log");
  Default(container, "terminationMessagePolicy", "File");
  Default(container, "resources", Object());
  ForItems(container, "ports", [](Value* port) { Default(port, "protocol", "TCP"); });
  ForItems(container, "env", [](Value* env) {
    Value* from = Member(env, "valueFrom");
    Value* field = from == nullptr ? nullptr : Member(from, "fieldRef");
    if (field != nullptr) Default(field, "apiVersion", "v1");
  });
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    DefaultProbe(container, probe);
  }
}

void DefaultPodSpec(Value* spec, absl::string_view restart_policy) {
  if (!spec->is_object()) return;
  Default(spec, "restartPolicy", restart_policy);
  Default(spec, "terminationGracePeriodSeconds", 30);
  Default(spec, "dnsPolicy", "ClusterFirst");
  Default(spec, "securityContext", Object());
  Default(spec, "schedulerName", "default-scheduler");
  ForItems(spec, "containers", DefaultContainer);
  ForItems(spec, "initContainers", DefaultContainer);
  ForItems(spec, "volumes", [](Value* volume) {
    for (const char* source : {"configMap", "secret", "projected", "downwardAPI"}) {
      if (Value* found = Member(volume, source)) Default(found, "defaultMode", 420);
    }
    if (Value* path = Member(volume, "hostPath")) Default(path, "type", "");
    if (volume->object() != nullptr && volume->object()->size() == 1) {
      Default(volume, "emptyDir", Object());
    }
  });
  // The old name of the field follows the new one.
  std::string account = spec->StringAt("serviceAccountName");
  if (account.empty()) account = spec->StringAt("serviceAccount");
  if (account.empty()) return;
  (*spec)["serviceAccountName"] = Value(account);
  (*spec)["serviceAccount"] = Value(account);
}

void DefaultTemplate(Value* spec, absl::string_view restart_policy) {
  Value* pod = Member(spec, "template");
  if (pod == nullptr || !pod->is_object()) return;
  if (Value* pod_spec = Member(pod, "spec")) DefaultPodSpec(pod_spec, restart_policy);
}

void DefaultRolling(Value* spec, absl::string_view key, Value rolling) {
  if (!spec->is_object()) return;
  Default(spec, key, Object());
  Value* strategy = Member(spec, key);
  if (!strategy->is_object()) return;
  Default(strategy, "type", "RollingUpdate");
  if (strategy->StringAt("type") != "RollingUpdate") return;
  Default(strategy, "rollingUpdate", Object());
  Value* values = Member(strategy, "rollingUpdate");
  if (!values->is_object()) return;
  for (const auto& [name, value] : *rolling.object()) Default(values, name, value);
}

void DefaultWorkload(const KindInfo& kind, Value* object) {
  Value* spec = Member(object, "spec");
  if (spec == nullptr || !spec->is_object()) return;
  if (kind.kind == "Deployment") {
    Default(spec, "replicas", 1);
    Default(spec, "revisionHistoryLimit", 10);
    Default(spec, "progressDeadlineSeconds", 600);
    DefaultRolling(spec, "strategy",
                   Value(Object{{"maxSurge", Value("25%")}, {"maxUnavailable", Value("25%")}}));
  } else if (kind.kind == "ReplicaSet") {
    Default(spec, "replicas", 1);
  } else if (kind.kind == "StatefulSet") {
    Default(spec, "replicas", 1);
    Default(spec, "revisionHistoryLimit", 10);
    Default(spec, "podManagementPolicy", "OrderedReady");
    Default(spec, "persistentVolumeClaimRetentionPolicy",
            Value(Object{{"whenDeleted", Value("Retain")}, {"whenScaled", Value("Retain")}}));
    DefaultRolling(spec, "updateStrategy",
                   Value(Object{{"maxUnavailable", Value(1)}, {"partition", Value(0)}}));
    ForItems(spec, "volumeClaimTemplates", [](Value* claim) {
      Default(claim, "apiVersion", "v1");
      Default(claim, "kind", "PersistentVolumeClaim");
      if (Value* claim_spec = Member(claim, "spec"))
        Default(claim_spec, "volumeMode", "Filesystem");
      Default(claim, "status", Value(Object{{"phase", Value("Pending")}}));
    });
  } else if (kind.kind == "DaemonSet") {
    Default(spec, "revisionHistoryLimit", 10);
    DefaultRolling(spec, "updateStrategy",
                   Value(Object{{"maxSurge", Value(0)}, {"maxUnavailable", Value(1)}}));
  }
  DefaultTemplate(spec, "Always");
}

void DefaultJobSpec(Value* spec) {
  if (!spec->is_object()) return;
  if (spec->Find("completions") == nullptr && spec->Find("parallelism") == nullptr) {
    Default(spec, "completions", 1);
  }
  Default(spec, "parallelism", 1);
  Default(spec, "backoffLimit", 6);
  Default(spec, "completionMode", "NonIndexed");
  Default(spec, "suspend", false);
  Default(spec, "manualSelector", false);
  Default(spec, "podReplacementPolicy", "TerminatingOrFailed");
  DefaultTemplate(spec, "");
}

void DefaultJob(Value* object) {
  Value* spec = Member(object, "spec");
  if (spec == nullptr) return;
  DefaultJobSpec(spec);
  const Value* manual = spec->Find("manualSelector");
  if (manual != nullptr && manual->BoolOr(false)) return;
  std::string uid = object->StringAt("metadata", "uid");
  Value* pod = Member(spec, "template");
  if (pod == nullptr || !pod->is_object() || uid.empty()) return;
  std::string name = object->StringAt("metadata", "name");
  for (Value* labels : {&(*pod)["metadata"]["labels"], &(*object)["metadata"]["labels"]}) {
    for (const char* prefix : {"", "batch.kubernetes.io/"}) {
      (*labels)[absl::StrCat(prefix, "controller-uid")] = Value(uid);
      (*labels)[absl::StrCat(prefix, "job-name")] = Value(name);
    }
  }
  Default(spec, "selector",
          Value(Object{
              {"matchLabels", Value(Object{{"batch.kubernetes.io/controller-uid", Value(uid)}})}}));
}

// Of a CronJob: only what does not depend on the job.
void DefaultJobTemplate(Value* job) {
  if (!job->is_object()) return;
  Default(job, "metadata", Object());
  Value* spec = Member(job, "spec");
  if (spec == nullptr || !spec->is_object()) return;
  DefaultTemplate(spec, "");
  if (Value* pod = Member(spec, "template")) Default(pod, "metadata", Object());
}

void DefaultHpa(Value* object) {
  Value* spec = Member(object, "spec");
  if (spec == nullptr) return;
  Default(spec, "minReplicas", 1);
  Value target(Object{{"type", Value("Utilization")}, {"averageUtilization", Value(80)}});
  Value resource(Object{{"name", Value("cpu")}, {"target", std::move(target)}});
  Default(spec, "metrics",
          Value(Array{Value(Object{{"type", Value("Resource")}, {"resource", resource}})}));
}

// Counts the changes of the template, as a DaemonSet's first API did.
void CountTemplates(const Value* live, Value* object) {
  constexpr char kName[] = "deprecated.daemonset.template.generation";
  int64_t count = 1;
  if (live != nullptr) {
    (void)absl::SimpleAtoi(live->StringAt("metadata", "annotations", kName), &count);
    const Value* before = live->Find("spec", "template");
    const Value* after = object->Find("spec", "template");
    if (before != nullptr && after != nullptr && !(*before == *after)) ++count;
  }
  (*object)["metadata"]["annotations"][kName] = Value(absl::StrCat(count));
}

// Of ConfigMap and Secret: empty is the same as absent.
void DropEmptyData(Value* object) {
  for (const char* member : {"data", "binaryData"}) {
    const Value* found = object->Find(member);
    if (found != nullptr && found->object() != nullptr && found->object()->empty()) {
      object->mutable_object()->erase(member);
    }
  }
}

void DefaultService(const Value* live, uint64_t address, Value* object) {
  Value& spec = (*object)["spec"];
  if (!spec.is_object()) return;
  Default(&spec, "type", "ClusterIP");
  Default(&spec, "sessionAffinity", "None");
  std::string type = spec.StringAt("type");
  if (type == "ExternalName") return;
  Default(&spec, "internalTrafficPolicy", "Cluster");
  bool node_ports = type == "NodePort" || type == "LoadBalancer";
  if (node_ports) Default(&spec, "externalTrafficPolicy", "Cluster");
  if (type == "LoadBalancer") Default(&spec, "allocateLoadBalancerNodePorts", true);
  int64_t port_index = 0;
  ForItems(&spec, "ports", [&](Value* port) {
    Default(port, "protocol", "TCP");
    if (const Value* number = port->Find("port")) Default(port, "targetPort", *number);
    ++port_index;
    if (!node_ports || port->Find("nodePort") != nullptr) return;
    int64_t node_port = 30000 + static_cast<int64_t>(address * 8 + port_index) % 2768;
    if (live != nullptr) {
      const Value* ports = live->Find("spec", "ports");
      if (ports != nullptr && ports->array() != nullptr) {
        for (const Value& old : *ports->array()) {
          const Value* same = old.Find("port");
          const Value* had = old.Find("nodePort");
          if (same != nullptr && had != nullptr && *same == *port->Find("port")) {
            node_port = had->IntOr(node_port);
          }
        }
      }
    }
    Default(port, "nodePort", node_port);
  });
  std::string ip = spec.StringAt("clusterIP");
  if (ip.empty() && live != nullptr) ip = live->StringAt("spec", "clusterIP");
  if (ip.empty()) ip = absl::StrCat("10.96.", (address / 250) % 250, ".", address % 250 + 2);
  spec["clusterIP"] = Value(ip);
  if (spec.Find("clusterIPs") == nullptr) spec["clusterIPs"] = Value(Array{Value(ip)});
  Default(&spec, "ipFamilies", Array{Value("IPv4")});
  Default(&spec, "ipFamilyPolicy", "SingleStack");
}

void DefaultSecret(Value* object) {
  Default(object, "type", "Opaque");
  Object* members = object->mutable_object();
  auto plain = members->find("stringData");
  if (plain == members->end()) return;
  Value given = std::move(plain->second);
  members->erase(plain);
  if (given.object() == nullptr || given.object()->empty()) return;
  Value& data = (*object)["data"];
  if (!data.is_object()) data = Value(Object());
  for (const auto& [key, value] : *given.object()) {
    data[key] = Value(absl::Base64Escape(value.StringOr("")));
  }
}

void DefaultCrd(Value* object) {
  Value& spec = (*object)["spec"];
  if (!spec.is_object()) return;
  Default(&spec, "conversion", Value(Object{{"strategy", Value("None")}}));
  Value* names = Member(&spec, "names");
  if (names == nullptr || !names->is_object()) return;
  std::string kind = names->StringAt("kind");
  Default(names, "singular", absl::AsciiStrToLower(kind));
  Default(names, "listKind", absl::StrCat(kind, "List"));
}

void DefaultWebhooks(Value* object, bool mutating) {
  ForItems(object, "webhooks", [&](Value* webhook) {
    Default(webhook, "failurePolicy", "Fail");
    Default(webhook, "matchPolicy", "Equivalent");
    Default(webhook, "namespaceSelector", Object());
    Default(webhook, "objectSelector", Object());
    Default(webhook, "timeoutSeconds", 10);
    if (mutating) Default(webhook, "reinvocationPolicy", "Never");
    ForItems(webhook, "rules", [](Value* rule) { Default(rule, "scope", "*"); });
    if (Value* config = Member(webhook, "clientConfig")) {
      if (Value* service = Member(config, "service")) Default(service, "port", 443);
    }
  });
}

void DefaultRbac(Value* object) {
  if (Value* role = Member(object, "roleRef")) {
    Default(role, "apiGroup", "rbac.authorization.k8s.io");
  }
  ForItems(object, "subjects", [](Value* subject) {
    if (subject->StringAt("kind") != "ServiceAccount") {
      Default(subject, "apiGroup", "rbac.authorization.k8s.io");
    }
  });
}

void DefaultNetworkPolicy(Value* object) {
  Value* spec = Member(object, "spec");
  if (spec == nullptr || !spec->is_object()) return;
  Array types{Value("Ingress")};
  if (spec->Find("egress") != nullptr) types.push_back(Value("Egress"));
  Default(spec, "policyTypes", Value(std::move(types)));
}

void DefaultNamespace(const Value* live, Value* object) {
  Value& labels = (*object)["metadata"]["labels"];
  if (!labels.is_object()) labels = Value(Object());
  labels["kubernetes.io/metadata.name"] = Value(object->StringAt("metadata", "name"));
  if (live == nullptr) {
    (*object)["spec"]["finalizers"] = Value(Array{Value("kubernetes")});
    (*object)["status"]["phase"] = Value("Active");
  } else if (object->Find("spec") == nullptr && live->Find("spec") != nullptr) {
    (*object)["spec"] = *live->Find("spec");
  }
}

}  // namespace

void SetDefaults(const KindInfo& kind, const Value* live, uint64_t address, Value* object) {
  if (kind.custom()) return DefaultFromSchema(*kind.schema, object);
  const std::string& name = kind.kind;
  if (name == "Deployment" || name == "ReplicaSet" || name == "StatefulSet" ||
      name == "DaemonSet") {
    DefaultWorkload(kind, object);
    if (name == "DaemonSet") CountTemplates(live, object);
    if (live == nullptr && name == "StatefulSet") {
      Default(object, "status",
              Value(Object{{"availableReplicas", Value(0)}, {"replicas", Value(0)}}));
    }
    if (live == nullptr && name != "ReplicaSet") Default(object, "status", Object());
  } else if (name == "Pod") {
    if (Value* spec = Member(object, "spec")) {
      DefaultPodSpec(spec, "Always");
      if (live == nullptr && spec->is_object()) Default(spec, "serviceAccountName", "default");
    }
    if (live == nullptr) (*object)["status"]["phase"] = Value("Pending");
  } else if (name == "Job") {
    DefaultJob(object);
    if (live == nullptr) Default(object, "status", Object());
  } else if (name == "CronJob") {
    Value* spec = Member(object, "spec");
    if (spec != nullptr && spec->is_object()) {
      Default(spec, "concurrencyPolicy", "Allow");
      Default(spec, "suspend", false);
      Default(spec, "successfulJobsHistoryLimit", 3);
      Default(spec, "failedJobsHistoryLimit", 1);
      if (Value* job = Member(spec, "jobTemplate")) DefaultJobTemplate(job);
    }
    if (live == nullptr) Default(object, "status", Object());
  } else if (name == "Service") {
    DefaultService(live, address, object);
    if (live == nullptr) (*object)["status"]["loadBalancer"] = Value(Object());
  } else if (name == "Secret") {
    DefaultSecret(object);
    DropEmptyData(object);
  } else if (name == "ConfigMap") {
    DropEmptyData(object);
  } else if (name == "Ingress") {
    if (live == nullptr) (*object)["status"]["loadBalancer"] = Value(Object());
  } else if (name == "Namespace") {
    DefaultNamespace(live, object);
  } else if (name == "PersistentVolumeClaim") {
    if (Value* spec = Member(object, "spec")) Default(spec, "volumeMode", "Filesystem");
    if (live == nullptr) {
      (*object)["status"]["phase"] = Value("Pending");
      Value& finalizers = (*object)["metadata"]["finalizers"];
      if (!finalizers.is_array()) finalizers = Value(Array());
      finalizers.mutable_array()->push_back(Value("kubernetes.io/pvc-protection"));
    }
  } else if (name == "CustomResourceDefinition") {
    DefaultCrd(object);
  } else if (name == "ValidatingWebhookConfiguration" || name == "MutatingWebhookConfiguration") {
    DefaultWebhooks(object, name == "MutatingWebhookConfiguration");
  } else if (name == "RoleBinding" || name == "ClusterRoleBinding") {
    DefaultRbac(object);
  } else if (name == "NetworkPolicy") {
    DefaultNetworkPolicy(object);
  } else if (name == "HorizontalPodAutoscaler") {
    DefaultHpa(object);
  } else if (name == "PriorityClass") {
    Default(object, "preemptionPolicy", "PreemptLowerPriority");
  } else if (name == "StorageClass") {
    Default(object, "reclaimPolicy", "Delete");
    Default(object, "volumeBindingMode", "Immediate");
  } else if (name == "PersistentVolume") {
    if (Value* spec = Member(object, "spec")) {
      Default(spec, "persistentVolumeReclaimPolicy", "Retain");
      Default(spec, "volumeMode", "Filesystem");
    }
    if (live == nullptr) (*object)["status"]["phase"] = Value("Available");
  }
}

void SetCondition(Value* object, absl::string_view type, bool status, absl::string_view reason,
                  absl::string_view message, absl::Time now) {
  Value& list = (*object)["status"]["conditions"];
  if (!list.is_array()) list = Value(Array());
  Value condition(Object{{"type", Value(type)},
                         {"status", Value(status ? "True" : "False")},
                         {"reason", Value(reason)},
                         {"message", Value(message)},
                         {"lastTransitionTime", Value(FormatRfc3339(now))}});
  for (Value& old : *list.mutable_array()) {
    if (old.StringAt("type") != type) continue;
    if (old.StringAt("status") == condition.StringAt("status")) {
      condition["lastTransitionTime"] = Value(old.StringAt("lastTransitionTime"));
    }
    old = std::move(condition);
    return;
  }
  list.mutable_array()->push_back(std::move(condition));
}

}  // namespace nave::kubesim
