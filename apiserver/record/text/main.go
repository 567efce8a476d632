// Command text writes how Go prints characters, strings and floats, as cases for the tests.
//
//	cd apiserver/record && go run ./text > ../src/json/recorded.json
//
// printable: the ranges of code points that strconv.IsPrint accepts. unassigned: the ranges without a general category in the
// version of Unicode that this Go has. quotes: a string and its %q. strings: a string, its encoding/json, and its path elements
// in FieldsV1 as the item of a set and as the name and value of a key. floats: the bits of a float64, its encoding/json, its path
// element in FieldsV1, and its %v.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math"
	"math/rand"
	"os"
	"strconv"
	"unicode"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

type recorded struct {
	Unicode    string      `json:"unicode"`
	Printable  [][2]rune   `json:"printable"`
	Unassigned [][2]rune   `json:"unassigned"`
	Quotes     [][2]string `json:"quotes"`
	Strings    [][4]string `json:"strings"`
	Floats     [][4]string `json:"floats"`
}

var texts = []string{
	"", "it's", "a\"b\\c", "\a\b\f\n\r\t\v\x00\x01\x1f\x7f", "e\u0301", "\u0301", "é 日本", "größe\u200b\U000e0001", "\u00a0\u00ad\u0085",
	"<a&b>", "\u2028\u2029\ufeff", "नि", "\U0001f600\U0001f3fd", "\ue000\U0010ffff", "\ufffd", "\u0e33\u1160",
}

func main() {
	out := recorded{Unicode: unicode.Version}
	out.Printable = ranges(strconv.IsPrint)
	out.Unassigned = ranges(func(r rune) bool { return !unicode.IsOneOf(categories(), r) })
	for _, text := range texts {
		out.Quotes = append(out.Quotes, [2]string{text, strconv.Quote(text)})
		item := value.NewValueInterface(text)
		key := value.FieldList{{Name: text, Value: item}}
		out.Strings = append(out.Strings, [4]string{
			text, marshal(text), path(fieldpath.PathElement{Value: &item}), path(fieldpath.PathElement{Key: &key}),
		})
	}
	for _, float := range floats() {
		item := value.NewValueInterface(float)
		out.Floats = append(out.Floats, [4]string{
			fmt.Sprintf("%016x", math.Float64bits(float)), marshal(float), path(fieldpath.PathElement{Value: &item}), fmt.Sprintf("%v", float),
		})
	}
	write(out)
}

// categories are the general categories, each once: unicode.Categories has their unions and aliases too.
func categories() []*unicode.RangeTable {
	return []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs}
}

func ranges(has func(rune) bool) [][2]rune {
	var all [][2]rune
	for r := rune(0); r <= unicode.MaxRune; r++ {
		switch last := len(all) - 1; {
		case !has(r):
		case last >= 0 && all[last][1] == r-1:
			all[last][1] = r
		default:
			all = append(all, [2]rune{r, r})
		}
	}
	return all
}

// floats are those about the limits of each form, the extremes, and some at random.
func floats() []float64 {
	all := []float64{
		0, math.Copysign(0, -1), 0.1, 0.3, 1.0 / 3, 100000, 999999.5, 123456789, 1234567.5, 9007199254740991, 9007199254740992,
		9007199254740994, 1234567890123456789, 9223372036854775807, 9223372036854775808, 18446744073709551615, math.Pi, math.MaxFloat32,
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 2.2250738585072014e-308,
		2.225073858507201e-308, 1e-320, 1e100, 1e-100, 1e308, 1e-308, 1e-323,
	}
	for exponent := -11; exponent <= 23; exponent++ {
		for _, digits := range []string{"1", "-2.5", "9.999999999999999"} {
			float, err := strconv.ParseFloat(fmt.Sprintf("%se%d", digits, exponent), 64)
			check(err)
			all = append(all, float)
		}
	}
	random := rand.New(rand.NewSource(1))
	for len(all) < 200 {
		if float := math.Float64frombits(random.Uint64()); !math.IsNaN(float) && !math.IsInf(float, 0) {
			all = append(all, float)
		}
	}
	return all
}

// write writes a row a line, so that a change of one can be seen.
func write(out recorded) {
	fmt.Fprintf(os.Stdout, "{\"unicode\":%s", marshal(out.Unicode))
	rows(os.Stdout, "printable", out.Printable, 12)
	rows(os.Stdout, "unassigned", out.Unassigned, 12)
	rows(os.Stdout, "quotes", out.Quotes, 1)
	rows(os.Stdout, "strings", out.Strings, 1)
	rows(os.Stdout, "floats", out.Floats, 1)
	fmt.Println("\n}")
}

func rows[T any](to *os.File, name string, all []T, line int) {
	fmt.Fprintf(to, ",\n\"%s\":[", name)
	for i, row := range all {
		if i > 0 {
			fmt.Fprint(to, ",")
		}
		if i%line == 0 {
			fmt.Fprint(to, "\n")
		}
		fmt.Fprint(to, marshal(row))
	}
	fmt.Fprint(to, "\n]")
}

func path(element fieldpath.PathElement) string {
	text, err := fieldpath.SerializePathElement(element)
	check(err)
	return text
}

func marshal(value any) string {
	text, err := json.Marshal(value)
	check(err)
	return string(text)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
