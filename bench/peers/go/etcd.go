package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// The steps of the store suite on an etcd that the parent started: what the official client does to it, from here.
// The parent looks at the server's own CPU, memory and disk.

// EtcdStep is one step with its sizes. Fields that a step does not use are zero.
type EtcdStep struct {
	Endpoint    string  `json:"endpoint"`
	Connections int     `json:"connections"`
	Clients     int     `json:"clients"`
	Objects     int     `json:"objects"`
	Seconds     float64 `json:"seconds"`
	Watchers    int     `json:"watchers"`
	Events      int     `json:"events"`
}

var etcdSteps = map[string]func(EtcdStep) (Figures, error){
	"ready":   etcdReady,
	"load":    etcdLoad,
	"commits": etcdCommits,
	"reads":   etcdReads,
	"watch":   etcdWatch,
	"notify":  etcdNotify,
}

// Longer than any restart of these steps, so that a step fails rather than hangs.
const patience = 10 * time.Minute

// One client has one connection. They live from a "ready" to the next.
var etcdClients []*clientv3.Client

// etcdReady connects, and returns once a linearizable read is answered.
func etcdReady(step EtcdStep) (Figures, error) {
	etcdLeave()
	for _, client := range etcdClients {
		client.Close() // what it was connected to is gone
	}
	etcdClients = nil
	// It looks for a server often enough to tell when one began to answer, and does not give up on one that has
	// taken the connection and is still reading its files.
	often := backoff.Config{BaseDelay: 5 * time.Millisecond, Multiplier: 1, MaxDelay: 5 * time.Millisecond}
	for range step.Connections {
		client, err := clientv3.New(clientv3.Config{
			Endpoints: []string{"http://" + step.Endpoint},
			Logger:    zap.NewNop(), // an error is in the answer
			DialOptions: []grpc.DialOption{
				grpc.WithConnectParams(grpc.ConnectParams{Backoff: often, MinConnectTimeout: patience}),
			},
		})
		if err != nil {
			return nil, err
		}
		etcdClients = append(etcdClients, client)
	}
	deadline := time.Now().Add(patience)
	for _, client := range etcdClients {
		for {
			if _, err := client.Get(context.Background(), "/bench/ready"); err == nil {
				break
			} else if time.Now().After(deadline) {
				return nil, fmt.Errorf("etcd at %s does not answer: %w", step.Endpoint, err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return Figures{}, nil
}

// etcdClient is the connection of the i-th of those who share them.
func etcdClient(i int) (*clientv3.Client, error) {
	if len(etcdClients) == 0 {
		return nil, errors.New("not connected: ask for \"ready\" first")
	}
	return etcdClients[i%len(etcdClients)], nil
}
