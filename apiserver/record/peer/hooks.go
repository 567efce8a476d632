package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	noop "go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// hooks are the configurations of webhooks that this server obeys, and what the webhooks answer: this program is them, too.
type hooks struct {
	Mutating   []map[string]any `json:"mutating"`
	Validating []map[string]any `json:"validating"`
	Replies    map[string]reply `json:"replies"`

	lock sync.Mutex
	seen []seen
}

// A reply is `response`, with the patch and the UID of the request in a review; other fields of a review with it; or bytes.
type reply struct {
	Code     int             `json:"code"`
	Review   map[string]any  `json:"review"`
	Response map[string]any  `json:"response"`
	Patch    json.RawMessage `json:"patch"`
	Raw      *string         `json:"raw"`
	Location string          `json:"location"`
	SleepMs  int             `json:"sleep-ms"`
	End      bool            `json:"end"`
}

type seen struct {
	Hook   string         `json:"hook"`
	Review map[string]any `json:"review"`
}

// readHooks reads what xtask wrote. HOOK stands for where this program is, and BUNDLE for who vouches for it.
func readHooks(path, url, authority string) (*hooks, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	vouches, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	bundle := base64.StdEncoding.EncodeToString(vouches)
	whole := strings.NewReplacer("HOOK", url+"/hook", "BUNDLE", bundle).Replace(string(text))
	read := &hooks{}
	return read, json.Unmarshal([]byte(whole), read)
}

// apply has the genuine plugins obey them. These know configurations and namespaces from informers, whose requests are
// answered here: configurations never change, and every namespace is there.
func (h *hooks) apply(config *server.RecommendedConfig, client kubernetes.Interface) error {
	dynamic, err := dynamic.NewForConfig(config.LoopbackClientConfig)
	if err != nil {
		return err
	}
	wanted := options.NewAdmissionOptions()
	wanted.DisablePlugins = []string{"NamespaceLifecycle", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}
	resolver := webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config.LoopbackClientConfig, noop.NewTracerProvider())
	plugins := initializer.NewPluginInitializer(resolver, nowhere{})
	if err := wanted.ApplyTo(&config.Config, config.SharedInformerFactory, client, dynamic, feature.DefaultFeatureGate, config.EffectiveVersion, plugins); err != nil {
		return err
	}
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, config *server.Config) http.Handler {
		next := build(handler, config)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.serve(w, r, next) })
	}
	return nil
}

func (h *hooks) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	const configurations = "/apis/admissionregistration.k8s.io/v1/"
	const namespaces = "/api/v1/namespaces"
	if name, ok := strings.CutPrefix(r.URL.Path, "/hook/"); ok {
		h.answer(w, r, name)
		return
	}
	switch path := r.URL.Path; path {
	case configurations + "mutatingwebhookconfigurations":
		constant(w, r, "MutatingWebhookConfigurationList", "admissionregistration.k8s.io/v1", h.Mutating)
	case configurations + "validatingwebhookconfigurations":
		constant(w, r, "ValidatingWebhookConfigurationList", "admissionregistration.k8s.io/v1", h.Validating)
	case namespaces:
		constant(w, r, "NamespaceList", "v1", []map[string]any{})
	default:
		name, ok := strings.CutPrefix(path, namespaces+"/")
		if !ok || strings.Contains(name, "/") || r.Method != http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		labels := map[string]any{"kubernetes.io/metadata.name": name}
		write(w, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": labels}})
	}
}

// constant is a list that never changes: whoever watches it waits.
func constant(w http.ResponseWriter, r *http.Request, kind, version string, items []map[string]any) {
	if r.URL.Query().Get("sendInitialEvents") != "" {
		http.Error(w, "it can be listed", http.StatusUnprocessableEntity)
		return
	}
	if r.URL.Query().Get("watch") == "" {
		write(w, map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]any{"resourceVersion": "1"}, "items": items})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// answer is what the webhook of this name says; of `seen`, what all were asked about objects of a namespace.
func (h *hooks) answer(w http.ResponseWriter, r *http.Request, name string) {
	if name == "seen" {
		h.lock.Lock()
		defer h.lock.Unlock()
		of := []seen{}
		for _, one := range h.seen {
			if request, _ := one.Review["request"].(map[string]any); request["namespace"] == r.URL.Query().Get("namespace") {
				of = append(of, one)
			}
		}
		write(w, map[string]any{"seen": of})
		return
	}
	review := map[string]any{}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.lock.Lock()
	h.seen = append(h.seen, seen{Hook: name, Review: review})
	h.lock.Unlock()

	said := h.Replies[name]
	time.Sleep(time.Duration(said.SleepMs) * time.Millisecond)
	if said.End {
		panic(http.ErrAbortHandler)
	}
	if said.Location != "" {
		w.Header().Set("Location", said.Location)
	}
	if said.Code == 0 {
		said.Code = http.StatusOK
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(said.Code)
	if said.Raw != nil {
		_, _ = io.WriteString(w, *said.Raw)
		return
	}
	request, _ := review["request"].(map[string]any)
	answer := map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
	response := map[string]any{"uid": request["uid"]}
	for field, value := range said.Response {
		response[field] = value
	}
	if said.Patch != nil {
		response["patch"] = base64.StdEncoding.EncodeToString(said.Patch)
	}
	answer["response"] = response
	for field, value := range said.Review {
		answer[field] = value
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func write(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}
