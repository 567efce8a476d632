package main

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// The shapes of the snapshot suite: client-go's Indexer, as its informers have it, with an index of a label and one of
// a field.

func init() {
	shapes["cache-get"] = cacheGet
	shapes["cache-list"] = cacheList
	shapes["cache-writes"] = cacheWrites
	shapes["cache-paced"] = cachePaced
	shapes["cache-bytes"] = cacheBytes
}

// object is what the Rust side has too: metadata as Kubernetes has it, and a field.
type object struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Node string
}

const (
	byApp  = "app"
	byNode = "node"
	// groups is how many values each index has.
	groups = 1000
)

func appOf(i int) string  { return fmt.Sprintf("app-%04d", i%groups) }
func nodeOf(i int) string { return fmt.Sprintf("node-%04d", i/7%groups) }

// makeObject is object i in one of its two versions. Every eighth is on another node in the second.
func makeObject(i, version int) *object {
	node := i
	if i%8 == 0 {
		node += 7 * version
	}
	return &object{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       fmt.Sprintf("ns-%04d", i%1000),
			Name:            fmt.Sprintf("object-%09d", i),
			UID:             "0b6d2d6e-6a39-4f6c-9d0f-6b6f6d3c9a11",
			ResourceVersion: strconv.Itoa(1_000_000 + i),
			Generation:      int64(version + 1),
			Labels:          map[string]string{"app": appOf(i), "tier": "backend", "zone": fmt.Sprintf("z%d", i%3)},
		},
		Node: nodeOf(node),
	}
}

func makeObjects(n, version int) []*object {
	objects := make([]*object, n)
	for i := range objects {
		objects[i] = makeObject(i, version)
	}
	return objects
}

func newIndexer() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		byApp:  func(o interface{}) ([]string, error) { return []string{o.(*object).Labels["app"]}, nil },
		byNode: func(o interface{}) ([]string, error) { return []string{o.(*object).Node}, nil },
	})
}

func filledIndexer(n int) cache.Indexer {
	indexer := newIndexer()
	for _, object := range makeObjects(n, 0) {
		must(indexer.Add(object))
	}
	return indexer
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// shuffled says in which order n things are visited, the same as on the Rust side.
func shuffled(n int) []uint32 {
	indexes := make([]uint32, n)
	for i := range indexes {
		indexes[i] = uint32(i)
	}
	c := chance(1)
	for i := n - 1; i > 0; i-- {
		j := c.below(i + 1)
		indexes[i], indexes[j] = indexes[j], indexes[i]
	}
	return indexes
}

// touched keeps what was read from being optimized away.
var touched atomic.Int64

// Getting keys one after another: in a random order if r.Sooner.
func cacheGet(_ Peer, r Request) Figures {
	indexer, keys := filledIndexer(r.Keys), makeKeys(r.Keys)
	if r.Sooner {
		mixed := make([]string, r.Keys)
		for at, i := range shuffled(r.Keys) {
			mixed[at] = keys[i]
		}
		keys = mixed
	}
	sum := int64(0)
	pass := func() {
		for _, key := range keys {
			item, _, _ := indexer.GetByKey(key)
			sum += item.(*object).Generation
		}
	}
	pass()
	var lap lap
	lap.start()
	for range r.Passes {
		pass()
	}
	lap.stop()
	touched.Add(sum)
	return lap.per(r.Passes * r.Keys)
}

// Listing all that have one value of an index, by label and by field in turn, each value in a random order.
func cacheList(_ Peer, r Request) Figures {
	indexer := filledIndexer(r.Keys)
	apps, nodes := make([]string, groups), make([]string, groups)
	for at, i := range shuffled(groups) {
		apps[at], nodes[at] = appOf(int(i)), nodeOf(int(i)*7)
	}
	sum := int64(0)
	list := func(index, value string) {
		items, err := indexer.ByIndex(index, value)
		must(err)
		for _, item := range items {
			sum += item.(*object).Generation
		}
	}
	pass := func() {
		for i := range groups {
			list(byApp, apps[i])
			list(byNode, nodes[i])
		}
	}
	pass()
	var lap lap
	lap.start()
	for range r.Passes {
		pass()
	}
	lap.stop()
	touched.Add(sum)
	return lap.per(r.Passes * groups * 2)
}

// lister lists and touches everything until it is told to stop.
type lister struct {
	stop  atomic.Bool
	lists atomic.Int64
	wait  sync.WaitGroup
}

func listing(indexer cache.Indexer, readers int) *lister {
	l := &lister{}
	for range readers {
		l.wait.Go(func() {
			for !l.stop.Load() {
				sum := int64(0)
				for _, item := range indexer.List() {
					sum += item.(*object).Generation
				}
				touched.Add(sum)
				l.lists.Add(1)
			}
		})
	}
	return l
}

func (l *lister) end() {
	l.stop.Store(true)
	l.wait.Wait()
}

// As many writes as it can in r.WorkMs, of random keys, with r.Workers readers.
func cacheWrites(_ Peer, r Request) Figures {
	indexer, order := filledIndexer(r.Keys), shuffled(r.Keys)
	versions := [2][]*object{makeObjects(r.Keys, 0), makeObjects(r.Keys, 1)}
	readers := listing(indexer, r.Workers)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	writes := 0
	cpu, start := threadTime(), time.Now()
	limit := time.Duration(r.WorkMs) * time.Millisecond
	for time.Since(start) < limit {
		// The clock is read after each sixteen writes: a slow one must not run sixteen past the end.
		for range 16 {
			object := versions[(writes/r.Keys+1)%2][order[writes%r.Keys]]
			must(indexer.Update(object))
			writes++
			if r.Workers > 0 && time.Since(start) >= limit {
				break
			}
		}
	}
	wall, used := time.Since(start), threadTime()-cpu
	readers.end()
	return Figures{
		"per_second": float64(writes) / wall.Seconds(),
		"cpu_ns":     float64(used.Nanoseconds()) / float64(writes),
		"lists":      float64(readers.lists.Load()) / wall.Seconds(),
	}
}

// A write each millisecond for r.WorkMs, with r.Workers readers: how long the slowest hundredth take.
func cachePaced(_ Peer, r Request) Figures {
	indexer, order := filledIndexer(r.Keys), shuffled(r.Keys)
	objects := makeObjects(r.Keys, 1)
	readers := listing(indexer, r.Workers)
	var took []time.Duration
	start := time.Now()
	limit := time.Duration(r.WorkMs) * time.Millisecond
	for time.Since(start) < limit {
		time.Sleep(time.Millisecond)
		object := objects[order[len(took)%r.Keys]]
		began := time.Now()
		must(indexer.Update(object))
		took = append(took, time.Since(began))
	}
	readers.end()
	slices.Sort(took)
	at := func(share float64) float64 { return took[int(share*float64(len(took)-1))].Seconds() * 1e3 }
	return Figures{"p99_ms": at(0.99), "p50_ms": at(0.5), "writes": float64(len(took))}
}

// The memory of the structure alone: the objects are there before. The keys are not: the indexer makes its own.
func cacheBytes(_ Peer, r Request) Figures {
	objects := makeObjects(r.Keys, 0)
	before := liveHeap()
	indexer := newIndexer()
	for _, object := range objects {
		must(indexer.Add(object))
	}
	live := liveHeap() - before
	runtime.KeepAlive(objects)
	runtime.KeepAlive(indexer)
	return Figures{"bytes": live/float64(r.Keys) - 32} // a text of 24 bytes is kept in 24, and 8 are lost
}

func threadTime() time.Duration {
	var t unix.Timespec
	must(unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t))
	return time.Duration(t.Nano())
}
