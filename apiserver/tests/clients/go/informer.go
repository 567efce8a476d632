package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
)

// seen is what a handler was told, a line each.
type seen struct {
	mu    sync.Mutex
	lines []string
}

func (s *seen) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *seen) are() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// expect waits for as many lines, and wants these.
func (s *seen) expect(expected []string) {
	eventually(fmt.Sprintf("as many events as %v; there are %v", expected, s.are()), func() bool { return len(s.are()) >= len(expected) })
	check(slices.Equal(s.are(), expected), "the handler was told\n%v\nand should have been told\n%v", s.are(), expected)
}

func value(of any) string {
	config := of.(*corev1.ConfigMap)
	return config.Name + "=" + config.Data["v"]
}

func (s *seen) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.add("+" + value(o)) },
		UpdateFunc: func(old, o any) { s.add(value(old) + ">" + value(o)) },
		DeleteFunc: func(o any) { s.add("-" + value(o)) },
	}
}

// followed is a shared informer of config maps in a namespace of its own, and who changes them.
type followed struct {
	configs  v1.ConfigMapInterface
	informer cache.SharedIndexInformer
	counts   *requests
	seen     *seen
	expected []string
	stop     context.CancelFunc
}

func (p *plane) follow(ctx context.Context, namespace string, tweak func(*metav1.ListOptions)) *followed {
	_, err := p.typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	must(err)
	f := &followed{configs: p.typed.CoreV1().ConfigMaps(namespace), seen: &seen{}}
	f.set(ctx, "first", "0")
	typed, counts := p.counted()
	f.counts = counts
	factory := informers.NewSharedInformerFactoryWithOptions(typed, 0, informers.WithNamespace(namespace), informers.WithTweakListOptions(tweak))
	f.informer = factory.Core().V1().ConfigMaps().Informer()
	_, err = f.informer.AddEventHandler(f.seen.handler())
	must(err)
	ctx, f.stop = context.WithCancel(ctx)
	factory.Start(ctx.Done())
	check(cache.WaitForCacheSync(ctx.Done(), f.informer.HasSynced), "the informer did not become one with the server")
	return f
}

// set makes a config map, or changes it, or with no value deletes it.
func (f *followed) set(ctx context.Context, name, to string) {
	old, err := f.configs.Get(ctx, name, metav1.GetOptions{})
	switch {
	case err != nil:
		_, err = f.configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": to}}, metav1.CreateOptions{})
		f.expected = append(f.expected, "+"+name+"="+to)
	case to == "":
		err = f.configs.Delete(ctx, name, metav1.DeleteOptions{})
		f.expected = append(f.expected, "-"+value(old))
	default:
		f.expected = append(f.expected, value(old)+">"+name+"="+to)
		old.Data["v"] = to
		_, err = f.configs.Update(ctx, old, metav1.UpdateOptions{})
	}
	must(err)
}

// ends wants that it saw what happened, started with one watch-list, and never listed.
func (f *followed) ends() {
	f.seen.expect(f.expected)
	lists, watchLists, _ := f.counts.of()
	check(lists == 0 && watchLists == 1, "%d lists and %d watch-lists", lists, watchLists)
	f.stop()
}

func all(*metav1.ListOptions) {}

func informerFollows(ctx context.Context, p *plane) {
	f := p.follow(ctx, "follows", all)
	for _, one := range [][2]string{{"a", "1"}, {"b", "1"}, {"a", "2"}, {"b", ""}, {"first", "3"}, {"a", ""}} {
		f.set(ctx, one[0], one[1])
	}
	f.ends()
	one := p.follow(ctx, "one", func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", "first").String()
	})
	expected := one.expected
	one.set(ctx, "other", "1")
	one.set(ctx, "first", "2")
	one.expected = append(slices.Clone(expected), "first=0>first=2")
	one.ends()
}

// The server ends a watch in good order when the time is up that the client gave it.
func informerSurvivesEnds(ctx context.Context, p *plane) {
	// Shorter than two seconds client-go may take for a fault, and list.
	f := p.follow(ctx, "ends", func(o *metav1.ListOptions) {
		if o.TimeoutSeconds != nil {
			*o.TimeoutSeconds = 2
		}
	})
	for i := 1; ; i++ {
		if _, _, resumed := f.counts.of(); resumed >= 2 {
			break
		}
		f.set(ctx, "a", fmt.Sprint(i))
		time.Sleep(20 * time.Millisecond)
	}
	f.set(ctx, "first", "")
	f.ends()
}

func informerSurvivesCuts(ctx context.Context, p *plane) {
	f := p.follow(ctx, "cuts", all)
	for i := 1; i <= 5; i++ {
		// An event first: client-go lists anew after a watch that brought nothing in its first second.
		f.set(ctx, "a", fmt.Sprint(i))
		f.seen.expect(f.expected)
		f.counts.cut()
		f.set(ctx, "a", fmt.Sprint(-i))
		f.set(ctx, "b", fmt.Sprint(i))
		f.seen.expect(f.expected)
	}
	_, _, resumed := f.counts.of()
	check(resumed >= 5, "it resumed %d times", resumed)
	f.ends()
}

func informerSurvivesRestart(ctx context.Context, p *plane) {
	f := p.follow(ctx, "restarts", all)
	for i := 1; i <= 2; i++ {
		f.set(ctx, "a", fmt.Sprint(i))
		f.seen.expect(f.expected)
		p.restart()
		f.set(ctx, "first", fmt.Sprint(i))
		f.set(ctx, "b", fmt.Sprint(i))
		f.seen.expect(f.expected)
	}
	f.set(ctx, "a", "")
	f.ends()
}
