package main

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// requests counts what a client asks for, and can break its connections.
type requests struct {
	mu                        sync.Mutex
	lists, watchLists, resume int
	contentTypes, accepts     map[string]int
	answered                  map[string]int
	open                      []net.Conn
}

// counted is a clientset whose requests are counted.
func (p *plane) counted() (*kubernetes.Clientset, *requests) {
	counts := &requests{contentTypes: map[string]int{}, accepts: map[string]int{}, answered: map[string]int{}}
	config := rest.CopyConfig(p.config)
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			counts.mu.Lock()
			defer counts.mu.Unlock()
			counts.open = append(counts.open, connection)
		}
		return connection, err
	}
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return &counter{inner, counts} })
	return kubernetes.NewForConfigOrDie(config), counts
}

type counter struct {
	inner  http.RoundTripper
	counts *requests
}

func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	watches := query.Get("watch") != ""
	response, err := c.inner.RoundTrip(request)
	c.counts.mu.Lock()
	defer c.counts.mu.Unlock()
	c.counts.accepts[request.Header.Get("Accept")]++
	if request.Body != nil {
		c.counts.contentTypes[request.Header.Get("Content-Type")]++
	}
	if err != nil {
		return response, err
	}
	c.counts.answered[strings.Split(response.Header.Get("Content-Type"), ";")[0]]++
	if !watches {
		// The inconsistency detector's own list, which client-go makes when it is asked to compare, does not count.
		if request.Method == http.MethodGet && query.Get("resourceVersionMatch") != "Exact" {
			c.counts.lists++
		}
		return response, nil
	}
	if query.Get("sendInitialEvents") == "true" {
		c.counts.watchLists++
	} else {
		c.counts.resume++
	}
	return response, nil
}

// cut breaks all connections, as a network does.
func (r *requests) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.open {
		_ = one.Close()
	}
	r.open = nil
}

func (r *requests) of() (lists, watchLists, resumes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lists, r.watchLists, r.resume
}
