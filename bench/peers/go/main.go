// The Go peers of all suites, as one long-lived process: a line of JSON in names a peer and a shape, the
// shape runs once, a line of JSON out carries its figures. So rounds interleave with the other peers without
// starting a process.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// Request is one shape with its sizes. Fields that a shape does not use are zero.
type Request struct {
	Peer      string `json:"peer"`
	Shape     string `json:"shape"`
	Keys      int    `json:"keys"`
	Passes    int    `json:"passes"`
	Levels    int    `json:"levels"`
	Sooner    bool   `json:"sooner"`
	Metrics   bool   `json:"metrics"`
	Producers int    `json:"producers"`
	Workers   int    `json:"workers"`
	Adds      int    `json:"adds"`
	WorkMs    int    `json:"work_ms"`
	UnderWay  int    `json:"under_way"`
	BaseMs    int    `json:"base_ms"`

	Kubeconfig string `json:"kubeconfig"`
	Of         string `json:"of"`

	EtcdStep
}

// Figures are what a run came to, by name: `ns`, `cpu_ns`, `per_second`, `bytes`, …
type Figures map[string]float64

// Response answers one request: figures, or what went wrong.
type Response struct {
	Shape   string  `json:"shape"`
	Figures Figures `json:"figures,omitempty"`
	Error   string  `json:"error,omitempty"`
}

var shapes = map[string]func(Peer, Request) Figures{
	"add-get-done":          addGetDone,
	"priorities-over-plain": prioritiesOverPlain,
	"duplicate-add":         duplicateAdd,
	"delayed-add":           delayedAdd,
	"delayed-add-new":       delayedAddNew,
	"get-done":              getDone,
	"processed":             processed,
	"add-lock-contended":    addLockContended,
	"bytes-per-key":         bytesPerKey,
	"million-failing":       millionFailing,
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "controller" {
		serveController()
		return
	}
	requests := json.NewDecoder(bufio.NewReader(os.Stdin))
	responses := json.NewEncoder(os.Stdout)
	for {
		var request Request
		if requests.Decode(&request) != nil {
			return // end of input: the parent is done
		}
		response := Response{Shape: request.Shape}
		run, known := shapes[request.Shape]
		peer, found := peers[cmp.Or(request.Peer, "client-go")] // what only that has is asked without a name
		step, isStep := etcdSteps[request.Shape]
		switch {
		case request.Peer == "etcd" && isStep:
			figures, err := step(request.EtcdStep)
			response.Figures = figures
			if err != nil {
				response.Error = err.Error()
			}
		case known && found:
			runtime.GC()
			response.Figures = run(peer, request)
		default:
			response.Error = fmt.Sprintf("no shape %q of peer %q", request.Shape, request.Peer)
		}
		debug.FreeOSMemory() // so that no collection of ours runs while another peer is measured
		if err := responses.Encode(response); err != nil {
			fmt.Fprintln(os.Stderr, "peers: cannot answer:", err)
			os.Exit(1)
		}
	}
}
