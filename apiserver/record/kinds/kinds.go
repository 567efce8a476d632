// Package kinds names the built-in kinds that the server knows.
package kinds

import (
	admissionregistration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
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
