package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"credence/internal/yamltext"
)

func TestParse(t *testing.T) {
	text := `# by hand
data: items.csv
classes: [no, yes, 1, 1.0, "a,b", ~, true, 'it''s']
network: |
  - {type: dense, out: 8}
  - type: dense
epochs: 0x10
widths:
  - 64
  - 32 # narrow
rate: 3e-4
class-weights: [1/3, 2]
seed: 18446744073709551615
memory: 1.5GB
gray: true
votes-form:
`
	entries, err := parse("c.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, e := range entries {
		got[e.Name] = e.Texts
	}
	want := map[string][]string{
		"data": {"items.csv"}, "classes": {"no", "yes", "1", "1.0", "a,b", "~", "true", "it's"},
		"network": {"- {type: dense, out: 8}\n- type: dense\n"}, "epochs": {"0x10"}, "widths": {"64", "32"},
		"rate": {"3e-4"}, "class-weights": {"1/3", "2"}, "seed": {"18446744073709551615"}, "memory": {"1.5GB"}, "gray": {"true"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%q\nwant\n%q", got, want)
	}
	for i, want := range []string{"c.yaml:2", "c.yaml:3", "c.yaml:4", "c.yaml:7", "c.yaml:8"} {
		if e := entries[i]; e.origin.String() != want {
			t.Errorf("%s comes from %s, want %s", e.Name, e.origin, want)
		}
	}
	if entries, err := parse("c.yaml", []byte("\ufeffepochs: 5\r\nrate: 1\r\n")); err != nil || len(entries) != 2 || entries[1].Texts[0] != "1" {
		t.Errorf("a file of another system: %v, %v", entries, err)
	}
	for _, text := range []string{"", "# nothing\n", "---\n", "\n\n", "null\n"} {
		if entries, err := parse("c.yaml", []byte(text)); err != nil || len(entries) > 0 {
			t.Errorf("%q: %v, %v", text, entries, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want, hint string }{
		{"epoch: 5", `c.yaml:1:1: unknown key "epoch"`, `did you mean "epochs" (by default, chosen from the data)?`},
		{"rate: 1\nvotes_form: long", `c.yaml:2:1: unknown key "votes_form"`, `did you mean "votes-form" (default auto)?`},
		{"nothing-like-it: 5", `c.yaml:1:1: unknown key "nothing-like-it"`, ""},
		{"<<: {epochs: 1}", `c.yaml:1:1: unknown key "<<"`, ""},
		{"out: runs/x", `c.yaml:1:1: out is a command-line flag, not a key of a configuration file`, ""},
		{"epochs: 1\nrate: 1\nepochs: 2", `c.yaml:3:1: duplicate key epochs, first in line 1`, ""},
		{"epochs: 1\n---\nepochs: 2", `c.yaml:3:1: duplicate key epochs, first in line 1`, ""},
		{"epochs: many", `c.yaml:1:9: epochs "many": expected a whole number of at least 1`, ""},
		{"epochs: 1.5", `c.yaml:1:9: epochs "1.5": expected a whole number of at least 1`, ""},
		{"seed: -1", `c.yaml:1:7: seed "-1": expected a whole number of at least 0`, ""},
		{"rate: .inf", `c.yaml:1:7: rate ".inf": expected a learning rate above 0`, ""},
		{"rate: inf", `c.yaml:1:7: rate "inf": expected a learning rate above 0`, ""},
		{"gray: maybe", `c.yaml:1:7: gray "maybe": expected true or false`, ""},
		{"votes-form: lang", `c.yaml:1:13: votes-form "lang": expected one of auto, long, wide, counts, fractions`, `did you mean "long" (default auto)?`},
		{"epochs: [1, 2]", `c.yaml:1:9: epochs: expected one value, found a list`, ""},
		{"widths: [1, [2]]", `c.yaml:1:9: widths: expected a list of plain values`, ""},
		{"network:\n  kind: mlp", `c.yaml:2:7: network: expected a plain value`, ""},
		{"- epochs", `c.yaml:1:1: expected keys and values such as "epochs: 100"`, ""},
		{"item,label\na,b\n", `c.yaml:1:1: expected keys and values such as "epochs: 100"`, ""},
		{"a\x00b", `reading c.yaml: expected UTF-8 text`, ""},
		{"data: \xff", `reading c.yaml: expected UTF-8 text`, ""},
		{strings.Repeat("[", 100000), `reading c.yaml: brackets or lists nested deeper than 100 levels`, ""},
	} {
		_, err := parse("c.yaml", []byte(c.text))
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Error() != c.want || e.Hint != c.hint {
			t.Errorf("%.40q:\n%v\n%+v\nwant\n%s\n%s", c.text, err, e, c.want, c.hint)
		}
	}
	// The messages come from the YAML module; only the positions are checked.
	for text, place := range map[string]string{
		"data: \"items.csv\nepochs: 1\n": "c.yaml:1:7: ",
		"a: b: c\n":                      "c.yaml:1:4: ",
		"data: [a, b\n":                  "c.yaml:1:7: ",
	} {
		if _, err := parse("c.yaml", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), place) {
			t.Errorf("%q: %v, want an error at %s", text, err, place)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if err := New().File(filepath.Join(dir, "no.yaml")); err == nil || !strings.HasSuffix(err.Error(), "no.yaml: no such file or directory") {
		t.Errorf("a missing file: %v", err)
	}
	if err := New().File(dir); err == nil || !strings.HasSuffix(err.Error(), ": is a directory") {
		t.Errorf("a folder: %v", err)
	}
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, bytes.Repeat([]byte("# x\n"), yamltext.MaxBytes/4+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := New().File(large); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("a large file: %v", err)
	}
}

func TestWrite(t *testing.T) {
	key := lookup
	values := []setting{
		{key("data"), []string{"a b.csv", "2.csv"}, origin{fromFlag, "data", 0}},
		{key("classes"), []string{"no", "maybe", "1"}, origin{fromData, "", 0}},
		{key("network"), []string{"- {type: dense}\n- type: relu"}, origin{fromFile, "c.yaml", 3}},
		{key("epochs"), nil, origin{source: fromData}},
		{key("rate"), []string{"2"}, origin{fromEnvironment, "CREDENCE_RATE", 0}},
		{key("seed"), []string{"18446744073709551615"}, origin{source: fromDefault}},
	}
	var yaml, plain, origins bytes.Buffer
	if err := errors.Join(writeYAML(&yaml, values, true), writeJSON(&plain, values, false), writeJSON(&origins, values[3:5], true)); err != nil {
		t.Fatal(err)
	}
	want := `data: [a b.csv, "2.csv"]           # --data
classes: ["no", maybe, "1"]        # chosen from the data
network: |-                        # c.yaml:3
  - {type: dense}
  - type: relu
epochs:                            # chosen from the data
rate: 2.0                          # $CREDENCE_RATE
seed: 18446744073709551615         # default
`
	if yaml.String() != want {
		t.Errorf("YAML\n%s\nwant\n%s", &yaml, want)
	}
	if _, err := parse("c.yaml", yaml.Bytes()); err != nil {
		t.Error(err)
	}
	var compact bytes.Buffer
	if err := errors.Join(json.Compact(&compact, plain.Bytes()), json.Compact(&compact, origins.Bytes())); err != nil {
		t.Fatal(err)
	}
	want = `{"data":["a b.csv","2.csv"],"classes":["no","maybe","1"],"network":"- {type: dense}\n- type: relu","epochs":null,"rate":2,"seed":18446744073709551615}` +
		`{"epochs":{"value":null,"origin":"data"},"rate":{"value":2,"origin":"environment","place":"$CREDENCE_RATE"}}`
	if compact.String() != want {
		t.Errorf("JSON\n%s\nwant\n%s", &compact, want)
	}
}

func TestJSONSchema(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSchema(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema               string `json:"$schema"`
		AdditionalProperties bool
		Properties           map[string]json.RawMessage
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != "https://json-schema.org/draft/2020-12/schema" || len(got.Properties) != len(Options) {
		t.Errorf("%+v", got)
	}
	for name, want := range map[string]string{
		"votes-form": `{"description":"form of the votes: auto, long, wide, counts or fractions",` +
			`"enum":["auto","long","wide","counts","fractions",null],"default":"auto"}`,
		"seed": `{"description":"random seed","type":["integer","null"],"minimum":0,"default":1}`,
		"one-hot": `{"description":"categorical columns to encode as one-hot",` +
			`"anyOf":[{"type":"array","items":{"type":["string","number","boolean"]}},` +
			`{"type":["string","number","boolean","null"]}]}`,
		"array": `{"description":"name of the array to read from an NPZ file","type":["string","number","boolean","null"]}`,
		"votes": `{"description":"file of votes, if they are not in the data file; repeat to add votes",` +
			`"anyOf":[{"type":"array","items":{"type":["string","number","boolean"]}},` +
			`{"type":["string","number","boolean","null"]}]}`,
		"gray": `{"description":"convert images to grayscale","type":["boolean","null"],"default":false}`,
	} {
		var compact bytes.Buffer
		if err := json.Compact(&compact, got.Properties[name]); err != nil || compact.String() != want {
			t.Errorf("%s: %s, %v, want %s", name, &compact, err, want)
		}
	}
}

// FuzzParse searches for files that crash the parser, and for files that do not
// read back the same after they are parsed and written.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"data: [a, b]\nepochs: 3\n", "network: |\n  - a\n  - b\n", "classes: [~, \"\", '#x', \"\\n\"]", "rate: &a 1\nepochs: *a",
		"a: !!binary x", "? x\n: y", "%YAML 1.2\n---\nseed: 1\n...\n", "{epochs: 1, rate: 2}", "classes: [\"\\u0085\", \" a\", \"a \"]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := parse("c.yaml", text)
		if err != nil {
			return
		}
		var values []setting
		for _, e := range entries {
			values = append(values, setting{Option: e.Option, Texts: e.Texts})
		}
		var out bytes.Buffer
		if err := writeYAML(&out, values, false); err != nil {
			t.Fatal(err)
		}
		again, err := parse("again.yaml", out.Bytes())
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%v: %d entries, then %d, in\n%s", err, len(entries), len(again), &out)
		}
		for i, e := range entries {
			for j, text := range e.Texts {
				if a, b := e.typed(text), e.typed(again[i].Texts[j]); a != b {
					t.Errorf("%s: %#v, then %#v in\n%s", e.Name, a, b, &out)
				}
			}
		}
	})
}

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{"500MB": 5e8, "2GB": 2e9, "1.5 GB": 15e8, "1024": 1024, "3kB": 3000} {
		var b, again byteSize
		if err := b.set([]string{text}); err != nil || int64(b) != want {
			t.Errorf("%q: %d, %v, want %d", text, b, err, want)
		}
		if err := again.set(b.texts()); err != nil || again != b {
			t.Errorf("%q reads back as %d, %v", b.texts(), again, err)
		}
	}
	for _, text := range []string{"", "many", "-1GB", "1XB", "1e30"} {
		if err := new(byteSize).set([]string{text}); err == nil {
			t.Errorf("%q was taken for a size", text)
		}
	}
}

// Every option is complete as a flag and a key, and accepts its own default.
func TestTable(t *testing.T) {
	for _, o := range Options {
		if o.Help == "" || o.verbs == 0 || lookup(o.Name) != o {
			t.Errorf("%+v", o)
		}
		if o.valid.contains != nil && o.valid.want == "" {
			t.Errorf("%s has a range without a description", o.Name)
		}
		if o.fallback == nil {
			continue
		}
		s := New()
		if err := o.put(s, o.fallback, false); err != nil || !reflect.DeepEqual(o.texts(s), o.fallback) {
			t.Errorf("%s: the default %q reads as %q, %v", o.Name, o.fallback, o.texts(s), err)
		}
	}
	for name, want := range map[string]string{
		"components": "3", "ensemble": "5", "optimizer": "adamw", "clip": "5", "limit": "20", "one-hot-levels": "4",
		"rare-level": "2", "seed": "1", "memory": "2GB", "volume-size": "96x96x80", "volume-percentiles": "0.5,99.5",
		"method": "mixture", "votes-form": "auto", "duplicates": "last", "gray": "false", "epochs": "", "layout": "",
	} {
		if got := lookup(name).Default(); got != want {
			t.Errorf("the default of %s is %q, want %q", name, got, want)
		}
	}
}
