package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"credence/internal/array"
	"credence/internal/table"
	"credence/serve"
)

// asked sends a request to a server of a run, and returns the response.
func asked(t *testing.T, path, method, route, kind, body string, headers ...string) string {
	t.Helper()
	s, err := serve.New(serve.Options{Path: path, Level: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := httptest.NewRequest(method, route, strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", kind)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", route, w.Code, w.Body)
	}
	return w.Body.String()
}

// printed runs the program and returns what it prints.
func printed(t *testing.T, line string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := program(strings.Fields(line), nil, &stdout, &stderr); code != exitOK {
		t.Fatalf("%s: exit code %d: %s", line, code, &stderr)
	}
	return stdout.String()
}

// sameAsPredict compares responses with the output of credence predict on the same items, all numbers of
// all classes, bit for bit.
func sameAsPredict(t *testing.T, answer, arguments string) {
	t.Helper()
	var got struct{ Predictions []map[string]any }
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	lines := strings.Split(strings.TrimSpace(printed(t, "predict "+arguments+" --format jsonl --wide --level 0.9")), "\n")
	if len(lines) != len(got.Predictions) {
		t.Fatalf("%d predictions, credence predict has %d", len(got.Predictions), len(lines))
	}
	for j, line := range lines {
		var want map[string]any
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatal(err)
		}
		if len(want) != len(got.Predictions[j]) {
			t.Errorf("%v, want the keys of %v", got.Predictions[j], want)
		}
		for name, y := range want {
			if x := got.Predictions[j][name]; x != y {
				t.Errorf("item %v: %s is %v, credence predict says %v", want["item"], name, x, y)
			}
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestServeSameBits: the server returns the numbers that credence predict writes, for three classes.
func TestServeSameBits(t *testing.T) {
	t.Chdir(t.TempDir())
	blobs(t, "items.csv", "votes.csv", 3, 60)
	must(t, "train --data items.csv --votes votes.csv --epochs 2 --ensemble 2 --widths 4 --quiet --out run")
	sameAsPredict(t, asked(t, "run", "POST", "/invocations", "text/csv", readFile(t, "items.csv")), "run items.csv")
	lines := asked(t, "run", "POST", "/api/v1/models/run/predict", "text/csv", readFile(t, "items.csv"), "Accept", "application/x-ndjson")
	if want := printed(t, "predict run items.csv --format jsonl --wide --level 0.9"); lines != want {
		t.Errorf("lines of JSON:\n%s\ncredence predict --wide writes\n%s", lines, want)
	}
}

// TestServeSameFiles: responses to batches equal the files that credence predict writes, byte for byte,
// in every format.
func TestServeSameFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	blobs(t, "items.csv", "votes.csv", 3, 1100) // two batches
	blobs(t, "few.csv", "few-votes.csv", 3, 60)
	must(t, "train --data few.csv --votes few-votes.csv --epochs 2 --ensemble 2 --widths 4 --quiet --out run")
	items := readFile(t, "items.csv")
	var lines strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(items), "\n")[1:] {
		f := strings.Split(line, ",")
		fmt.Fprintf(&lines, "{\"item\":\"i%d\",\"x\":%s,\"y\":%s,\"noise\":%s}\n", i, f[1], f[2], f[3])
	}
	var parquet bytes.Buffer
	w, err := table.NewParquetWriter(&parquet, []table.ParquetColumn{{Name: "item", Kind: table.ParquetText},
		{Name: "x", Kind: table.ParquetNumber}, {Name: "y", Kind: table.ParquetNumber}, {Name: "noise", Kind: table.ParquetNumber}})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(items), "\n")[1:] {
		row := []any{strings.Split(line, ",")[0]}
		for _, text := range strings.Split(line, ",")[1:] {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, x)
		}
		if err := w.Write(row...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	bodies := []struct{ kind, text string }{{"text/csv", items}, {"application/x-ndjson", lines.String()}, {"application/vnd.apache.parquet", parquet.String()},
		{"application/json", `{"items":[` + strings.ReplaceAll(strings.TrimSpace(lines.String()), "\n", ",") + `]}`}}
	for i, c := range []struct{ accept, query, flags string }{
		{"text/csv", "", "--format csv"},
		{"application/x-ndjson", "", "--format jsonl --wide"},
		{"application/vnd.apache.parquet", "", "--format parquet"},
		{"", "?format=jsonl&wide=false&level=0.5&level=0.9", "--format jsonl --level 0.5,0.9"},
		{"", "?format=csv&hpd=true&full=1&next=true&max_width=0.3&min_top=0.8", "--format csv --hpd --full --next --max-width 0.3 --min-top 0.8"},
		{"text/csv", "?names=tidymodels&wide=true&digits=full&top=false", "--format csv --names tidymodels --wide --digits full --top off"},
		{"text/csv", "?only=mean&batch=7", "--format csv --only mean"},
	} {
		flags := c.flags
		if !strings.Contains(flags, "--level") && !strings.Contains(flags, "--only") {
			flags += " --level 0.9"
		}
		body, file := bodies[i%len(bodies)], "items.csv"
		if strings.Contains(flags, "--hpd") { // sets take long
			body.kind, body.text, file = "text/csv", readFile(t, "few.csv"), "few.csv"
		}
		got := asked(t, "run", "POST", "/api/v1/models/run/predict"+c.query, body.kind, body.text, "Accept", c.accept)
		if want := printed(t, "predict run "+file+" "+flags); got != want {
			t.Errorf("%s %s of %s: %d bytes, credence predict %s writes %d", c.accept, c.query, body.kind, len(got), flags, len(want))
		}
	}
}

// TestServeSameRaters: votes count by their raters, and warnings name raters, as on the command line.
func TestServeSameRaters(t *testing.T) {
	t.Chdir(t.TempDir())
	blobs(t, "items.csv", "votes.csv", 2, 60)
	must(t, "train --data items.csv --votes votes.csv --epochs 2 --ensemble 2 --widths 4 --raters on --quiet --out run")
	var items []string
	for i, line := range strings.Split(strings.TrimSpace(readFile(t, "items.csv")), "\n")[1:] {
		f := strings.Split(line, ",")
		items = append(items, fmt.Sprintf(`{"item":"i%d","x":%s,"y":%s,"noise":%s}`, i, f[1], f[2], f[3]))
	}
	request := func(votes string) string {
		return `{"items":[` + strings.Join(items, ",") + `],"votes":` + votes + `}`
	}
	predict := func(votes string) string {
		return asked(t, "run", "POST", "/api/v1/models/run/predict", "application/json", request(votes))
	}
	file := "item,rater,label\ni3,r1,c0\ni3,r0,c1\ni3,newcomer,c1\ni5,r2,c0\ni5,,c1\ni5,r2,c1\n"
	if err := os.WriteFile("further.csv", []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	byWhom := predict(`{"i3":[{"rater":"r1","label":"c0"},{"rater":"r0","label":"c1"},{"rater":"newcomer","label":"c1"}],
		"i5":[{"rater":"r2","label":"c0"},{"label":"c1"},{"label":"c1","rater":"r2"}]}`)
	sameAsPredict(t, byWhom, "run items.csv --votes further.csv")
	if !strings.Contains(byWhom, "1 of 4 raters [newcomer] unknown to the model") {
		t.Error(byWhom)
	}
	if err := os.WriteFile("counted.csv", []byte("item,label,count\ni3,c0,2\ni3,c1,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	counted := predict(`{"i3":{"c0":2,"c1":1}}`)
	sameAsPredict(t, counted, "run items.csv --votes counted.csv")
	if counted == byWhom {
		t.Error("who cast the votes does not matter")
	}
	for query, flags := range map[string]string{"": " --pseudonyms", "?names=true": ""} {
		got := asked(t, "run", "GET", "/api/v1/models/run/raters"+query, "", "")
		if want := printed(t, "raters run --json"+flags); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("raters%s: %s, want %s", query, got, want)
		}
	}
}

// TestServeSameText: the server returns the predictions of credence predict for texts.
func TestServeSameText(t *testing.T) {
	t.Chdir(t.TempDir())
	var items, votes strings.Builder
	items.WriteString("item,comment,x\n")
	votes.WriteString("item,label\n")
	for i := range 80 {
		word, label := "a calm and friendly reply", "no"
		if i%2 == 0 {
			word, label = "an angry, furious \"rant\"", "yes"
		}
		fmt.Fprintf(&items, "t%d,\"%s number %d in the thread\",%d\n", i, strings.ReplaceAll(word, `"`, `""`), i*7%13, i%5)
		fmt.Fprintf(&votes, "t%d,%s\nt%d,%s\n", i, label, i, []string{"yes", "no"}[i/3%2])
	}
	for name, text := range map[string]string{"items.csv": items.String(), "votes.csv": votes.String()} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "train --data items.csv --votes votes.csv --text comment --epochs 2 --ensemble 2 --widths 4 --quiet --out run")
	sameAsPredict(t, asked(t, "run", "POST", "/invocations", "text/csv", items.String()), "run items.csv")
}

// TestServeSameImages: the same holds for images, which are sent as numbers.
func TestServeSameImages(t *testing.T) {
	t.Chdir(t.TempDir())
	const n, h, w = 24, 8, 8
	values := make([]float32, n*h*w)
	var votes strings.Builder
	votes.WriteString("no,yes\n")
	instances := make([]string, n)
	for i := range n {
		var rows []string
		for y := range h {
			var row []string
			for x := range w {
				v := float32(math.Round(100*math.Sin(float64(i%3+1)*float64(x+y*i))) / 100)
				values[(i*h+y)*w+x] = v
				row = append(row, fmt.Sprint(v))
			}
			rows = append(rows, "["+strings.Join(row, ",")+"]")
		}
		instances[i] = "[" + strings.Join(rows, ",") + "]"
		fmt.Fprintf(&votes, "%d,%d\n", 12+i%3, 1+i%2)
	}
	var npy bytes.Buffer
	if err := array.WriteNPY(&npy, []int{n, h, w}, values); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"images.npy": npy.String(), "votes.csv": votes.String()} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "train --data images.npy --layout HW --votes votes.csv --votes-form counts --network cnn2d --widths 4 --epochs 2 --ensemble 2 --quiet --out run")
	got := asked(t, "run", "POST", "/invocations", "application/json", `{"instances":[`+strings.Join(instances, ",")+`]}`)
	sameAsPredict(t, got, "run images.npy")
}
