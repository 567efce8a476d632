// Package kinds names the built-in kinds that the server knows.
package kinds

import (
	admissionregistration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	certificates "k8s.io/api/certificates/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Kind is a kind by the names that the wire uses, and a zero value of its Go type.
type Kind struct {
	APIVersion string
	Kind       string
	Object     any
}

// Everywhere is the API version of what is known in every group: options of requests, frames of watches.
const Everywhere = "*"

// All is every kind, in no order.
var All = []Kind{
	{"v1", "Namespace", &core.Namespace{}},
	{"v1", "NamespaceList", &core.NamespaceList{}},
	{"v1", "ConfigMap", &core.ConfigMap{}},
	{"v1", "ConfigMapList", &core.ConfigMapList{}},
	{"v1", "Secret", &core.Secret{}},
	{"v1", "SecretList", &core.SecretList{}},
	{"v1", "ServiceAccount", &core.ServiceAccount{}},
	{"v1", "ServiceAccountList", &core.ServiceAccountList{}},
	{"v1", "Event", &core.Event{}},
	{"v1", "EventList", &core.EventList{}},
	{"v1", "Node", &core.Node{}},
	{"v1", "NodeList", &core.NodeList{}},
	{"v1", "Pod", &core.Pod{}},
	{"v1", "PodList", &core.PodList{}},
	{"v1", "Service", &core.Service{}},
	{"v1", "ServiceList", &core.ServiceList{}},
	{"v1", "ResourceQuota", &core.ResourceQuota{}},
	{"v1", "ResourceQuotaList", &core.ResourceQuotaList{}},
	{"v1", "Status", &meta.Status{}},
	{"apps/v1", "Deployment", &apps.Deployment{}},
	{"apps/v1", "DeploymentList", &apps.DeploymentList{}},
	{"apps/v1", "ReplicaSet", &apps.ReplicaSet{}},
	{"apps/v1", "ReplicaSetList", &apps.ReplicaSetList{}},
	{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", &admissionregistration.MutatingWebhookConfiguration{}},
	{"admissionregistration.k8s.io/v1", "MutatingWebhookConfigurationList", &admissionregistration.MutatingWebhookConfigurationList{}},
	{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", &admissionregistration.ValidatingWebhookConfiguration{}},
	{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfigurationList", &admissionregistration.ValidatingWebhookConfigurationList{}},
	{"coordination.k8s.io/v1", "Lease", &coordination.Lease{}},
	{"coordination.k8s.io/v1", "LeaseList", &coordination.LeaseList{}},
	{"events.k8s.io/v1", "Event", &events.Event{}},
	{"events.k8s.io/v1", "EventList", &events.EventList{}},
	{"rbac.authorization.k8s.io/v1", "Role", &rbac.Role{}},
	{"rbac.authorization.k8s.io/v1", "RoleList", &rbac.RoleList{}},
	{"rbac.authorization.k8s.io/v1", "RoleBinding", &rbac.RoleBinding{}},
	{"rbac.authorization.k8s.io/v1", "RoleBindingList", &rbac.RoleBindingList{}},
	{"rbac.authorization.k8s.io/v1", "ClusterRole", &rbac.ClusterRole{}},
	{"rbac.authorization.k8s.io/v1", "ClusterRoleList", &rbac.ClusterRoleList{}},
	{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", &rbac.ClusterRoleBinding{}},
	{"rbac.authorization.k8s.io/v1", "ClusterRoleBindingList", &rbac.ClusterRoleBindingList{}},
	{"authentication.k8s.io/v1", "TokenRequest", &authentication.TokenRequest{}},
	{"authentication.k8s.io/v1", "TokenReview", &authentication.TokenReview{}},
	{"authentication.k8s.io/v1", "SelfSubjectReview", &authentication.SelfSubjectReview{}},
	{"authorization.k8s.io/v1", "SubjectAccessReview", &authorization.SubjectAccessReview{}},
	{"authorization.k8s.io/v1", "LocalSubjectAccessReview", &authorization.LocalSubjectAccessReview{}},
	{"authorization.k8s.io/v1", "SelfSubjectAccessReview", &authorization.SelfSubjectAccessReview{}},
	{"authorization.k8s.io/v1", "SelfSubjectRulesReview", &authorization.SelfSubjectRulesReview{}},
	{"v1", "Endpoints", &core.Endpoints{}},
	{"v1", "EndpointsList", &core.EndpointsList{}},
	{"v1", "LimitRange", &core.LimitRange{}},
	{"v1", "LimitRangeList", &core.LimitRangeList{}},
	{"v1", "PersistentVolume", &core.PersistentVolume{}},
	{"v1", "PersistentVolumeList", &core.PersistentVolumeList{}},
	{"v1", "PersistentVolumeClaim", &core.PersistentVolumeClaim{}},
	{"v1", "PersistentVolumeClaimList", &core.PersistentVolumeClaimList{}},
	{"v1", "PodTemplate", &core.PodTemplate{}},
	{"v1", "PodTemplateList", &core.PodTemplateList{}},
	{"v1", "ReplicationController", &core.ReplicationController{}},
	{"v1", "ReplicationControllerList", &core.ReplicationControllerList{}},
	{"apps/v1", "DaemonSet", &apps.DaemonSet{}},
	{"apps/v1", "DaemonSetList", &apps.DaemonSetList{}},
	{"apps/v1", "StatefulSet", &apps.StatefulSet{}},
	{"apps/v1", "StatefulSetList", &apps.StatefulSetList{}},
	{"batch/v1", "CronJob", &batch.CronJob{}},
	{"batch/v1", "CronJobList", &batch.CronJobList{}},
	{"batch/v1", "Job", &batch.Job{}},
	{"batch/v1", "JobList", &batch.JobList{}},
	{"autoscaling/v1", "HorizontalPodAutoscaler", &autoscaling.HorizontalPodAutoscaler{}},
	{"autoscaling/v1", "HorizontalPodAutoscalerList", &autoscaling.HorizontalPodAutoscalerList{}},
	{"autoscaling/v2", "HorizontalPodAutoscaler", &autoscalingv2.HorizontalPodAutoscaler{}},
	{"autoscaling/v2", "HorizontalPodAutoscalerList", &autoscalingv2.HorizontalPodAutoscalerList{}},
	{"certificates.k8s.io/v1", "CertificateSigningRequest", &certificates.CertificateSigningRequest{}},
	{"certificates.k8s.io/v1", "CertificateSigningRequestList", &certificates.CertificateSigningRequestList{}},
	{"discovery.k8s.io/v1", "EndpointSlice", &discovery.EndpointSlice{}},
	{"discovery.k8s.io/v1", "EndpointSliceList", &discovery.EndpointSliceList{}},
	{"networking.k8s.io/v1", "Ingress", &networking.Ingress{}},
	{"networking.k8s.io/v1", "IngressList", &networking.IngressList{}},
	{"networking.k8s.io/v1", "NetworkPolicy", &networking.NetworkPolicy{}},
	{"networking.k8s.io/v1", "NetworkPolicyList", &networking.NetworkPolicyList{}},
	{"policy/v1", "PodDisruptionBudget", &policy.PodDisruptionBudget{}},
	{"policy/v1", "PodDisruptionBudgetList", &policy.PodDisruptionBudgetList{}},
	{"scheduling.k8s.io/v1", "PriorityClass", &scheduling.PriorityClass{}},
	{"scheduling.k8s.io/v1", "PriorityClassList", &scheduling.PriorityClassList{}},
	{"storage.k8s.io/v1", "StorageClass", &storage.StorageClass{}},
	{"storage.k8s.io/v1", "StorageClassList", &storage.StorageClassList{}},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinition", &apiextensions.CustomResourceDefinition{}},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinitionList", &apiextensions.CustomResourceDefinitionList{}},
	{"apiregistration.k8s.io/v1", "APIService", &apiregistration.APIService{}},
	{"apiregistration.k8s.io/v1", "APIServiceList", &apiregistration.APIServiceList{}},
	{"node.k8s.io/v1", "RuntimeClass", &node.RuntimeClass{}},
	{"node.k8s.io/v1", "RuntimeClassList", &node.RuntimeClassList{}},
	{"storage.k8s.io/v1", "CSINode", &storage.CSINode{}},
	{"storage.k8s.io/v1", "CSINodeList", &storage.CSINodeList{}},
	{"policy/v1", "Eviction", &policy.Eviction{}},
	{"autoscaling/v1", "Scale", &autoscaling.Scale{}},
	{"meta.k8s.io/v1", "PartialObjectMetadata", &meta.PartialObjectMetadata{}},
	{"meta.k8s.io/v1", "PartialObjectMetadataList", &meta.PartialObjectMetadataList{}},
	{Everywhere, "CreateOptions", &meta.CreateOptions{}},
	{Everywhere, "DeleteOptions", &meta.DeleteOptions{}},
	{Everywhere, "GetOptions", &meta.GetOptions{}},
	{Everywhere, "ListOptions", &meta.ListOptions{}},
	{Everywhere, "PatchOptions", &meta.PatchOptions{}},
	{Everywhere, "UpdateOptions", &meta.UpdateOptions{}},
	{Everywhere, "WatchEvent", &meta.WatchEvent{}},
}
