// The order of the health rules, and where we differ from kstatus because real servers showed it to
// be wrong or stuck.
#include "common/health/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/value/codec.h"

namespace nave {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1700000000);

Value Parse(absl::string_view yaml) {
  absl::StatusOr<std::vector<YamlDocument>> documents = ParseYamlStream(yaml, nullptr);
  EXPECT_TRUE(documents.ok()) << documents.status() << "\n" << yaml;
  return documents.ok() && !documents->empty() ? std::move((*documents)[0].value) : Value();
}

struct Case {
  const char* name;
  std::string yaml;
  // How long ago the object was first seen so.
  int seen_seconds;
  Health health;
  const char* reason;
  // Seconds from now until the next look; -1: never.
  int recheck_seconds = -1;
};

void Judge(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    HealthResult result = EvaluateHealth(Parse(c.yaml), kNow, kNow - absl::Seconds(c.seen_seconds));
    EXPECT_EQ(FormatHealth(result.health), FormatHealth(c.health))
        << result.reason << ": " << result.message;
    EXPECT_EQ(result.reason, c.reason) << result.message;
    EXPECT_EQ(result.recheck, c.recheck_seconds < 0 ? absl::InfiniteFuture()
                                                    : kNow + absl::Seconds(c.recheck_seconds));
  }
}

std::string Deployment(absl::string_view spec, absl::string_view status) {
  return absl::StrCat(
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {generation: 1}\nspec: "
      "{progressDeadlineSeconds: 600, ",
      spec, "}\nstatus: {observedGeneration: 1, ", status, "}\n");
}
std::string Object(absl::string_view type, absl::string_view rest) {
  return absl::StrCat("apiVersion: ", absl::StrReplaceAll(type, {{" ", "\nkind: "}}), "\n", rest,
                      "\n");
}

TEST(HealthTest, TheFirstRuleThatAppliesDecides) {
  const std::string all_wrong =
      "conditions: [{type: Ready, status: 'False'}, {type: Stalled, status: 'True', reason: S}, "
      "{type: Reconciling, status: 'True', reason: R}]";
  Judge({
      {"deletion before all",
       Object("x.dev/v1 Foo",
              "metadata: {generation: 2, deletionTimestamp: x, finalizers: [a/b]}\n"
              "status: {observedGeneration: 1, " +
                  all_wrong + "}"),
       0, Health::kTerminating, "Terminating"},
      {"null deletionTimestamp is none",
       Object("x.dev/v1 Foo", "metadata: {deletionTimestamp: null}"), 0, Health::kHealthy, ""},
      {"generation before conditions",
       Object("x.dev/v1 Foo",
              "metadata: {generation: 2}\nstatus: {observedGeneration: 1, " + all_wrong + "}"),
       0, Health::kProgressing, "LatestGenerationNotObserved"},
      {"first of the two condition types", Object("x.dev/v1 Foo", "status: {" + all_wrong + "}"), 0,
       Health::kDegraded, "S"},
      {"the other order",
       Object("x.dev/v1 Foo",
              "status: {conditions: [{type: Reconciling, status: 'True'}, {type: Stalled, status: "
              "'True'}]}"),
       0, Health::kProgressing, "Reconciling"},
      {"general conditions before the kind",
       Object("v1 ConfigMap", "status: {conditions: [{type: Stalled, status: 'True', reason: S}]}"),
       0, Health::kDegraded, "S"},
      {"the kind before Ready",
       Object("v1 Secret", "status: {conditions: [{type: Ready, status: 'False'}]}"), 0,
       Health::kHealthy, ""},
      {"Ready unknown",
       Object("x.dev/v1 Foo", "status: {conditions: [{type: Ready, status: Unknown}]}"), 0,
       Health::kProgressing, "NotReady"},
      {"first Ready counts",
       Object("x.dev/v1 Foo",
              "status: {conditions: [{type: Ready, status: 'True'}, {type: Ready, status: "
              "'False', reason: X}]}"),
       0, Health::kHealthy, ""},
      {"only one generation", Object("x.dev/v1 Foo", "metadata: {generation: 3}"), 0,
       Health::kHealthy, ""},
      {"generation of a wrong type",
       Object("x.dev/v1 Foo", "metadata: {generation: '3'}\nstatus: {observedGeneration: 1}"), 0,
       Health::kHealthy, ""},
  });
}

TEST(HealthTest, MalformedStatusIsUnknownAndNeverMore) {
  for (const char* status :
       {"5", "x", "[]", "{conditions: 5}", "{conditions: {}}", "{conditions: [5]}",
        "{conditions: [[]]}", "{conditions: [{type: 5, status: 'True'}]}",
        "{conditions: [{type: Ready, status: true}]}",
        "{conditions: [{type: Ready, status: 'True', reason: [x]}]}"}) {
    for (const char* type : {"apps/v1 Deployment", "apps/v1 StatefulSet", "v1 Pod", "batch/v1 Job",
                             "x.dev/v1 Foo", "v1 Namespace"}) {
      HealthResult result =
          EvaluateHealth(Parse(Object(type, absl::StrCat("status: ", status))), kNow, kNow);
      EXPECT_EQ(result.health, Health::kUnknown) << type << " " << status;
      EXPECT_EQ(result.reason, "StatusMalformed") << type << " " << status;
    }
  }
  Judge({
      {"null conditions are absent", Object("x.dev/v1 Foo", "status: {conditions: null}"), 0,
       Health::kHealthy, ""},
      {"null parts are empty",
       Object("x.dev/v1 Foo",
              "status: {conditions: [{type: Ready, status: 'True', reason: null}]}"),
       0, Health::kHealthy, ""},
      {"counters of wrong types are absent",
       Object("apps/v1 ReplicaSet", "spec: {replicas: 1}\nstatus: {fullyLabeledReplicas: '1'}"), 0,
       Health::kProgressing, "LessLabelled"},
      {"a fraction is no counter",
       Object("apps/v1 ReplicaSet",
              "spec: {replicas: 1.5}\nstatus: {fullyLabeledReplicas: 1, "
              "availableReplicas: 1, readyReplicas: 1, replicas: 1}"),
       0, Health::kHealthy, ""},
  });
  for (const Value& odd : {Value(), Value(5), Value("x"), Value(Array{}), Value(nave::Object())}) {
    EXPECT_EQ(EvaluateHealth(odd, kNow, kNow).health,
              odd.is_object() ? Health::kHealthy : Health::kUnknown);
  }
}

TEST(HealthTest, Deployments) {
  const std::string full =
      "replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2, ";
  const std::string done = "{type: Progressing, status: 'True', reason: NewReplicaSetAvailable}";
  const std::string lost = full + "conditions: [" + done + ", {type: Available, status: 'False'}]";
  Judge({
      {"no status", Object("apps/v1 Deployment", "spec: {replicas: 2}"), 0, Health::kProgressing,
       "LessReplicas"},
      {"no replicas means one", Deployment("x: 1", "replicas: 0"), 0, Health::kProgressing,
       "LessReplicas"},
      {"scaled to zero",
       Deployment("replicas: 0", "conditions: [" + done + ", {type: Available, status: 'True'}]"),
       0, Health::kHealthy, ""},
      {"old pods left", Deployment("replicas: 2", "replicas: 3, updatedReplicas: 2"), 0,
       Health::kProgressing, "ExtraPods"},
      {"not updated", Deployment("replicas: 2", "replicas: 2, updatedReplicas: 1"), 0,
       Health::kProgressing, "LessUpdated"},
      {"not available",
       Deployment("replicas: 2", "replicas: 2, updatedReplicas: 2, availableReplicas: 1"), 0,
       Health::kProgressing, "LessAvailable"},
      {"not ready",
       Deployment("replicas: 2",
                  "replicas: 2, updatedReplicas: 2, availableReplicas: 2, readyReplicas: 1"),
       0, Health::kProgressing, "LessReady"},
      {"deadline exceeded",
       Deployment("replicas: 2", full + "conditions: [{type: Progressing, status: 'False', reason: "
                                        "ProgressDeadlineExceeded}]"),
       0, Health::kDegraded, "ProgressDeadlineExceeded"},
      {"no deadline needs no Progressing",
       Object("apps/v1 Deployment",
              "spec: {replicas: 1}\nstatus: {replicas: 1, updatedReplicas: 1, readyReplicas: 1, "
              "availableReplicas: 1, conditions: [{type: Available, status: 'True'}]}"),
       0, Health::kHealthy, ""},
      {"lost pods after the rollout, at first", Deployment("replicas: 2", lost), 0,
       Health::kProgressing, "DeploymentNotAvailable", 30},
      {"lost pods, a second before", Deployment("replicas: 2", lost), 29, Health::kProgressing,
       "DeploymentNotAvailable", 1},
      {"lost pods after the rollout, for good", Deployment("replicas: 2", lost), 30,
       Health::kDegraded, "DeploymentNotAvailable"},
      {"lost pods count with any counter",
       Deployment("replicas: 2", "replicas: 2, updatedReplicas: 2, conditions: [" + done +
                                     ", {type: Available, status: 'False'}]"),
       31, Health::kDegraded, "LessAvailable"},
      {"a rollout under way may take its time",
       Deployment("replicas: 2",
                  "replicas: 2, updatedReplicas: 2, conditions: [{type: Progressing, status: "
                  "'True', reason: "
                  "ReplicaSetUpdated}, {type: Available, status: 'False'}]"),
       500, Health::kProgressing, "LessAvailable"},
      {"pods that cannot be made",
       Deployment("replicas: 2",
                  "conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate, "
                  "message: quota}]"),
       0, Health::kDegraded, "FailedCreate"},
      {"paused before its update",
       Deployment("replicas: 2, paused: true", "replicas: 2, updatedReplicas: 1"), 0,
       Health::kSuspended, "DeploymentPaused"},
      {"paused but complete",
       Deployment("replicas: 2, paused: true",
                  full + "conditions: [" + done + ", {type: Available, status: 'True'}]"),
       0, Health::kHealthy, ""},
      {"another group's Deployment", Object("x.dev/v1 Deployment", "spec: {replicas: 2}"), 0,
       Health::kHealthy, ""},
  });
}

TEST(HealthTest, StatefulSetsAndDaemonSets) {
  const std::string sts = "apps/v1 StatefulSet";
  const std::string ds = "apps/v1 DaemonSet";
  Judge({
      {"on delete, complete",
       Object(sts,
              "spec: {replicas: 2, updateStrategy: {type: OnDelete}}\nstatus: {readyReplicas: 2, "
              "availableReplicas: 2}"),
       0, Health::kHealthy, ""},
      {"on delete, not ready",
       Object(sts,
              "spec: {replicas: 2, updateStrategy: {type: OnDelete}}\nstatus: {readyReplicas: 1}"),
       0, Health::kProgressing, "LessReady"},
      {"on delete, not available",
       Object(sts,
              "spec: {replicas: 2, updateStrategy: {type: OnDelete}}\nstatus: {readyReplicas: 2}"),
       0, Health::kProgressing, "LessAvailable"},
      {"partition met",
       Object(sts,
              "spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 2}}}\nstatus: "
              "{replicas: 3, "
              "readyReplicas: 3, updatedReplicas: 1, currentReplicas: 2}"),
       0, Health::kHealthy, ""},
      {"partition not met",
       Object(sts,
              "spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 1}}}\nstatus: "
              "{replicas: "
              "3, readyReplicas: 3, updatedReplicas: 1}"),
       0, Health::kProgressing, "PartitionRollout"},
      {"revisions differ",
       Object(sts,
              "spec: {replicas: 1}\nstatus: {replicas: 1, readyReplicas: 1, currentReplicas: 1, "
              "currentRevision: a, updateRevision: b}"),
       0, Health::kProgressing, "RevisionMismatch"},
      {"daemon set without generation", Object(ds, "status: {desiredNumberScheduled: 0}"), 0,
       Health::kProgressing, "NoGeneration"},
      {"daemon set not observed", Object(ds, "metadata: {generation: 1}"), 0, Health::kProgressing,
       "NoObservedGeneration"},
      {"daemon set on no node",
       Object(
           ds,
           "metadata: {generation: 1}\nstatus: {observedGeneration: 1, desiredNumberScheduled: 0}"),
       0, Health::kHealthy, ""},
      {"daemon set current",
       Object(
           ds,
           "metadata: {generation: 1}\nstatus: {observedGeneration: 1, desiredNumberScheduled: 2, "
           "currentNumberScheduled: 1}"),
       0, Health::kProgressing, "LessCurrent"},
      {"daemon set updated",
       Object(
           ds,
           "metadata: {generation: 1}\nstatus: {observedGeneration: 1, desiredNumberScheduled: 2, "
           "currentNumberScheduled: 2, updatedNumberScheduled: 1, numberAvailable: 2, numberReady: "
           "2}"),
       0, Health::kProgressing, "LessUpdated"},
      {"daemon set on delete",
       Object(ds,
              "metadata: {generation: 1}\nspec: {updateStrategy: {type: OnDelete}}\nstatus: "
              "{observedGeneration: 1, desiredNumberScheduled: 2, currentNumberScheduled: 2, "
              "updatedNumberScheduled: 1, numberAvailable: 2, numberReady: 2}"),
       0, Health::kHealthy, ""},
      {"replica set that cannot make pods",
       Object(
           "apps/v1 ReplicaSet",
           "status: {conditions: [{type: ReplicaFailure, status: 'True', reason: FailedCreate}]}"),
       0, Health::kDegraded, "FailedCreate"},
  });
}

TEST(HealthTest, PodsAndJobs) {
  const std::string unschedulable =
      "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: "
      "Unschedulable, message: full}]}";
  const std::string idle = "status: {startTime: x}";
  Judge({
      {"succeeded", Object("v1 Pod", "status: {phase: Succeeded}"), 0, Health::kHealthy, ""},
      {"pending", Object("v1 Pod", "status: {phase: Pending}"), 100, Health::kProgressing,
       "PodPending"},
      {"unschedulable by its own time",
       Object("v1 Pod", "metadata: {creationTimestamp: '2023-11-14T22:13:10Z'}\n" + unschedulable),
       0, Health::kProgressing, "PodNotScheduled", 5},
      {"unschedulable for long",
       Object("v1 Pod", "metadata: {creationTimestamp: '2023-11-14T22:13:05Z'}\n" + unschedulable),
       0, Health::kDegraded, "PodUnschedulable"},
      {"unschedulable, a clock ahead",
       Object("v1 Pod", "metadata: {creationTimestamp: '2030-01-01T00:00:00Z'}\n" + unschedulable),
       15, Health::kDegraded, "PodUnschedulable"},
      {"unschedulable without a time", Object("v1 Pod", unschedulable), 14, Health::kProgressing,
       "PodNotScheduled", 1},
      {"strange phase", Object("v1 Pod", "status: {phase: Dreaming}"), 0, Health::kUnknown,
       "PodPhaseUnknown"},
      {"crash loop of the second container",
       Object("v1 Pod",
              "status: {phase: Running, containerStatuses: [{name: a}, {name: b, state: {waiting: "
              "{reason: "
              "CrashLoopBackOff}}}]}"),
       0, Health::kDegraded, "ContainerCrashLooping"},
      {"job failed",
       Object(
           "batch/v1 Job",
           "status: {conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]}"),
       0, Health::kDegraded, "BackoffLimitExceeded"},
      {"job about to fail",
       Object("batch/v1 Job",
              "status: {startTime: x, active: 1, conditions: [{type: FailureTarget, status: "
              "'True', reason: "
              "PodFailurePolicy}]}"),
       0, Health::kDegraded, "PodFailurePolicy"},
      {"job between pods", Object("batch/v1 Job", idle), 0, Health::kHealthy, "", 60},
      {"job that idles", Object("batch/v1 Job", idle), 60, Health::kProgressing, "JobNotActive"},
      {"job that runs", Object("batch/v1 Job", "status: {startTime: x, active: 1}"), 600,
       Health::kHealthy, ""},
  });
}

TEST(HealthTest, OtherKinds) {
  const std::string hpa = "autoscaling/v2 HorizontalPodAutoscaler";
  const std::string api = "apiregistration.k8s.io/v1 APIService";
  Judge({
      {"claim lost", Object("v1 PersistentVolumeClaim", "status: {phase: Lost}"), 0,
       Health::kDegraded, "Lost"},
      {"claim pending", Object("v1 PersistentVolumeClaim", "status: {phase: Pending}"), 9999,
       Health::kProgressing, "NotBound"},
      {"volume failed", Object("v1 PersistentVolume", "status: {phase: Failed, reason: R}"), 0,
       Health::kDegraded, "R"},
      {"volume free", Object("v1 PersistentVolume", "status: {phase: Available}"), 0,
       Health::kHealthy, ""},
      {"namespace active", Object("v1 Namespace", "status: {phase: Active}"), 0, Health::kHealthy,
       ""},
      {"namespace new", Object("v1 Namespace", "metadata: {name: x}"), 0, Health::kProgressing,
       "NotActive"},
      {"namespace going", Object("v1 Namespace", "status: {phase: Terminating}"), 0,
       Health::kTerminating, "Terminating"},
      {"API service up", Object(api, "status: {conditions: [{type: Available, status: 'True'}]}"),
       0, Health::kHealthy, ""},
      {"API service down",
       Object(
           api,
           "status: {conditions: [{type: Available, status: 'False', reason: MissingEndpoints}]}"),
       0, Health::kProgressing, "MissingEndpoints"},
      {"API service new", Object(api, "spec: {}"), 0, Health::kProgressing, "NotAvailable"},
      {"autoscaler new", Object(hpa, "spec: {}"), 10, Health::kProgressing, "NotObserved", 20},
      {"autoscaler never observed", Object(hpa, "spec: {}"), 30, Health::kHealthy, ""},
      {"autoscaler cannot scale",
       Object(
           hpa,
           "status: {conditions: [{type: AbleToScale, status: 'False', reason: FailedGetScale}]}"),
       0, Health::kDegraded, "FailedGetScale"},
      {"autoscaler without metrics",
       Object(hpa,
              "status: {conditions: [{type: AbleToScale, status: 'True'}, {type: ScalingActive, "
              "status: 'False', reason: "
              "FailedGetResourceMetric}]}"),
       0, Health::kDegraded, "FailedGetResourceMetric"},
      {"autoscaler of zero replicas",
       Object(hpa,
              "status: {conditions: [{type: ScalingActive, status: 'False', reason: "
              "ScalingDisabled}]}"),
       0, Health::kHealthy, ""},
      {"budget new", Object("policy/v1 PodDisruptionBudget", "metadata: {generation: 1}"), 0,
       Health::kProgressing, "NotObserved", 30},
      {"CRD refused",
       Object("apiextensions.k8s.io/v1 CustomResourceDefinition",
              "status: {conditions: [{type: Established, status: 'False', reason: NotAccepted}]}"),
       0, Health::kDegraded, "NotAccepted"},
      {"CRD on its way",
       Object("apiextensions.k8s.io/v1 CustomResourceDefinition",
              "status: {conditions: [{type: Established, status: 'False', reason: Installing}]}"),
       0, Health::kProgressing, "Installing"},
      {"load balancer with an address",
       Object("v1 Service", "spec: {type: LoadBalancer, clusterIP: 10.0.0.1}"), 0, Health::kHealthy,
       ""},
      {"ingress", Object("networking.k8s.io/v1 Ingress", "status: {loadBalancer: {}}"), 0,
       Health::kHealthy, ""},
  });
}

TEST(HealthTest, TerminatingNamesTheFinalizers) {
  HealthResult result = EvaluateHealth(
      Parse(Object("v1 Pod", "metadata: {deletionTimestamp: x, finalizers: [a/b, c]}")), kNow,
      kNow);
  EXPECT_EQ(result.message, "is being deleted, waits for a/b, c");
}

}  // namespace
}  // namespace nave
