package main

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// The shapes of one thread that adds and takes.

// roundTrip adds every key, then takes and answers each.
func roundTrip(q workqueue.TypedInterface[string], keys []string) {
	for _, key := range keys {
		q.Add(key)
	}
	take(q, len(keys))
}

func take(q workqueue.TypedInterface[string], n int) {
	for range n {
		key, _ := q.Get()
		q.Done(key)
	}
}

func addGetDone(peer Peer, r Request) Figures {
	q := peer.fifo(nameIf(r.Metrics))
	defer q.ShutDown()
	keys := makeKeys(r.Keys)
	roundTrip(q, keys)
	var lap lap
	lap.start()
	for range r.Passes {
		roundTrip(q, keys)
	}
	lap.stop()
	return lap.per(r.Passes * r.Keys)
}

// The cost of keys of r.Levels priorities over keys of one, in this library and over client-go's plain queue.
func prioritiesOverPlain(peer Peer, r Request) Figures {
	keys := makeKeys(r.Keys)
	c := chance(3)
	levels := make([]int, r.Keys)
	for i := range levels {
		levels[i] = c.below(r.Levels)
	}
	one := make([]int, r.Keys)
	queued := func(name string) workqueue.TypedInterface[string] { return peer.fifo(name) }
	mixed, even, plain := queued(nameIf(r.Metrics)), queued(nameIf(r.Metrics)), peers["client-go"].fifo(nameIf(r.Metrics))
	defer mixed.ShutDown()
	defer even.ShutDown()
	defer plain.ShutDown()
	pass := func(lap *lap, q workqueue.TypedInterface[string], with []int) {
		lap.start()
		for i, key := range keys {
			peer.add(q, key, &with[i])
		}
		take(q, len(keys))
		lap.stop()
	}
	var inMixed, inEven, inPlain lap
	for range r.Passes {
		pass(&inMixed, mixed, levels)
		pass(&inEven, even, one)
		inPlain.start()
		roundTrip(plain, keys)
		inPlain.stop()
	}
	return Figures{
		"ratio":     inMixed.wall.Seconds() / inPlain.wall.Seconds(),
		"own_ratio": inMixed.wall.Seconds() / inEven.wall.Seconds(),
	}
}

func duplicateAdd(peer Peer, r Request) Figures {
	q := peer.fifo(nameIf(r.Metrics))
	defer q.ShutDown()
	keys, visits := makeKeys(r.Keys), order(r.Keys)
	for _, key := range keys {
		q.Add(key)
	}
	peer.settle(q)
	var lap lap
	lap.start()
	for range r.Passes {
		for _, i := range visits {
			q.Add(keys[i])
		}
		peer.settle(q)
	}
	lap.stop()
	return lap.per(r.Passes * r.Keys)
}

// consumed returns once the queue has taken in everything that was added with a delay. client-go hands delayed adds
// to a goroutine through a channel: a key added last and due at once comes out when all before it went in.
func consumed(peer Peer, q Queue) {
	q.AddAfter("the last one", time.Nanosecond)
	key, _ := q.Get()
	q.Done(key)
	peer.settle(q)
}

func delayedAdd(peer Peer, r Request) Figures {
	q := peer.full(nameIf(r.Metrics), time.Millisecond)
	defer q.ShutDown()
	keys, waits, visits := makeKeys(r.Keys), delays(r.Keys), order(r.Keys)
	for i, key := range keys {
		q.AddAfter(key, waits[i])
	}
	consumed(peer, q)
	var lap lap
	lap.start()
	for pass := range r.Passes {
		for _, i := range visits {
			q.AddAfter(keys[i], readd(waits[i], r.Sooner, pass, int(i)))
		}
	}
	consumed(peer, q)
	lap.stop()
	return lap.per(r.Passes * r.Keys)
}

func delayedAddNew(peer Peer, r Request) Figures {
	q := peer.full(nameIf(r.Metrics), time.Millisecond)
	defer q.ShutDown()
	keys, waits := makeKeys(r.Keys), delays(r.Keys)
	consumed(peer, q)
	var lap lap
	lap.start()
	for i, key := range keys {
		q.AddAfter(key, waits[i])
	}
	consumed(peer, q)
	lap.stop()
	return lap.per(r.Keys)
}

// Taking and answering alone, from a queue of r.Keys.
func getDone(peer Peer, r Request) Figures {
	q := peer.fifo(nameIf(r.Metrics))
	defer q.ShutDown()
	keys := makeKeys(r.Keys)
	var lap lap
	for range r.Passes {
		for _, key := range keys {
			q.Add(key)
		}
		peer.settle(q)
		lap.start()
		take(q, len(keys))
		lap.stop()
	}
	return lap.per(r.Passes * r.Keys)
}
