// Command types writes the table of the built-in kinds' message types: what the tags of the Go types say,
// and how those who apply share their fields.
//
//	cd apiserver/record && go run ./types > ../src/builtin/types.json
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	core "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/schema"

	"github.com/machinery-rs/machinery/apiserver/record/kinds"
)

// field is one field of a message. What is left out is the usual: one value, always written, merged by nothing.
type field struct {
	Name     string `json:"name,omitempty"`   // absent: the message's fields stand among those of its owner in JSON
	Number   int    `json:"number,omitempty"` // absent: not in protobuf
	Type     string `json:"type"`
	Shape    string `json:"shape,omitempty"` // list, map
	Pointer  bool   `json:"pointer,omitempty"`
	Omit     string `json:"omit,omitempty"` // empty, zero: when JSON leaves it out
	Strategy string `json:"strategy,omitempty"`
	Key      string `json:"key,omitempty"`
	// How those who apply share it. Absent: as one value, if it is a list; and field by field, if it is a map or a message.
	Merge string   `json:"merge,omitempty"` // atomic, set, map
	Keys  []string `json:"keys,omitempty"`  // of the items of a map
	// Of a field that is such a key: what it is where it is left out.
	Default string `json:"default,omitempty"`
}

// special are the types whose JSON is not that of their fields.
var special = map[reflect.Type]string{
	reflect.TypeFor[meta.Time]():            "Time",
	reflect.TypeFor[meta.MicroTime]():       "MicroTime",
	reflect.TypeFor[meta.FieldsV1]():        "FieldsV1",
	reflect.TypeFor[resource.Quantity]():    "Quantity",
	reflect.TypeFor[intstr.IntOrString]():   "IntOrString",
	reflect.TypeFor[runtime.RawExtension](): "RawExtension",

	reflect.TypeFor[apiextensions.JSON]():                         "JSON",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]():        "SchemaOrBool",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray]():       "SchemaOrArray",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrStringArray](): "SchemaOrStrings",
}

type marshaler interface{ Marshal() ([]byte, error) }

type modelNamer interface{ OpenAPIModelName() string }

var types = map[string][]field{}

// markers is what `+listType`, `+mapType` and `+structType` say, as clients that apply have it.
var markers *schema.Schema

// atomic are the messages that are always shared as one value.
var atomic = map[string]bool{}

func main() {
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	typed, err := converter.ObjectToTyped(&core.Namespace{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Namespace"}})
	check(err)
	markers = typed.Schema()
	named := map[string]string{}
	for _, kind := range kinds.All {
		named[kind.APIVersion+"/"+kind.Kind] = message(reflect.TypeOf(kind.Object).Elem())
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprint(out, "{\"kinds\":{\n")
	for i, key := range slices.Sorted(maps.Keys(named)) {
		separate(out, i)
		fmt.Fprintf(out, "%q:%q", key, named[key])
	}
	fmt.Fprint(out, "\n},\"types\":{\n")
	for i, name := range slices.Sorted(maps.Keys(types)) {
		separate(out, i)
		fmt.Fprintf(out, "%q:[", name)
		for j, field := range types[name] {
			if j > 0 {
				fmt.Fprint(out, ",")
			}
			line, err := json.Marshal(field)
			check(err)
			fmt.Fprintf(out, "\n %s", line)
		}
		fmt.Fprint(out, "]")
	}
	fmt.Fprint(out, "\n},\"atomic\":[")
	for i, name := range slices.Sorted(maps.Keys(atomic)) {
		separate(out, i)
		fmt.Fprintf(out, "%q", name)
	}
	fmt.Fprint(out, "]}\n")
}

func separate(out *bufio.Writer, i int) {
	if i > 0 {
		fmt.Fprint(out, ",\n")
	}
}

// message records a struct and all that it reaches, and gives its name.
func message(t reflect.Type) string {
	namer, ok := reflect.New(t).Interface().(modelNamer)
	if !ok {
		log.Fatalf("%v has no model name", t)
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) {
		log.Fatalf("%v writes its own JSON", t)
	}
	name := namer.OpenAPIModelName()
	if _, known := types[name]; known {
		return name
	}
	types[name] = nil
	fields := fieldsOf(t)
	slices.SortFunc(fields, func(a, b field) int {
		if order := strings.Compare(a.Name, b.Name); order != 0 {
			return order
		}
		return a.Number - b.Number
	})
	mark(name, fields)
	types[name] = fields
	return name
}

// mark notes how the fields of a message are shared. What is inlined is marked with its owner; what nobody applies has no markers.
func mark(name string, fields []field) {
	marked, ok := markers.FindNamedType(name)
	if !ok || marked.Map == nil {
		return
	}
	if marked.Map.ElementRelationship == schema.Atomic {
		atomic[name] = true
	}
	markFields(name, marked.Map, fields)
}

func markFields(name string, marked *schema.Map, fields []field) {
	for i := range fields {
		one := &fields[i]
		if one.Name == "" {
			markFields(name, marked, types[one.Type])
			continue
		}
		found, ok := marked.FindField(one.Name)
		if !ok {
			continue
		}
		atom, ok := markers.Resolve(found.Type)
		if !ok {
			log.Fatalf("%s.%s is of no type", name, one.Name)
		}
		switch {
		case one.Shape == "list" && atom.List.ElementRelationship == schema.Associative && len(atom.List.Keys) > 0:
			one.Merge, one.Keys = "map", atom.List.Keys
		case one.Shape == "list" && atom.List.ElementRelationship == schema.Associative:
			one.Merge = "set"
		case one.Shape == "map" && atom.Map.ElementRelationship == schema.Atomic:
			one.Merge = "atomic"
		case one.Shape == "" && found.Type.ElementRelationship != nil && *found.Type.ElementRelationship == schema.Atomic:
			one.Merge = "atomic"
		}
		if one.Merge != "map" {
			continue
		}
		for _, key := range one.Keys {
			noteDefault(one.Type, key, atom.List.ElementType)
		}
	}
}

func noteDefault(owner, key string, items schema.TypeRef) {
	atom, ok := markers.Resolve(items)
	if !ok || atom.Map == nil {
		log.Fatalf("%s has no fields", owner)
	}
	found, ok := atom.Map.FindField(key)
	if text, is := found.Default.(string); ok && is && text != "" {
		for i := range types[owner] {
			if types[owner][i].Name == key {
				types[owner][i].Default = text
			}
		}
	}
}

func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		of := t.Field(i)
		name, options, _ := strings.Cut(of.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		inlined := of.Anonymous && name == ""
		number := number(t, of)
		if inlined && number == 0 {
			// The kind and the API version are in the envelope, not in the message.
			for _, inner := range fieldsOf(of.Type) {
				inner.Number = 0
				fields = append(fields, inner)
			}
			continue
		}
		if !inlined && name == "" {
			log.Fatalf("%v.%s has no name", t, of.Name)
		}
		fields = append(fields, one(t, of, name, number, options))
	}
	return fields
}

// number is the protobuf number of a field; 0 where there is none.
func number(t reflect.Type, of reflect.StructField) int {
	tag := strings.Split(of.Tag.Get("protobuf"), ",")
	if len(tag) < 2 {
		return 0
	}
	number, err := strconv.Atoi(tag[1])
	check(err)
	if tag[0] != "bytes" && tag[0] != "varint" {
		log.Fatalf("%v.%s is a %s", t, of.Name, tag[0])
	}
	return number
}

func one(t reflect.Type, of reflect.StructField, name string, number int, options string) field {
	made := field{Name: name, Number: number, Strategy: of.Tag.Get("patchStrategy"), Key: of.Tag.Get("patchMergeKey")}
	inner := of.Type
	if inner.Kind() == reflect.Pointer {
		made.Pointer, inner = true, inner.Elem()
	}
	switch {
	case wrapped(inner) || inner == reflect.TypeFor[[]byte]():
	case inner.Kind() == reflect.Slice:
		made.Shape, inner = "list", inner.Elem()
	case inner.Kind() == reflect.Map:
		if inner.Key().Kind() != reflect.String {
			log.Fatalf("%v.%s is a map by %v", t, of.Name, inner.Key())
		}
		made.Shape, inner = "map", inner.Elem()
	}
	made.Type = base(t, of, inner)
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "":
		case "omitempty":
			if made.Omit == "" {
				made.Omit = "empty"
			}
		case "omitzero":
			if inner != reflect.TypeFor[meta.Time]() || made.Pointer {
				log.Fatalf("%v.%s: omitzero", t, of.Name)
			}
			made.Omit = "zero"
		default:
			log.Fatalf("%v.%s: %s", t, of.Name, option)
		}
	}
	return made
}

// wrapped says whether a type is a list of texts in JSON, and in protobuf a message with these texts as its field 1.
func wrapped(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String &&
		reflect.PointerTo(t).Implements(reflect.TypeFor[marshaler]())
}

func base(owner reflect.Type, of reflect.StructField, t reflect.Type) string {
	if name, ok := special[t]; ok {
		return name
	}
	switch {
	case wrapped(t):
		return "strings"
	case t == reflect.TypeFor[[]byte]():
		return "bytes"
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		return t.Kind().String()
	case reflect.Float64:
		return "double"
	case reflect.Struct:
		return message(t)
	}
	log.Fatalf("%v.%s is a %v", owner, of.Name, t)
	return ""
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
