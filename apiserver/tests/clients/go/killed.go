package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// site is a namespace where an operator works, and whoever gives it work.
type site struct {
	*plane
	namespace string
	gophers   dynamic.ResourceInterface
	leader    *replica
}

// operatorKilled has an operator do the same work twice. The second time whoever leads is killed twice in the midst of it.
func operatorKilled(ctx context.Context, p *plane) {
	calm, killed := p.worked(ctx, "calm", false), p.worked(ctx, "killed", true)
	check(calm == killed, "left alone, it comes to\n%s\nand killed, to\n%s", calm, killed)
}

// worked returns what there is when all is done.
func (p *plane) worked(ctx context.Context, namespace string, kills bool) string {
	_, err := p.typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	must(err)
	s := &site{plane: p, namespace: namespace, gophers: p.dynamic.Resource(gophers).Namespace(namespace), leader: newReplica(namespace)}
	defer func() { s.leader.kill() }()

	s.create(ctx, 0, 30)
	if kills {
		s.killAfter(ctx, 8)
	}
	// Some of it while nobody leads.
	configs := p.typed.CoreV1().ConfigMaps(namespace)
	for i := range 30 {
		switch {
		case i < 2:
			s.untilMade(ctx, name(i))
			must(configs.Delete(ctx, name(i), metav1.DeleteOptions{}))
		case i < 4:
			s.untilMade(ctx, name(i))
			theirs := []byte(`{"data": {"size": "theirs", "note": "theirs"}}`)
			_, err = configs.Patch(ctx, name(i), types.MergePatchType, theirs, metav1.PatchOptions{FieldManager: "stranger"})
			must(err)
		case i < 24:
			size := fmt.Appendf(nil, `{"spec": {"size": %d}}`, 100+i)
			_, err = s.gophers.Patch(ctx, name(i), types.MergePatchType, size, metav1.PatchOptions{FieldManager: "user"})
			must(err)
		case i < 27:
			must(s.gophers.Delete(ctx, name(i), metav1.DeleteOptions{}))
		}
	}
	s.create(ctx, 30, 40)
	if kills {
		s.killAfter(ctx, 16)
	}
	s.create(ctx, 40, 42)
	eventually("all is done", func() bool { return s.kept(ctx) == 39 && len(s.configs(ctx)) == 39 && s.isAsTold(ctx) })
	if kills {
		lease, err := p.typed.CoordinationV1().Leases(namespace).Get(ctx, "operator", metav1.GetOptions{})
		must(err)
		check(*lease.Spec.LeaseTransitions == 2, "three were to lead: %+v", lease.Spec)
	}
	tampered, err := configs.Get(ctx, name(3), metav1.GetOptions{})
	must(err)
	check(maps.Equal(tampered.Data, map[string]string{"size": "4", "note": "theirs"}), "only what is the operator's is put back: %v", tampered.Data)
	eventually("there is an event of each", func() bool { return s.told(ctx) >= 39 })
	return s.all(ctx)
}

func name(i int) string { return fmt.Sprintf("g%02d", i) }

func (s *site) create(ctx context.Context, from, to int) {
	for i := from; i < to; i++ {
		_, err := s.gophers.Create(ctx, gopher(name(i), tree{"size": int64(i + 1)}), metav1.CreateOptions{FieldManager: "user"})
		must(err)
	}
}

// killAfter kills who leads when so many are kept, and there is more to do. The one beside it leads when the lease has run out.
func (s *site) killAfter(ctx context.Context, kept int) {
	next := newReplica(s.namespace)
	eventually("some are kept", func() bool { return s.kept(ctx) >= kept })
	s.leader.kill()
	s.leader = next
	list := s.list(ctx)
	check(s.kept(ctx) < len(list), "all was done when it was killed: it is not slow enough")
}

func (s *site) untilMade(ctx context.Context, name string) {
	eventually(name+" has a config map", func() bool {
		_, err := s.typed.CoreV1().ConfigMaps(s.namespace).Get(ctx, name, metav1.GetOptions{})
		return !apierrors.IsNotFound(err)
	})
}

func (s *site) list(ctx context.Context) []unstructured.Unstructured {
	list, err := s.gophers.List(ctx, metav1.ListOptions{})
	must(err)
	return list.Items
}

func (s *site) configs(ctx context.Context) []corev1.ConfigMap {
	list, err := s.typed.CoreV1().ConfigMaps(s.namespace).List(ctx, metav1.ListOptions{})
	must(err)
	return list.Items
}

// kept is how many have the status that they should have.
func (s *site) kept(ctx context.Context) int {
	count := 0
	for _, one := range s.list(ctx) {
		size, _, _ := unstructured.NestedInt64(one.Object, "spec", "size")
		kept, _, _ := unstructured.NestedInt64(one.Object, "status", "kept")
		if size == kept && one.GetDeletionTimestamp() == nil {
			count++
		}
	}
	return count
}

// isAsTold says whether each config map has the size of its gopher.
func (s *site) isAsTold(ctx context.Context) bool {
	sizes := map[types.UID]string{}
	for _, one := range s.list(ctx) {
		size, _, _ := unstructured.NestedInt64(one.Object, "spec", "size")
		sizes[one.GetUID()] = fmt.Sprint(size)
	}
	for _, config := range s.configs(ctx) {
		if len(config.OwnerReferences) != 1 || sizes[config.OwnerReferences[0].UID] != config.Data["size"] {
			return false
		}
	}
	return true
}

// told is of how many an event says that they are kept.
func (s *site) told(ctx context.Context) int {
	events, err := s.typed.EventsV1().Events(s.namespace).List(ctx, metav1.ListOptions{})
	must(err)
	there := map[types.UID]bool{}
	for _, one := range s.list(ctx) {
		there[one.GetUID()] = true
	}
	told := map[types.UID]bool{}
	for _, event := range events.Items {
		if event.Reason == "Kept" && event.ReportingController == "operator" && there[event.Regarding.UID] {
			told[event.Regarding.UID] = true
		}
	}
	return len(told)
}

// all is what there is, without what is new each time.
func (s *site) all(ctx context.Context) string {
	type thing struct {
		Name, Owner string
		Finalizers  []string
		Says        any
		Managers    []metav1.ManagedFieldsEntry
	}
	managers := func(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
		for i := range entries {
			entries[i].Time = nil
		}
		// The server has them by time.
		slices.SortFunc(entries, func(one, other metav1.ManagedFieldsEntry) int {
			return strings.Compare(one.Manager+" "+one.Subresource, other.Manager+" "+other.Subresource)
		})
		return entries
	}
	things := []thing{}
	for _, one := range s.list(ctx) {
		says := []any{one.Object["spec"], one.Object["status"]}
		things = append(things, thing{one.GetName(), "", one.GetFinalizers(), says, managers(one.GetManagedFields())})
	}
	for _, one := range s.configs(ctx) {
		owner, managers := one.OwnerReferences[0], managers(one.ManagedFields)
		// The UID is new each time, and by it the owner is told from others among the fields.
		for i := range managers {
			fields := strings.ReplaceAll(managers[i].FieldsV1.GetRawString(), string(owner.UID), owner.Name)
			managers[i].FieldsV1.SetRawString(fields)
		}
		things = append(things, thing{one.Name, owner.Name, one.Finalizers, one.Data, managers})
	}
	text, err := json.MarshalIndent(things, "", " ")
	must(err)
	return string(text)
}

// replica is a process that runs the operator.
type replica struct {
	command *exec.Cmd
	// It ends when this is closed, should this process end otherwise.
	_ io.Closer
}

func newReplica(namespace string) *replica {
	self, err := os.Executable()
	must(err)
	command := exec.Command(self, "operate", namespace)
	command.Stderr = os.Stdout
	input, err := command.StdinPipe()
	must(err)
	must(command.Start())
	return &replica{command, input}
}

func (r *replica) kill() {
	must(r.command.Process.Kill())
	_ = r.command.Wait()
}
