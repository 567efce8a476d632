package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// The control loop of the controller suite, as its own process: controller-runtime with its priority queue and its
// read-your-writes consistency on.

const (
	workers    = 8
	annotation = "bench.machinery.dev/seen"
	loopTime   = 60 * time.Second
)

// ControllerStep is one step of the suite; one field is set.
type ControllerStep struct {
	Idle *struct {
		Objects int
		Keeps   string
	}
	Begin *struct {
		Kubeconfig string
		Turn       int
	}
	Write *struct{ Objects int }
	Heard *struct{ Events int }
}

// serveController answers steps until the standard input closes.
func serveController() {
	log.SetLogger(logr.Discard())
	requests := json.NewDecoder(bufio.NewReader(os.Stdin))
	responses := json.NewEncoder(os.Stdout)
	var loop *remoteLoop
	for {
		var step ControllerStep
		if requests.Decode(&step) != nil {
			return
		}
		var figures Figures
		err := errors.New("controller-runtime has no such step")
		switch {
		case step.Idle != nil:
			figures, err = idleLoop(step.Idle.Objects, step.Idle.Keeps)
		case step.Begin != nil:
			loop, err = beginLoop(step.Begin.Kubeconfig, step.Begin.Turn)
		case loop != nil && step.Write != nil:
			figures, err = loop.write(step.Write.Objects)
		case loop != nil && step.Heard != nil:
			figures, err = loop.heard(step.Heard.Events)
		}
		response := Response{Figures: figures}
		if err != nil {
			response.Error = err.Error()
		}
		must(responses.Encode(response))
	}
}

type remoteLoop struct {
	turn         int
	gate         chan struct{}
	began, wrote atomic.Int64
	sinceNs      atomic.Int64
	mu           sync.Mutex
	took         map[int64]float64
	beganBefore  int64
}

func beginLoop(kubeconfig string, turn int) (*remoteLoop, error) {
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	access.QPS = -1 // the limit on the client's side is off, as everywhere here
	on := true
	mgr, err := manager.New(access, manager.Options{
		Metrics:    metrics.Options{BindAddress: "0"},
		Controller: config.Controller{UsePriorityQueue: &on},
		Client:     client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &on}},
	})
	if err != nil {
		return nil, err
	}
	loop := &remoteLoop{turn: turn, gate: make(chan struct{}), took: map[int64]float64{}}
	loop.sinceNs.Store(1<<63 - 1)
	err = builder.ControllerManagedBy(mgr).Named("objects").For(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, loop.reconcile(ctx, mgr.GetClient(), request)
		}))
	if err != nil {
		return nil, err
	}
	go func() { must(mgr.Start(context.Background())) }()
	if err := reached(loop.began.Load, 1); err != nil {
		return nil, err
	}
	time.Sleep(200 * time.Millisecond) // until all concurrent reconciles are waiting
	return loop, nil
}

func (l *remoteLoop) reconcile(ctx context.Context, c client.Client, request reconcile.Request) error {
	began := nowNs()
	var object corev1.ConfigMap
	if err := c.Get(ctx, request.NamespacedName, &object); err != nil {
		return client.IgnoreNotFound(err)
	}
	l.began.Add(1)
	sent, found := object.Data["turn"]
	if !found {
		return nil
	}
	seen := fmt.Sprintf("%d-%s", l.turn, sent)
	if object.Annotations[annotation] == seen {
		return nil
	}
	if at, err := strconv.ParseInt(sent, 10, 64); err == nil && at >= l.sinceNs.Load() {
		l.mu.Lock()
		if _, known := l.took[at]; !known {
			l.took[at] = float64(began-at) / 1000
		}
		l.mu.Unlock()
	}
	<-l.gate
	change := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, annotation, seen)
	if err := c.Patch(ctx, &object, client.RawPatch(types.MergePatchType, []byte(change))); err != nil {
		return err
	}
	l.wrote.Add(1)
	return nil
}

func (l *remoteLoop) write(objects int) (Figures, error) {
	start, cpu, began := time.Now(), cpuTime(), l.began.Load()
	close(l.gate)
	if err := reached(l.wrote.Load, int64(objects)); err != nil {
		return nil, err
	}
	seconds, spent := time.Since(start).Seconds(), cpuTime()-cpu
	wrote := float64(l.wrote.Load())
	runs := float64(l.began.Load() - began)
	time.Sleep(500 * time.Millisecond) // for the events of the writes
	l.sinceNs.Store(nowNs())
	l.beganBefore = l.began.Load()
	return Figures{
		"per_second":    wrote / seconds,
		"client_cpu_us": float64(spent.Nanoseconds()) / 1000 / float64(objects),
		"runs":          runs / wrote,
	}, nil
}

func (l *remoteLoop) heard(events int) (Figures, error) {
	count := func() int64 {
		l.mu.Lock()
		defer l.mu.Unlock()
		return int64(len(l.took))
	}
	if err := reached(count, int64(events)); err != nil {
		return nil, err
	}
	time.Sleep(500 * time.Millisecond) // for the events of the last writes
	l.mu.Lock()
	defer l.mu.Unlock()
	var took []float64
	for _, us := range l.took {
		took = append(took, us)
	}
	slices.Sort(took)
	return Figures{
		"p50_us":         took[(len(took)-1)*50/100],
		"p99_us":         took[(len(took)-1)*99/100],
		"runs_per_write": float64(l.began.Load()-l.beganBefore) / float64(events),
	}, nil
}

// idleLoop measures the heap at rest, with the cache alone or with a controller that reconciled each object once.
func idleLoop(objects int, keeps string) (Figures, error) {
	var ran atomic.Int64
	running := run(makePods(objects, 0), cache.ResourceEventHandlerFuncs{})
	if keeps != "Cache" {
		on := true
		loop, err := controller.NewTypedUnmanaged("objects", controller.Options{
			MaxConcurrentReconciles: workers,
			UsePriorityQueue:        &on,
			Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				ran.Add(1)
				return reconcile.Result{}, nil
			}),
		})
		if err != nil {
			return nil, err
		}
		events := &source.Informer{Informer: running.informer, Handler: &handler.EnqueueRequestForObject{}}
		if err := loop.Watch(events); err != nil {
			return nil, err
		}
		go func() { must(loop.Start(context.Background())) }()
		if err := reached(ran.Load, int64(objects)); err != nil {
			return nil, err
		}
	}
	time.Sleep(500 * time.Millisecond)
	var memory runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&memory)
	runtime.KeepAlive(running)
	return Figures{"bytes": float64(memory.HeapAlloc)}, nil
}

func reached(soFar func() int64, all int64) error {
	for until := time.Now().Add(loopTime); soFar() < all; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			return fmt.Errorf("there were %d of %d", soFar(), all)
		}
	}
	return nil
}

// nowNs is the monotonic clock, equal in all processes of this machine.
func nowNs() int64 {
	var now unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	return now.Nano()
}

