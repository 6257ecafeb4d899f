// The fields of the built-in kinds. One line a type, "Name: field=type …", continued by indented
// lines:
//   str int num bool quantity intstr any        scalars, and what is not known
//   Name                                        another line of the table
//   map(T) list(T) set(T)                       granular map of strings to T; atomic list; set
//   keyed(T;a,b~x)                              list whose items are told apart by the keys a and b
//   (b defaults to "x") !T                                          one owner for the whole value
//   ...                                         further fields are allowed
// Lists and maps that are atomic on real servers are atomic here.
#include "tests/kubesim/schema.h"

namespace nave::kubesim {

absl::string_view BuiltinSchemaTable() {
  static constexpr char kTable[] = R"(
ObjectMeta: name,namespace,generateName,uid,resourceVersion,creationTimestamp,deletionTimestamp,selfLink=str
 generation,deletionGracePeriodSeconds=int labels,annotations=map(str) finalizers=set(str)
 ownerReferences=keyed(!OwnerReference;uid) managedFields=list(any)
OwnerReference: apiVersion,kind,name,uid=str controller,blockOwnerDeletion=bool
LabelSelector: matchLabels=map(str) matchExpressions=list(any)
LocalObjectReference: name=str
ObjectReference: apiVersion,kind,name,namespace,uid,resourceVersion,fieldPath=str
Condition: type,status,reason,message,lastTransitionTime,lastUpdateTime,lastProbeTime,lastHeartbeatTime=str
 observedGeneration=int ...
ConditionStatus: conditions=keyed(Condition;type) ...

KeySelector: name,key=str optional=bool
FieldSelector: apiVersion,fieldPath=str
ResourceFieldSelector: containerName,resource=str divisor=quantity
EnvVarSource: configMapKeyRef,secretKeyRef=!KeySelector fieldRef=!FieldSelector resourceFieldRef=!ResourceFieldSelector
 fileKeyRef=any
EnvVar: name,value=str valueFrom=EnvVarSource
EnvFromEntry: name=str optional=bool
EnvFromSource: prefix=str configMapRef,secretRef=EnvFromEntry
ContainerPort: name,hostIP,protocol=str containerPort,hostPort=int
ResourceRequirements: limits,requests=map(quantity) claims=keyed(any;name)
VolumeMount: name,mountPath,subPath,subPathExpr,mountPropagation,recursiveReadOnly=str readOnly=bool
VolumeDevice: name,devicePath=str
HttpHeader: name,value=str
HttpGetAction: path,host,scheme=str port=intstr httpHeaders=list(HttpHeader)
TcpSocketAction: port=intstr host=str
GrpcAction: port=int service=str
ExecAction: command=list(str)
Probe: exec=ExecAction httpGet=HttpGetAction tcpSocket=TcpSocketAction grpc=GrpcAction
 initialDelaySeconds,timeoutSeconds,periodSeconds,successThreshold,failureThreshold,terminationGracePeriodSeconds=int
LifecycleHandler: exec=ExecAction httpGet=HttpGetAction tcpSocket=TcpSocketAction sleep=any
Lifecycle: postStart,preStop=LifecycleHandler stopSignal=str
Capabilities: add,drop=list(str)
SeLinuxOptions: user,role,type,level=str
SeccompProfile: type,localhostProfile=str
SecurityContext: capabilities=Capabilities privileged,runAsNonRoot,readOnlyRootFilesystem,allowPrivilegeEscalation=bool
 seLinuxOptions=SeLinuxOptions windowsOptions=any runAsUser,runAsGroup=int procMount=str seccompProfile=SeccompProfile
 appArmorProfile=any
Container: name,image,workingDir,terminationMessagePath,terminationMessagePolicy,imagePullPolicy,restartPolicy=str
 command,args=list(str) ports=keyed(ContainerPort;containerPort,protocol~TCP) envFrom=list(EnvFromSource)
 env=keyed(EnvVar;name) resources=ResourceRequirements resizePolicy,restartPolicyRules=list(any)
 volumeMounts=keyed(VolumeMount;mountPath) volumeDevices=keyed(VolumeDevice;devicePath)
 livenessProbe,readinessProbe,startupProbe=Probe lifecycle=Lifecycle securityContext=SecurityContext
 stdin,stdinOnce,tty=bool targetContainerName=str
KeyToPath: key,path=str mode=int
ConfigMapVolume: name=str defaultMode=int optional=bool items=list(KeyToPath)
SecretVolume: secretName=str defaultMode=int optional=bool items=list(KeyToPath)
EmptyDir: medium=str sizeLimit=quantity
HostPath: path,type=str
PvcVolume: claimName=str readOnly=bool
DownwardItem: path=str fieldRef=!FieldSelector resourceFieldRef=!ResourceFieldSelector mode=int
DownwardVolume: items=list(DownwardItem) defaultMode=int
Projected: sources=list(any) defaultMode=int
Volume: name=str configMap=ConfigMapVolume secret=SecretVolume emptyDir=EmptyDir hostPath=HostPath
 persistentVolumeClaim=PvcVolume downwardAPI=DownwardVolume projected=Projected csi,nfs,iscsi,ephemeral,image,rbd,cephfs,
 fc,glusterfs,gcePersistentDisk,awsElasticBlockStore,azureDisk,azureFile=any
Toleration: key,operator,value,effect=str tolerationSeconds=int
NodeSelector: nodeSelectorTerms=list(any)
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution=!NodeSelector
 preferredDuringSchedulingIgnoredDuringExecution=list(any)
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution,preferredDuringSchedulingIgnoredDuringExecution=list(any)
Affinity: nodeAffinity=NodeAffinity podAffinity,podAntiAffinity=PodAffinity
PodSecurityContext: seLinuxOptions=SeLinuxOptions windowsOptions=any runAsUser,runAsGroup,fsGroup=int
 runAsNonRoot=bool supplementalGroups=list(int) sysctls=list(any) fsGroupChangePolicy,supplementalGroupsPolicy=str
 seccompProfile=SeccompProfile appArmorProfile=any seLinuxChangePolicy=str
TopologySpread: maxSkew,minDomains=int topologyKey,whenUnsatisfiable,nodeAffinityPolicy,nodeTaintsPolicy=str
 labelSelector=!LabelSelector matchLabelKeys=list(str)
HostAlias: ip=str hostnames=list(str)
PodSpec: volumes=keyed(Volume;name) initContainers,containers,ephemeralContainers=keyed(Container;name)
 restartPolicy,dnsPolicy,serviceAccountName,serviceAccount,nodeName,hostname,subdomain,schedulerName,priorityClassName,
 runtimeClassName,preemptionPolicy,hostnameOverride=str terminationGracePeriodSeconds,activeDeadlineSeconds,priority=int
 nodeSelector=!map(str) automountServiceAccountToken,hostNetwork,hostPID,hostIPC,shareProcessNamespace,enableServiceLinks,
 setHostnameAsFQDN,hostUsers=bool securityContext=PodSecurityContext imagePullSecrets=keyed(LocalObjectReference;name)
 affinity=Affinity tolerations=list(Toleration) hostAliases=keyed(HostAlias;ip) dnsConfig=any readinessGates=list(any)
 overhead=map(quantity) topologySpreadConstraints=keyed(TopologySpread;topologyKey,whenUnsatisfiable) os=any
 schedulingGates=keyed(any;name) resourceClaims=keyed(any;name) resources=ResourceRequirements workloadRef=any
PodTemplate: metadata=ObjectMeta spec=PodSpec
PodStatus: conditions=keyed(Condition;type) podIPs=keyed(any;ip) hostIPs=list(any) ...
Pod: apiVersion,kind=str metadata=ObjectMeta spec=PodSpec status=PodStatus

RollingDeployment: maxSurge,maxUnavailable=intstr
DeploymentStrategy: type=str rollingUpdate=RollingDeployment
DeploymentSpec: replicas,minReadySeconds,revisionHistoryLimit,progressDeadlineSeconds=int selector=!LabelSelector
 template=PodTemplate strategy=DeploymentStrategy paused=bool
Deployment: apiVersion,kind=str metadata=ObjectMeta spec=DeploymentSpec status=ConditionStatus
ReplicaSetSpec: replicas,minReadySeconds=int selector=!LabelSelector template=PodTemplate
ReplicaSet: apiVersion,kind=str metadata=ObjectMeta spec=ReplicaSetSpec status=ConditionStatus
RollingStatefulSet: partition=int maxUnavailable=intstr
StatefulSetStrategy: type=str rollingUpdate=RollingStatefulSet
StatefulSetSpec: replicas,minReadySeconds,revisionHistoryLimit=int selector=!LabelSelector template=PodTemplate
 volumeClaimTemplates=list(PersistentVolumeClaim) serviceName,podManagementPolicy=str updateStrategy=StatefulSetStrategy
 persistentVolumeClaimRetentionPolicy,ordinals=any
StatefulSet: apiVersion,kind=str metadata=ObjectMeta spec=StatefulSetSpec status=ConditionStatus
DaemonSetStrategy: type=str rollingUpdate=RollingDeployment
DaemonSetSpec: minReadySeconds,revisionHistoryLimit=int selector=!LabelSelector template=PodTemplate
 updateStrategy=DaemonSetStrategy
DaemonSet: apiVersion,kind=str metadata=ObjectMeta spec=DaemonSetSpec status=ConditionStatus
JobSpec: parallelism,completions,backoffLimit,activeDeadlineSeconds,ttlSecondsAfterFinished,backoffLimitPerIndex,
 maxFailedIndexes=int selector=!LabelSelector manualSelector,suspend=bool template=PodTemplate
 completionMode,podReplacementPolicy,managedBy=str podFailurePolicy,successPolicy=any
JobStatus: conditions=list(Condition) ...
Job: apiVersion,kind=str metadata=ObjectMeta spec=JobSpec status=JobStatus
JobTemplate: metadata=ObjectMeta spec=JobSpec
CronJobSpec: schedule,timeZone,concurrencyPolicy=str startingDeadlineSeconds,successfulJobsHistoryLimit,
 failedJobsHistoryLimit=int suspend=bool jobTemplate=JobTemplate
CronJob: apiVersion,kind=str metadata=ObjectMeta spec=CronJobSpec status=any

ServicePort: name,protocol,appProtocol=str port,nodePort=int targetPort=intstr
ServiceSpec: ports=keyed(ServicePort;port,protocol~TCP) selector=!map(str) clusterIP,type,sessionAffinity,loadBalancerIP,
 externalName,externalTrafficPolicy,ipFamilyPolicy,loadBalancerClass,internalTrafficPolicy,trafficDistribution=str
 clusterIPs,externalIPs,loadBalancerSourceRanges,ipFamilies=list(str) healthCheckNodePort=int
 publishNotReadyAddresses,allocateLoadBalancerNodePorts=bool sessionAffinityConfig=any
Service: apiVersion,kind=str metadata=ObjectMeta spec=ServiceSpec status=ConditionStatus
Endpoints: apiVersion,kind=str metadata=ObjectMeta subsets=list(any)
EndpointSlice: apiVersion,kind,addressType=str metadata=ObjectMeta endpoints,ports=list(any)

Namespace: apiVersion,kind=str metadata=ObjectMeta spec=NamespaceSpec status=ConditionStatus
NamespaceSpec: finalizers=list(str)
ConfigMap: apiVersion,kind=str metadata=ObjectMeta data,binaryData=map(str) immutable=bool
Secret: apiVersion,kind,type=str metadata=ObjectMeta data,stringData=map(str) immutable=bool
ServiceAccount: apiVersion,kind=str metadata=ObjectMeta secrets=keyed(ObjectReference;name)
 imagePullSecrets=list(LocalObjectReference) automountServiceAccountToken=bool
Event: apiVersion,kind,reason,message,type,firstTimestamp,lastTimestamp,eventTime,action,reportingComponent,
 reportingInstance=str metadata=ObjectMeta involvedObject,source,series,related=any count=int
PersistentVolumeClaimSpec: accessModes=list(str) selector=!LabelSelector resources=ResourceRequirements volumeName,storageClassName,
 volumeMode,volumeAttributesClassName=str dataSource,dataSourceRef=!any
PersistentVolumeClaim: apiVersion,kind=str metadata=ObjectMeta spec=PersistentVolumeClaimSpec status=ConditionStatus
PersistentVolumeSpec: capacity=map(quantity) accessModes,mountOptions=list(str) claimRef=!ObjectReference
 persistentVolumeReclaimPolicy,storageClassName,volumeMode=str ...
PersistentVolume: apiVersion,kind=str metadata=ObjectMeta spec=PersistentVolumeSpec status=any
NodeSpec: podCIDR,providerID=str podCIDRs=set(str) taints=list(any) unschedulable=bool ...
NodeStatus: conditions=keyed(Condition;type) addresses=keyed(any;type) ...
Node: apiVersion,kind=str metadata=ObjectMeta spec=NodeSpec status=NodeStatus
LeaseSpec: holderIdentity,acquireTime,renewTime,preferredHolder,strategy=str leaseDurationSeconds,leaseTransitions=int
Lease: apiVersion,kind=str metadata=ObjectMeta spec=LeaseSpec

PolicyRule: apiGroups,resources,verbs,resourceNames,nonResourceURLs=list(str)
Role: apiVersion,kind=str metadata=ObjectMeta rules=list(PolicyRule)
ClusterRole: apiVersion,kind=str metadata=ObjectMeta rules=list(PolicyRule) aggregationRule=AggregationRule
AggregationRule: clusterRoleSelectors=list(LabelSelector)
Subject: kind,apiGroup,name,namespace=str
RoleRef: apiGroup,kind,name=str
RoleBinding: apiVersion,kind=str metadata=ObjectMeta subjects=list(Subject) roleRef=!RoleRef
ClusterRoleBinding: apiVersion,kind=str metadata=ObjectMeta subjects=list(Subject) roleRef=!RoleRef

CrdNames: plural,singular,kind,listKind=str shortNames,categories=list(str)
CrdVersion: name,deprecationWarning=str served,storage,deprecated=bool schema=CrdSchema subresources=any
 additionalPrinterColumns,selectableFields=list(any)
CrdSchema: openAPIV3Schema=any
CrdSpec: group,scope=str names=CrdNames versions=list(CrdVersion) conversion=any preserveUnknownFields=bool
CrdStatus: conditions=keyed(Condition;type) acceptedNames=any storedVersions=list(str) ...
CustomResourceDefinition: apiVersion,kind=str metadata=ObjectMeta spec=CrdSpec status=CrdStatus

HpaSpec: scaleTargetRef=any minReplicas,maxReplicas=int metrics=list(any) behavior=any
HorizontalPodAutoscaler: apiVersion,kind=str metadata=ObjectMeta spec=HpaSpec status=ConditionStatus
PdbSpec: minAvailable,maxUnavailable=intstr selector=!LabelSelector unhealthyPodEvictionPolicy=str
PodDisruptionBudget: apiVersion,kind=str metadata=ObjectMeta spec=PdbSpec status=ConditionStatus
IngressSpec: ingressClassName=str defaultBackend=any tls,rules=list(any)
Ingress: apiVersion,kind=str metadata=ObjectMeta spec=IngressSpec status=any
IngressClass: apiVersion,kind=str metadata=ObjectMeta spec=any
NetworkPolicySpec: podSelector=!LabelSelector ingress,egress=list(any) policyTypes=list(str)
NetworkPolicy: apiVersion,kind=str metadata=ObjectMeta spec=NetworkPolicySpec
Webhook: name,failurePolicy,matchPolicy,sideEffects,reinvocationPolicy=str clientConfig=any rules=list(any)
 namespaceSelector,objectSelector=!LabelSelector timeoutSeconds=int admissionReviewVersions=list(str)
 matchConditions=keyed(any;name)
ValidatingWebhookConfiguration: apiVersion,kind=str metadata=ObjectMeta webhooks=keyed(Webhook;name)
MutatingWebhookConfiguration: apiVersion,kind=str metadata=ObjectMeta webhooks=keyed(Webhook;name)
PriorityClass: apiVersion,kind,description,preemptionPolicy=str metadata=ObjectMeta value=int globalDefault=bool
StorageClass: apiVersion,kind,provisioner,reclaimPolicy,volumeBindingMode=str metadata=ObjectMeta parameters=map(str)
 mountOptions=list(str) allowVolumeExpansion=bool allowedTopologies=list(any)
ApiServiceSpec: group,version,caBundle=str insecureSkipTLSVerify=bool groupPriorityMinimum,versionPriority=int service=any
APIService: apiVersion,kind=str metadata=ObjectMeta spec=ApiServiceSpec status=ConditionStatus
ResourceQuota: apiVersion,kind=str metadata=ObjectMeta spec=any status=any
LimitRange: apiVersion,kind=str metadata=ObjectMeta spec=any
)";
  return kTable;
}

}  // namespace nave::kubesim
