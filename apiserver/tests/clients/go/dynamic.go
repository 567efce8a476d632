package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

type tree = map[string]any

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func definition() *unstructured.Unstructured {
	whatever := tree{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return &unstructured.Unstructured{Object: tree{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": tree{"name": "gophers.example.com"},
		"spec": tree{
			"group": "example.com", "scope": "Namespaced",
			"names": tree{"plural": "gophers", "kind": "Gopher"},
			"versions": []any{tree{"name": "v1", "served": true, "storage": true, "subresources": tree{"status": tree{}},
				"schema": tree{"openAPIV3Schema": tree{"type": "object", "properties": tree{
					"spec":   tree{"type": "object", "properties": tree{"size": tree{"type": "integer", "minimum": int64(1), "default": int64(3)}}},
					"status": whatever,
				}}},
			}},
		},
	}}
}

func gopher(name string, spec tree) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: tree{
		"apiVersion": "example.com/v1", "kind": "Gopher", "metadata": tree{"name": name}, "spec": spec,
	}}
}

func knownKinds(ctx context.Context, p *plane) {
	version, err := p.typed.Discovery().ServerVersion()
	must(err)
	check(strings.HasPrefix(version.GitVersion, "v1."), "the version is %s", version)
	groups, resources, err := p.typed.Discovery().ServerGroupsAndResources()
	must(err)
	check(slices.ContainsFunc(groups, func(g *metav1.APIGroup) bool { return g.Name == "apps" }), "no apps in %v", groups)
	for _, verb := range []string{"list", "watch", "create", "update", "patch", "delete", "deletecollection"} {
		able := discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{verb}}, resources)
		known, err := discovery.GroupVersionResources(able)
		must(err)
		_, deployments := known[schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}]
		check(deployments, "discovery knows no %s of deployments", verb)
	}
	_, err = p.typed.Discovery().ServerPreferredResources()
	must(err)
	paths, err := p.typed.Discovery().OpenAPIV3().Paths()
	must(err)
	document, err := paths["apis/apps/v1"].Schema("application/json")
	must(err)
	check(strings.Contains(string(document), "io.k8s.api.apps.v1.Deployment"), "the document of apps/v1 knows no deployments")

	// A definition is found when it is established, by a mapper that looked before.
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(p.typed.Discovery()))
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	must(err)
	check(mapping.Resource.Resource == "deployments" && mapping.Scope.Name() == meta.RESTScopeNameNamespace, "a deployment is %+v", mapping)
	_, err = mapper.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Gopher"})
	check(meta.IsNoMatchError(err), "a kind that is not there: %v", err)
	_, err = p.dynamic.Resource(definitions).Create(ctx, definition(), metav1.CreateOptions{})
	must(err)
	eventually("the definition is established", func() bool {
		now, err := p.dynamic.Resource(definitions).Get(ctx, "gophers.example.com", metav1.GetOptions{})
		must(err)
		conditions, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			return c.(tree)["type"] == "Established" && c.(tree)["status"] == "True"
		})
	})
	mapper.Reset()
	mapping, err = mapper.RESTMapping(schema.GroupKind{Group: "example.com", Kind: "Gopher"})
	must(err)
	check(mapping.Resource == gophers, "a gopher is %+v", mapping)
}

var gophers = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gophers"}

func dynamicClient(ctx context.Context, p *plane) {
	api := p.dynamic.Resource(gophers).Namespace(namespace)
	made, err := api.Create(ctx, gopher("a", tree{}), metav1.CreateOptions{})
	must(err)
	size, _, _ := unstructured.NestedInt64(made.Object, "spec", "size")
	check(size == 3, "no default: %v", made.Object)
	_, err = api.Create(ctx, gopher("b", tree{"size": int64(0)}), metav1.CreateOptions{})
	check(apierrors.IsInvalid(err), "too small: %v", err)
	_, err = api.Create(ctx, gopher("b", tree{"colour": "red"}), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	check(apierrors.IsBadRequest(err) && strings.Contains(err.Error(), `unknown field "spec.colour"`), "an unknown field: %v", err)
	_, err = api.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec": {"size": 4}}`), metav1.PatchOptions{})
	must(err)
	_, err = api.Patch(ctx, "a", types.JSONPatchType, []byte(`[{"op": "replace", "path": "/spec/size", "value": 5}]`), metav1.PatchOptions{})
	must(err)
	_, err = api.Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	check(apierrors.IsUnsupportedMediaType(err), "a strategic patch of a custom resource: %v", err)
	now, err := api.Get(ctx, "a", metav1.GetOptions{})
	must(err)
	must(unstructured.SetNestedField(now.Object, "well", "status", "is"))
	must(unstructured.SetNestedField(now.Object, int64(9), "spec", "size"))
	now, err = api.UpdateStatus(ctx, now, metav1.UpdateOptions{})
	must(err)
	check(fmt.Sprint(now.Object["spec"], now.Object["status"]) == "map[size:5] map[is:well]", "the status was updated to %v", now.Object)
	check(now.GetGeneration() == 3, "the generation is %d", now.GetGeneration())

	// What has a finalizer goes when it is let go.
	now.SetFinalizers([]string{"example.com/held"})
	_, err = api.Update(ctx, now, metav1.UpdateOptions{})
	must(err)
	must(api.Delete(ctx, "a", metav1.DeleteOptions{}))
	held, err := api.Get(ctx, "a", metav1.GetOptions{})
	must(err)
	check(held.GetDeletionTimestamp() != nil, "it does not go: %v", held.Object)
	held.SetFinalizers(nil)
	_, err = api.Update(ctx, held, metav1.UpdateOptions{})
	must(err)
	_, err = api.Get(ctx, "a", metav1.GetOptions{})
	check(apierrors.IsNotFound(err), "it is still there: %v", err)
}

func dynamicInformer(ctx context.Context, p *plane) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	api := p.dynamic.Resource(gophers).Namespace(namespace)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(p.dynamic, 0, namespace, nil)
	informer := factory.ForResource(gophers).Informer()
	told := &seen{}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { told.add("+" + o.(*unstructured.Unstructured).GetName()) },
		UpdateFunc: func(_, o any) { told.add(">" + o.(*unstructured.Unstructured).GetName()) },
		DeleteFunc: func(o any) { told.add("-" + o.(*unstructured.Unstructured).GetName()) },
	})
	must(err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	_, err = api.Create(ctx, gopher("c", tree{}), metav1.CreateOptions{})
	must(err)
	_, err = api.Patch(ctx, "c", types.MergePatchType, []byte(`{"spec": {"size": 4}}`), metav1.PatchOptions{})
	must(err)
	must(api.Delete(ctx, "c", metav1.DeleteOptions{}))
	told.expect([]string{"+c", ">c", "-c"})
}

func recordedEvents(ctx context.Context, p *plane) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: p.typed.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "tester"})
	configs := p.typed.CoreV1().ConfigMaps(namespace)
	about, err := configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "about"}}, metav1.CreateOptions{})
	must(err)
	for range 3 {
		recorder.Event(about, corev1.EventTypeWarning, "Odd", "it is odd")
	}
	selector := "involvedObject.kind=ConfigMap,involvedObject.name=about,involvedObject.uid=" + string(about.UID)
	eventually("one event, counted three times", func() bool {
		events, err := p.typed.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
		must(err)
		return len(events.Items) == 1 && events.Items[0].Count == 3 && events.Items[0].Source.Component == "tester"
	})
	newer, err := p.typed.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
	must(err)
	check(slices.ContainsFunc(newer.Items, func(e eventsv1.Event) bool { return e.Reason == "Odd" && e.Note == "it is odd" }), "events.k8s.io has %v", newer.Items)
}
