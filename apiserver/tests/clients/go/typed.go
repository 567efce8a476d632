package main

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/pager"
	"k8s.io/kube-openapi/pkg/util/proto"
	"k8s.io/utils/ptr"
)

// typed is what all typed clients have.
type typed[T metav1.Object] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// cycle takes one object through its life. change changes what it is about.
func cycle[T metav1.Object](ctx context.Context, api typed[T], made T, change func(T)) {
	name := made.GetName()
	created, err := api.Create(ctx, made, metav1.CreateOptions{})
	must(err)
	check(created.GetUID() != "" && created.GetResourceVersion() != "", "%T has no identity", made)
	read, err := api.Get(ctx, name, metav1.GetOptions{})
	must(err)
	check(equality.Semantic.DeepEqual(read, created), "%T is read as %+v, and was created as %+v", made, read, created)
	_, err = api.Create(ctx, made, metav1.CreateOptions{})
	check(apierrors.IsAlreadyExists(err), "%T, created twice: %v", made, err)

	patches := []struct {
		kind types.PatchType
		body string
	}{
		{types.StrategicMergePatchType, `{"metadata": {"labels": {"a": "1", "b": "2"}}}`},
		{types.MergePatchType, `{"metadata": {"labels": {"a": null}, "annotations": {"note": "this"}}}`},
		{types.JSONPatchType, `[{"op": "test", "path": "/metadata/labels/b", "value": "2"}, {"op": "add", "path": "/metadata/labels/c", "value": "3"}]`},
	}
	for _, patch := range patches {
		_, err = api.Patch(ctx, name, patch.kind, []byte(patch.body), metav1.PatchOptions{})
		check(err == nil, "%T, %s: %v", made, patch.kind, err)
	}
	patched, err := api.Get(ctx, name, metav1.GetOptions{})
	must(err)
	labels := fmt.Sprintf("%v %s", patched.GetLabels(), patched.GetAnnotations()["note"])
	check(labels == "map[b:2 c:3] this", "%T has after its patches: %s", made, labels)

	change(patched)
	updated, err := api.Update(ctx, patched, metav1.UpdateOptions{})
	must(err)
	check(updated.GetResourceVersion() != patched.GetResourceVersion(), "%T did not change", made)
	change(patched)
	patched.SetAnnotations(map[string]string{"too": "late"})
	_, err = api.Update(ctx, patched, metav1.UpdateOptions{})
	check(apierrors.IsConflict(err), "%T, updated from an old revision: %v", made, err)

	wrong := types.UID("another")
	err = api.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	check(apierrors.IsConflict(err), "%T, deleted by another's UID: %v", made, err)
	must(api.Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}))
	_, err = api.Get(ctx, name, metav1.GetOptions{})
	check(apierrors.IsNotFound(err), "%T is still there: %v", made, err)
}

func named() metav1.ObjectMeta { return metav1.ObjectMeta{Name: "one"} }

func pod() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image:1", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}}}
}

func typedBuiltins(ctx context.Context, p *plane) {
	core, apps, rbac := p.typed.CoreV1(), p.typed.AppsV1(), p.typed.RbacV1()
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "one"}}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels}, Spec: pod()}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}
	more := func(rules []rbacv1.PolicyRule) { rules[0].Verbs = append(rules[0].Verbs, "list") }
	subjects := []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "u"}}
	role := rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "view"}

	cycle(ctx, core.ConfigMaps(namespace), &corev1.ConfigMap{ObjectMeta: named(), Data: map[string]string{"k": "v"}, BinaryData: map[string][]byte{"b": {0, 255}}},
		func(o *corev1.ConfigMap) { o.Data["k"] = "w" })
	cycle(ctx, core.Secrets(namespace), &corev1.Secret{ObjectMeta: named(), Data: map[string][]byte{"k": {0, 1, 255}}},
		func(o *corev1.Secret) { o.Data["k"] = []byte("w") })
	cycle(ctx, core.ServiceAccounts(namespace), &corev1.ServiceAccount{ObjectMeta: named()},
		func(o *corev1.ServiceAccount) { o.AutomountServiceAccountToken = ptr.To(false) })
	cycle(ctx, core.Pods(namespace), &corev1.Pod{ObjectMeta: named(), Spec: pod()},
		func(o *corev1.Pod) { o.Spec.Containers[0].Image = "image:2" })
	cycle(ctx, core.Services(namespace), &corev1.Service{ObjectMeta: named(), Spec: corev1.ServiceSpec{Selector: selector.MatchLabels, Ports: []corev1.ServicePort{{Port: 80}}}},
		func(o *corev1.Service) { o.Spec.Ports[0].Port = 81 })
	cycle(ctx, core.Nodes(), &corev1.Node{ObjectMeta: named()},
		func(o *corev1.Node) { o.Spec.Unschedulable = true })
	cycle(ctx, core.Events(namespace), &corev1.Event{ObjectMeta: named(), InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "one"}, Reason: "R", Message: "m", Type: "Normal"},
		func(o *corev1.Event) { o.Count = 2 })
	cycle(ctx, p.typed.EventsV1().Events(namespace), &eventsv1.Event{ObjectMeta: named(), EventTime: metav1.NowMicro(), Action: "A", Reason: "R", Note: "n", Type: "Normal", ReportingController: "example.com/c", ReportingInstance: "c-1", Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "one"}},
		func(o *eventsv1.Event) {
			o.Series = &eventsv1.EventSeries{Count: 2, LastObservedTime: metav1.NowMicro()}
		})
	cycle(ctx, p.typed.CoordinationV1().Leases(namespace), &coordinationv1.Lease{ObjectMeta: named(), Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("a"), RenewTime: ptr.To(metav1.NowMicro())}},
		func(o *coordinationv1.Lease) { o.Spec.HolderIdentity = ptr.To("b") })
	cycle(ctx, apps.Deployments(namespace), &appsv1.Deployment{ObjectMeta: named(), Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(2)), Selector: selector, Template: template}},
		func(o *appsv1.Deployment) { o.Spec.Replicas = ptr.To(int32(3)) })
	cycle(ctx, apps.ReplicaSets(namespace), &appsv1.ReplicaSet{ObjectMeta: named(), Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}},
		func(o *appsv1.ReplicaSet) { o.Spec.Replicas = ptr.To(int32(3)) })
	cycle(ctx, rbac.Roles(namespace), &rbacv1.Role{ObjectMeta: named(), Rules: rules}, func(o *rbacv1.Role) { more(o.Rules) })
	cycle(ctx, rbac.ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: named(), Rules: rules}, func(o *rbacv1.ClusterRole) { more(o.Rules) })
	cycle(ctx, rbac.RoleBindings(namespace), &rbacv1.RoleBinding{ObjectMeta: named(), Subjects: subjects, RoleRef: role},
		func(o *rbacv1.RoleBinding) { o.Subjects[0].Name = "v" })
	cycle(ctx, rbac.ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{ObjectMeta: named(), Subjects: subjects, RoleRef: role},
		func(o *rbacv1.ClusterRoleBinding) { o.Subjects[0].Name = "v" })

	deployment, err := apps.Deployments(namespace).Create(ctx, &appsv1.Deployment{ObjectMeta: named(), Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(2)), Selector: selector, Template: template}}, metav1.CreateOptions{})
	must(err)
	deployment.Status.Replicas, deployment.Spec.Replicas = 5, ptr.To(int32(9))
	status, err := apps.Deployments(namespace).UpdateStatus(ctx, deployment, metav1.UpdateOptions{})
	must(err)
	check(status.Status.Replicas == 5 && *status.Spec.Replicas == 2, "a status was updated to %+v", status)
	side := `{"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "image:3"}]}}}}`
	merged, err := apps.Deployments(namespace).Patch(ctx, "one", types.StrategicMergePatchType, []byte(side), metav1.PatchOptions{})
	must(err)
	check(len(merged.Spec.Template.Spec.Containers) == 2, "a container was merged to %+v", merged.Spec.Template.Spec.Containers)
	may, err := p.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Group: "apps", Resource: "deployments"}}}, metav1.CreateOptions{})
	must(err)
	check(may.Status.Allowed, "may not: %+v", may.Status)
}

func protobufBodies(ctx context.Context, p *plane) {
	typed, counts := p.counted()
	_, err := typed.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "binary"}}, metav1.CreateOptions{})
	must(err)
	must(typed.CoreV1().ConfigMaps(namespace).Delete(ctx, "binary", metav1.DeleteOptions{}))
	check(counts.contentTypes[runtime.ContentTypeProtobuf] == 2, "bodies went as %v", counts.contentTypes)
	for accept := range counts.accepts {
		check(strings.HasPrefix(accept, runtime.ContentTypeProtobuf+","), "it asked for %s", accept)
	}
	_, err = typed.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	must(err)
	watch, err := typed.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{TimeoutSeconds: ptr.To(int64(1))})
	must(err)
	watch.Stop()
	check(counts.answered[runtime.ContentTypeProtobuf] == 4 && len(counts.answered) == 1, "answers came as %v", counts.answered)
}

// oldDocument is in protobuf, which older kubectls read before they create anything.
func oldDocument(_ context.Context, p *plane) {
	document, err := p.typed.Discovery().OpenAPISchema()
	must(err)
	check(document.GetSwagger() == "2.0" && document.GetInfo().GetTitle() != "", "it is %v", document.GetInfo())
	models, err := proto.NewOpenAPIData(document)
	must(err)
	pod := models.LookupModel("io.k8s.api.core.v1.Pod")
	check(pod != nil && pod.GetExtensions()["x-kubernetes-group-version-kind"] != nil, "a pod is %v", pod)
	found := false
	for _, path := range document.GetPaths().GetPath() {
		if path.GetName() != "/api/v1/namespaces/{namespace}/configmaps/{name}" {
			continue
		}
		for _, one := range path.GetValue().GetPatch().GetParameters() {
			found = found || one.GetParameter().GetNonBodyParameter().GetQueryParameterSubSchema().GetName() == "fieldValidation"
		}
	}
	check(found, "a patch has no parameter fieldValidation")
}

func refusals(ctx context.Context, p *plane) {
	configs := p.typed.CoreV1().ConfigMaps(namespace)
	_, err := configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "No Name"}}, metav1.CreateOptions{})
	check(apierrors.IsInvalid(err), "a bad name: %v", err)
	cause, found := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	check(found && cause.Field == "metadata.name", "a bad name has no cause: %+v", err)
	_, err = configs.Patch(ctx, "none", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
	check(apierrors.IsNotFound(err), "a patch of nothing: %v", err)
	_, err = p.typed.CoreV1().ConfigMaps("none").Create(ctx, &corev1.ConfigMap{ObjectMeta: named()}, metav1.CreateOptions{})
	check(apierrors.IsNotFound(err), "no namespace: %v", err)
	_, err = configs.List(ctx, metav1.ListOptions{LabelSelector: "a in"})
	check(apierrors.IsBadRequest(err), "a bad selector: %v", err)
	_, err = configs.List(ctx, metav1.ListOptions{Continue: "nonsense"})
	check(apierrors.IsBadRequest(err), "a bad token: %v", err)
	_, err = configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dry"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	must(err)
	_, err = configs.Get(ctx, "dry", metav1.GetOptions{})
	check(apierrors.IsNotFound(err), "a dry run left something: %v", err)
}

func pagesAndCollections(ctx context.Context, p *plane) {
	configs := p.typed.CoreV1().ConfigMaps(namespace)
	for i := range 7 {
		_, err := configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "page-", Labels: map[string]string{"page": fmt.Sprint(i)}}}, metav1.CreateOptions{})
		must(err)
	}
	var pages, seen int
	each := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		pages++
		return configs.List(ctx, options)
	})
	each.PageSize = 3
	must(each.EachListItem(ctx, metav1.ListOptions{LabelSelector: "page"}, func(runtime.Object) error { seen++; return nil }))
	check(seen == 7 && pages == 3, "%d came in %d pages", seen, pages)
	must(configs.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "page notin (0, 1)"}))
	left, err := configs.List(ctx, metav1.ListOptions{LabelSelector: "page"})
	must(err)
	check(len(left.Items) == 2, "%d are left", len(left.Items))
}
