package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/mixture"
)

// flipped is a simulated set of votes of which 5% were changed to another class, with the share of changed votes in
// the first 5% by the label quality of cleanlab 2.9.0, get_label_quality_multiannotator, on the same votes and means.
type flipped struct {
	Alpha    [][]float64 `json:"alpha"`
	Votes    [][4]int    `json:"votes"` // item, rater, class, whether it was changed
	Cleanlab float64     `json:"cleanlab"`
}

// input returns the votes as a data set, with or without the names of raters.
func (f *flipped) input(t *testing.T, named bool) (*Input, *dataset.Dataset) {
	d := len(f.Alpha[0])
	ds := &dataset.Dataset{Counts: make([]float32, len(f.Alpha)*d)}
	in := &Input{}
	for c := range d {
		ds.Classes = append(ds.Classes, "c"+strconv.Itoa(c))
	}
	for j, alpha := range f.Alpha {
		m, err := mixture.NewDirichlet([]float64{1}, [][]float64{alpha})
		if err != nil {
			t.Fatal(err)
		}
		in.Predictions = append(in.Predictions, head.NewDecoded(m))
		ds.Items = append(ds.Items, strconv.Itoa(j))
	}
	for r := range 12 {
		ds.Raters = append(ds.Raters, "r"+strconv.Itoa(r))
	}
	for _, v := range f.Votes {
		ds.Counts[v[0]*d+v[2]]++
		if named {
			ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(v[0]), Rater: int32(v[1]), Class: int32(v[2])})
		}
	}
	in.Votes, in.Classes = NewVotes(ds), ds.Classes
	return in, ds
}

// TestSuspectsFlipped: of the first 5% of the list at least as many votes were changed as by cleanlab's label quality.
// The votes are stored, so that the result is the same every time.
func TestSuspectsFlipped(t *testing.T) {
	text, err := os.ReadFile("testdata/suspects.json")
	if err != nil {
		t.Fatal(err)
	}
	var sets []flipped
	if err := json.Unmarshal(text, &sets); err != nil {
		t.Fatal(err)
	}
	ours, theirs := 0.0, 0.0
	for _, f := range sets {
		in, ds := f.input(t, true)
		first := int(math.Ceil(0.05 * float64(len(f.Votes))))
		r, err := Suspects(context.Background(), in, ds, first)
		if err != nil {
			t.Fatal(err)
		}
		changed := map[[2]string]bool{}
		for _, v := range f.Votes {
			changed[[2]string{strconv.Itoa(v[0]), "r" + strconv.Itoa(v[1])}] = v[3] == 1
		}
		found := 0.0
		for _, x := range r.Suspects {
			if changed[[2]string{x.Item, x.Rater}] {
				found++
			}
		}
		if len(r.Suspects) != first || int(r.Votes) != len(f.Votes) {
			t.Errorf("%d suspects of %v votes, expected %d of %d", len(r.Suspects), r.Votes, first, len(f.Votes))
		}
		ours += found / float64(first*len(sets))
		theirs += f.Cleanlab / float64(len(sets))
	}
	t.Logf("changed votes in the first 5%%: %.3f, by cleanlab %.3f", ours, theirs)
	if ours < theirs || ours < 0.4 {
		t.Errorf("changed votes in the first 5%%: %.3f, by cleanlab %.3f", ours, theirs)
	}
}

// TestSuspects: the probability of a vote is that given the others, with raters and without.
func TestSuspects(t *testing.T) {
	f := flipped{Alpha: [][]float64{{2, 1, 1}, {1, 1, 8}}, Votes: [][4]int{{0, 0, 0, 0}, {0, 1, 0, 0}, {0, 2, 1, 0}, {1, 0, 0, 0}}}
	in, ds := f.input(t, true)
	r, err := Suspects(context.Background(), in, ds, 10)
	if err != nil {
		t.Fatal(err)
	}
	want := []Suspect{
		{"1", "r0", "c0", 0.1, "c2", 0.8, 0},
		{"0", "r2", "c1", 1. / 6, "c0", 4. / 6, 2},
		{"0", "r0", "c0", 0.5, "c0", 0.5, 2},
		{"0", "r1", "c0", 0.5, "c0", 0.5, 2},
	}
	near := func(a, b Suspect) bool {
		close := math.Abs(a.Probability-b.Probability) < 1e-12 && math.Abs(a.LikelyProbability-b.LikelyProbability) < 1e-12
		a.Probability, a.LikelyProbability = b.Probability, b.LikelyProbability
		return close && a == b
	}
	if !slices.EqualFunc(r.Suspects, want, near) {
		t.Errorf("found %+v\nexpected %+v", r.Suspects, want)
	}
	r.UsePseudonyms(0)
	if x := r.Suspects; x[0].Rater != x[2].Rater || x[0].Rater == x[1].Rater || x[0].Rater == "r0" || !r.Pseudonymous {
		t.Errorf("pseudonyms %+v", x)
	}
	// Without names, equal votes are one entry.
	in, ds = f.input(t, false)
	if r, err = Suspects(context.Background(), in, ds, 10); err != nil || len(r.Suspects) != 3 || r.Suspects[2].Rater != "" {
		t.Errorf("without names: %+v, %v", r, err)
	}
	if r.UsePseudonyms(0); r.Pseudonymous {
		t.Error("a list without names has pseudonyms")
	}
	in.Predictions[0] = head.Decoded{Mean: []float64{0.5, 0.25, 0.25}}
	in.Predictions[1] = head.Decoded{Mean: []float64{0.5, 0.25, 0.25}}
	if _, err := Suspects(context.Background(), in, ds, 10); !errors.Is(err, ErrNoDistributions) {
		t.Errorf("means only: %v", err)
	}
}

// TestSuspectsByRater: with a rater model, an improbable vote of a rater who guesses is less improbable than that of
// one who does not, and the votes of an item are each judged by the others.
func TestSuspectsByRater(t *testing.T) {
	f := flipped{Alpha: [][]float64{{1, 9}, {1, 9}}, Votes: [][4]int{{0, 0, 0, 0}, {0, 2, 1, 0}, {1, 1, 0, 0}, {1, 2, 1, 0}}}
	in, ds := f.input(t, true)
	none := make([]float64, 3)
	in.RaterModel = &head.RaterModel{Classes: 2, Votes: []float64{1, 1, 2}, Bias: none, BiasSE: none,
		Guess: []float64{0.001, 0.6, 0.001}, GuessLogit: []float64{-7, 0.4, -7}, GuessLogitSE: none}
	if err := in.RaterModel.Finalize(); err != nil {
		t.Fatal(err)
	}
	for j := range 2 {
		in.Ratings = append(in.Ratings, []head.Rating{{Item: int32(j), Rater: int32(j), Class: 0}, {Item: int32(j), Rater: 2, Class: 1}})
	}
	r, err := Suspects(context.Background(), in, ds, 10)
	if err != nil {
		t.Fatal(err)
	}
	if x := r.Suspects; len(x) != 4 || x[0].Rater != "r0" || x[1].Rater != "r1" || !(x[1].Probability > 2*x[0].Probability) {
		t.Errorf("suspects %+v", r.Suspects)
	}
}
