package main

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// The shapes of the informer suite over the wire.

func init() {
	shapes["informer-sync"] = informerSync
	shapes["informer-decode"] = informerDecode
}

// kept is the informer that goes on.
var kept cache.SharedIndexInformer

// A shared informer of all ConfigMaps, with its defaults; a user's client limits itself to a few requests a second, which a sync
// has anyway.
func informerSync(_ Peer, r Request) Figures {
	config, err := clientcmd.BuildConfigFromFlags("", r.Kubeconfig)
	must(err)
	config.GroupVersion = &schema.GroupVersion{Version: "v1"}
	config.APIPath = "/api"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.ContentType = "application/json"
	client, err := rest.RESTClientFor(config)
	must(err)
	var lap lap
	lap.start()
	source := cache.NewListWatchFromClient(client, "configmaps", metav1.NamespaceAll, fields.Everything())
	informer := cache.NewSharedIndexInformer(source, &corev1.ConfigMap{}, 0, cache.Indexers{})
	switch r.Of {
	case "five":
		must(informer.SetTransform(five))
	case "slim":
		must(informer.SetTransform(slim))
	}
	go informer.Run(make(chan struct{})) // it ends with the process
	for !informer.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	lap.stop()
	kept = informer
	there := informer.GetIndexer().List()
	if len(there) < r.Keys {
		panic(fmt.Sprintf("there are %d of %d", len(there), r.Keys))
	}
	if r.Of == "five" && len(there[0].(*corev1.ConfigMap).Data) != 2 {
		panic("the transform did not keep two texts")
	}
	if r.Of == "slim" && there[0].(*corev1.ConfigMap).ManagedFields != nil {
		panic("the transform did not clear the managed fields")
	}
	return Figures{"sync_s": lap.wall.Seconds(), "client_cpu_s": lap.cpu.Seconds(), "objects": float64(len(there))}
}

// slim clears the managed fields.
func slim(object interface{}) (interface{}, error) {
	if config, is := object.(*corev1.ConfigMap); is {
		config.ManagedFields = nil
	}
	return object, nil
}

// five keeps five fields.
func five(object interface{}) (interface{}, error) {
	config, is := object.(*corev1.ConfigMap)
	if !is {
		return object, nil
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: config.Namespace, Name: config.Name, ResourceVersion: config.ResourceVersion,
		},
		Data: map[string]string{"node": config.Data["node"], "address": config.Data["address"]},
	}, nil
}

// A page as the wire brings it, by the decoder of encoding/json alone.
func informerDecode(_ Peer, r Request) Figures {
	var list corev1.ConfigMapList
	for i := range r.Keys {
		list.Items = append(list.Items, corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: fmt.Sprintf("config-%07d", i), UID: "0b6d2d6e-6a39-4f6c-9d0f-6b6f6d3c9a11",
				ResourceVersion: fmt.Sprint(1000 + i), CreationTimestamp: metav1.Unix(1_795_341_600, 0),
				Labels:      map[string]string{"app": "bench", "net": fmt.Sprintf("n%06d", i)},
				Annotations: map[string]string{"example.com/owner": fmt.Sprintf("team-%d", i%16)},
			},
			Data: map[string]string{"node": nodeOf(i * 7), "address": "10.0.0.1", "turn": "0", "text": filler(i)},
		})
	}
	page, err := json.Marshal(list)
	must(err)
	var lap lap
	lap.start()
	for range r.Passes {
		var list corev1.ConfigMapList
		must(json.Unmarshal(page, &list))
	}
	lap.stop()
	ns := lap.per(r.Passes * r.Keys)["ns"]
	return Figures{"whole_ns": ns, "lean_ns": ns, "five_ns": ns}
}

// filler makes an object as long as the others.
func filler(seed int) string {
	c, text := chance(seed), make([]byte, 560)
	for at := range text {
		text[at] = 'a' + byte(c.below(26))
	}
	return string(text)
}
