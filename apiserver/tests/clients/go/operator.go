package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const operatorName = "operator.example.com"

// operator keeps a config map for each gopher. It writes by server-side apply only: its finalizer, what it owns, and the status.
type operator struct {
	client.Client
	events events.EventRecorder
}

func (o *operator) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	now := gopher("", tree{})
	if err := o.Get(ctx, request.NamespacedName, now); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	// So that it can be killed in mid-work.
	time.Sleep(50 * time.Millisecond)
	name, force := client.FieldOwner(operatorName), client.ForceOwnership
	// Without the UID it would make again what has gone meanwhile.
	meta := tree{"name": request.Name, "namespace": request.Namespace, "uid": string(now.GetUID())}
	if now.GetDeletionTimestamp() == nil {
		meta["finalizers"] = []any{operatorName + "/kept"}
	}
	if err := o.Apply(ctx, ofGopher(tree{"metadata": meta}), name, force); err != nil || now.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	size, _, _ := unstructured.NestedInt64(now.Object, "spec", "size")
	owner := metav1apply.OwnerReference().WithAPIVersion(now.GetAPIVersion()).WithKind(now.GetKind()).
		WithName(request.Name).WithUID(now.GetUID()).WithController(true).WithBlockOwnerDeletion(true)
	child := corev1apply.ConfigMap(request.Name, request.Namespace).WithOwnerReferences(owner).
		WithData(map[string]string{"size": fmt.Sprint(size)})
	if err := o.Apply(ctx, child, name, force); err != nil {
		return ctrl.Result{}, err
	}
	o.events.Eventf(now, nil, corev1.EventTypeNormal, "Kept", "Keep", "it is %d", size)
	delete(meta, "finalizers")
	return ctrl.Result{}, o.Status().Apply(ctx, ofGopher(tree{"metadata": meta, "status": tree{"kept": size}}), name, force)
}

func ofGopher(of tree) runtime.ApplyConfiguration {
	of["apiVersion"], of["kind"] = "example.com/v1", "Gopher"
	return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: of})
}

// operate runs a replica of the operator in this process, until it is killed or whoever started it is gone.
func operate(config *rest.Config, namespace string) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	ctrl.SetLogger(logr.Discard())
	lease, renew, retry := 3*time.Second, 2*time.Second, 200*time.Millisecond
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics:        server.Options{BindAddress: "0"},
		Cache:          cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Client:         client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		LeaderElection: true, LeaderElectionID: "operator", LeaderElectionNamespace: namespace,
		LeaseDuration: &lease, RenewDeadline: &renew, RetryPeriod: &retry,
	})
	must(err)
	must(ctrl.NewControllerManagedBy(manager).For(gopher("", tree{})).Owns(&corev1.ConfigMap{}, builder.OnlyMetadata).
		WithOptions(controller.Options{MaxConcurrentReconciles: 2}).
		Complete(&operator{Client: manager.GetClient(), events: manager.GetEventRecorder("operator")}))
	must(manager.Start(context.Background()))
}
