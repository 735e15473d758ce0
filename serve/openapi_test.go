package serve

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/openapi.txt anew")

// TestOpenAPI: routes and schema names do not change, since clients are generated from them.
func TestOpenAPI(t *testing.T) {
	_, url := start(t, Options{})
	status, _, text := ask(t, "GET", url+"/api/v1/openapi.json", "", "")
	if status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	var doc struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	var list []string
	for path, operations := range doc.Paths {
		for method, op := range operations {
			list = append(list, "route "+path+" "+strings.ToUpper(method)+" "+op.OperationID)
		}
	}
	for name := range doc.Components.Schemas {
		list = append(list, "schema "+name)
	}
	slices.Sort(list)
	got := strings.Join(list, "\n") + "\n"
	const golden = "testdata/openapi.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the routes and schemas are\n%s, want\n%s", got, want)
	}
}
