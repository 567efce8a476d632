package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Puts and gets, each client waiting for its answer before it goes on.

// The share of the time, in front, that is not measured.
const warmUp = 0.1

// etcdLoad puts each object once.
func etcdLoad(step EtcdStep) (Figures, error) {
	err := atOnce(step.Clients, func(c int, client *clientv3.Client) error {
		value := newValue(c)
		for i := c; i < step.Objects; i += step.Clients {
			if _, err := client.Put(context.Background(), etcdKey(i), value.next()); err != nil {
				return err
			}
		}
		return nil
	})
	return Figures{"operations": float64(step.Objects)}, err
}

// etcdCommits puts random objects anew.
func etcdCommits(step EtcdStep) (Figures, error) {
	return traffic(step, func(c int, client *clientv3.Client) func(string) error {
		value := newValue(c)
		return func(key string) error {
			_, err := client.Put(context.Background(), key, value.next())
			return err
		}
	})
}

// etcdReads reads random objects, each linearizable.
func etcdReads(step EtcdStep) (Figures, error) {
	return traffic(step, func(_ int, client *clientv3.Client) func(string) error {
		return func(key string) error {
			found, err := client.Get(context.Background(), key)
			if err == nil && len(found.Kvs) != 1 {
				err = fmt.Errorf("%s is not there", key)
			}
			return err
		}
	})
}

// traffic has all clients do operations on random objects for a time.
func traffic(step EtcdStep, begin func(c int, client *clientv3.Client) func(key string) error) (Figures, error) {
	start := time.Now()
	duration := time.Duration(step.Seconds * float64(time.Second))
	measured := start.Add(time.Duration(warmUp * float64(duration)))
	end := start.Add(duration)
	cpu := cpuTime()
	all := make([]took, step.Clients)
	err := atOnce(step.Clients, func(c int, client *clientv3.Client) error {
		operation, random, mine := begin(c, client), chance(c), &all[c]
		for now := time.Now(); now.Before(end); {
			err := operation(etcdKey(random.below(step.Objects)))
			if err != nil {
				return err
			}
			then := time.Now()
			mine.operations++
			if now.After(measured) && then.Before(end) {
				mine.each = append(mine.each, then.Sub(now))
			}
			now = then
		}
		return nil
	})
	operations, each := 0, []time.Duration{}
	for _, mine := range all {
		operations += mine.operations
		each = append(each, mine.each...)
	}
	if err == nil && len(each) == 0 {
		err = fmt.Errorf("none of %d operations fell into the measured time", operations)
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(each)
	at := func(share float64) float64 {
		return each[int(share*float64(len(each)-1))].Seconds() * 1e6
	}
	return Figures{
		"operations":    float64(operations),
		"per_second":    float64(len(each)) / end.Sub(measured).Seconds(),
		"p50_us":        at(0.5),
		"p99_us":        at(0.99),
		"client_cpu_us": (cpuTime() - cpu).Seconds() * 1e6 / float64(operations),
	}, nil
}

// took is what one client did, and how long each operation took.
type took struct {
	operations int
	each       []time.Duration
}

// atOnce runs clients, and returns when all have ended, with one of their errors.
func atOnce(clients int, run func(c int, client *clientv3.Client) error) error {
	var group sync.WaitGroup
	errs := make(chan error, clients)
	for c := range clients {
		client, err := etcdClient(c)
		if err != nil {
			return err
		}
		group.Go(func() { errs <- run(c, client) })
	}
	group.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func etcdKey(i int) string { return fmt.Sprintf("/bench/pods/ns-%04d/object-%09d", i%1000, i) }

// value is 1 KiB that differs with each put.
type value struct {
	bytes [1024]byte
	count uint64
}

func newValue(seed int) *value {
	v, random := &value{}, chance(seed)
	for i := 0; i < len(v.bytes); i += 8 {
		binary.LittleEndian.PutUint64(v.bytes[i:], random.next())
	}
	return v
}

func (v *value) next() string {
	v.count++
	binary.LittleEndian.PutUint64(v.bytes[:], v.count)
	return string(v.bytes[:])
}
