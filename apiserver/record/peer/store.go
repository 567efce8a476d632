package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

func contextOf(input io.Reader) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		waitEOF(input)
		stop()
	}()
	return ctx, stop
}

// startStore runs an etcd in this process. What it keeps is thrown away afterwards, so nothing is synced.
func startStore(dir string) (endpoint string, stop func(), err error) {
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.LogLevel = "error"
	cfg.UnsafeNoFsync = true
	anyPort := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg.ListenClientUrls = []url.URL{anyPort}
	cfg.AdvertiseClientUrls = []url.URL{anyPort}
	cfg.ListenPeerUrls = []url.URL{anyPort}
	cfg.AdvertisePeerUrls = []url.URL{anyPort}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return "", nil, err
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return "http://" + etcd.Clients[0].Addr().String(), etcd.Close, nil
	case err = <-etcd.Err():
	case <-time.After(time.Minute):
		err = fmt.Errorf("not ready after a minute")
	}
	etcd.Close()
	return "", nil, err
}
