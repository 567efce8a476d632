package main

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// One event to many watchers. All are calls of Watch on one client, which puts them on one stream of one connection:
// the least that etcd's own client can do.

const fanoutPrefix = "/bench/fanout/"

// audience is the watchers that "watch" began, and who of them has not seen the event yet.
type audience struct {
	leave     context.CancelFunc
	size      int64
	remaining atomic.Int64
	all       chan struct{}
	failed    chan error
}

var watching *audience

// etcdWatch begins the watches, and returns once the server has all of them.
func etcdWatch(step EtcdStep) (Figures, error) {
	etcdLeave()
	client, err := etcdClient(0)
	if err != nil {
		return nil, err
	}
	ctx, leave := context.WithCancel(context.Background())
	a := &audience{leave: leave, size: int64(step.Watchers), all: make(chan struct{}, 1), failed: make(chan error, 1)}
	watching = a
	a.remaining.Store(a.size)
	for range step.Watchers {
		changes := client.Watch(ctx, fanoutPrefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
		go a.look(changes)
	}
	return Figures{}, a.wait()
}

// etcdNotify puts one key, again and again, each time until the last watcher has seen it.
func etcdNotify(step EtcdStep) (Figures, error) {
	client, err := etcdClient(0)
	if err != nil {
		return nil, err
	}
	value := newValue(0)
	each := make([]time.Duration, step.Events)
	for i := range each {
		watching.remaining.Store(watching.size)
		start := time.Now()
		if _, err := client.Put(context.Background(), fanoutPrefix+"one", value.next()); err != nil {
			return nil, err
		}
		if err := watching.wait(); err != nil {
			return nil, err
		}
		each[i] = time.Since(start)
	}
	slices.Sort(each)
	return Figures{
		"operations": float64(step.Events),
		"last_ms":    each[len(each)/2].Seconds() * 1e3,
		"worst_ms":   each[len(each)-1].Seconds() * 1e3,
	}, nil
}

func etcdLeave() {
	if watching != nil {
		watching.leave()
		watching = nil
	}
}

// look counts the confirmation and then each event.
func (a *audience) look(changes clientv3.WatchChan) {
	for seen := range changes {
		if err := seen.Err(); err != nil {
			select {
			case a.failed <- err:
			default:
			}
			return
		}
		if a.remaining.Add(-1) == 0 {
			a.all <- struct{}{}
		}
	}
}

func (a *audience) wait() error {
	select {
	case <-a.all:
		return nil
	case err := <-a.failed:
		return err
	case <-time.After(patience):
		return context.DeadlineExceeded
	}
}
