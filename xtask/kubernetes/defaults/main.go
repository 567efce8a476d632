// Command defaults records which values Kubernetes' own functions set in objects that lack them.
//
//	cd xtask/kubernetes && go run ./defaults > ../../apiserver/tests/bodies/defaults.json
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apps "k8s.io/kubernetes/pkg/apis/apps/v1"
	autoscaling "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	batch "k8s.io/kubernetes/pkg/apis/batch/v1"
	core "k8s.io/kubernetes/pkg/apis/core/v1"
	discovery "k8s.io/kubernetes/pkg/apis/discovery/v1"
	networking "k8s.io/kubernetes/pkg/apis/networking/v1"
	scheduling "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	storage "k8s.io/kubernetes/pkg/apis/storage/v1"
)

const container = `{"name":"c","image":"nginx"}`

// specs are those of pods, each with something that has defaults.
var specs = []string{
	`{"containers":[` + container + `]}`,
	`{"containers":[{"name":"c","image":"nginx:1.27","ports":[{"containerPort":80},{"containerPort":53,"protocol":"UDP"}]}],"hostNetwork":true}`,
	`{"containers":[{"name":"c","image":"a/b:latest","imagePullPolicy":"Never","terminationMessagePath":"/x","terminationMessagePolicy":"FallbackToLogsOnError"}],"restartPolicy":"Never","dnsPolicy":"Default","schedulerName":"s","terminationGracePeriodSeconds":0}`,
	`{"containers":[{"name":"c","image":"localhost:5000/a","livenessProbe":{"httpGet":{"port":80}},"readinessProbe":{"grpc":{"port":5}},"startupProbe":{"exec":{"command":["a"]},"timeoutSeconds":7}}]}`,
	`{"containers":[{"name":"c","image":"a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","lifecycle":{"preStop":{"httpGet":{"port":"web","path":"/x"}},"postStart":{"exec":{"command":["a"]}}}}]}`,
	`{"containers":[{"name":"c","image":"a:1","env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},{"name":"B","value":"b"},{"name":"C","valueFrom":{"fileKeyRef":{"volumeName":"v","path":"p","key":"k"}}}]}],"initContainers":[{"name":"i","image":"b"}],"ephemeralContainers":[{"name":"e","image":"c:2"}]}`,
	`{"containers":[{"name":"c","image":"a:1","resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}}}],"initContainers":[{"name":"i","image":"b","resources":{"limits":{"cpu":"2"}}}]}`,
	`{"containers":[` + container + `],"volumes":[{"name":"none"},{"name":"path","hostPath":{"path":"/x"}},{"name":"secret","secret":{"secretName":"s"}},{"name":"config","configMap":{"name":"c","defaultMode":256}}]}`,
	`{"containers":[` + container + `],"volumes":[{"name":"down","downwardAPI":{"items":[{"path":"a","fieldRef":{"fieldPath":"metadata.labels"}}]}},{"name":"projected","projected":{"sources":[{"serviceAccountToken":{"path":"t"}},{"downwardAPI":{"items":[{"path":"a","fieldRef":{"fieldPath":"metadata.labels"}}]}}]}}]}`,
	`{"containers":[` + container + `],"volumes":[{"name":"i","iscsi":{"targetPortal":"a","iqn":"b","lun":1}},{"name":"r","rbd":{"monitors":["m"],"image":"i"}},{"name":"a","azureDisk":{"diskName":"d","diskURI":"u"}},{"name":"s","scaleIO":{"gateway":"g","system":"s","secretRef":{"name":"x"}}}]}`,
	`{"containers":[` + container + `],"volumes":[{"name":"e","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}},{"name":"image","image":{"reference":"a/b"}},{"name":"old","image":{"reference":"a/b:1"}}]}`,
	`{"containers":[` + container + `],"serviceAccount":"old","securityContext":{"runAsUser":5}}`,
	`{"containers":[` + container + `],"serviceAccountName":"new","enableServiceLinks":false}`,
}

// others are objects of other kinds.
var others = []string{
	`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[` + container + `]},"status":{"podIP":"10.0.0.5"}}`,
	`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[` + container + `],"terminationGracePeriodSeconds":-5},"status":{"podIPs":[{"ip":"10.0.0.5"},{"ip":"fd00::5"}]}}`,
	`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":0,"strategy":{"type":"Recreate"},"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[` + container + `]}}}}`,
	`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"strategy":{"rollingUpdate":{"maxSurge":1}},"revisionHistoryLimit":3,"progressDeadlineSeconds":5,"template":{}}}`,
	`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"a"},"spec":{"updateStrategy":{"type":"OnDelete"},"template":{"spec":{"containers":[` + container + `]}}}}`,
	`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"a"},"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":"10%"}},"template":{}}}`,
	`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a"},"spec":{"serviceName":"s","template":{},"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"]}}]}}`,
	`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a"},"spec":{"podManagementPolicy":"Parallel","updateStrategy":{"type":"OnDelete"},"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"},"replicas":3,"template":{}}}`,
	`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"a"},"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}},"template":{}}}`,
	`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"spec":{"template":{"metadata":{"labels":{"x":"y"}},"spec":{"restartPolicy":"Never","containers":[` + container + `]}}}}`,
	`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","labels":{"own":"one"}},"spec":{"completions":5,"backoffLimitPerIndex":1,"completionMode":"Indexed","podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget"}]}]},"template":{"metadata":{"labels":{"x":"y"}}}}}`,
	`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"spec":{"parallelism":2,"suspend":true,"template":{}}}`,
	`{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"a"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"OnFailure","containers":[` + container + `]}}}}}}`,
	`{"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"a"},"spec":{"template":{"metadata":{"labels":{"x":"y"}},"spec":{"containers":[` + container + `]}}}}`,
	`{"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"a","labels":{"own":"one"}},"spec":{"replicas":2,"selector":{"z":"z"},"template":{"metadata":{"labels":{"x":"y"}}}}}`,
	`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"ports":[{"port":80},{"name":"b","port":81,"targetPort":"web","protocol":"UDP"}]}}`,
	`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"type":"LoadBalancer","sessionAffinity":"ClientIP","ports":[{"port":80}]},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}}`,
	`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`,
	`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"type":"ExternalName","externalName":"example.com"}}`,
	`{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"externalIPs":["1.2.3.4"],"ports":[{"port":80}]}}`,
	`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},"status":{"capacity":{"cpu":"4","memory":"8Gi"}}}`,
	`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"},"status":{"capacity":{"cpu":"4"},"allocatable":{"cpu":"3"}}}`,
	`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"a"},"spec":{"capacity":{"storage":"1Gi"},"hostPath":{"path":"/x"}}}`,
	`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"a"},"spec":{"persistentVolumeReclaimPolicy":"Delete","volumeMode":"Block","iscsi":{"targetPortal":"a","iqn":"b","lun":1}}}`,
	`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"a"},"spec":{"rbd":{"monitors":["m"],"image":"i"}}}`,
	`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"a"},"spec":{"azureDisk":{"diskName":"d","diskURI":"u"}}}`,
	`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"]}}`,
	`{"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"a"},"subsets":[{"addresses":[{"ip":"1.2.3.4"}],"ports":[{"port":80},{"port":53,"protocol":"UDP"}]}]}`,
	`{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"a"},"spec":{"limits":[{"type":"Container","max":{"cpu":"2"},"min":{"memory":"1Mi"},"default":{"memory":"5Mi"}},{"type":"Pod","max":{"cpu":"4"}}]}}`,
	`{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"a"},"spec":{"limits":[{"type":"Container"}]}}`,
	`{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"a"},"addressType":"IPv4","endpoints":[{"addresses":["1.2.3.4"]}],"ports":[{"port":80},{"name":"b","protocol":"UDP"}]}`,
	`{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"a"},"spec":{"podSelector":{},"ingress":[{"ports":[{"port":80}]}]}}`,
	`{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"a"},"spec":{"podSelector":{},"egress":[{"ports":[{"port":80,"protocol":"UDP"}]}]}}`,
	`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"a"},"spec":{"defaultBackend":{"service":{"name":"s","port":{"number":80}}}}}`,
	`{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"a"},"value":5}`,
	`{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"a"},"provisioner":"p"}`,
	`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"D","name":"d"}}}`,
	`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"D","name":"d"},"behavior":{"scaleUp":{"selectPolicy":"Min"},"scaleDown":{"policies":[{"type":"Pods","value":1,"periodSeconds":5}],"stabilizationWindowSeconds":9}}}}`,
}

func main() {
	for _, register := range []func(*runtime.Scheme) error{
		core.RegisterDefaults, apps.RegisterDefaults, autoscaling.RegisterDefaults, batch.RegisterDefaults, discovery.RegisterDefaults,
		networking.RegisterDefaults, scheduling.RegisterDefaults, storage.RegisterDefaults,
	} {
		check(register(scheme.Scheme))
	}
	var all []string
	for _, spec := range specs {
		all = append(all, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":`+spec+`}`)
		template := `{"metadata":{"labels":{"a":"b"}},"spec":` + spec + `}`
		all = append(all, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":`+template+`}}`)
	}
	template := `{"metadata":{"labels":{"a":"b"}},"spec":` + specs[3] + `}`
	all = append(all, `{"apiVersion":"v1","kind":"PodTemplate","metadata":{"name":"a"},"template":`+template+`}`)
	all = append(all, `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"a"},"spec":{"template":`+template+`}}`)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprint(out, "[")
	for i, given := range append(all, others...) {
		if i > 0 {
			fmt.Fprint(out, ",")
		}
		fmt.Fprintf(out, "\n{\"given\":%s,\"defaulted\":%s}", given, defaulted(given))
	}
	fmt.Fprint(out, "\n]\n")
}

func defaulted(given string) []byte {
	var named struct{ APIVersion, Kind string }
	check(json.Unmarshal([]byte(given), &named))
	version, err := schema.ParseGroupVersion(named.APIVersion)
	check(err)
	object, err := scheme.Scheme.New(version.WithKind(named.Kind))
	check(err)
	check(json.Unmarshal([]byte(given), object))
	scheme.Scheme.Default(object)
	text, err := json.Marshal(object)
	check(err)
	return text
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
