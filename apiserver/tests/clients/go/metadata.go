package main

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
)

// metadataOfKinds reads what garbage collectors read: the metadata, and nothing else, of built-in and defined kinds.
func metadataOfKinds(ctx context.Context, p *plane) {
	counts := &requests{contentTypes: map[string]int{}, accepts: map[string]int{}, answered: map[string]int{}}
	config := rest.CopyConfig(p.config)
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return &counter{inner, counts} })
	client, err := metadata.NewForConfig(config)
	must(err)
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	one, err := client.Resource(namespaces).Get(ctx, namespace, metav1.GetOptions{})
	must(err)
	check(one.UID != "" && one.Labels["kubernetes.io/metadata.name"] == namespace, "it is %+v", one)
	for _, resource := range []schema.GroupVersionResource{namespaces, definitions} {
		_, err = client.Resource(resource).List(ctx, metav1.ListOptions{})
		must(err)
		informers := metadatainformer.NewSharedInformerFactory(client, 0)
		informer := informers.ForResource(resource).Informer()
		ctx, cancel := context.WithCancel(ctx)
		informers.Start(ctx.Done())
		eventually("an informer of metadata has all", informer.HasSynced)
		if resource == namespaces {
			eventually("it has the namespace", func() bool {
				_, there, err := informer.GetStore().GetByKey(namespace)
				return there && err == nil
			})
		}
		cancel()
		informers.Shutdown()
	}
	counts.mu.Lock()
	defer counts.mu.Unlock()
	check(counts.answered[runtime.ContentTypeProtobuf] >= 5 && len(counts.answered) == 1, "answers came as %v", counts.answered)
}
