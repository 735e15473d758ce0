package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"credence/dataset"
	"credence/mixture"
	"credence/model"
	"credence/train"
)

// judged writes votes of two people and two judges on n items to a file, fits a model with the judges as features, and
// returns the data.
func judged(t *testing.T, n int) (path string, ds *dataset.Dataset, m *model.Model) {
	t.Helper()
	var text strings.Builder
	text.WriteString("item,rater,label,kind\n")
	label := map[bool]string{true: "good", false: "bad"}
	for i := range n {
		for _, rater := range []string{"ann", "bob"} {
			fmt.Fprintf(&text, "q%d,%s,%s,human\n", i, rater, label[i%3 > 0])
		}
		fmt.Fprintf(&text, "q%d,gpt-4,%s,machine\n", i, label[i%3 > 0])
		if i%5 > 0 { // a judge may be missing
			fmt.Fprintf(&text, "q%d,llama,%s,machine\n", i, label[i%2 == 0])
		}
	}
	path = filepath.Join(t.TempDir(), "votes.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	ds, err := dataset.Load(context.Background(), dataset.LoadOptions{Votes: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := train.Fit(context.Background(), ds, train.Options{Epochs: 20, Ensemble: 2, Widths: []int{4}, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	return path, ds, got.Model
}

// TestJudges: votes of judges in a request, and a column of the items per judge, give the predictions of the library; a
// person's vote updates them, an unknown judge is refused, and the queue reads judges from the file of earlier votes.
func TestJudges(t *testing.T) {
	votes, ds, m := judged(t, 60)
	path := filepath.Join(t.TempDir(), "first")
	save(t, m, path)
	list, err := m.Predict(context.Background(), ds, model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	good := func(i int) float64 {
		classes, err := list[i].Reported().WithPrecision(mixture.SixDigits).Summarize(t.Context(), []float64{0.9}, false)
		if err != nil {
			t.Fatal(err)
		}
		return classes[1].Mean
	}
	if d := good(1) - good(3); !(d > 0.05) { // q1 and q3 differ in the votes of gpt-4
		t.Fatalf("the judges matter by %v", d)
	}
	items := filepath.Join(t.TempDir(), "items.csv")
	if err := os.WriteFile(items, []byte("item\nq0\nq1\nq2\nq3\nq4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s, url := start(t, Options{Path: path, Votes: filepath.Join(t.TempDir(), "log.csv"), Queue: Queue{Items: []string{items}, Earlier: []string{votes}}})
	await(t, s)
	means := func(kind, body string) (list []float64, text string) {
		status, _, text := ask(t, "POST", url+"/api/v1/models/first/predict", kind, body, "Accept", asJSON)
		var got struct {
			Predictions []struct {
				Mean float64 `json:"mean_good"`
			}
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err, text)
		}
		for _, p := range got.Predictions {
			list = append(list, p.Mean)
		}
		if status != 200 && list != nil {
			t.Errorf("status %d with predictions", status)
		}
		return list, text
	}
	ids := `"items":[{"item":"q0"},{"item":"q1"},{"item":"q2"},{"item":"q3"}]`
	byJudges := `"q0":[{"rater":"gpt-4","label":"bad"}],"q1":[{"rater":"gpt-4","label":"good"},{"rater":"llama","label":"bad"}],` +
		`"q2":[{"rater":"gpt-4","label":"good"},{"rater":"llama","label":"good"}],"q3":[{"rater":"gpt-4","label":"bad"},{"rater":"llama","label":"bad"}`
	for name, c := range map[string]struct{ kind, body string }{
		"columns": {asJSON, `{"items":[{"item":"q0","gpt-4":"bad","llama":null},{"item":"q1","gpt-4":"good","llama":"bad"},` +
			`{"item":"q2","gpt-4":"good","llama":"good"},{"item":"q3","gpt-4":"bad","llama":"bad"}]}`},
		"table": {"text/csv", "item,gpt-4,llama\nq0,bad,\nq1,good,bad\nq2,good,good\nq3,bad,bad\n"},
		"votes": {asJSON, "{" + ids + `,"votes":{` + byJudges + "]}}"},
	} {
		got, text := means(c.kind, c.body)
		if len(got) != 4 {
			t.Errorf("%s: %s", name, text)
			continue
		}
		for i, x := range got {
			if math.Abs(x-good(i)) > 1e-12 {
				t.Errorf("%s: item %d has the mean %v, want %v", name, i, x, good(i))
			}
		}
	}
	updated, text := means(asJSON, "{"+ids+`,"votes":{`+byJudges+`,{"rater":"zoe","label":"good"}]}}`)
	if len(updated) != 4 || !(updated[3] > good(3)+1e-6) || math.Abs(updated[2]-good(2)) > 1e-12 {
		t.Errorf("a person's vote for good on q3: %v, before %v; %s", updated, good(3), text)
	}
	if got, text := means(asJSON, "{"+ids+`,"votes":{"q0":[{"rater":"gpt-5","label":"good"}]}}`); got != nil || !strings.Contains(text, `judge \"gpt-5\" is unknown`) {
		t.Errorf("an unknown judge: %v, %s", got, text)
	}
	// In the queue the judges' votes are features: only people's votes count.
	for i, label := range []string{"bad", "good", "good", "bad", "good"} {
		item := want[itemView](t, "GET", fmt.Sprintf("%s/api/v1/item?id=q%d&rater=ann", url, i), nil)
		if item.Votes.Counts[0]+item.Votes.Counts[1] != 2 || item.Before == nil || len(item.Features) == 0 || item.Features[0].Name != "gpt-4" || item.Features[0].Text != label {
			t.Errorf("item %d: votes %+v, features %+v", i, item.Votes, item.Features)
		}
	}
}
