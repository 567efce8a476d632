// A candidate of client-go, told on its standard input what to do. It says on its standard output what comes of it.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const identity = "gopher"

func must(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(err)
	client, err := kubernetes.NewForConfig(config)
	must(err)
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: "kube-system", Name: "hosts"},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
	var running sync.WaitGroup
	stop := func() {}
	told := bufio.NewScanner(os.Stdin)
	for told.Scan() {
		switch told.Text() {
		case "stand":
			ctx, cancel := context.WithCancel(context.Background())
			stop = cancel
			elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
				Lock: lock, LeaseDuration: 5 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: 200 * time.Millisecond,
				ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) { fmt.Println("leads") },
					OnStoppedLeading: func() { fmt.Println("stopped") },
					OnNewLeader: func(leader string) {
						if leader != identity {
							fmt.Println("sees " + leader)
						}
					},
				},
			})
			must(err)
			running.Go(func() { elector.Run(ctx) })
		case "leave":
			stop()
			running.Wait()
		}
	}
}
