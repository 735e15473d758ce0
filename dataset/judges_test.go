package dataset

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// judgedVotes are votes of two people and three judges in the long form; the last judge misses an item.
const judgedVotes = "item,rater,label\n" +
	"a,ann,yes\na,bob,no\na,j1,yes\na,j2,yes\na,j3,no\n" +
	"b,ann,no\nb,bob,no\nb,j1,no\nb,j2,yes\n" +
	"c,j1,no\nc,j2,no\nc,j3,no\n"

func loadJudged(t *testing.T, text string, o LoadOptions) (*Dataset, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "votes.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Votes = []string{path}
	return Load(t.Context(), o)
}

func mustLoad(t *testing.T, text string, o LoadOptions) *Dataset {
	t.Helper()
	ds, err := loadJudged(t, text, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := ds.Check(); err != nil {
		t.Fatal(err)
	}
	return ds
}

func rowOf(t *testing.T, rows Rows, i int) []float32 {
	t.Helper()
	x := make([]float32, rows.Width())
	if err := rows.ReadRow(i, x); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestJudgesSeparate(t *testing.T) {
	ds := mustLoad(t, judgedVotes, LoadOptions{VotesOptions: VotesOptions{Judges: []string{"j1", "j2", "j3"}}})
	if want := []float32{1, 1, 2, 0, 0, 0}; !slices.Equal(ds.Counts, want) {
		t.Errorf("votes of people %v, want %v", ds.Counts, want)
	}
	if !slices.Equal(ds.Raters, []string{"ann", "bob"}) || len(ds.Ratings) != 4 {
		t.Errorf("raters %v with %d ratings", ds.Raters, len(ds.Ratings))
	}
	if !slices.Equal(JudgesOf(ds.Features), []string{"j1", "j2", "j3"}) {
		t.Errorf("features %v", ds.Features)
	}
	if x := rowOf(t, ds.Rows, 0); !slices.Equal(x, []float32{1, 1, 0}) {
		t.Errorf("judges of a: %v", x)
	}
	if x := rowOf(t, ds.Rows, 1); x[0] != 0 || x[1] != 1 || x[2] == x[2] {
		t.Errorf("judges of b: %v, want 0, 1 and missing", x)
	}
}

// The shares of judges follow the votes: of b, whose third judge is missing, one of two says yes.
func TestJudgeShares(t *testing.T) {
	ds := mustLoad(t, judgedVotes, LoadOptions{VotesOptions: VotesOptions{Judges: []string{"j1", "j2", "j3"}}})
	tr, err := Fit(ds, []int{0, 1, 2}, TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	again := &Transform{}
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	in, err := again.Over(ds)
	if err != nil {
		t.Fatal(err)
	}
	names := again.Inputs()[0].Features
	at := slices.Index(names, "share of judges=yes")
	if at < 0 || len(names) != again.Width() {
		t.Fatalf("inputs %q of width %d", names, again.Width())
	}
	// Shares of yes are 2/3, 1/2 and 0.
	shares := []float64{2.0 / 3, 0.5, 0}
	mean := (shares[0] + shares[1] + shares[2]) / 3
	sd := 0.0
	for _, s := range shares {
		sd += (s - mean) * (s - mean) / 3
	}
	sd = math.Sqrt(sd)
	for i, s := range shares {
		if got, want := float64(rowOf(t, in, i)[at]), (s-mean)/sd; math.Abs(got-want) > 1e-5 {
			t.Errorf("item %d: share %v, want %v", i, got, want)
		}
	}
	blocks := again.Blocks()
	if last := blocks[len(blocks)-1]; last.Offset+last.Width != again.Width() {
		t.Errorf("blocks %+v end before %d", blocks, again.Width())
	}
	for old, bad := range map[string]string{`{"labels":["no","yes"],`: `{"labels":["no"],`, `"judge_shares":{`: `"judge_shares":{"more":1,`} {
		damaged := strings.Replace(string(text), old, bad, 1)
		if err := json.Unmarshal([]byte(damaged), &Transform{}); err == nil || damaged == string(text) {
			t.Errorf("no error for damaged shares with %s", bad)
		}
	}
}

// Labels that are numbers and more than two are ordered: numbers with a missing value.
func TestJudgesOrdered(t *testing.T) {
	text := "item,rater,label\na,ann,1\na,bob,2\na,j,3\nb,ann,2\nb,bob,5\nb,j,4\nc,ann,1\nc,bob,1\n"
	ds := mustLoad(t, text, LoadOptions{VotesOptions: VotesOptions{Judges: []string{"j"}}})
	if ds.Features[0].Kind != Numeric || !slices.Equal(ds.Classes, []string{"1", "2", "5"}) {
		t.Errorf("judge %v, classes %q", ds.Features[0], ds.Classes)
	}
	if x := rowOf(t, ds.Rows, 0)[0]; x != 3 {
		t.Errorf("vote of the judge %v, want 3", x)
	}
	if x := rowOf(t, ds.Rows, 2)[0]; x == x {
		t.Errorf("vote of the judge %v, want a missing value", x)
	}
}

// Votes read for a model: its judges are found, in its order, and other spellings of a label are the same.
func TestJudgesOfModel(t *testing.T) {
	schema := []Feature{{Name: "j2", Kind: Categorical, Levels: []string{"0", "1"}, Judge: true}, {Name: "j1", Kind: Categorical, Levels: []string{"0", "1"}, Judge: true}}
	o := LoadOptions{FeatureOptions: FeatureOptions{Schema: schema}, VotesOptions: VotesOptions{Classes: []string{"0", "1"}}}
	ds := mustLoad(t, "item,rater,label\na,ann,1.0\na,j1,0.0\nb,j1,1.0\n", o)
	if x := rowOf(t, ds.Rows, 0); x[0] == x[0] || x[1] != 0 {
		t.Errorf("judges of a: %v", x)
	}
	if !slices.Equal(ds.Counts, []float32{0, 1, 0, 0}) || !slices.Equal(ds.Classes, []string{"0", "1"}) {
		t.Errorf("votes %v for %q", ds.Counts, ds.Classes)
	}
	if _, err := loadJudged(t, "item,rater,label\na,ann,7\na,j1,0\n", o); !errors.Is(err, ErrUnknownClass) {
		t.Errorf("a person's label outside the classes: %v", err)
	}
	ds = mustLoad(t, "item,rater,label\na,ann,1\na,j1,7\n", o)
	if x := rowOf(t, ds.Rows, 0); x[1] != UnknownLevel || !slices.ContainsFunc(ds.Warnings, func(w error) bool { return strings.Contains(w.Error(), `"7" by j1`) }) {
		t.Errorf("a judge's new label: %v, %v", x, ds.Warnings)
	}
}

func TestResembles(t *testing.T) {
	judges := []string{"gpt-4o", "llama"}
	for name, want := range map[string]bool{"gpt-5": true, "GPT_4": true, "llama-4": true, "ann": false, "gp": false, "claude": false, "7": false, "": false} {
		if got := resembles(name, judges); got != want {
			t.Errorf("resembles(%q) = %v", name, got)
		}
	}
}

// A column called kind that states something else is none of ours.
func TestOtherKinds(t *testing.T) {
	ds := mustLoad(t, "item,rater,label,kind\na,ann,yes,photo\na,bob,no,photo\nb,ann,yes,text\n", LoadOptions{})
	if ds.Rows != nil || len(ds.Raters) != 2 {
		t.Errorf("raters %v, features %v", ds.Raters, ds.Features)
	}
}

// The three doors of a stream join votes of judges to the items, missing for others; without a path the items are those of the votes.
func TestStreamJudges(t *testing.T) {
	schema := []Feature{{Name: "length", Kind: Numeric}, {Name: "j1", Kind: Categorical, Levels: []string{"no", "yes"}, Judge: true}}
	votes := mustLoad(t, judgedVotes, LoadOptions{FeatureOptions: FeatureOptions{Schema: schema}, VotesOptions: VotesOptions{Classes: []string{"no", "yes"}}})
	const items = "item,length\nb,2\nz,3\n"
	path := filepath.Join(t.TempDir(), "items.csv")
	if err := os.WriteFile(path, []byte(items), 0o600); err != nil {
		t.Fatal(err)
	}
	o := StreamOptions{Judges: votes}
	opened, err := OpenStream(t.Context(), path, schema, o)
	if err != nil {
		t.Fatal(err)
	}
	piped, err := NewStream(t.Context(), strings.NewReader(items), "standard input", schema, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Stream{opened, piped} {
		b, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if x, y := rowOf(t, b.Rows, 0), rowOf(t, b.Rows, 1); x[0] != 2 || x[1] != 0 || y[0] != 3 || y[1] == y[1] {
			t.Errorf("rows %v and %v, want 2, no and 3, missing", x, y)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenStream(t.Context(), "", schema, o); err == nil || !strings.Contains(err.Error(), `the feature "length"`) {
		t.Errorf("votes alone with another feature: %v", err)
	}
	alone, err := OpenStream(t.Context(), "", schema[1:], o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := alone.Next()
	if err != nil || !slices.Equal(b.Items, []string{"a", "b", "c"}) {
		t.Errorf("items of the votes: %v, %v", b, err)
	}
	// Without votes, judges are columns: some may be missing, but not all.
	both := append(schema, Feature{Name: "j2", Kind: Categorical, Levels: []string{"no", "yes"}, Judge: true})
	s, err := NewStream(t.Context(), strings.NewReader("item,length,j2\na,1,yes\n"), "standard input", both, StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = s.Next(); err != nil || rowOf(t, b.Rows, 0)[2] != 1 {
		t.Errorf("columns: %v, %v", b, err)
	}
	if _, err := NewStream(t.Context(), strings.NewReader(items), "standard input", both, StreamOptions{}); err == nil || !strings.Contains(err.Error(), "no votes of judges") {
		t.Errorf("no column of any judge: %v", err)
	}
}
