package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/utils/ptr"
)

// The record of a node, without a machine.
const nodeName = "e2e"

// The time between renewals of a node's Lease, as in the kubelet.
const renewal = 10 * time.Second

// Creates the record of a node, and renews its Lease until the test ends.
//
// One spec lists nodes and expects to find some. Another waits until a list is too old to be
// continued; that never happens on a server without writes, and every cluster has these.
func startNode(t *testing.T) {
	client, err := framework.LoadClientset()
	if err != nil {
		t.Fatalf("no client: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	node := &core.Node{ObjectMeta: meta.ObjectMeta{Name: nodeName}}
	if _, err := client.CoreV1().Nodes().Create(ctx, node, meta.CreateOptions{}); err != nil {
		t.Fatalf("the record of a node cannot be created: %v", err)
	}
	leases := client.CoordinationV1().Leases(core.NamespaceNodeLease)
	lease := &coordination.Lease{
		ObjectMeta: meta.ObjectMeta{Name: nodeName},
		Spec: coordination.LeaseSpec{
			HolderIdentity:       ptr.To(nodeName),
			LeaseDurationSeconds: ptr.To[int32](40),
		},
	}
	lease, err = leases.Create(ctx, lease, meta.CreateOptions{})
	if err != nil {
		t.Fatalf("the Lease of a node cannot be created: %v", err)
	}
	go func() {
		for ticks := time.Tick(renewal); ctx.Err() == nil; <-ticks {
			lease.Spec.RenewTime = &meta.MicroTime{Time: time.Now()}
			if renewed, err := leases.Update(ctx, lease, meta.UpdateOptions{}); err == nil {
				lease = renewed
			} else {
				fmt.Fprintln(os.Stderr, "the Lease of a node is not renewed:", err)
			}
		}
	}()
}
