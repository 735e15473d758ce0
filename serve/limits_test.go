package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"credence/internal/testsize"
	"credence/model"
	"credence/predict"
	"credence/train"
)

// tenClasses is a small model of ten classes.
var tenClasses = sync.OnceValue(func() *model.Model {
	ds := people(60)
	ds.Classes, ds.Counts = nil, nil
	for c := range 10 {
		ds.Classes = append(ds.Classes, fmt.Sprint("c", c))
	}
	for i := range ds.Items {
		counts := make([]float32, 10)
		counts[i%10], counts[i*7%10] = 2, 1
		ds.Counts = append(ds.Counts, counts...)
	}
	got, err := train.Fit(context.Background(), ds, train.Options{Epochs: 2, Ensemble: 2, Widths: []int{4}, Seed: 1})
	if err != nil {
		panic(err)
	}
	return got.Model
})

// csvRows returns a table of n people.
func csvRows(n int) string { return "age,sex\n" + strings.Repeat("30,f\n41.5,m\n", n/2) }

// levelQuery returns query parameters for n levels.
func levelQuery(n int) string {
	var b strings.Builder
	for k := range n {
		fmt.Fprintf(&b, "&level=%.4f", float64(k+1)/float64(n+1))
	}
	return b.String()
}

// mixtureQuestion returns a query about a mixture of k components, so narrow that highest-density sets take long.
func mixtureQuestion(k, classes, levels int, more string) string {
	list := func(n int, f func(i int) string) string {
		var all []string
		for i := range n {
			all = append(all, f(i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	return `{"weights":` + list(k, func(int) string { return fmt.Sprint(1 / float64(k)) }) +
		`,"alpha":` + list(k, func(i int) string {
		return list(classes, func(c int) string { return fmt.Sprint(100 + 1000*((i*31+c*17)%97)) })
	}) + `,"levels":` + list(levels, func(i int) string { return fmt.Sprint(float64(i+1) / float64(levels+1)) }) + more + `}`
}

// TestLimits: a request beyond a limit is rejected with the size found, the limit and its flag; one within it succeeds.
func TestLimits(t *testing.T) {
	_, url := start(t, Options{Limits: Limits{Rows: 40, Columns: 50, Levels: 4, Intervals: 200, Components: 3, Points: 60, Response: 12_000}})
	items := `{"items":[` + strings.TrimSuffix(strings.Repeat(`{"age":30,"sex":"f"},`, 40), ",") + `]}`
	for _, c := range []struct {
		path, kind, body string
		status           int
		want             string
	}{
		{predictPath + "?format=csv" + levelQuery(4), "text/csv", csvRows(2), 200, ""},
		{predictPath + "?format=csv" + levelQuery(5), "text/csv", csvRows(2), 413, "expected at most 4, found 5 (credence serve --max-levels)"},
		{predictPath + "?format=csv&only=mean" + levelQuery(4), "text/csv", csvRows(24), 200, ""},
		{predictPath + "?format=csv" + levelQuery(4), "text/csv", csvRows(26), 413, "expected at most 200, found 208 (credence serve --max-intervals)"},
		{predictPath + "?format=csv" + levelQuery(4), asJSON, items, 413, "expected at most 200, found 320 (credence serve --max-intervals)"},
		{predictPath + "?format=csv&wide=true" + levelQuery(4), "text/csv", csvRows(2), 200, ""},
		{predictPath + "?format=csv&wide=true&hpd=true" + levelQuery(4), "text/csv", csvRows(2), 200, ""},
		{predictPath + "?format=csv", "text/csv", csvRows(42), 413, "too many rows: expected at most 40 (credence serve --max-rows)"},
		{predictPath + "?format=csv&full=true" + levelQuery(3), "text/csv", csvRows(32), 413, "expected at most 12,000 bytes (credence serve --max-answer)"},
		{predictPath, "text/csv", csvRows(40), 413, "expected at most 12,000 bytes (credence serve --max-answer)"},
		{"/invocations", "text/csv", csvRows(40), 413, "expected at most 12,000 bytes (credence serve --max-answer)"},
		{"/invocations", "text/csv", csvRows(2), 200, ""},
		{"/v2/models/first/infer", asJSON, inferBody(40), 413, "expected at most 12,000 bytes (credence serve --max-answer)"},
		{"/v2/models/first/infer", asJSON, inferBody(2), 200, ""},
		{"/api/v1/mixture", asJSON, mixtureQuestion(3, 2, 4, ""), 200, ""},
		{"/api/v1/mixture", asJSON, mixtureQuestion(4, 2, 1, ""), 413, "components of the mixture: expected at most 3, found 4 (credence serve --max-components)"},
		{"/api/v1/mixture", asJSON, mixtureQuestion(2, 51, 1, ""), 413, "classes of the mixture: expected at most 50, found 51 (credence serve --max-columns)"},
		{"/api/v1/mixture", asJSON, mixtureQuestion(2, 2, 5, ""), 413, "levels of a request: expected at most 4, found 5 (credence serve --max-levels)"},
		{"/api/v1/mixture", asJSON, mixtureQuestion(2, 20, 4, ""), 413, "expected at most 60, found 80 (credence serve --max-points)"},
		{"/api/v1/mixture", asJSON, mixtureQuestion(2, 2, 0, `,"cdf":[`+strings.Repeat("0.1,", 30)+`0.1]`), 413, "expected at most 60, found 62 (credence serve --max-points)"},
	} {
		if status, _, text := ask(t, "POST", url+c.path, c.kind, c.body); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%.80s %.40s: %d %.300s, want %d and %q", c.path, c.body, status, text, c.status, c.want)
		}
	}
	_, url = start(t, Options{Limits: Limits{Columns: 39}})
	if status, _, text := ask(t, "POST", url+predictPath+"?format=csv&wide=true"+levelQuery(4), "text/csv", csvRows(2)); status != 413 || !strings.Contains(text, "expected at most 39, found 40 (credence serve --max-columns)") {
		t.Error(status, text)
	}
	_, url = start(t, Options{Limits: Limits{Memory: 30_000}})
	if status, header, text := ask(t, "POST", url+predictPath, "text/csv", csvRows(40)); status != 503 || !strings.Contains(text, "30000 bytes (credence serve --max-memory)") || header.Get("Retry-After") == "" {
		t.Error(status, text)
	}
	// The response reaches a client that is still sending.
	if status, _, text := ask(t, "POST", url+"/predict", asJSON, `{"tasks":[`+strings.Repeat(" ", 20<<20)+`]}`); status != 503 || !strings.Contains(text, "--max-memory") {
		t.Error(status, text)
	}
	if _, err := New(Options{Path: "x", Limits: Limits{Levels: -1}}); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Error(err)
	}
}

// inferBody returns a request of the Open Inference Protocol for n people.
func inferBody(n int) string {
	return fmt.Sprintf(`{"inputs":[{"name":"age","shape":[%d],"datatype":"FP64","data":[%s]},{"name":"sex","shape":[%d],"datatype":"BYTES","data":[%s]}]}`,
		n, strings.TrimSuffix(strings.Repeat("30,", n), ","), n, strings.TrimSuffix(strings.Repeat(`"f",`, n), ","))
}

// TestDefaultLimits: legitimate requests are within the default limits.
func TestDefaultLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector makes them too slow")
	}
	path := filepath.Join(t.TempDir(), "first")
	save(t, tenClasses(), path)
	_, url := start(t, Options{Path: path})
	for query, rows := range map[string]int{"format=csv" + levelQuery(5): 1000, "format=parquet&wide=true" + levelQuery(5): 200, "format=csv" + levelQuery(99): 20, "format=csv&hpd=true": 20} {
		if status, _, text := ask(t, "POST", url+predictPath+"?"+query, "text/csv", csvRows(rows)); status != 200 {
			t.Errorf("%.40s: %d %s", query, status, text)
		}
	}
	levels := testsize.Choose(4, 4, 19)
	if status, _, text := ask(t, "POST", url+"/api/v1/mixture", asJSON, mixtureQuestion(100, 10, levels, "")); status != 200 {
		t.Errorf("a mixture: %d %s", status, text)
	}
}

// heavy are requests that would take minutes.
var heavy = map[string]struct{ path, kind, body string }{
	"CSV":          {predictPath + "?format=csv&hpd=true&digits=full" + levelQuery(150), "text/csv", csvRows(6000)},
	"JSON lines":   {predictPath + "?format=jsonl&hpd=true&digits=full" + levelQuery(150), "text/csv", csvRows(6000)},
	"Parquet":      {predictPath + "?format=parquet&hpd=true&digits=full" + levelQuery(150), "text/csv", csvRows(6000)},
	"item by item": {predictPath + "?format=csv&hpd=true&batch=1&digits=full" + levelQuery(150), "text/csv", csvRows(6000)},
	"a mixture":    {"/api/v1/mixture", asJSON, mixtureQuestion(900, 2, 180, "")},
	"many classes": {"/api/v1/mixture", asJSON, mixtureQuestion(100, 900, 50, "")},
}

// answered sends a request and returns the status, the body of the response, and whether it is complete.
func answered(ctx context.Context, t *testing.T, url, kind, body string) (status int, text string, whole bool) {
	req, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error(), false
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err == nil
}

// TestTimeout: a request that would take minutes is stopped at the time limit: with 503 if the response has not
// started, otherwise by aborting the response.
func TestTimeout(t *testing.T) {
	s, url := start(t, Options{Limits: Limits{Timeout: 300 * time.Millisecond}})
	for name, c := range heavy {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // by which a request that goes on is known
		status, text, whole := answered(ctx, t, url+c.path, c.kind, c.body)
		switch {
		case ctx.Err() != nil:
			t.Errorf("%s: no answer within half a minute", name)
		case status == 503 && strings.Contains(text, "took longer than 300ms (credence serve --timeout)"):
		case status != 200 || whole:
			t.Errorf("%s: %d %.300s, whole: %v", name, status, text, whole)
		}
		cancel()
	}
	for range 3000 { // until the handlers of aborted responses have returned
		if len(s.slots) == 0 && s.held.Load() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d requests still at work, %d bytes held", len(s.slots), s.held.Load())
}

// TestTimeoutEverywhere: every route that computes returns 503 after the timeout.
func TestTimeoutEverywhere(t *testing.T) {
	_, url, _ := desk(t, Options{Limits: Limits{Timeout: time.Nanosecond}})
	tasks := `{"tasks":[{"id":1,"data":{"age":30,"sex":"f"}}]}`
	for _, c := range []struct{ method, path, kind, body string }{
		{"POST", predictPath, asJSON, `{"items":[{"age":30,"sex":"f"}]}`},
		{"POST", predictPath + "?format=csv", asJSON, `{"items":[{"age":30,"sex":"f"}]}`},
		{"POST", predictPath + "?format=jsonl", "text/csv", csvRows(2)},
		{"POST", predictPath + "?format=parquet", "text/csv", csvRows(2)},
		{"POST", "/invocations", asJSON, `{"instances":[[30,"f"]]}`},
		{"POST", "/v2/models/first/infer", asJSON, inferBody(2)},
		{"POST", "/predict", asJSON, tasks},
		{"POST", "/api/v1/mixture", asJSON, mixtureQuestion(1, 2, 1, "")},
		{"GET", "/api/v1/items", "", ""},
		{"GET", "/api/v1/items?order=width", "", ""},
		{"GET", "/api/v1/item?id=i1", "", ""},
		{"GET", "/api/v1/items/points", "", ""},
		{"GET", "/api/v1/queue?rater=ann", "", ""},
		{"GET", "/api/v1/overview", "", ""},
		{"POST", "/api/v1/item/posterior", asJSON, `{"item":"i1","votes":{"yes":1}}`},
	} {
		status, header, text := ask(t, c.method, url+c.path, c.kind, c.body)
		if status != 503 || !strings.Contains(text, "took longer than 1ns (credence serve --timeout)") || header.Get("Retry-After") == "" {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, text)
		}
	}
}

// TestClientLeaves: work stops when the client disconnects.
func TestClientLeaves(t *testing.T) {
	s, url := start(t, Options{})
	var all sync.WaitGroup
	for _, c := range heavy {
		all.Go(func() {
			ctx, leave := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer leave()
			answered(ctx, t, url+c.path, c.kind, c.body)
		})
	}
	all.Wait()
	for range 3000 {
		if len(s.slots) == 0 && s.held.Load() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("half a minute after all clients have left, %d requests are at work and hold %d bytes", len(s.slots), s.held.Load())
}

// TestWritersStop: a writer stops writing when its context is done.
func TestWritersStop(t *testing.T) {
	m := fitted()[0]
	list, err := predict.New(m, predict.Options{}).Dataset(t.Context(), people(40))
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"csv", "jsonl", "parquet", "arrow"} {
		var b bytes.Buffer
		w, err := predict.NewWriter(&b, predict.NewTable(m, predict.Format{Form: predict.Form{Name: form},
			Summary: predict.Summary{Levels: []float64{0.9}}}))
		if err != nil {
			t.Fatal(err)
		}
		before := b.Len()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.Write(ctx, list); !errors.Is(err, context.Canceled) || b.Len() != before {
			t.Errorf("%s: %v, %d bytes", form, err, b.Len()-before)
		}
	}
}
