package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestVerbs checks the machine-readable description of the command line.
func TestVerbs(t *testing.T) {
	var out, messages bytes.Buffer
	if code := program([]string{"config", "schema", "--verbs"}, nil, &out, &messages); code != 0 {
		t.Fatal(messages.String())
	}
	var info verbsInfo
	if err := json.Unmarshal(out.Bytes(), &info); err != nil {
		t.Fatal(err)
	}
	known := map[string]flagInfo{}
	for _, v := range info.Verbs {
		if v.Summary == "" {
			t.Errorf("%s has no summary", v.Name)
		}
		for _, f := range v.Flags {
			if f.Help == "" || f.Type == "" {
				t.Errorf("%s --%s has type %q and help %q", v.Name, f.Name, f.Type, f.Help)
			}
			known[v.Name+" "+f.Name] = f
		}
	}
	for name, want := range map[string]flagInfo{
		"train epochs":   {Type: "integer"},
		"train widths":   {Type: "integer", List: true},
		"train raters":   {Type: "string", Default: "auto"},
		"train memory":   {Type: "size", Default: "2GB"},
		"predict level":  {Type: "number", List: true, Default: "0.95"},
		"predict hpd":    {Type: "boolean"},
		"predict output": {Type: "string", Default: "-", Short: "o"},
		"serve timeout":  {Type: "duration", Default: "0s"},
	} {
		got := known[name]
		if got.Type != want.Type || got.List != want.List || got.Default != want.Default || got.Short != want.Short {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
	if got := known["train raters"].Choices; len(got) != 3 {
		t.Errorf("the choices of train --raters are %q", got)
	}
}
