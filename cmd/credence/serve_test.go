package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"credence/serve"
)

// TestServeSameBits: the server answers the numbers that credence predict writes.
func TestServeSameBits(t *testing.T) {
	t.Chdir(t.TempDir())
	blobs(t, "items.csv", "votes.csv", 3, 60)
	must(t, "train --data items.csv --votes votes.csv --epochs 2 --ensemble 2 --widths 4 --quiet --out run")
	s, err := serve.New(serve.Options{Path: "run", Level: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	items, err := os.ReadFile("items.csv")
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/invocations", bytes.NewReader(items))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "text/csv")
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	var got struct{ Predictions []map[string]any }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %v: %s", w.Code, err, w.Body)
	}
	var stdout, stderr bytes.Buffer
	if code := program(strings.Fields("predict run items.csv --format jsonl --level 0.9"), nil, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	d := json.NewDecoder(&stdout)
	n := 0
	for ; ; n++ {
		var want map[string]any
		if err := d.Decode(&want); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		item := got.Predictions[n/3]
		for _, name := range []string{"mean", "sd", "median", "lower", "upper", "lower_bound", "upper_bound", "p_top", "at_least"} {
			if x, y := item[name+"_"+want["class"].(string)], want[name]; x != y {
				t.Errorf("item %s, class %s: %s is %v, credence predict says %v", want["item"], want["class"], name, x, y)
			}
		}
		if item["item"] != want["item"] || item["entropy"] != want["entropy"] {
			t.Errorf("%v, want %v", item, want)
		}
	}
	if n != 180 || len(got.Predictions) != 60 {
		t.Errorf("%d rows and %d predictions", n, len(got.Predictions))
	}
}
