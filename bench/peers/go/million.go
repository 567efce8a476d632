package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// The shapes of a million keys: their memory, and a tenth of them failing once.

func bytesPerKey(peer Peer, r Request) Figures {
	keys := makeKeys(r.Keys)
	before := liveHeap()
	q := peer.fifo(nameIf(r.Metrics))
	for _, key := range keys {
		q.Add(key)
	}
	peer.settle(q)
	live := liveHeap() - before
	q.ShutDown()
	runtime.KeepAlive(keys) // counted before, so they must be there after
	return Figures{"bytes": live / float64(len(keys))}
}

// Adds are timed by blocks of this many keys, and waits taken of every failing and every 64th key: a clock read for
// each key would be a good part of the figure.
const block = 1000

func millionFailing(peer Peer, r Request) Figures {
	keys := makeKeys(r.Keys)
	tried := make([]atomic.Bool, r.Keys)
	addedAt := make([]time.Time, (r.Keys+block-1)/block)
	before := liveHeap()
	heap := watchHeap()
	q := peer.full(nameIf(r.Metrics), time.Duration(r.BaseMs)*time.Millisecond)
	var succeeded, longest atomic.Int64
	finished := make(chan struct{})
	work := func(key string) {
		i := indexOf(key)
		fails := i%10 == 0
		if fails && !tried[i].Swap(true) {
			q.AddRateLimited(key)
			q.Done(key)
			return
		}
		q.Forget(key)
		q.Done(key)
		if fails || i%64 == 0 {
			raise(&longest, int64(time.Since(addedAt[i/block])))
		}
		if succeeded.Add(1) == int64(r.Keys) {
			close(finished)
		}
	}

	var lap lap
	lap.start()
	for i, key := range keys {
		if i%block == 0 {
			addedAt[i/block] = time.Now()
		}
		q.Add(key)
	}
	peer.settle(q)
	var workers sync.WaitGroup
	for range r.Workers {
		workers.Go(func() {
			for {
				key, shutdown := q.Get()
				if shutdown {
					return
				}
				work(key)
			}
		})
	}
	<-finished
	lap.stop()
	peak := heap.finish() - before
	q.ShutDown()
	workers.Wait()
	runtime.KeepAlive(keys)
	figures := lap.per(r.Keys)
	figures["bytes"] = peak / float64(r.Keys)
	figures["longest_ms"] = float64(longest.Load()) / 1e6
	figures["run_ms"] = lap.wall.Seconds() * 1e3
	return figures
}

func raise(to *atomic.Int64, value int64) {
	for {
		now := to.Load()
		if value <= now || to.CompareAndSwap(now, value) {
			return
		}
	}
}
