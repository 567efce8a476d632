// peer serves the genuine Kubernetes API machinery, so that its answers can be recorded: what kube-apiserver is, without the
// kinds of k8s.io/kubernetes. Everybody may do everything in it. It ends when its standard input does.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"
)

// One line on standard output, as soon as requests are answered.
type ready struct {
	URL       string `json:"url"`
	Authority string `json:"authority"`
	Token     string `json:"token"`
	Version   string `json:"version"`
}

const token = "differential"

func main() {
	dir := flag.String("dir", "", "an empty directory")
	hooks := flag.String("hooks", "", "a file with configurations of webhooks, and with what these answer")
	flag.Parse()
	if err := run(*dir, *hooks); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(dir, hooks string) error {
	if dir == "" {
		return fmt.Errorf("--dir is required")
	}
	klog.LogToStderr(true)
	ctx, stop := contextOf(os.Stdin)
	defer stop()
	endpoint, closeStore, err := startStore(filepath.Join(dir, "etcd"))
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer closeStore()
	chain, err := newChain(endpoint, filepath.Join(dir, "pki"), hooks)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- chain.serve(ctx) }()
	if err := chain.waitReady(ctx); err != nil {
		return err
	}
	announce := ready{URL: chain.url, Authority: chain.authority, Token: token, Version: "Kubernetes " + version}
	if err := json.NewEncoder(os.Stdout).Encode(announce); err != nil {
		return err
	}
	return <-ended
}

// Whoever started this holds the other end of its standard input: when that goes, so does this.
func waitEOF(r io.Reader) { _, _ = io.Copy(io.Discard, r) }
