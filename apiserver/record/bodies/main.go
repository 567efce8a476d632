// Command bodies writes what the real serializers make of objects of each built-in kind, as cases for the tests.
//
//	cd apiserver/record && go run ./bodies ../tests/bodies
//
// GROUP.VERSION.KIND.CASE.pb is an object as protobuf, .json is the same object as JSON. The cases: empty; zeros, where every
// pointer is set and points at nothing; full, where every field is set. quantities.json, times.json: text to its canonical form,
// or to an error. strict.json: bodies with what the strict decoder says of them.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"

	"github.com/machinery-rs/machinery/apiserver/record/kinds"
)

var wire = protobuf.NewSerializer(runtime.NewScheme(), runtime.NewScheme())

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: bodies DIRECTORY")
	}
	to := os.Args[1]
	check(os.MkdirAll(to, 0o755))
	for _, kind := range kinds.All {
		apiVersion := kind.APIVersion
		if apiVersion == kinds.Everywhere {
			apiVersion = "meta.k8s.io/v1"
		}
		// A frame has no kind: it is recorded below, as the wire has it.
		if kind.Kind == "WatchEvent" {
			continue
		}
		for _, name := range []string{"empty", "zeros", "full"} {
			object := reflect.New(reflect.TypeOf(kind.Object).Elem())
			(&filler{full: name == "full", deep: !strings.HasSuffix(kind.Kind, "List")}).message(object.Elem(), name == "empty")
			write(to, apiVersion, kind.Kind, name, object.Interface().(runtime.Object))
		}
	}
	// Options come in the group of what they are for.
	write(to, "apps/v1", "DeleteOptions", "group", meta.NewDeleteOptions(0))
	write(to, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "typical", definition())
	frame(to)
	quantities(to)
	times(to)
	strict(to)
}

// write writes an object in both forms: the JSON is that of what the protobuf reads as, since that is what a server sees.
func write(to, apiVersion, kind, name string, object runtime.Object) {
	version, err := schema.ParseGroupVersion(apiVersion)
	check(err)
	object.GetObjectKind().SetGroupVersionKind(version.WithKind(kind))
	var body bytes.Buffer
	check(wire.Encode(object, &body))
	read := reflect.New(reflect.TypeOf(object).Elem()).Interface().(runtime.Object)
	_, _, err = wire.Decode(body.Bytes(), nil, read)
	check(err)
	read.GetObjectKind().SetGroupVersionKind(version.WithKind(kind))
	group := version.Group
	if group == "" {
		group = "core"
	}
	path := filepath.Join(to, fmt.Sprintf("%s.%s.%s.%s", group, version.Version, kind, name))
	check(os.WriteFile(path+".pb", body.Bytes(), 0o644))
	writeJSON(path+".json", read)
}

func writeJSON(path string, value any) {
	text, err := json.Marshal(value)
	check(err)
	check(os.WriteFile(path, append(text, '\n'), 0o644))
}

// filler sets fields. Times and opaque JSON are set only if all is full: a pointer at nothing is null in JSON there, and that is
// not to be told from no pointer.
type filler struct {
	full  bool
	deep  bool
	count int
	// Schemas around the current one: they contain each other.
	schemas int
}

var opaque = map[reflect.Type]bool{
	reflect.TypeFor[meta.Time]():      true,
	reflect.TypeFor[meta.MicroTime](): true,
	reflect.TypeFor[meta.FieldsV1]():  true,

	reflect.TypeFor[apiextensions.JSON]():                   true,
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray](): true,
}

func (f *filler) message(v reflect.Value, empty bool) {
	if empty {
		return
	}
	for i := range v.NumField() {
		of := v.Type().Field(i)
		// Empty bytes that JSON leaves out are not to be told from none.
		lost := !f.full && of.Type == reflect.TypeFor[[]byte]() && strings.Contains(of.Tag.Get("json"), "omitempty")
		if of.Type != reflect.TypeFor[meta.TypeMeta]() && !lost {
			f.value(v.Field(i))
		}
	}
}

func (f *filler) value(v reflect.Value) {
	f.count++
	switch made := v.Addr().Interface().(type) {
	case *meta.Time:
		if f.full {
			*made = meta.NewTime(time.Unix(1_700_000_000+int64(f.count)*86_400, 0))
		}
		return
	case *meta.MicroTime:
		if f.full {
			*made = meta.NewMicroTime(time.Unix(1_700_000_000, int64(f.count)*1_001_000))
		}
		return
	case *meta.FieldsV1:
		if f.full {
			*made = *meta.NewFieldsV1(fmt.Sprintf(`{"f:metadata":{"f:labels":{".":{},"f:l%d":{}}}}`, f.count))
		}
		return
	case *resource.Quantity:
		if f.full {
			*made = resource.MustParse([]string{"1500m", "3Gi", "12e6", "0.5"}[f.count%4])
		}
		return
	case *intstr.IntOrString:
		if f.full && f.count%2 == 0 {
			*made = intstr.FromString(fmt.Sprint("port-", f.count))
		} else if f.full {
			*made = intstr.FromInt32(int32(f.count))
		}
		return
	case *runtime.RawExtension:
		if f.full {
			made.Raw = fmt.Appendf(nil, `{"n":%d}`, f.count)
		}
		return
	case *apiextensions.JSON:
		if f.full {
			made.Raw = fmt.Appendf(nil, []string{`{"n":%d}`, `%d`, `["%d",null]`, `"%d"`}[f.count%4], f.count)
		}
		return
	case *apiextensions.JSONSchemaPropsOrBool:
		made.Allows = f.full
		if f.full && f.count%2 == 0 {
			made.Schema = &apiextensions.JSONSchemaProps{}
			f.value(reflect.ValueOf(made.Schema).Elem())
		}
		return
	case *apiextensions.JSONSchemaPropsOrArray:
		if f.full && f.count%2 == 0 {
			made.Schema = &apiextensions.JSONSchemaProps{}
			f.value(reflect.ValueOf(made.Schema).Elem())
		} else if f.full {
			made.JSONSchemas = make([]apiextensions.JSONSchemaProps, 2)
			f.value(reflect.ValueOf(made.JSONSchemas).Index(1))
		}
		return
	case *apiextensions.JSONSchemaPropsOrStringArray:
		if f.full && f.count%2 == 0 {
			made.Property = []string{"a", "b"}
		} else if f.full {
			made.Schema = &apiextensions.JSONSchemaProps{}
			f.value(reflect.ValueOf(made.Schema).Elem())
		}
		return
	case *apiextensions.JSONSchemaProps:
		if f.schemas == 2 {
			made.Type, made.Description = "object", fmt.Sprint("schema-", f.count)
			return
		}
		f.schemas++
		f.plain(v)
		f.schemas--
		return
	case *apiextensions.CustomResourceDefinition:
		if !f.deep {
			made.Name = fmt.Sprint("item-", f.count)
			return
		}
	case *core.PodTemplateSpec:
		// Pods have a case of their own: here is enough to see that a template is one.
		made.Name = "template"
		made.Spec.Containers = []core.Container{{Name: "one", Image: "image"}}
		return
	case *core.EphemeralContainerCommon:
		made.Name = "debug"
		return
	case *apps.Deployment, *apps.ReplicaSet, *core.Pod, *core.Node, *core.Service, *core.PersistentVolume, *apps.StatefulSet:
		if !f.deep {
			reflect.ValueOf(made).Elem().FieldByName("Name").SetString(fmt.Sprint("item-", f.count))
			return
		}
	}
	f.plain(v)
}

func (f *filler) plain(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if opaque[v.Type().Elem()] && !f.full {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		f.value(v.Elem())
	case reflect.Struct:
		f.message(v, false)
	case reflect.String:
		if f.full {
			v.SetString(fmt.Sprint("té\"xt-", f.count))
		}
	case reflect.Bool:
		v.SetBool(f.full)
	case reflect.Int32, reflect.Int64:
		if f.full && f.count%7 == 0 {
			v.SetInt(-int64(f.count))
		} else if f.full {
			v.SetInt(int64(f.count))
		}
	case reflect.Float64:
		if f.full {
			v.SetFloat(float64(f.count) / 2)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]byte]() {
			v.SetBytes([]byte{})
			if f.full {
				v.SetBytes([]byte{0, 255, byte(f.count)})
			}
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1+f.count%2, 2))
		for i := range v.Len() {
			f.value(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString(fmt.Sprint("k", i))
			f.value(value)
			v.SetMapIndex(key, value)
		}
	default:
		log.Fatalf("a field is a %v", v.Type())
	}
}

// definition is one that a client could create, with each union of a schema in each form.
func definition() *apiextensions.CustomResourceDefinition {
	text := func(text string) *apiextensions.JSON { return &apiextensions.JSON{Raw: []byte(text)} }
	least, most, yes := 1.0, 9.5, true
	length := int64(20)
	word := apiextensions.JSONSchemaProps{Type: "string", MaxLength: &length, Enum: []apiextensions.JSON{*text(`"red"`), *text(`"blue"`)}, Default: text(`"red"`)}
	number := apiextensions.JSONSchemaProps{Type: "number", Minimum: &least, Maximum: &most, Default: text("2.5")}
	spec := apiextensions.JSONSchemaProps{
		Type:     "object",
		Required: []string{"color"},
		Properties: map[string]apiextensions.JSONSchemaProps{
			"color":  word,
			"factor": number,
			"size":   {Type: "integer", Format: "int32", Default: text("3")},
			"port":   {XIntOrString: true, AnyOf: []apiextensions.JSONSchemaProps{{Type: "integer"}, {Type: "string"}}},
			"words":  {Type: "array", Items: &apiextensions.JSONSchemaPropsOrArray{Schema: &word}, Default: text(`["blue","red"]`)},
			"labels": {Type: "object", AdditionalProperties: &apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: &apiextensions.JSONSchemaProps{Type: "string"}}},
			"open":   {Type: "object", XPreserveUnknownFields: &yes, Nullable: true, Default: text(`{"a":{"b":[1,null]}}`)},
			"opener": {Type: "object", AdditionalProperties: &apiextensions.JSONSchemaPropsOrBool{Allows: true}},
		},
		XValidations: apiextensions.ValidationRules{{Rule: "self.factor < 9.0", Message: "less"}},
	}
	root := apiextensions.JSONSchemaProps{Type: "object", Description: "A gadget.", Properties: map[string]apiextensions.JSONSchemaProps{
		"spec":   spec,
		"status": {Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"size": {Type: "integer"}}},
	}}
	made := &apiextensions.CustomResourceDefinition{Spec: apiextensions.CustomResourceDefinitionSpec{
		Group: "example.com",
		Scope: apiextensions.NamespaceScoped,
		Names: apiextensions.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList", ShortNames: []string{"gg"}},
		Versions: []apiextensions.CustomResourceDefinitionVersion{{
			Name: "v1", Served: true, Storage: true,
			Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &root},
			Subresources: &apiextensions.CustomResourceSubresources{
				Status: &apiextensions.CustomResourceSubresourceStatus{},
				Scale:  &apiextensions.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.size", StatusReplicasPath: ".status.size"},
			},
			AdditionalPrinterColumns: []apiextensions.CustomResourceColumnDefinition{{Name: "Color", Type: "string", JSONPath: ".spec.color"}},
			SelectableFields:         []apiextensions.SelectableField{{JSONPath: ".spec.color"}},
		}},
	}}
	made.Name = "gadgets.example.com"
	return made
}

// frame is an event of a watch: the bare message, whose object is a whole body.
func frame(to string) {
	object := &core.ConfigMap{Data: map[string]string{"a": "b"}}
	object.Name = "watched"
	object.SetGroupVersionKind(core.SchemeGroupVersion.WithKind("ConfigMap"))
	var body bytes.Buffer
	check(wire.Encode(object, &body))
	event := meta.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: body.Bytes()}}
	frame, err := event.Marshal()
	check(err)
	check(os.WriteFile(filepath.Join(to, "watch.frame"), frame, 0o644))
	writeJSON(filepath.Join(to, "watch.json"), map[string]any{"type": "ADDED", "object": object})
}

type outcome struct {
	Is    string `json:"is,omitempty"`
	Error string `json:"error,omitempty"`
}

func quantities(to string) {
	seen := map[string]outcome{}
	for _, text := range []string{
		"", "0", "00", "0Mi", "-0", "1", "+1", "-1", "0.5", "-0.5", "1.5", "1.500", "1.0", "100", "1000", "1500", "10000000", "1k", "1000k",
		"1500m", "1000m", "100m", "0.1", "0.001", "0.0001", "1u", "1n", "0.1n", "0.5n", "-0.5n", "1.1n", "123456789.123456789123", "1Ki",
		"1024", "1024Ki", "1025Ki", "1023Ki", "8Ki", "1Mi", "1024Mi", "1536Mi", "1.5Gi", "0.5Ki", "0.5Mi", "0.1Ki", "1.1Ki", "1Ei", "7Ei", "8Ei",
		"100Ei", "9223372036854775807", "9223372036854775808", "123456789012345678901234567890", "1e3", "1E3", "12e6", "1e-3", "1e-9",
		"1e-12", "1.5e3", "1e0", "2E", "1P", "5T", "3G", "4M", "1e1", "1e2", "1e18", "1E-3", "1.", ".5", ".", "1.G", "Mi", "abc", "1 ",
		"1x", "1KiB", "1mi", "1K", "1e", "1ee3", "e3", "--1", "1-", "1e+3", "Ei", "e-12", "+", "1i", "0.000000001Mi", "-1Mi", "-1.5Mi", "1023",
		"999999999999999999k", "1Ti", "1Pi", "0.9Gi", "12.34k", "1234567.891M",
	} {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			seen[text] = outcome{Error: err.Error()}
		} else {
			seen[text] = outcome{Is: quantity.String()}
		}
	}
	writeJSON(filepath.Join(to, "quantities.json"), seen)
}

func times(to string) {
	type both struct{ Time, MicroTime outcome }
	seen := map[string]both{}
	for _, text := range []string{
		"2024-02-29T12:34:56Z", "2024-02-29T12:34:56.789Z", "2024-02-29T12:34:56.123456Z", "2024-02-29T12:34:56.123456789Z",
		"2026-11-21T09:30:38.941890+00:00", "2024-02-29T00:00:00+02:00", "2024-02-29T23:00:00.000000-02:30", "1969-12-31T23:59:59.999999Z",
		"0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "1900-03-01T00:00:00Z", "2000-02-29T00:00:00Z",
		"2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z", "2024-01-32T00:00:00Z", "2024-01-00T00:00:00Z",
		"2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2024-01-01T00:00:60Z", "2024-01-01", "", "x", "2024-01-01T00:00:00",
		"2024-01-01 00:00:00Z", "2024-01-01t00:00:00z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00+0200",
		"2024-01-01T00:00:00Zx", "2024-01-01T0:00:00Z", "24-01-01T00:00:00Z", "2024-01-01T00:00:00+25:00",
	} {
		var one meta.Time
		var micro meta.MicroTime
		seen[text] = both{parsed(text, &one), parsed(text, &micro)}
	}
	writeJSON(filepath.Join(to, "times.json"), seen)
}

func parsed(text string, into any) outcome {
	quoted, err := json.Marshal(text)
	check(err)
	if err := json.Unmarshal(quoted, into); err != nil {
		return outcome{Error: err.Error()}
	}
	said, err := json.Marshal(into)
	check(err)
	if string(said) == "null" {
		return outcome{Is: "null"}
	}
	return outcome{Is: strings.Trim(string(said), `"`)}
}

// strict records what the strict decoder says: an error that ends it, or what it did not know.
func strict(to string) {
	type said struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Body       string   `json:"body"`
		Error      string   `json:"error,omitempty"`
		Strict     []string `json:"strict,omitempty"`
	}
	var all []said
	for _, one := range [][3]string{
		{"v1", "ConfigMap", `{"data":{"a":1}}`},
		{"v1", "ConfigMap", `{"data":[]}`},
		{"v1", "ConfigMap", `{"data":{"a":"b"},"extra":1,"metadata":{"Name":"x","name":"y"}}`},
		{"v1", "ConfigMap", `{"binaryData":{"a":"AP8="},"immutable":"yes"}`},
		{"v1", "ConfigMap", `{"binaryData":{"a":"!"}}`},
		{"v1", "ConfigMap", `{"metadata":{"labels":{"a":true}}}`},
		{"v1", "ConfigMap", `{"metadata":{"labels":"x"}}`},
		{"v1", "ConfigMap", `{"metadata":{"finalizers":[1]}}`},
		{"v1", "ConfigMap", `{"metadata":{"creationTimestamp":1}}`},
		{"v1", "ConfigMap", `{"metadata":{"creationTimestamp":"yesterday"}}`},
		{"v1", "ConfigMap", `{"metadata":{"creationTimestamp":null,"generation":null,"labels":null}}`},
		{"v1", "ConfigMap", `{"metadata":{"generation":1.5}}`},
		{"v1", "ConfigMap", `{"metadata":{"ownerReferences":[{"x":1},{"name":"a","y":{"z":1}}],"managedFields":[{"fieldsV1":{"any":{}},"q":1}]}}`},
		{"v1", "ConfigMap", `{"kind":1}`},
		{"v1", "ConfigMap", `[]`},
		{"v1", "ConfigMap", `"x"`},
		{"v1", "ConfigMap", `7`},
		{"v1", "ConfigMap", `null`},
		{"v1", "Pod", `{"spec":{"containers":[{"name":1}]}}`},
		{"v1", "Pod", `{"spec":{"containers":["x"]}}`},
		{"v1", "Pod", `{"spec":{"containers":{"name":"x"}}}`},
		{"v1", "Pod", `{"spec":[]}`},
		{"v1", "Pod", `{"spec":{"containers":[{"ports":[{"containerPort":"80"}]}]}}`},
		{"v1", "Pod", `{"spec":{"containers":[{"ports":[{"containerPort":99999999999}]}]}}`},
		{"v1", "Pod", `{"spec":{"containers":[{"resources":{"limits":{"cpu":1,"memory":"1Gi"}}}]}}`},
		{"v1", "Pod", `{"spec":{"containers":[{"resources":{"limits":{"cpu":"lots"}}}]}}`},
		{"v1", "Pod", `{"spec":{"containers":[{"resources":{"limits":{"cpu":true}}}]}}`},
		{"v1", "Pod", `{"spec":{"containers":[{"resources":{"limits":{"cpu":{}}}}]}}`},
		{"v1", "Pod", `{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}}`},
		{"v1", "Pod", `{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":99999999999}}}]}}`},
		{"v1", "Pod", `{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":"web","pot":1},"tcpSocket":3}}]}}`},
		{"v1", "Pod", `{"spec":{"volumes":[{"name":"a","emptyDir":{"sizeLimit":"1Gi","size":2},"what":{}}]}}`},
		{"v1", "Pod", `{"spec":{"volumes":[{"name":"a","hostPath":{"path":1}}]}}`},
		{"v1", "Pod", `{"spec":{"hostNetwork":"true"}}`},
		{"v1", "Pod", `{"spec":{"nodeSelector":{"a":null},"containers":[null],"tolerations":null}}`},
		{"v1", "Pod", `{"spec":{"securityContext":{"supplementalGroups":["1"]}}}`},
		{"v1", "Secret", `{"data":{"a":1}}`},
		{"v1", "Secret", `{"data":{"a":"abc"}}`},
		{"v1", "Secret", `{"data":{"a":"YWI="},"stringData":{"x":[]}}`},
		{"coordination.k8s.io/v1", "Lease", `{"spec":{"renewTime":"2024-01-01T00:00:00Z"}}`},
		{"coordination.k8s.io/v1", "Lease", `{"spec":{"leaseDurationSeconds":"15"}}`},
		{"coordination.k8s.io/v1", "Lease", `{"spec":{"leaseDurationSeconds":15.0}}`},
		{"authorization.k8s.io/v1", "SubjectAccessReview", `{"spec":{"extra":{"a":["b"],"c":null}}}`},
		{"authorization.k8s.io/v1", "SubjectAccessReview", `{"spec":{"extra":{"a":"b"}}}`},
		{"authorization.k8s.io/v1", "SubjectAccessReview", `{"spec":{"extra":{"a":[1]}}}`},
		{"rbac.authorization.k8s.io/v1", "Role", `{"rules":[{"verbs":"get"}]}`},
		{"apps/v1", "Deployment", `{"spec":{"replicas":"3"}}`},
		{"apps/v1", "Deployment", `{"spec":{"template":{"spec":{"containers":[{"name":"x","imag":"y"}]}},"strategy":{"rollingUpdate":{"maxSurge":"25%","a":0}}}}`},
	} {
		for _, kind := range kinds.All {
			if kind.APIVersion != one[0] || kind.Kind != one[1] {
				continue
			}
			made := said{APIVersion: one[0], Kind: one[1], Body: one[2]}
			unknown, err := kjson.UnmarshalStrict([]byte(one[2]), reflect.New(reflect.TypeOf(kind.Object).Elem()).Interface())
			if err != nil {
				made.Error = err.Error()
			}
			for _, each := range unknown {
				made.Strict = append(made.Strict, each.Error())
			}
			all = append(all, made)
		}
	}
	writeJSON(filepath.Join(to, "strict.json"), all)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
