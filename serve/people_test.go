package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/python"
	"credence/internal/table"
	"credence/internal/votelog"
	"credence/train"
)

// TestEarlierOwnVotes: items that a rater voted on in an earlier file are not in her queue; she sees the votes.
func TestEarlierOwnVotes(t *testing.T) {
	_, base, _ := desk(t, Options{})
	for rater, n := range map[string]int{"zoe": 30, "yan": 30, "ann": 39} {
		q := want[queueJSON](t, "GET", base+"/api/v1/queue?limit=100&rater="+rater, nil)
		if q.Progress.Left != n || len(q.Items) != n {
			t.Errorf("%s: %d items left, %d listed, want %d", rater, q.Progress.Left, len(q.Items), n)
		}
	}
	item := want[itemView](t, "GET", base+"/api/v1/item?id=i3&rater=zoe", nil)
	if item.Hidden || item.Own == nil || item.Own.Label != "yes" || !item.Own.Earlier || item.Before == nil {
		t.Errorf("zoe's own earlier vote: %+v, hidden %v", item.Own, item.Hidden)
	}
	call(t, "POST", base+"/api/v1/votes", map[string]string{"item": "i3", "rater": "zoe", "label": "no"}, nil)
	if item = want[itemView](t, "GET", base+"/api/v1/item?id=i3&rater=zoe", nil); item.Own.Label != "no" || item.Own.Earlier || item.Votes.Counts[0] != 2 {
		t.Errorf("after she changed it: %+v, %+v", item.Own, item.Votes)
	}
}

// TestSkipsSurvive: skipped items are last in the queue of the rater, also after a restart, and are no votes.
func TestSkipsSurvive(t *testing.T) {
	s, base, votes := desk(t, Options{})
	order := func(base string) []string {
		var list []string
		for _, x := range want[queueJSON](t, "GET", base+"/api/v1/queue?limit=100&rater=ann", nil).Items {
			list = append(list, x.Item)
		}
		return list
	}
	before := order(base)
	for _, item := range before[:2] {
		if status := call(t, "POST", base+"/api/v1/queue/skip", map[string]string{"item": item, "rater": "ann"}, nil); status != 204 {
			t.Fatalf("status %d", status)
		}
	}
	wanted := append(slices.Clone(before[2:]), before[:2]...)
	if got := order(base); !slices.Equal(got, wanted) {
		t.Errorf("after skipping: %v, want %v", got, wanted)
	}
	o := s.options
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, base = start(t, o)
	await(t, s)
	if got := order(base); !slices.Equal(got, wanted) {
		t.Errorf("after a restart: %v, want %v", got, wanted)
	}
	text, err := os.ReadFile(votes)
	if err != nil || strings.Count(string(text), skipKey) != 2 {
		t.Errorf("the vote file: %v\n%s", err, text)
	}
	if got := want[map[string]any](t, "GET", base+"/api/v1/overview", nil)["queue"].(map[string]any)["progress"].(map[string]any)["votes"]; got != 0.0 {
		t.Errorf("%v votes", got)
	}
	call(t, "POST", base+"/api/v1/votes", map[string]string{"item": before[2], "rater": "ann", "label": "no"}, nil)
	if status := call(t, "POST", base+"/api/v1/queue/skip", map[string]string{"item": before[2], "rater": "ann"}, nil); status != 409 {
		t.Errorf("skipping an item after the vote: status %d", status)
	}
	if status := call(t, "POST", base+"/api/v1/votes", map[string]string{"item": before[3], "rater": "ann", "label": "", "key": skipKey + "x"}, nil); status != 400 {
		t.Errorf("a reserved key: status %d", status)
	}
}

// TestUnknownItems: with items, votes on others are refused; withdrawing is not, since items may have gone.
func TestUnknownItems(t *testing.T) {
	s, base, _ := desk(t, Options{})
	vote := map[string]any{"item": "i99", "rater": "ann", "label": "no"}
	for _, cannotTell := range []bool{false, true} {
		if vote["cannot_tell"] = cannotTell; cannotTell {
			vote["label"] = ""
		}
		if status := call(t, "POST", base+"/api/v1/votes", vote, nil); status != 404 {
			t.Errorf("%v: status %d", vote, status)
		}
	}
	for body, want := range map[string]string{`{"item":"I1","rater":"ann","label":"no"}`: `did you mean \"i1\"`, `{"item":"i1","rater":"ann","label":"no","skipped":true}`: "use /api/v1/queue/skip"} {
		if status, _, text := ask(t, "POST", base+"/api/v1/votes", asJSON, body); status/100 != 4 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	if status := call(t, "DELETE", base+"/api/v1/votes?item=i99&rater=ann", nil, nil); status != 200 {
		t.Errorf("withdrawing: status %d", status)
	}
	if err := s.addVote(votelog.Vote{Item: "i1", Rater: "ann", Label: "no"}); err != nil {
		t.Error(err)
	}
}

// TestAssignment: with two votes per item, every item gets two different raters, and no queue offers a third.
func TestAssignment(t *testing.T) {
	s, base, _ := desk(t, Options{Queue: Queue{PerItem: 2}})
	s.queue.options.PerItem = 2
	raters := []string{"ann", "bob", "cem"}
	got := map[string][]string{}
	for step := 0; ; step++ {
		done := 0
		var shown []string
		for _, r := range raters { // everybody has an item on the screen at the same time
			q := want[queueJSON](t, "GET", base+"/api/v1/queue?limit=1&rater="+r, nil)
			if len(q.Items) == 0 {
				done++
				shown = append(shown, "")
				continue
			}
			shown = append(shown, q.Items[0].Item)
		}
		for k, r := range raters {
			if shown[k] != "" {
				got[shown[k]] = append(got[shown[k]], r)
				call(t, "POST", base+"/api/v1/votes", map[string]string{"item": shown[k], "rater": r, "label": "no"}, nil)
			}
		}
		if done == len(raters) {
			break
		}
		if step > 100 {
			t.Fatal("the queues do not end")
		}
	}
	// Ten items have two earlier votes, one of the others cannot be predicted.
	if len(got) != 30 {
		t.Errorf("%d items were shown", len(got))
	}
	for item, who := range got {
		if len(who) != 2 || who[0] == who[1] {
			t.Errorf("%s was shown to %v", item, who)
		}
	}
}

func TestRaterNames(t *testing.T) {
	_, base, _ := desk(t, Options{})
	call(t, "POST", base+"/api/v1/votes", map[string]string{"item": "i1", "rater": "Ann Lee", "label": "no"}, nil)
	for name, like := range map[string]string{"": "", "zoe": "", "ZOE": "zoe", "ann lee": "Ann Lee", "Anne Lee": "Ann Lee", "AnnLee": "Ann Lee", "Bob": "", "zo": "", "zob": ""} {
		b := want[raterNamesBody](t, "GET", base+"/api/v1/queue/raters?name="+url.QueryEscape(name), nil)
		if b.Like != like || !slices.Equal(b.Names, []string{"Ann Lee", "yan", "zoe"}) || b.Known != (name == "zoe") {
			t.Errorf("%q: %+v, want %q", name, b, like)
		}
	}
	if like := resembling("rater12", []string{"rater1", "rater13"}); like != "" {
		t.Errorf("numbered names resemble each other: %q", like)
	}
}

func TestInstructions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "how.md")
	for text, wrong := range map[string]string{"": "empty", "a\xff": "UTF-8", strings.Repeat("x", mostInstructions+1): "at most"} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readInstructions(file); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%.10q: %v", text, err)
		}
	}
	s, base, _ := desk(t, Options{})
	if b := want[instructionsBody](t, "GET", base+"/api/v1/queue/instructions", nil); b.Text != "" {
		t.Errorf("without a file: %q", b.Text)
	}
	s.options.Queue.Instructions = file
	if err := os.WriteFile(file, []byte("\ufeff# How\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if b := want[instructionsBody](t, "GET", base+"/api/v1/queue/instructions", nil); b.Text != "# How\n" {
		t.Errorf("%q", b.Text)
	}
}

// comments starts a server of a text model: "good" makes votes positive, "bad" negative.
func comments(t *testing.T) (s *Server, base string) {
	t.Helper()
	dir := t.TempDir()
	var items, votes strings.Builder
	items.WriteString("item,comment\n")
	votes.WriteString("item,rater,label\n")
	filler := strings.Fields("the weather film book meal hotel train garden story concert")
	for i := range 80 {
		kind, label := "good", "positive"
		if i%2 == 1 {
			kind, label = "bad", "negative"
		}
		fmt.Fprintf(&items, "c%d,this %s was really %s for us all\n", i, filler[i%len(filler)], kind)
		for r := range 3 {
			fmt.Fprintf(&votes, "c%d,r%d,%s\n", i, r, label)
		}
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	data, labels := write("items.csv", items.String()), write("votes.csv", votes.String())
	o := dataset.LoadOptions{Data: []string{data}, Votes: []string{labels}}
	o.FeatureOptions.Text = []string{"comment"}
	ds, err := dataset.Load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	fit, err := train.Fit(context.Background(), ds, train.Options{Epochs: 30, Ensemble: 1, Widths: []int{4}, Seed: 1, Trees: "off"})
	if err != nil {
		t.Fatal(err)
	}
	save(t, fit.Model, dir, "first")
	s, base = start(t, Options{Path: filepath.Join(dir, "first"), Queue: Queue{Items: []string{data}}})
	await(t, s)
	return s, base
}

func TestTexts(t *testing.T) {
	_, base := comments(t)
	t.Run("search", func(t *testing.T) {
		for find, n := range map[string]int{"GARDEN": 8, "c7": 11, "really good": 40, "none": 0} {
			b := want[searchBody](t, "GET", base+"/api/v1/items/search?contains="+url.QueryEscape(find), nil)
			list := want[itemListBody](t, "GET", base+"/api/v1/items?contains="+url.QueryEscape(find), nil)
			if len(b.Items) != n || list.Total != n {
				t.Errorf("%q: %d items, %d in the list, want %d", find, len(b.Items), list.Total, n)
			}
		}
	})
	t.Run("words", func(t *testing.T) {
		for class, sign := range map[string]float64{"positive": 1, "negative": -1} {
			b := want[wordsBody](t, "GET", base+"/api/v1/item/words?id=c0&class="+class, nil)
			if b.Class != class || len(b.Texts) != 1 || len(b.Texts[0].Words) == 0 || b.Texts[0].Words[0].Word != "good" || b.Texts[0].Words[0].Effect*sign < 0.05 {
				t.Errorf("%s: %+v, want good first", class, b)
			}
		}
	})
}

func TestWordsOf(t *testing.T) {
	for s, list := range map[string]string{
		"It's  good—don't, go": "it's|good|don't|go",
		"今天天气很好 ok":            "今天|天气|很好|ok",
		"مرحبا بالعالم":        "مرحبا|بالعالم",
		"'quoted' 3.5 été":     "quoted|3|5|été",
		"":                     "",
	} {
		var got []string
		for _, w := range wordsOf(s) {
			got = append(got, w.word(s))
		}
		if strings.Join(got, "|") != list {
			t.Errorf("%q: %q, want %q", s, got, list)
		}
	}
	if got := without("Bad, not so bad.", wordsOf("Bad, not so bad."), "bad"); got != ", not so ." {
		t.Errorf("%q", got)
	}
}

// TestExportSafe: no cell of the export is a formula, and numbers stay numbers.
func TestExportSafe(t *testing.T) {
	s, base := start(t, Options{Votes: filepath.Join(t.TempDir(), "votes.csv")})
	for _, v := range []votelog.Vote{{Item: `=HYPERLINK("http://evil")`, Rater: "@ann", Label: "no"}, {Item: "-1", Rater: "+bob", Label: "yes"}} {
		if err := s.addVote(v); err != nil {
			t.Fatal(err)
		}
	}
	_, _, text := ask(t, "GET", base+"/api/v1/votes/export", "", "")
	if want := "item,rater,label\n\"'=HYPERLINK(\"\"http://evil\"\")\",'@ann,no\n-1,'+bob,yes\n"; text != want {
		t.Errorf("the export is\n%s, want\n%s", text, want)
	}
	if _, _, text := ask(t, "GET", base+"/api/v1/votes/export?csv_safe=false", "", ""); strings.Contains(text, "'") {
		t.Errorf("unchanged on request:\n%s", text)
	}
}

// TestArrow: an Arrow stream comes and goes, also as bytes without a name.
func TestArrow(t *testing.T) {
	_, base := start(t, Options{})
	var body bytes.Buffer
	w, err := table.NewArrowWriter(&body, []table.ParquetColumn{{Name: "item", Kind: table.ParquetText}, {Name: "age", Kind: table.ParquetNumber}, {Name: "sex", Kind: table.ParquetText}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		w.Text(0, fmt.Sprint("i", i))
		w.Number(1, float64(30+i))
		w.Text(2, "f")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	asCSV := "item,age,sex\ni0,30,f\ni1,31,f\ni2,32,f\n"
	_, _, want := ask(t, "POST", base+predictPath, "text/csv", asCSV, "Accept", arrowType)
	for _, kind := range []string{arrowType, "application/octet-stream"} {
		status, h, got := ask(t, "POST", base+predictPath+"?format=arrow", kind, body.String())
		if status != 200 || h.Get("Content-Type") != arrowType || got != want || !strings.HasPrefix(got, "\xff\xff\xff\xff") {
			t.Errorf("%s: status %d, %s, %d bytes, want %d", kind, status, h.Get("Content-Type"), len(got), len(want))
		}
	}
	rows, err := table.NewPiped(t.Context(), readAll(want), "answer", table.Options{})
	if err != nil || rows.Header()[0] != "item" {
		t.Fatalf("%v", err)
	}
	if status, _, text := ask(t, "POST", base+predictPath, arrowType, asCSV); status != 400 || !strings.Contains(text, "expected an Arrow stream") {
		t.Errorf("CSV as Arrow: %d %s", status, text)
	}
	if status, _, text := ask(t, "POST", base+predictPath, arrowType, body.String()[:60]); status != 400 {
		t.Errorf("half a stream: %d %s", status, text)
	}
}

// TestTritonExtensions: the configuration and the statistics that Triton's clients read.
func TestTritonExtensions(t *testing.T) {
	_, base := start(t, Options{})
	_, _, text := ask(t, "GET", base+"/v2/models/first/config", "", "")
	var config struct {
		Name  string
		Max   int `json:"max_batch_size"`
		Input []tritonTensor
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil || config.Name != "first" || config.Max != DefaultLimits.Rows || len(config.Input) != 2 ||
		config.Input[0].DataType != "TYPE_FP64" || config.Input[1].DataType != "TYPE_STRING" || !slices.Equal(config.Input[0].Dims, []int{1}) {
		t.Errorf("%v %s", err, text)
	}
	infer := func(n string) {
		ask(t, "POST", base+"/v2/models/first/infer", asJSON, `{"inputs":[{"name":"age","shape":[2],"datatype":"FP64","data":`+n+`},{"name":"sex","shape":[2],"datatype":"BYTES","data":["f","m"]}]}`)
	}
	infer("[1,2]")
	infer("[1]")
	for _, path := range []string{"/v2/models/first/stats", "/v2/models/stats"} {
		_, _, text := ask(t, "GET", base+path, "", "")
		var all struct {
			Stats []struct {
				Items int                                               `json:"inference_count"`
				Runs  int                                               `json:"execution_count"`
				Stats struct{ Success, Fail struct{ Count, NS int64 } } `json:"inference_stats"`
			} `json:"model_stats"`
		}
		if err := json.Unmarshal([]byte(text), &all); err != nil || len(all.Stats) != 1 || all.Stats[0].Items != 2 || all.Stats[0].Runs != 1 ||
			all.Stats[0].Stats.Success.Count != 1 || all.Stats[0].Stats.Fail.Count != 1 || all.Stats[0].Stats.Success.NS <= 0 {
			t.Errorf("%s: %v %s", path, err, text)
		}
	}
}

// TestOpenAPIClient generates a client with openapi-python-client and calls it.
func TestOpenAPIClient(t *testing.T) {
	interpreter := python.Interpreter(t, "openapi_python_client", "httpx")
	_, base := start(t, Options{Token: secret})
	out, err := exec.Command(interpreter, "testdata/openapi_client.py", base, secret, t.TempDir()).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func readAll(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }
