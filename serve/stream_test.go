package serve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const predictPath = "/api/v1/models/first/predict"

// TestParameters: the parameters of the mixtures are returned if they are requested.
func TestParameters(t *testing.T) {
	_, url := start(t, Options{})
	_, _, text := ask(t, "POST", url+predictPath, asJSON, `{"items":[{"age":30,"sex":"f"}],"outputs":["mean","weights","alpha"]}`)
	var got struct {
		Predictions []struct {
			Weights []float64
			Alpha   [][]float64
			Mean    float64 `json:"mean_yes"`
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Predictions) != 1 {
		t.Fatal(err, text)
	}
	p := got.Predictions[0]
	mean, sum := 0.0, 0.0
	for c, a := range p.Alpha {
		mean += p.Weights[c] * a[1] / (a[0] + a[1])
		sum += p.Weights[c]
	}
	if d := mean - p.Mean; !(d < 1e-9 && d > -1e-9) || !(sum > 1-1e-9 && sum < 1+1e-9) {
		t.Errorf("weights that sum to %v and a mean of %v: %s", sum, mean, text)
	}
}

// TestStreamErrors: an error in the first items gets its own status, a later one aborts the response,
// and items without a prediction are marked if that is requested.
func TestStreamErrors(t *testing.T) {
	_, url := start(t, Options{Limits: Limits{Rows: 3000}})
	bad := "age,sex\nold,f\n"
	if status, _, text := ask(t, "POST", url+predictPath+"?format=csv", "text/csv", bad); status != 400 || !strings.Contains(text, "expected a number") {
		t.Error(status, text)
	}
	status, _, text := ask(t, "POST", url+predictPath+"?format=jsonl&partial=true", "text/csv", "item,age,sex\na,old,f\nb,30,m\nc,40,f\nd,x,f\n")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if status != 200 || len(lines) != 4 {
		t.Fatal(status, text)
	}
	for i, want := range []string{`"error"`, `"mean_yes"`, `"mean_yes"`, `"error"`} {
		if !strings.Contains(lines[i], want) || !strings.Contains(lines[i], fmt.Sprintf(`"item":"%c"`, 'a'+i)) {
			t.Errorf("line %d is %s, want %s", i+1, lines[i], want)
		}
	}
	if _, _, text := ask(t, "POST", url+predictPath+"?format=csv&partial=true", "text/csv", "item,age,sex\na,old,f\nb,30,m\n"); strings.Contains(text, "a,") || strings.Count(text, "\nb,") != 2 {
		t.Error(text)
	}
	for name, body := range map[string]string{"a bad row": strings.Repeat("30,f\n", 2000) + "old,f\n", "too many": strings.Repeat("30,f\n", 3001)} {
		resp, err := http.Post(url+predictPath+"?format=csv", "text/csv", strings.NewReader("age,sex\n"+body))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%s late in a request: the answer ends as if nothing was wrong, after %d bytes", name, len(text))
		}
		resp.Body.Close()
	}
	for query, want := range map[string]string{"format=xml": "json, jsonl, csv, parquet or arrow", "format=csv&level=2": "level 2", "level=0.5&level=0.9": "a single level",
		"format=csv&digits=0": "digits", "format=csv&wide=maybe": "wide", "batch=0": "batch", "only=sd": "only", "names=x": "names", "max_width=3": "max_width 3",
		"min_top=x": "min_top"} {
		if status, _, text := ask(t, "POST", url+predictPath+"?"+query, "text/csv", "age,sex\n30,f\n"); status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", query, status, text)
		}
	}
	if status, _, text := ask(t, "POST", url+predictPath, "application/vnd.apache.parquet", "PAR1 but no more"); status != 400 {
		t.Error(status, text)
	}
	if status, _, text := ask(t, "POST", url+predictPath+"?format=csv", asJSON, `{"items":[{"age":1,"sex":"f"}],"outputs":["sd"]}`); status != 400 || !strings.Contains(text, "wide") {
		t.Error(status, text)
	}
}

// TestLateErrorOfParquet: an error that is found after the status was sent, but before any row, aborts the response,
// and the next request of the same client succeeds.
func TestLateErrorOfParquet(t *testing.T) {
	_, url := start(t, Options{})
	body := "age,sex\n" + strings.Repeat("30,f\n", 2000) + "old,f\n" + strings.Repeat("30,f\n", 50_000)
	for range 5 {
		resp, err := http.Post(url+predictPath+"?format=parquet&batch=1", "text/csv", strings.NewReader(body))
		if err != nil {
			continue // broken off before the client saw the status
		}
		if text, err := io.ReadAll(resp.Body); resp.StatusCode == 200 && err == nil {
			t.Errorf("the answer ends as if nothing was wrong, after %d bytes: %.200s", len(text), text)
		}
		resp.Body.Close()
		if status, _, text := ask(t, "POST", url+"/invocations", asJSON, `{"instances":[[30,"f"]]}`); status != 200 {
			t.Error(status, text)
		}
	}
}

// TestStreamAsTheyCome: with batch=1 the prediction for an item arrives before the next item is sent.
func TestStreamAsTheyCome(t *testing.T) {
	_, url := start(t, Options{})
	r, w := io.Pipe()
	req, err := http.NewRequest("POST", url+predictPath+"?format=jsonl&batch=1", r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	answered := make(chan *bufio.Scanner, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			close(answered)
			return
		}
		t.Cleanup(func() { resp.Body.Close() })
		answered <- bufio.NewScanner(resp.Body)
	}()
	var lines *bufio.Scanner
	for i := range 3 {
		fmt.Fprintf(w, "{\"item\":\"p%d\",\"age\":30,\"sex\":\"f\"}\n", i)
		if lines == nil {
			lines = <-answered
		}
		if lines == nil || !lines.Scan() || !strings.Contains(lines.Text(), fmt.Sprintf(`"item":"p%d"`, i)) {
			t.Fatal("no answer to item", i)
		}
	}
	w.Close()
	if lines.Scan() {
		t.Error("more than was asked for:", lines.Text())
	}
}
