package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"credence/dataset"
	"credence/mixture"
	"credence/model"
	"credence/train"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// people returns items with a numeric feature, which is missing in one item, and a categorical one.
func people(n int) *dataset.Dataset {
	rows := &dataset.Memory{N: n, W: 2}
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Rows: rows,
		Features: []dataset.Feature{{Name: "age"}, {Name: "sex", Kind: dataset.Categorical, Levels: []string{"f", "m"}}}}
	for i := range n {
		age := float32(20 + i*37%61)
		yes := float32(math.Round(float64(age) / 27))
		if i == 5 {
			age = float32(math.NaN())
		}
		ds.Items = append(ds.Items, fmt.Sprint("i", i))
		rows.Values = append(rows.Values, age, float32(i%2))
		ds.Counts = append(ds.Counts, 3-yes, yes)
	}
	return ds
}

func fit(seed uint64) *model.Model {
	got, err := train.Fit(context.Background(), people(60), train.Options{Epochs: 3, Ensemble: 2, Widths: []int{4}, Seed: seed, Trees: "off"})
	if err != nil {
		panic(err)
	}
	return got.Model
}

// fitted are two small models, trained once.
var fitted = sync.OnceValue(func() [2]*model.Model { return [2]*model.Model{fit(1), fit(2)} })

// save writes a model to a run folder.
func save(t testing.TB, m *model.Model, folder ...string) {
	t.Helper()
	path := filepath.Join(folder...)
	if err := os.MkdirAll(path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := m.Save(filepath.Join(path, "model.credence")); err != nil {
		t.Fatal(err)
	}
}

// start serves a model named first, or the models at o.Path if that is set.
func start(t testing.TB, o Options) (*Server, string) {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "first")
		save(t, fitted()[0], o.Path)
	}
	o.Version = "1.2.3"
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		hs.Close()
		s.Close()
	})
	return s, hs.URL
}

// ask sends a request, and returns status, headers and body.
func ask(t testing.TB, method, url, kind, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

const asJSON = "application/json"

// expected returns the library's predictions for the people: by item, the mean and the interval of yes.
func expected(t *testing.T, n int) [][3]float64 {
	t.Helper()
	list, err := fitted()[0].Predict(context.Background(), people(n), model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out [][3]float64
	for _, a := range list {
		classes, err := a.Reported().WithPrecision(mixture.SixDigits).Summarize(t.Context(), []float64{0.9}, false)
		if err != nil {
			t.Fatal(err)
		}
		c := classes[1]
		in := c.Intervals[0].TwoSided
		out = append(out, [3]float64{c.Mean, in.Lo, in.Hi})
	}
	return out
}

// TestSameBits: all protocols return the values of the library, bit for bit.
func TestSameBits(t *testing.T) {
	_, url := start(t, Options{Level: 0.9})
	const n = 9
	want := expected(t, n)
	var records, rows, ages, sexes []string
	csv := "item,age,sex\n"
	for i := range n {
		age := fmt.Sprint(20 + i*37%61)
		if i == 5 {
			age = "null"
		}
		sex := []string{"f", "m"}[i%2]
		records = append(records, fmt.Sprintf(`{"item":"i%d","sex":%q,"age":%s}`, i, sex, age))
		rows = append(rows, fmt.Sprintf(`[%s,%q]`, age, sex))
		ages, sexes = append(ages, age), append(sexes, strconv.Quote(sex))
		csv += fmt.Sprintf("i%d,%s,%s\n", i, strings.Replace(age, "null", "", 1), sex)
	}
	list := func(s []string) string { return "[" + strings.Join(s, ",") + "]" }
	type answers struct {
		Predictions []struct {
			Mean  float64 `json:"mean_yes"`
			Lower float64 `json:"lower_yes"`
			Upper float64 `json:"upper_yes"`
		}
	}
	for name, c := range map[string]struct{ path, kind, body string }{
		"records":   {"/invocations", asJSON, `{"dataframe_records":` + list(records) + `}`},
		"split":     {"/invocations", asJSON, `{"dataframe_split":{"index":[1],"data":` + list(rows) + `,"columns":["age","sex"]}}`},
		"instances": {"/invocations", asJSON, `{"instances":` + list(records) + `}`},
		"rows":      {"/invocations", asJSON, `{"instances":` + list(rows) + `}`},
		"inputs":    {"/invocations", asJSON, `{"inputs":{"age":` + list(ages) + `,"sex":` + list(sexes) + `},"params":{"level":0.9}}`},
		"csv":       {"/invocations", "text/csv; charset=utf-8", csv},
		"api":       {"/api/v1/models/first/predict", asJSON, `{"items":` + list(records) + `}`},
		"api csv":   {"/api/v1/models/first/predict?level=0.9", "text/csv", csv},
	} {
		status, _, text := ask(t, "POST", url+c.path, c.kind, c.body)
		var got answers
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || len(got.Predictions) != n {
			t.Errorf("%s: %d %s", name, status, text)
			continue
		}
		for i, p := range got.Predictions {
			if [3]float64{p.Mean, p.Lower, p.Upper} != want[i] {
				t.Errorf("%s: item %d: %v, want %v", name, i, p, want[i])
			}
		}
	}
	t.Run("tensors", func(t *testing.T) {
		status, _, text := ask(t, "POST", url+"/v2/models/first/infer", asJSON, fmt.Sprintf(
			`{"id":"7","inputs":[{"name":"age","shape":[%d],"datatype":"FP64","data":%s},{"name":"sex","shape":[%d,1],"datatype":"BYTES","data":%s}],"outputs":[{"name":"mean"},{"name":"lower"},{"name":"upper"}]}`,
			n, list(ages), n, list(sexes)))
		var got struct {
			ID      string
			Outputs []struct{ Data []float64 }
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || got.ID != "7" || len(got.Outputs) != 3 {
			t.Fatalf("%d %s", status, text)
		}
		for i := range n {
			if p := [3]float64{got.Outputs[0].Data[2*i+1], got.Outputs[1].Data[2*i+1], got.Outputs[2].Data[2*i+1]}; p != want[i] {
				t.Errorf("item %d: %v, want %v", i, p, want[i])
			}
		}
	})
	t.Run("binary tensors", func(t *testing.T) {
		var data []byte
		for i := range n {
			age := float64(20 + i*37%61)
			if i == 5 {
				age = math.NaN()
			}
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(age))
		}
		for i := range n {
			data = append(binary.LittleEndian.AppendUint32(data, 1), "fm"[i%2])
		}
		head := fmt.Sprintf(`{"inputs":[{"name":"age","shape":[%d],"datatype":"FP64","parameters":{"binary_data_size":%d}},{"name":"sex","shape":[%d],"datatype":"BYTES","parameters":{"binary_data_size":%d}}],"parameters":{"binary_data_output":true}}`,
			n, 8*n, n, 5*n)
		status, header, text := ask(t, "POST", url+"/v2/models/first/versions/"+version(t, url)+"/infer", "application/octet-stream", head+string(data),
			binaryHeader, strconv.Itoa(len(head)))
		length, err := strconv.Atoi(header.Get(binaryHeader))
		if err != nil || status != 200 {
			t.Fatalf("%d %v %q", status, err, text)
		}
		var got inferResponse
		if err := json.Unmarshal([]byte(text[:length]), &got); err != nil {
			t.Fatal(err)
		}
		rest := []byte(text[length:])
		for _, o := range got.Outputs {
			size := int(o.Parameters["binary_data_size"].(float64))
			if o.Name == "lower" {
				for i := range n {
					if x := math.Float64frombits(binary.LittleEndian.Uint64(rest[16*i+8:])); x != want[i][1] {
						t.Errorf("item %d: lower %v, want %v", i, x, want[i][1])
					}
				}
			}
			if o.Name == "predicted" && !bytes.HasPrefix(rest, []byte{2, 0, 0, 0, 'n', 'o'}) && !bytes.HasPrefix(rest, []byte{3, 0, 0, 0, 'y', 'e', 's'}) {
				t.Errorf("predicted: %q", rest[:size])
			}
			rest = rest[size:]
		}
		if len(rest) != 0 {
			t.Errorf("%d bytes are left", len(rest))
		}
	})
}

// version returns the version of the model named first.
func version(t *testing.T, url string) string {
	t.Helper()
	_, _, text := ask(t, "GET", url+"/v2/models/first", "", "")
	var meta modelMetadata
	if err := json.Unmarshal([]byte(text), &meta); err != nil || len(meta.Versions) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	return meta.Versions[0]
}

func TestErrors(t *testing.T) {
	_, url := start(t, Options{Limits: Limits{Body: 2000, Rows: 3, Values: 50}})
	for name, c := range map[string]struct {
		path, kind, body string
		status           int
		want             string
	}{
		"no model":       {"/v2/models/none/infer", asJSON, "{}", 404, `unknown model \"none\": expected one of first`},
		"no version":     {"/v2/models/first/versions/9/infer", asJSON, "{}", 404, `unknown version \"9\"`},
		"no JSON":        {"/invocations", asJSON, "age\n", 400, "line 1, column 1: expected an object, found 'a'"},
		"empty":          {"/invocations", asJSON, "{}", 400, "expected one of dataframe_split"},
		"cut":            {"/invocations", asJSON, `{"instances":[{"age":3`, 400, "found the end"},
		"form":           {"/invocations", asJSON, `{"rows":[]}`, 400, `found \"rows\"`},
		"two forms":      {"/invocations", asJSON, `{"instances":[],"inputs":[]}`, 400, "both"},
		"kind":           {"/invocations", "text/html", "x", 415, "expected application/json or text/csv"},
		"no column":      {"/invocations", asJSON, `{"instances":[{"age":3}]}`, 400, `no column \"sex\"`},
		"no number":      {"/invocations", asJSON, `{"instances":[{"age":"old","sex":"f"}]}`, 400, `row 1, column \"age\": expected a number, found \"old\"`},
		"an object":      {"/invocations", asJSON, `{"instances":[{"age":{},"sex":"f"}]}`, 400, "found an object"},
		"twice":          {"/invocations", asJSON, `{"instances":[{"age":1,"age":2}]}`, 400, `duplicate key \"age\"`},
		"lengths":        {"/invocations", asJSON, `{"inputs":{"age":[1,2],"sex":["f"]}}`, 400, "has 1 values"},
		"short row":      {"/invocations", asJSON, `{"instances":[[1]]}`, 400, "row 1: expected 2 values, found 1"},
		"level":          {"/invocations", asJSON, `{"instances":[],"params":{"level":2}}`, 400, "level 2"},
		"params":         {"/invocations", asJSON, `{"instances":[],"params":{"levle":0.9}}`, 400, "levle"},
		"rows":           {"/invocations", asJSON, `{"instances":[[1,"f"],[1,"f"],[1,"f"],[1,"f"]]}`, 413, "too many rows: expected at most 3"},
		"body":           {"/invocations", asJSON, strings.Repeat(" ", 3000), 413, "expected at most 2000 bytes"},
		"nested":         {"/invocations", asJSON, `{"dataframe_split":{"index":` + strings.Repeat("[", 500), 400, "deep"},
		"no inputs":      {"/v2/models/first/infer", asJSON, `{}`, 400, "no inputs"},
		"shape":          {"/v2/models/first/infer", asJSON, `{"inputs":[{"name":"age","shape":[2],"datatype":"FP64","data":[1]}]}`, 400, "expected 2 values by its shape, found 1"},
		"huge shape":     {"/v2/models/first/infer", asJSON, `{"inputs":[{"name":"age","shape":[3,4611686018427387904,4],"datatype":"FP64","data":[1]}]}`, 413, "shape"},
		"negative shape": {"/v2/models/first/infer", asJSON, `{"inputs":[{"name":"age","shape":[-1],"datatype":"FP64","data":[1]}]}`, 413, "shape"},
		"type":           {"/v2/models/first/infer", asJSON, `{"inputs":[{"name":"age","shape":[1],"datatype":"FP8","data":[1]}]}`, 400, "FP8"},
		"beyond":         {"/v2/models/first/infer", asJSON, `{"inputs":[{"name":"age","shape":[1],"datatype":"FP64","parameters":{"binary_data_size":8}}]}`, 400, "expected at most 0, the remaining bytes"},
		"output":         {"/v2/models/first/infer", asJSON, `{"inputs":[{"name":"age","shape":[1],"datatype":"FP64","data":[1]}],"outputs":[{"name":"mode"}]}`, 400, "mode"},
		"api":            {"/api/v1/models/first/predict", asJSON, `{"items":[{"age":1,"sex":"f"}],"outputs":["mode"]}`, 400, "mode"},
		"api votes":      {"/api/v1/models/first/predict", asJSON, `{"items":[],"votes":{"i1":{"maybe":1}}}`, 400, "maybe"},
		"repeated id":    {"/api/v1/models/first/predict", asJSON, `{"items":[{"item":"a","age":1,"sex":"f"},{"item":"a","age":2,"sex":"f"}]}`, 400, `item \"a\" is there already`},
		"repeated ids":   {"/invocations", "text/csv", "item,age,sex\na,1,f\na,2,f\n", 400, `item \"a\" is there already, on line 2`},
		"mixture":        {"/api/v1/mixture", asJSON, `{"weights":[1]}`, 422, "alpha"},
		"no votes":       {"/api/v1/votes", asJSON, `{"item":"a","rater":"b","label":"yes"}`, 404, "--vote-log"},
		"config":         {"/setup", asJSON, `{"schema":"<View><Choices name='l' toName='t'><Choice value='maybe'/></Choices></View>"}`, 400, "maybe"},
	} {
		status, _, text := ask(t, "POST", url+c.path, c.kind, c.body)
		if status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s, want %d and %s", name, status, text, c.status, c.want)
		}
	}
}

// A request without items is a client error in every protocol.
func TestNoItems(t *testing.T) {
	_, url := start(t, Options{})
	for path, body := range map[string]string{
		"/invocations":                  `{"instances":[]}`,
		"/invocations?":                 `{"dataframe_records":[]}`,
		"/api/v1/models/first/predict":  `{"items":[]}`,
		"/api/v1/models/first/predict?": `[]`,
	} {
		if status, _, text := ask(t, "POST", url+path, asJSON, body); status != 400 {
			t.Errorf("%s %s: %d %s, want 400", path, body, status, text)
		}
	}
}

// TestPartial: with partial results, a bad row does not affect the others.
func TestPartial(t *testing.T) {
	_, url := start(t, Options{})
	_, _, text := ask(t, "POST", url+"/api/v1/models/first/predict", asJSON, `{"partial":true,"items":[{"item":"a","age":"old","sex":"f"},{"item":"b","age":30,"sex":"x"}]}`)
	var got struct {
		Predictions []map[string]any
		Warnings    []string
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Predictions) != 2 {
		t.Fatal(err, text)
	}
	if got.Predictions[0]["error"] == nil || got.Predictions[1]["predicted"] == nil || len(got.Warnings) == 0 {
		t.Error(text)
	}
}

func TestVotesOnItems(t *testing.T) {
	_, url := start(t, Options{})
	mean := func(votes string) float64 {
		_, _, text := ask(t, "POST", url+"/api/v1/models/first/predict", asJSON, `{"items":[{"item":"a","age":30,"sex":"f"}],"outputs":["mean"],"votes":`+votes+`}`)
		var got struct {
			Predictions []struct {
				Mean float64 `json:"mean_yes"`
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Predictions) != 1 {
			t.Fatal(err, text)
		}
		return got.Predictions[0].Mean
	}
	if a, b := mean(`{}`), mean(`{"a":{"yes":3}}`); !(b > a) {
		t.Errorf("three votes for yes take its mean from %v to %v", a, b)
	}
}

func TestToken(t *testing.T) {
	_, url := start(t, Options{Token: "a long secret"})
	for _, c := range []struct {
		path, name, value string
		status            int
	}{
		{"/v2", "X", "y", 401},
		{"/v2", "Authorization", "Bearer a long secre", 401},
		{"/v2", "Authorization", "Bearer a long secret", 200},
		{"/v2", "Authorization", "Basic OmEgbG9uZyBzZWNyZXQ=", 200},
		{"/metrics", "X", "y", 401},
		{"/v2/health/live", "X", "y", 200},
		{"/api/v1/models", "X", "y", 401},
	} {
		if status, _, text := ask(t, "GET", url+c.path, "", "", c.name, c.value); status != c.status {
			t.Errorf("%s with %s: %d %s", c.path, c.value, status, text)
		}
	}
}

func TestHost(t *testing.T) {
	_, url := start(t, Options{})
	for host, want := range map[string]int{"localhost:80": 200, "127.0.0.1": 200, "[::1]:80": 200, "attacker.example": 421} {
		if status, _, _ := ask(t, "GET", url+"/v2", "", "", "Host", host); status != want {
			t.Errorf("%s: %d, want %d", host, status, want)
		}
	}
}

func TestBasePath(t *testing.T) {
	_, url := start(t, Options{BasePath: "/credence/"})
	for path, want := range map[string]int{"/credence/v2": 200, "/credence/ping": 200, "/credence/api/v1/models": 200,
		"/credence/api/v1/openapi.json": 200, "/v2": 404} {
		if status, _, _ := ask(t, "GET", url+path, "", ""); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
}

// TestReload: a retrained model is picked up while requests continue; a broken one is not.
func TestReload(t *testing.T) {
	path := t.TempDir()
	save(t, fitted()[0], path, "a")
	save(t, fitted()[0], path, "b", "9")
	save(t, fitted()[1], path, "b", "10")
	var logged bytes.Buffer
	s, url := start(t, Options{Path: path, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if got := fmt.Sprint(s.Models()); got != "[a b]" {
		t.Fatal(got)
	}
	if m, err := s.registry.get("b", ""); err != nil || m.version != "10" {
		t.Errorf("the newest version is %v, %v", m, err)
	}
	if _, err := s.registry.get("", ""); err == nil {
		t.Error("one of two models was chosen")
	}
	before, _ := s.registry.get("a", "")
	stop, failed := make(chan struct{}), make(chan string, 1)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if status, _, text := ask(t, "POST", url+"/invocations?model=a", asJSON, `{"instances":[[30,"f"]]}`); status != 200 {
					select {
					case failed <- text:
					default:
					}
					return
				}
			}
		})
	}
	save(t, fitted()[1], path, "a")
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	after, _ := s.registry.get("a", "")
	if after.version == before.version {
		t.Error("the new model was not taken over")
	}
	if err := os.WriteFile(filepath.Join(path, "a", "model.credence"), []byte("broken"), 0o666); err != nil {
		t.Fatal(err)
	}
	save(t, fitted()[0], path, "c")
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if still, err := s.registry.get("a", ""); err != nil || still != after {
		t.Errorf("a broken file replaced the model: %v, %v", still, err)
	}
	if _, err := s.registry.get("c", ""); err != nil {
		t.Error(err)
	}
	time.Sleep(50 * time.Millisecond)
	close(stop)
	wg.Wait()
	select {
	case text := <-failed:
		t.Error("a request failed:", text)
	default:
	}
	if !strings.Contains(logged.String(), "old_one_serves=true") {
		t.Errorf("the log does not report the broken model:\n%s", &logged)
	}
}

func TestVotes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "votes.csv")
	s, url := start(t, Options{Votes: file})
	post := func(body string, want int) {
		t.Helper()
		if status, _, text := ask(t, "POST", url+"/api/v1/votes", asJSON, body); status != want {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	post(`{"item":"i1","rater":"ann","label":"yes","key":"1"}`, 201)
	post(`{"item":"i1","rater":"ann","label":"yes","key":"1"}`, 201)
	post(`{"item":"i1","rater":"ann","label":"no","key":"1"}`, 409)
	post(`{"item":"i2","rater":"bob","label":"maybe"}`, 400)
	post(`{"item":"","rater":"bob","label":"yes"}`, 422)
	post(`{"item":"i2","rater":"bob","label":"no"}`, 201)
	status, _, text := ask(t, "POST", url+"/webhook", asJSON, `{"action":"ANNOTATION_CREATED","annotation":{"id":5,"completed_by":{"id":3,"email":"c@x"},
		"result":[{"type":"choices","value":{"choices":["yes"]}}]},"task":{"id":11,"data":{"item":"i3","age":3}}}`)
	if status != 201 {
		t.Error(status, text)
	}
	_, _, text = ask(t, "GET", url+"/api/v1/votes?rater=ann", "", "")
	var got struct {
		Votes []apiVote
		Next  int
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Votes) != 1 || got.Next != 3 {
		t.Error(err, text)
	}
	s.Close()
	ds, err := dataset.ReadVotes(context.Background(), file, dataset.VotesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(ds.Items, ds.Raters, ds.Classes) != "[i1 i2 i3] [ann bob c@x] [no yes]" {
		t.Error(ds.Items, ds.Raters, ds.Classes)
	}
}

func TestBusy(t *testing.T) {
	s, url := start(t, Options{Limits: Limits{Concurrency: 1}})
	s.slots <- struct{}{}
	status, header, _ := ask(t, "POST", url+"/invocations", asJSON, `{"instances":[[30,"f"]]}`)
	if status != 429 || header.Get("Retry-After") == "" {
		t.Error(status, header)
	}
	if status, _, _ := ask(t, "GET", url+"/v2/health/live", "", ""); status != 200 {
		t.Error("a probe waits for the others")
	}
	<-s.slots
}

func TestMetrics(t *testing.T) {
	_, url := start(t, Options{})
	ask(t, "POST", url+"/invocations", asJSON, `{"instances":[[30,"f"],[50,"m"]]}`)
	ask(t, "POST", url+"/invocations", asJSON, `{"instances":[[30,"x"],[5000,"m"],[-4000,"y"]]}`)
	_, _, text := ask(t, "GET", url+"/metrics", "", "")
	for _, want := range []string{`credence_rows_total{model="first"} 5`, `credence_requests_total{method="POST",route="/invocations",status="200"} 2`,
		`credence_interval_width_count{model="first"} 5`, `credence_rows_with_unknown_level_total{model="first"} 2`,
		`credence_rows_outside_training_range_total{model="first"} 2`, `credence_abstained_count{model="first"} 5`,
		`credence_abstained_sum{model="first"} `, `credence_request_seconds_bucket{route="/invocations",le="`, "credence_votes_total 0",
		"credence_model_info{", "credence_model_age_seconds{", "credence_models_broken 0", "credence_batch_rows_sum 5"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestAbstain: items to abstain on are marked and counted.
func TestAbstain(t *testing.T) {
	_, url := start(t, Options{MinTop: 1})
	_, _, text := ask(t, "POST", url+"/invocations", asJSON, `{"instances":[[30,"f"],[50,"m"]]}`)
	if n := strings.Count(text, `"abstain":true`); n != 2 {
		t.Errorf("%d of 2 items are marked: %s", n, text)
	}
	_, _, text = ask(t, "GET", url+"/metrics", "", "")
	if !strings.Contains(text, `credence_abstained_sum{model="first"} 2`) {
		t.Error(text)
	}
	if _, err := New(Options{Path: "x", MaxWidth: 2}); err == nil || !strings.Contains(err.Error(), "max_width 2") {
		t.Error(err)
	}
}

// TestRowsOfCSV: the limit on rows also applies to tables.
func TestRowsOfCSV(t *testing.T) {
	_, url := start(t, Options{Limits: Limits{Rows: 3}})
	if status, _, text := ask(t, "POST", url+"/invocations", "text/csv", "age,sex\n"+strings.Repeat("30,f\n", 4)); status != 413 {
		t.Error(status, text)
	}
}

// TestBodyCutOff: a client that leaves while it sends is no error of the server.
func TestBodyCutOff(t *testing.T) {
	for _, route := range []string{"/invocations", "/api/v1/models/first/predict"} {
		log := &lines{}
		_, url := start(t, Options{Log: slog.New(slog.NewTextHandler(log, nil))})
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: 100000\r\n\r\nage,sex\n30,f\n", route)
		time.Sleep(50 * time.Millisecond)
		c.Close()
		found := ""
		for range 500 {
			if found = log.String(); strings.Contains(found, "path="+route) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !strings.Contains(found, "path="+route) || !strings.Contains(found, "status=4") {
			t.Errorf("%s: expected a client's error in the log, found %s", route, found)
		}
	}
}

func TestCompressed(t *testing.T) {
	_, url := start(t, Options{Limits: Limits{Body: 1000}})
	packed := pack(t, []byte(`{"instances":[[30,"f"]]}`))
	if status, _, text := ask(t, "POST", url+"/invocations", asJSON, packed, "Content-Encoding", "gzip"); status != 200 {
		t.Error(status, text)
	}
	if status, _, text := ask(t, "POST", url+"/invocations", asJSON, packed[:len(packed)/2], "Content-Encoding", "gzip"); status != 400 || !strings.Contains(text, "too early") {
		t.Error(status, text)
	}
	damaged := packed[:len(packed)-6] + "!" + packed[len(packed)-5:]
	if status, _, text := ask(t, "POST", url+"/invocations", asJSON, damaged, "Content-Encoding", "gzip"); status != 400 || !strings.Contains(text, "decompressing") {
		t.Error(status, text)
	}
	bomb := pack(t, bytes.Repeat([]byte(" "), 1<<20))
	if status, _, text := ask(t, "POST", url+"/invocations", asJSON, bomb, "Content-Encoding", "gzip"); status != 413 {
		t.Error(status, text)
	}
}
