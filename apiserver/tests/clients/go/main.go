// An unmodified client-go, with its defaults, and a manager of controller-runtime, against the server that KUBECONFIG names.
//
// The Rust test `client_go_works_unmodified` builds and runs it. Each step is printed before it begins; the first that
// does not hold ends the run. A line `restart` asks the test to start the server again on its data; it answers with a line.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	corev1 "k8s.io/api/core/v1"
)

const namespace = "go"

// plane is the server as the steps see it.
type plane struct {
	config  *rest.Config
	typed   *kubernetes.Clientset
	dynamic *dynamic.DynamicClient
	answers *bufio.Reader
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	must(err)
	// The one default that is not kept: five requests a second would make this a test of patience.
	config.QPS, config.Burst = 1000, 1000
	if len(os.Args) == 3 && os.Args[1] == "operate" {
		operate(config, os.Args[2])
		return
	}
	p := &plane{
		config:  config,
		typed:   kubernetes.NewForConfigOrDie(config),
		dynamic: dynamic.NewForConfigOrDie(config),
		answers: bufio.NewReader(os.Stdin),
	}
	_, err = p.typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	must(err)
	steps := []struct {
		what string
		run  func(context.Context, *plane)
	}{
		{"typed clients create, read, patch, update and delete built-ins", typedBuiltins},
		{"bodies and answers are protobuf, and so are events", protobufBodies},
		{"a refusal is the error that client-go knows", refusals},
		{"a list comes in pages, and a collection goes in one", pagesAndCollections},
		{"an event recorder posts events and counts them", recordedEvents},
		{"discovery and the REST mapper know what is served", knownKinds},
		{"metadata of every kind is listed and followed in protobuf", metadataOfKinds},
		{"the old OpenAPI document is what its library reads", oldDocument},
		{"the dynamic client works on a definition's kind", dynamicClient},
		{"an informer starts with a watch-list and follows", informerFollows},
		{"a watch that the server ends is resumed", informerSurvivesEnds},
		{"a watch whose connection breaks is resumed", informerSurvivesCuts},
		{"a restart of the server loses nothing and lists nothing anew", informerSurvivesRestart},
		{"a dynamic informer follows too", dynamicInformer},
		{"a manager of controller-runtime keeps what it owns", manager},
		{"an operator that is killed twice comes to what it comes to when left alone", operatorKilled},
		{"whoever retries on conflict gets through", contention},
		{"of two candidates one leads, and the other one after it", election},
	}
	for _, step := range steps {
		begin := time.Now()
		fmt.Printf("step: %s\n", step.what)
		step.run(ctx, p)
		fmt.Printf("      %.1f s\n", time.Since(begin).Seconds())
	}
	fmt.Println("all steps hold")
}

// restart has the server started again on its data, and returns when it is up.
func (p *plane) restart() {
	fmt.Println("restart")
	_, err := p.answers.ReadString('\n')
	must(err)
}

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func check(holds bool, format string, arguments ...any) {
	if !holds {
		fail(format, arguments...)
	}
}

func fail(format string, arguments ...any) {
	panic(fmt.Sprintf(format, arguments...))
}

// eventually waits for what comes by itself.
func eventually(what string, holds func() bool) {
	deadline := time.Now().Add(time.Minute)
	for !holds() {
		check(time.Now().Before(deadline), "after a minute still not: %s", what)
		time.Sleep(10 * time.Millisecond)
	}
}
