package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// The shapes of many producers and workers.

// A producer steps aside this often, as a task of the Rust side does.
const stepAsideEvery = 128

// r.Producers add r.Adds keys between them, r.Workers take and answer, until nothing is left. Counted is what was
// handed out.
func processed(peer Peer, r Request) Figures {
	q := peer.fifo(nameIf(r.Metrics))
	keys := makeKeys(r.Keys)
	var producers, workers sync.WaitGroup
	var handedOut atomic.Int64
	var lap lap
	lap.start()
	for range r.Workers {
		workers.Go(func() {
			count := int64(0)
			for {
				key, shutdown := q.Get()
				if shutdown {
					break
				}
				q.Done(key)
				count++
			}
			handedOut.Add(count)
		})
	}
	for p := range r.Producers {
		producers.Go(func() {
			c := chance(p)
			for n := range r.Adds / r.Producers {
				q.Add(keys[c.below(len(keys))])
				if n%stepAsideEvery == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	producers.Wait()
	for q.Len() > 0 {
		time.Sleep(50 * time.Microsecond)
	}
	lap.stop()
	q.ShutDown()
	workers.Wait()
	count := float64(handedOut.Load())
	return Figures{
		"per_second":  count / lap.wall.Seconds(),
		"cpu_ns":      float64(lap.cpu.Nanoseconds()) / count,
		"handed_out":  count / float64(r.Adds),
		"adds_second": float64(r.Adds) / lap.wall.Seconds(),
	}
}

// One goroutine adds the same 1 000 keys over and over while r.Workers take from a queue of r.Keys and work
// r.WorkMs on each: the shape of controller-runtime's BenchmarkAddLockContended. As there, adds that a library puts
// off are not waited for.
func addLockContended(peer Peer, r Request) Figures {
	const adds = 1000
	q := peer.fifo(nameIf(r.Metrics))
	keys := makeKeys(r.Keys)
	for _, key := range keys {
		q.Add(key)
	}
	peer.settle(q)
	var workers sync.WaitGroup
	var stop atomic.Bool
	var handedOut atomic.Int64
	for range r.Workers {
		workers.Go(func() {
			for !stop.Load() {
				key, shutdown := q.Get()
				if shutdown {
					return
				}
				time.Sleep(time.Duration(r.WorkMs) * time.Millisecond)
				q.Done(key)
				handedOut.Add(1)
			}
		})
	}
	for handedOut.Load() < 2*int64(r.Workers) {
		time.Sleep(time.Millisecond) // until all of them are at it
	}
	var lap lap
	before := handedOut.Load()
	lap.start()
	for range r.Passes {
		for _, key := range keys[:adds] {
			q.Add(key)
		}
	}
	lap.stop()
	meanwhile := handedOut.Load() - before
	stop.Store(true)
	q.ShutDown()
	workers.Wait()
	figures := lap.per(r.Passes)
	figures["us"] = figures["ns"] / 1000
	figures["handed_out"] = float64(meanwhile) / lap.wall.Seconds()
	return figures
}
