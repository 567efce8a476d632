package main

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// Queue is what both peers offer to a controller.
type Queue = workqueue.TypedRateLimitingInterface[string]

// Peer makes the queues of one library. A queue with a name has metrics, one without has none.
type Peer struct {
	// fifo is the barest queue that adds, gets and is done.
	fifo func(name string) workqueue.TypedInterface[string]
	// full delays and backs off too; back-off begins at base.
	full func(name string, base time.Duration) Queue
	// add adds with a priority, where the library has them.
	add func(q workqueue.TypedInterface[string], key string, priority *int)
	// settle returns once everything that was added is in the queue, for a library that adds in the background.
	settle func(q workqueue.TypedInterface[string])
}

const longestBackoff = 1000 * time.Second

var peers = map[string]Peer{
	"client-go": {
		fifo: func(name string) workqueue.TypedInterface[string] {
			return workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{
				Name: name, MetricsProvider: provider{},
			})
		},
		full: func(name string, base time.Duration) Queue {
			return workqueue.NewTypedRateLimitingQueueWithConfig(limiter(base), workqueue.TypedRateLimitingQueueConfig[string]{
				Name: name, MetricsProvider: provider{},
			})
		},
		add:    func(q workqueue.TypedInterface[string], key string, _ *int) { q.Add(key) },
		settle: func(workqueue.TypedInterface[string]) {},
	},
	"controller-runtime": {
		fifo: func(name string) workqueue.TypedInterface[string] { return priorityQueue(name, time.Millisecond) },
		full: func(name string, base time.Duration) Queue { return priorityQueue(name, base) },
		add: func(q workqueue.TypedInterface[string], key string, priority *int) {
			q.(priorityqueue.PriorityQueue[string]).AddWithOpts(priorityqueue.AddOpts{Priority: priority}, key)
		},
		settle: func(q workqueue.TypedInterface[string]) { q.Len() }, // flushes the buffer of adds
	},
}

func limiter(base time.Duration) workqueue.TypedRateLimiter[string] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[string](base, longestBackoff)
}

// Its metrics provider is the library's own default: Prometheus.
func priorityQueue(name string, base time.Duration) priorityqueue.PriorityQueue[string] {
	return priorityqueue.New(name, func(o *priorityqueue.Opts[string]) { o.RateLimiter = limiter(base) })
}

// nameIf is the queue's name when its metrics are wanted, and none otherwise.
func nameIf(metrics bool) string {
	if metrics {
		return "bench"
	}
	return ""
}
