package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

func contention(ctx context.Context, p *plane) {
	const clients, each = 8, 10
	configs := p.typed.CoreV1().ConfigMaps(namespace)
	_, err := configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "count"}, Data: map[string]string{"n": "0"}}, metav1.CreateOptions{})
	must(err)
	patient := wait.Backoff{Steps: 1000, Duration: time.Millisecond, Factor: 1, Jitter: 5}
	var lost atomic.Int64
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for range each {
				tries := int64(-1)
				must(retry.RetryOnConflict(patient, func() error {
					tries++
					config, err := configs.Get(ctx, "count", metav1.GetOptions{})
					must(err)
					n, err := strconv.Atoi(config.Data["n"])
					must(err)
					config.Data["n"] = fmt.Sprint(n + 1)
					_, err = configs.Update(ctx, config, metav1.UpdateOptions{})
					return err
				}))
				lost.Add(tries)
			}
		})
	}
	running.Wait()
	config, err := configs.Get(ctx, "count", metav1.GetOptions{})
	must(err)
	check(config.Data["n"] == fmt.Sprint(clients*each), "%d were counted as %s", clients*each, config.Data["n"])
	check(lost.Load() > 0, "nobody met a conflict, so nothing was tried")
}

// candidate runs for the lease until ctx ends. It tells who leads.
func (p *plane) candidate(ctx context.Context, name string, releases bool, leading *atomic.Pointer[string], together *atomic.Bool) *sync.WaitGroup {
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: "leader"},
		Client:     p.typed.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 6 * time.Second, RenewDeadline: 5 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: releases,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				if !leading.CompareAndSwap(nil, &name) {
					together.Store(true)
				}
			},
			OnStoppedLeading: func() { leading.CompareAndSwap(&name, nil) },
		},
	})
	must(err)
	running := &sync.WaitGroup{}
	running.Go(func() { elector.Run(ctx) })
	return running
}

func election(ctx context.Context, p *plane) {
	var leading atomic.Pointer[string]
	var together atomic.Bool
	leads := func(name string) func() bool {
		return func() bool { now := leading.Load(); return now != nil && *now == name }
	}
	first, endFirst := context.WithCancel(ctx)
	runningFirst := p.candidate(first, "first", true, &leading, &together)
	eventually("the first one leads", leads("first"))
	second, endSecond := context.WithCancel(ctx)
	runningSecond := p.candidate(second, "second", false, &leading, &together)
	for range 20 {
		check(leads("first")(), "the lease was lost while its holder was well")
		time.Sleep(50 * time.Millisecond)
	}
	endFirst()
	runningFirst.Wait()
	eventually("the second one leads after the first one stepped back", leads("second"))
	// It goes without a word: its lease has to run out.
	endSecond()
	runningSecond.Wait()
	third, endThird := context.WithCancel(ctx)
	runningThird := p.candidate(third, "third", true, &leading, &together)
	eventually("the third one leads after the lease ran out", leads("third"))
	lease, err := p.typed.CoordinationV1().Leases(namespace).Get(ctx, "leader", metav1.GetOptions{})
	must(err)
	check(*lease.Spec.HolderIdentity == "third" && *lease.Spec.LeaseTransitions >= 2, "the lease is %+v", lease.Spec)
	endThird()
	runningThird.Wait()
	check(!together.Load(), "two led at the same time")
}
