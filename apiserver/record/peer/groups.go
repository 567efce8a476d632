package main

import (
	"time"

	crd "k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	aggregation "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/kube-aggregator/pkg/controllers/autoregister"
)

// keepGroups tells the front which groups the back serves: looks at all definitions, ten times a second.
func keepGroups(front *aggregator.APIAggregator, back *crd.CustomResourceDefinitions, loopback *rest.Config) error {
	client, err := clientset.NewForConfig(loopback)
	if err != nil {
		return err
	}
	services := front.APIRegistrationInformers.Apiregistration().V1().APIServices()
	register := autoregister.NewAutoRegisterController(services, client.ApiregistrationV1())
	known := map[schema.GroupVersion]bool{{Group: "apiextensions.k8s.io", Version: "v1"}: true}
	for gv := range known {
		register.AddAPIServiceToSyncOnStart(service(gv, 16700, 15))
	}
	definitions := back.Informers.Apiextensions().V1().CustomResourceDefinitions()
	synced, lister := definitions.Informer().HasSynced, definitions.Lister()
	look := func() {
		all, err := lister.List(labels.Everything())
		if err != nil {
			return
		}
		served := map[schema.GroupVersion]bool{}
		for _, definition := range all {
			for _, v := range definition.Spec.Versions {
				if v.Served {
					served[schema.GroupVersion{Group: definition.Spec.Group, Version: v.Name}] = true
				}
			}
		}
		for gv := range served {
			if !known[gv] {
				known[gv] = true
				register.AddAPIServiceToSync(service(gv, 1000, 100))
			}
		}
		for gv := range known {
			if gv.Group != "apiextensions.k8s.io" && !served[gv] {
				delete(known, gv)
				register.RemoveAPIServiceToSync(gv.Version + "." + gv.Group)
			}
		}
	}
	return front.GenericAPIServer.AddPostStartHook("groups", func(hook server.PostStartHookContext) error {
		go func() {
			if !cache.WaitForCacheSync(hook.Done(), synced) {
				return
			}
			look()
			go register.Run(2, hook.Done())
			for {
				select {
				case <-hook.Done():
					return
				case <-time.After(100 * time.Millisecond):
					look()
				}
			}
		}()
		return nil
	})
}

func service(gv schema.GroupVersion, group, version int32) *aggregation.APIService {
	return &aggregation.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: gv.Version + "." + gv.Group},
		Spec:       aggregation.APIServiceSpec{Group: gv.Group, Version: gv.Version, GroupPriorityMinimum: group, VersionPriority: version},
	}
}
