package serve

import (
	"path/filepath"
	"strings"
	"testing"

	"credence/head"
	"credence/predict"
)

// TestAs: requests may ask for the votes of a rater; the names of other raters are not shown.
func TestAs(t *testing.T) {
	m := fit(3)
	m.Raters = []string{"ann", "bob"}
	m.RaterModel = &head.RaterModel{Classes: 2, Votes: []float64{50, 50}, Bias: []float64{1.5, -1.5}, BiasSE: []float64{0.1, 0.1}, BiasSD: 1,
		GuessLogit: []float64{-7, -7}, GuessLogitSE: []float64{1, 1}}
	if err := m.RaterModel.Finalize(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "first")
	save(t, m, path)
	_, url := start(t, Options{Path: path})
	const item = `{"items":[{"age":30,"sex":"f"}]}`
	yes := func(query string) string {
		status, _, text := ask(t, "POST", url+predictPath+"?format=jsonl&top=false"+query, asJSON, item)
		if status != 200 {
			t.Fatalf("%s: status %d, %s", query, status, text)
		}
		return text
	}
	if average, ann, bob := yes(""), yes("&as=ann"), yes("&as=bob"); ann == bob || ann == average {
		t.Errorf("votes of ann %s, of bob %s, of an average rater %s", ann, bob, average)
	}
	as, err := predict.NewAs(m, "ann", nil)
	if err != nil || !strings.HasPrefix(as.About, "votes of rater ann, with 50 votes in training: bias +1.50 ± 0.10") {
		t.Errorf("%+v, %v", as, err)
	}
	for query, want := range map[string]string{
		"?as=anna":          `as: unknown rater \"anna\"`,
		"?as=ann&full=true": "mixtures and gains of a vote are those of an average rater",
	} {
		if status, _, text := ask(t, "POST", url+predictPath+query, asJSON, item); status != 400 || !strings.Contains(text, want) || strings.Contains(text, `\"ann\"`) {
			t.Errorf("%s: status %d, %s; expected 400 and %q", query, status, text, want)
		}
	}
	body := `{"parameters":{"as":"ann"},"inputs":[{"name":"age","shape":[1],"datatype":"FP64","data":[1]},{"name":"sex","shape":[1],"datatype":"BYTES","data":["f"]}]}`
	if status, _, text := ask(t, "POST", url+"/v2/models/first/infer", asJSON, body); status != 200 {
		t.Errorf("status %d, %s", status, text)
	}
	_, plain := start(t, Options{})
	if status, _, text := ask(t, "POST", plain+predictPath+"?as=ann", asJSON, item); status != 400 || !strings.Contains(text, "no rater model") {
		t.Errorf("without a rater model: status %d, %s", status, text)
	}
}
