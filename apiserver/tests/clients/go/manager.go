package main

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const kept = "example.com/kept"

// keeper makes a secret of each gopher, says so in its status, and lets it go.
type keeper struct {
	client.Client
	let atomic.Int64
}

func (k *keeper) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	gopher := gopher("", tree{})
	if err := k.Get(ctx, request.NamespacedName, gopher); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if gopher.GetDeletionTimestamp() != nil {
		if controllerutil.RemoveFinalizer(gopher, kept) {
			if err := k.Update(ctx, gopher); err != nil {
				return ctrl.Result{}, err
			}
			k.let.Add(1)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(gopher, kept) {
		if err := k.Update(ctx, gopher); err != nil {
			return ctrl.Result{}, err
		}
	}
	size, _, _ := unstructured.NestedInt64(gopher.Object, "spec", "size")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name}}
	if _, err := controllerutil.CreateOrUpdate(ctx, k, secret, func() error {
		secret.Data = map[string][]byte{"size": []byte(fmt.Sprint(size))}
		return controllerutil.SetControllerReference(gopher, secret, k.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	if err := unstructured.SetNestedField(gopher.Object, size, "status", "kept"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, k.Status().Update(ctx, gopher)
}

func manager(ctx context.Context, p *plane) {
	ctx, stop := context.WithCancel(ctx)
	ctrl.SetLogger(logr.Discard())
	manager, err := ctrl.NewManager(p.config, ctrl.Options{
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "manager",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	must(err)
	keeps := &keeper{Client: manager.GetClient()}
	must(ctrl.NewControllerManagedBy(manager).For(gopher("", tree{})).Owns(&corev1.Secret{}).Complete(keeps))
	ended := make(chan error)
	go func() { ended <- manager.Start(ctx) }()

	secrets, gophers := p.typed.CoreV1().Secrets(namespace), p.dynamic.Resource(gophers).Namespace(namespace)
	size := func() string {
		secret, err := secrets.Get(ctx, "kept", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "none"
		}
		must(err)
		return string(secret.Data["size"])
	}
	_, err = gophers.Create(ctx, gopher("kept", tree{"size": int64(4)}), metav1.CreateOptions{})
	must(err)
	eventually("a secret is made", func() bool { return size() == "4" })
	_, err = gophers.Patch(ctx, "kept", types.MergePatchType, []byte(`{"spec": {"size": 5}}`), metav1.PatchOptions{})
	must(err)
	eventually("the secret follows", func() bool { return size() == "5" })
	must(secrets.Delete(ctx, "kept", metav1.DeleteOptions{}))
	eventually("the secret is made again", func() bool { return size() == "5" })
	eventually("the status says so", func() bool {
		now, err := gophers.Get(ctx, "kept", metav1.GetOptions{})
		must(err)
		said, _, _ := unstructured.NestedInt64(now.Object, "status", "kept")
		return said == 5
	})
	must(gophers.Delete(ctx, "kept", metav1.DeleteOptions{}))
	eventually("the gopher is let go, and its secret with it", func() bool {
		_, err := gophers.Get(ctx, "kept", metav1.GetOptions{})
		return apierrors.IsNotFound(err) && size() == "none"
	})
	check(keeps.let.Load() == 1, "it was let go %d times", keeps.let.Load())
	stop()
	must(<-ended)
}
