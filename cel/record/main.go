// Asks cel-go, set up as the API server of Kubernetes 1.37 does, for every expression of ../tests/expressions.txt: its
// type or errors, its value or failure, what it cost and what it was estimated to cost. Answers go to standard output.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

type answer struct {
	Expr     string   `json:"expr"`
	Errors   string   `json:"errors,omitempty"`
	Type     string   `json:"type,omitempty"`
	Value    any      `json:"value,omitempty"`
	Failed   string   `json:"failed,omitempty"`
	Cost     uint64   `json:"cost"`
	Estimate []uint64 `json:"estimate,omitempty"`
}

// asked is an authorizer that says what it was asked.
type asked struct{}

func (asked) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	said := strings.Join([]string{a.GetUser().GetName(), a.GetVerb(), a.GetPath(), a.GetAPIGroup(), a.GetResource(),
		a.GetSubresource(), a.GetNamespace(), a.GetName()}, ",")
	switch a.GetVerb() {
	case "get":
		return authorizer.DecisionAllow, said, nil
	case "fail":
		return authorizer.DecisionNoOpinion, "", errors.New("it failed")
	}
	return authorizer.DecisionDeny, said, nil
}

// request is what the request is about.
type request struct{}

func (request) GetName() string        { return "web" }
func (request) GetNamespace() string   { return "team-a" }
func (request) GetSubresource() string { return "status" }
func (request) GetResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}

type sizes struct{ root *apiservercel.DeclType }

func (s *sizes) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	path := node.Path()
	if len(path) == 0 {
		return nil
	}
	at := s.root
	for _, name := range path[1:] {
		switch name {
		case "@items", "@values":
			at = at.ElemType
		case "@keys":
			at = at.KeyType
		default:
			field, ok := at.Fields[name]
			if !ok {
				return nil
			}
			at = field.Type
		}
		if at == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Min: 0, Max: uint64(at.MaxElements)}
}

func (s *sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func shown(v ref.Val) any {
	if v == nil {
		return "hidden"
	}
	switch t := v.(type) {
	case types.Null:
		return "null"
	case types.Bool:
		return fmt.Sprintf("bool %v", bool(t))
	case types.Int:
		return fmt.Sprintf("int %d", int64(t))
	case types.Uint:
		return fmt.Sprintf("uint %d", uint64(t))
	case types.String:
		return "string " + string(t)
	case types.Double, types.Timestamp, types.Duration:
		return v.Type().TypeName() + " " + string(v.ConvertToType(types.StringType).(types.String))
	case types.Bytes:
		return fmt.Sprintf("bytes %x", []byte(t))
	case *types.Type:
		return "type " + t.TypeName()
	case *types.Optional:
		if !t.HasValue() {
			return map[string]any{"none": true}
		}
		return map[string]any{"some": shown(t.GetValue())}
	case traits.Lister:
		out := []any{}
		for it := t.Iterator(); it.HasNext() == types.True; {
			out = append(out, shown(it.Next()))
		}
		return out
	case traits.Mapper:
		out := map[string]any{}
		for it := t.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			out[fmt.Sprint(shown(k))] = shown(t.Get(k))
		}
		return map[string]any{"map": out}
	}
	return "opaque " + v.Type().TypeName()
}

func main() {
	text, err := os.ReadFile("../tests/schema.json")
	check(err)
	var props v1.JSONSchemaProps
	check(json.Unmarshal(text, &props))
	var internal apiextensions.JSONSchemaProps
	check(v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil))
	structural, err := structuralschema.NewStructural(&internal)
	check(err)
	decl := model.SchemaDeclType(structural, true).MaybeAssignTypeName("selfType")

	text, err = os.ReadFile("../tests/object.json")
	check(err)
	var object map[string]any
	check(utiljson.Unmarshal(text, &object))
	self := schemacel.UnstructuredToVal(object, model.WithTypeAndObjectMeta(structural))

	ver := version.MajorMinor(1, 37)
	set, err := environment.MustBaseEnvSet(ver).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []cel.EnvOption{
			cel.Variable("self", decl.CelType()),
			cel.Variable("oldSelf", types.NewOptionalType(decl.CelType())),
			cel.Variable("authorizer", library.AuthorizerType),
			cel.Variable("authorizer.requestResource", library.ResourceCheckType),
		},
		DeclTypes: []*apiservercel.DeclType{decl},
	})
	check(err)
	env, err := set.Env(environment.StoredExpressions)
	check(err)
	estimator := &library.CostEstimator{SizeEstimator: &sizes{decl}}

	who := &user.DefaultInfo{Name: "ann"}
	bound := map[string]any{
		"self": self, "oldSelf": types.OptionalNone,
		"authorizer":                 library.NewAuthorizerVal(who, asked{}),
		"authorizer.requestResource": library.NewResourceAuthorizerVal(who, asked{}, request{}),
	}

	text, err = os.ReadFile("../tests/expressions.txt")
	check(err)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	fmt.Println("[")
	first := true
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		a := answer{Expr: line}
		ast, issues := env.Compile(line)
		if issues != nil && issues.Err() != nil {
			a.Errors = issues.String()
		} else {
			a.Type = cel.FormatCELType(ast.OutputType())
			if est, err := env.EstimateCost(ast, estimator); err == nil {
				a.Estimate = []uint64{est.Min, est.Max}
			}
			prog, err := env.Program(ast, cel.CostLimit(1000000), cel.CostTracking(estimator))
			if err != nil {
				a.Errors = "program instantiation failed: " + err.Error()
			} else {
				val, details, err := prog.Eval(bound)
				if err != nil {
					a.Failed = err.Error()
				} else {
					a.Value = shown(val)
				}
				if details != nil && details.ActualCost() != nil {
					a.Cost = *details.ActualCost()
				}
			}
		}
		if !first {
			fmt.Print(",")
		}
		first = false
		check(out.Encode(a))
	}
	fmt.Println("]")
}
