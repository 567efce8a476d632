package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	selectors "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	"k8s.io/client-go/tools/cache"
)

// The shapes of the informer suite on a source in the process: client-go's shared informer with a handler, as its own
// BenchmarkSharedIndexInformer has it.

func init() {
	shapes["informer-writes"] = informerWrites
	shapes["informer-reads"] = informerReads
	shapes["informer-hop"] = informerHop
}

func makePod(i, version int) *corev1.Pod {
	node := i
	if i%8 == 0 {
		node += 7 * version
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       fmt.Sprintf("ns-%04d", i%1000),
			Name:            fmt.Sprintf("object-%09d", i),
			UID:             "0b6d2d6e-6a39-4f6c-9d0f-6b6f6d3c9a11",
			ResourceVersion: strconv.Itoa(1_000_000*(version+1) + i),
			Generation:      int64(version + 1),
			Labels:          map[string]string{"app": appOf(i), "tier": "backend", "zone": fmt.Sprintf("z%d", i%3)},
		},
		Spec: corev1.PodSpec{NodeName: nodeOf(node)},
	}
}

func makePods(n, version int) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = makePod(i, version)
	}
	return pods
}

// gates replaces client-go's feature gates: its fake watch has no way to say that the state has ended.
type gates struct{ features.Gates }

func (g gates) Enabled(feature features.Feature) bool {
	return feature != features.WatchListClient && g.Gates.Enabled(feature)
}

type running struct {
	informer cache.SharedIndexInformer
	watcher  *watch.FakeWatcher
	stop     func()
}

// run starts an informer of these pods, and returns once it has them and the handler is registered.
func run(pods []*corev1.Pod, handler cache.ResourceEventHandler) running {
	features.ReplaceFeatureGates(gates{features.FeatureGates()})
	watcher := watch.NewFakeWithChanSize(100, false)
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, pod := range pods {
		list.Items = append(list.Items, *pod)
	}
	informer := cache.NewSharedIndexInformer(
		&cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return watcher, nil
			},
		},
		&corev1.Pod{},
		0,
		cache.Indexers{
			byApp:  func(o interface{}) ([]string, error) { return []string{o.(*corev1.Pod).Labels["app"]}, nil },
			byNode: func(o interface{}) ([]string, error) { return []string{o.(*corev1.Pod).Spec.NodeName}, nil },
		},
	)
	registered, err := informer.AddEventHandler(handler)
	must(err)
	stop := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { informer.Run(stop) })
	for !registered.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	return running{informer, watcher, func() {
		close(stop)
		done.Wait()
	}}
}

// Events for r.WorkMs, of which r.UnderWay have not been told, or with 0 as fast as they are taken; with r.Workers goroutines that list.
func informerWrites(_ Peer, r Request) Figures {
	versions := [2][]*corev1.Pod{makePods(r.Keys, 0), makePods(r.Keys, 1)}
	order := shuffled(r.Keys)
	var told atomic.Int64
	underWay := make(chan struct{}, max(r.UnderWay, 1))
	running := run(versions[0], cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ interface{}) {
		told.Add(1)
		if r.UnderWay > 0 {
			<-underWay
		}
	}})
	ended := make(chan struct{})
	var source sync.WaitGroup
	source.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-ended:
				return
			default:
			}
			if r.UnderWay > 0 {
				select {
				case <-ended:
					return
				case underWay <- struct{}{}:
				}
			}
			running.watcher.Modify(versions[(n/r.Keys+1)%2][order[n%r.Keys]])
		}
	})
	readers := listingPods(running.informer.GetIndexer(), r.Workers)
	before := told.Load()
	cpu, start := cpuTime(), time.Now()
	time.Sleep(time.Duration(r.WorkMs) * time.Millisecond)
	// Who lists in a loop may keep this one from waking in time: the clock says how long it was.
	wall, used := time.Since(start), cpuTime()-cpu
	count := float64(told.Load() - before)
	readers.end()
	close(ended)
	source.Wait()
	running.stop()
	figures := Figures{
		"per_second": count / wall.Seconds(),
		"lists":      float64(readers.lists.Load()) / wall.Seconds(),
	}
	if r.Workers == 0 {
		figures["cpu_ns"] = float64(used.Nanoseconds()) / max(count, 1)
	}
	return figures
}

func listingPods(indexer cache.Indexer, readers int) *lister {
	l := &lister{}
	for range readers {
		l.wait.Go(func() {
			for !l.stop.Load() {
				sum := int64(0)
				for _, item := range indexer.List() {
					sum += item.(*corev1.Pod).Generation
				}
				touched.Add(sum)
				l.lists.Add(1)
			}
		})
	}
	return l
}

// Getting keys in a random order, and listing what has one value of a field or a label.
func informerReads(_ Peer, r Request) Figures {
	running := run(makePods(r.Keys, 0), cache.ResourceEventHandlerFuncs{})
	defer running.stop()
	indexer := running.informer.GetIndexer()
	keys, mixed := makeKeys(r.Keys), make([]string, r.Keys)
	for at, i := range shuffled(r.Keys) {
		mixed[at] = keys[i]
	}
	sum := int64(0)
	timed := func(passes, each int, pass func()) float64 {
		pass()
		var lap lap
		lap.start()
		for range passes {
			pass()
		}
		lap.stop()
		return lap.per(passes * each)["ns"]
	}
	get := timed(r.Passes*4, r.Keys, func() {
		for _, key := range mixed {
			item, _, _ := indexer.GetByKey(key)
			sum += item.(*corev1.Pod).Generation
		}
	})
	values := shuffled(groups)
	byField := timed(r.Passes, groups, func() {
		for _, i := range values {
			items, err := indexer.ByIndex(byNode, nodeOf(int(i)*7))
			must(err)
			for _, item := range items {
				sum += item.(*corev1.Pod).Generation
			}
		}
	})
	// A hundredth of the passes says what a look at everything costs.
	some := values[:groups/20]
	byLabel := timed((r.Passes+99)/100, len(some), func() {
		for _, i := range some {
			selector := selectors.SelectorFromSet(selectors.Set{"app": appOf(int(i) * 7)})
			must(cache.ListAll(indexer, selector, func(item interface{}) { sum += item.(*corev1.Pod).Generation }))
		}
	})
	touched.Add(sum)
	return Figures{"get_ns": get, "index_ns": byField, "label_ns": byLabel}
}

// One event at a time, each when the last was told and everybody sleeps.
func informerHop(_ Peer, r Request) Figures {
	versions := [2][]*corev1.Pod{makePods(r.Keys, 0), makePods(r.Keys, 1)}
	told := make(chan time.Time, 1)
	running := run(versions[0], cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ interface{}) { told <- time.Now() }})
	took := make([]time.Duration, r.Adds)
	cpu := cpuTime()
	for n := range took {
		time.Sleep(100 * time.Microsecond)
		pod := versions[(n/r.Keys+1)%2][n%r.Keys]
		began := time.Now()
		running.watcher.Modify(pod)
		took[n] = (<-told).Sub(began)
	}
	used := cpuTime() - cpu
	running.stop()
	slices.Sort(took)
	at := func(share float64) float64 { return took[int(share*float64(len(took)-1))].Seconds() * 1e6 }
	return Figures{"p50_us": at(0.5), "p99_us": at(0.99), "cpu_us": used.Seconds() * 1e6 / float64(r.Adds)}
}
