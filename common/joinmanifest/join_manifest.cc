#include "common/joinmanifest/join_manifest.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/error.h"
#include "common/base/status_macros.h"
#include "common/model/names.h"
#include "common/pki/join_token.h"

namespace nave {
namespace {

constexpr int kReplicasMax = 10;
constexpr size_t kTextBytesMax = 1024;

// Words in capitals between @ are replaced. What comes from outside stands in quotes.
constexpr char kHeader[] = R"(# Joins this Kubernetes cluster to the hub at @HUB@@AS@.
# Apply it with cluster admin rights: kubectl apply -f FILE. Applying it again is harmless.
# It holds a join token: for one use and for a short time, yet keep it as secret as a password.
apiVersion: v1
kind: Namespace
metadata:
  name: "@NAMESPACE@"
  labels:
    app.kubernetes.io/part-of: nave
    pod-security.kubernetes.io/enforce: restricted
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: @NAME@
  namespace: "@NAMESPACE@"
  labels:
    app.kubernetes.io/name: @NAME@
    app.kubernetes.io/part-of: nave
---
)";

constexpr char kFullProfile[] =
    R"(# Profile "full": the agent may read and write every object of this cluster, Secrets included, because bundles may hold
# any kind of object. The verbs escalate and bind let it create the roles and bindings that a bundle holds; with them it
# can give out any right. It may not impersonate, and nobody can reach it: it listens on nothing but its health port.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: @NAME@
  labels:
    app.kubernetes.io/name: @NAME@
    app.kubernetes.io/part-of: nave
rules:
- apiGroups: ["*"]
  resources: ["*"]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [clusterroles, roles]
  verbs: [escalate, bind]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: @NAME@
  labels:
    app.kubernetes.io/name: @NAME@
    app.kubernetes.io/part-of: nave
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: @NAME@
subjects:
- kind: ServiceAccount
  name: @NAME@
  namespace: "@NAMESPACE@"
---
)";

constexpr char kSecret[] = R"(apiVersion: v1
kind: Secret
metadata:
  name: @SECRET@
  namespace: "@NAMESPACE@"
  labels:
    app.kubernetes.io/name: @NAME@
    app.kubernetes.io/part-of: nave
type: Opaque
data:
  @KEY@: @TOKEN@
---
)";

constexpr char kDeployment[] = R"(apiVersion: apps/v1
kind: Deployment
metadata:
  name: @NAME@
  namespace: "@NAMESPACE@"
  labels:
    app.kubernetes.io/name: @NAME@
    app.kubernetes.io/part-of: nave
spec:
  # One pod leads and holds the stream to the hub; the others take over within seconds.
  replicas: @REPLICAS@
  revisionHistoryLimit: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: @NAME@
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  template:
    metadata:
      labels:
        app.kubernetes.io/name: @NAME@
        app.kubernetes.io/part-of: nave
    spec:
      serviceAccountName: @NAME@
      automountServiceAccountToken: true
      enableServiceLinks: false  # Its variables would begin with NAVE_ where a service is named so.
      terminationGracePeriodSeconds: 30
      nodeSelector:
        kubernetes.io/os: linux
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            app.kubernetes.io/name: @NAME@
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
@PULL_SECRET@      containers:
      - name: agent
        image: "@IMAGE@"
        args:
        - --token-file=@TOKEN_PATH@
        env:
        - name: NAVE_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        - name: NAVE_POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
@PROXY@        ports:
        - name: health
          containerPort: @PORT@
          protocol: TCP
        # Never depends on the hub or the API server: a restart would mend neither.
        livenessProbe:
          httpGet:
            path: /livez
            port: health
          initialDelaySeconds: 5
          periodSeconds: 10
          timeoutSeconds: 5
          failureThreshold: 6
        readinessProbe:
          httpGet:
            path: /readyz
            port: health
          periodSeconds: 5
          timeoutSeconds: 5
          failureThreshold: 2
        resources:
          requests:
            cpu: 10m
            memory: 32Mi
          limits:
            memory: 128Mi
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop: [ALL]
        volumeMounts:
        - name: join-token
          mountPath: @TOKEN_FOLDER@
          readOnly: true
      volumes:
      # Optional: an agent that has joined runs without it, so the Secret may be deleted.
      - name: join-token
        secret:
          secretName: @SECRET@
          optional: true
          defaultMode: 288  # 0440
)";

absl::Status Invalid(absl::string_view field, absl::string_view rule, absl::string_view actual) {
  return MakeError(Reason::kInvalidField,
                   absl::StrCat("`", field, "`: ", rule, ", got '", actual, "'"),
                   {{"field", std::string(field)}});
}

// Text that can stand in double quotes or a comment as it is.
bool IsPlain(absl::string_view text) {
  if (text.size() > kTextBytesMax) return false;
  for (char c : text) {
    if (!absl::ascii_isgraph(c) || c == '"' || c == '\\') return false;
  }
  return true;
}

absl::Status Check(const JoinManifestOptions& options) {
  if (options.profile == "namespaced") {
    return MakeError(Reason::kNotSupportedYet,
                     "`profile`: 'namespaced' comes with a later release; 'full' is allowed");
  }
  if (options.profile != "full") return Invalid("profile", "must be 'full'", options.profile);
  if (!IsId(options.agent_namespace) || options.agent_namespace == "default" ||
      options.agent_namespace.rfind("kube-", 0) == 0) {
    return Invalid(
        "agent_namespace",
        "must be an RFC 1123 label of at most 63 characters, other than 'default' and 'kube-…'",
        options.agent_namespace);
  }
  if (!options.cluster.empty() && !IsId(options.cluster)) {
    return Invalid("cluster", "must be an RFC 1123 label of at most 63 characters",
                   options.cluster);
  }
  if (options.image.empty() || !IsPlain(options.image)) {
    return Invalid("image", "must be an image reference of at most 1024 characters", options.image);
  }
  if (!options.image_pull_secret.empty() && !IsId(options.image_pull_secret)) {
    return Invalid("image_pull_secret", "must be an RFC 1123 label of at most 63 characters",
                   options.image_pull_secret);
  }
  if (options.replicas < 1 || options.replicas > kReplicasMax) {
    return Invalid("replicas", absl::StrCat("must be 1 to ", kReplicasMax),
                   absl::StrCat(options.replicas));
  }
  // A proxy's URL may hold a password, so the error does not repeat it.
  if (!IsPlain(options.https_proxy))
    return Invalid("https_proxy", "must be a URL of at most 1024 characters", "…");
  if (!IsPlain(options.no_proxy)) {
    return Invalid("no_proxy", "must be names, addresses and networks with commas between",
                   options.no_proxy);
  }
  return absl::OkStatus();
}

std::string Variable(absl::string_view name, absl::string_view value) {
  if (value.empty()) return "";
  return absl::StrCat("        - name: ", name, "\n          value: \"", value, "\"\n");
}

}  // namespace

absl::StatusOr<std::string> FormatJoinManifest(const JoinManifestOptions& options) {
  RETURN_IF_ERROR(Check(options));
  ASSIGN_OR_RETURN(const JoinTokenText token, ParseJoinToken(options.token));
  if (!IsPlain(token.hub_address))
    return MakeError(Reason::kTokenMalformed, "join token: unusable hub address");
  const std::string pull_secret =
      options.image_pull_secret.empty()
          ? ""
          : absl::StrCat("      imagePullSecrets:\n      - name: ", options.image_pull_secret,
                         "\n");
  const std::string proxy =
      Variable("HTTPS_PROXY", options.https_proxy) + Variable("NO_PROXY", options.no_proxy);
  absl::string_view folder = kJoinTokenPath;
  folder.remove_suffix(sizeof(kJoinTokenKey));  // With the slash in place of the final zero.
  return absl::StrReplaceAll(
      absl::StrCat(kHeader, kFullProfile, kSecret, kDeployment),
      {{"@HUB@", token.hub_address},
       {"@AS@", options.cluster.empty() ? "" : absl::StrCat(" as \"", options.cluster, "\"")},
       {"@NAMESPACE@", options.agent_namespace},
       {"@NAME@", kAgentName},
       {"@SECRET@", kJoinTokenSecret},
       {"@KEY@", kJoinTokenKey},
       {"@TOKEN@", absl::Base64Escape(absl::StripAsciiWhitespace(options.token))},
       {"@TOKEN_PATH@", kJoinTokenPath},
       {"@TOKEN_FOLDER@", folder},
       {"@REPLICAS@", absl::StrCat(options.replicas)},
       {"@PULL_SECRET@", pull_secret},
       {"@IMAGE@", options.image},
       {"@PROXY@", proxy},
       {"@PORT@", absl::StrCat(kAgentHealthPort)}});
}

}  // namespace nave
