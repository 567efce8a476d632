// Command managed writes what Kubernetes' own field manager makes of writes to built-in kinds, one after the other.
//
//	cd apiserver/record && go run ./managed < ../src/managed/typed.yaml > ../src/managed/typed.json
package main

import (
	"encoding/json"
	"io"
	"log"
	"os"
	"reflect"

	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"
)

// A sequence is what is done to one object. What is not said in an object is taken from `of`.
type sequence struct {
	Name  string         `json:"name"`
	Of    map[string]any `json:"of"`
	Steps []step         `json:"steps"`
}

type step struct {
	By     string         `json:"by"`
	Apply  map[string]any `json:"apply,omitempty"`
	Update map[string]any `json:"update,omitempty"`
	Force  bool           `json:"force,omitempty"`
}

// What came of a step: the object with its entries, or who stands against it.
type outcome struct {
	By        string         `json:"by"`
	Apply     map[string]any `json:"apply,omitempty"`
	Force     bool           `json:"force,omitempty"`
	Result    map[string]any `json:"result,omitempty"`
	Conflicts []string       `json:"conflicts,omitempty"`
}

type recorded struct {
	Name  string    `json:"name"`
	Steps []outcome `json:"steps"`
}

func main() {
	text, err := io.ReadAll(os.Stdin)
	check(err)
	var sequences []sequence
	check(yaml.UnmarshalStrict(text, &sequences))
	all := []recorded{}
	for _, sequence := range sequences {
		all = append(all, recorded{sequence.Name, record(sequence)})
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	check(out.Encode(all))
}

func record(of sequence) []outcome {
	kind := schema.FromAPIVersionAndKind(of.Of["apiVersion"].(string), of.Of["kind"].(string))
	status := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	reset := map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(kind.GroupVersion().String()): fieldpath.NewExcludeSetFilter(status)}
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	manager, err := managedfields.NewDefaultFieldManager(converter, scheme.Scheme, scheme.Scheme, scheme.Scheme, kind, kind.GroupVersion(), "", reset)
	check(err)

	live := empty(kind)
	var outcomes []outcome
	for _, step := range of.Steps {
		done := outcome{By: step.By, Force: step.Force}
		var now runtime.Object
		if step.Apply != nil {
			done.Apply = with(of.Of, step.Apply)
			now, err = manager.Apply(live, &unstructured.Unstructured{Object: with(of.Of, step.Apply)}, step.By, step.Force)
		} else {
			sent := typed(kind, with(of.Of, step.Update))
			sent.(meta.Object).SetManagedFields(live.(meta.Object).GetManagedFields())
			now, err = manager.Update(live, sent, step.By)
		}
		if status := errors.APIStatus(nil); errors.IsConflict(err) && asStatus(err, &status) {
			for _, cause := range status.Status().Details.Causes {
				done.Conflicts = append(done.Conflicts, cause.Field+": "+cause.Message)
			}
		} else {
			check(err)
			live = now
			done.Result, err = runtime.DefaultUnstructuredConverter.ToUnstructured(live)
			check(err)
			withoutTimes(done.Result)
		}
		outcomes = append(outcomes, done)
	}
	return outcomes
}

func empty(kind schema.GroupVersionKind) runtime.Object {
	made, err := scheme.Scheme.New(kind)
	check(err)
	made.GetObjectKind().SetGroupVersionKind(kind)
	return made
}

func typed(kind schema.GroupVersionKind, object map[string]any) runtime.Object {
	made := empty(kind)
	check(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, made, true))
	return made
}

// with is both, the second one first. Numbers are those that JSON readers of Kubernetes make.
func with(common, own map[string]any) map[string]any {
	text, err := json.Marshal(common)
	check(err)
	whole := map[string]any{}
	for _, fields := range []map[string]any{common, own} {
		for name, value := range fields {
			whole[name] = value
		}
	}
	text, err = json.Marshal(whole)
	check(err)
	read := &unstructured.Unstructured{}
	check(read.UnmarshalJSON(text))
	return read.Object
}

func asStatus(err error, status *errors.APIStatus) bool {
	found, ok := err.(errors.APIStatus)
	*status = found
	return ok && !reflect.ValueOf(found).IsNil()
}

func withoutTimes(object map[string]any) {
	entries, _, err := unstructured.NestedSlice(object, "metadata", "managedFields")
	check(err)
	for _, entry := range entries {
		delete(entry.(map[string]any), "time")
	}
	if entries != nil {
		check(unstructured.SetNestedSlice(object, entries, "metadata", "managedFields"))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
