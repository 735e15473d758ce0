package evaluate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"credence/head"
)

// someRaters returns a model of two classes: ann is average, bob biased, cy guesses, and dee is
// unknown.
func someRaters() (*head.RaterModel, []string) {
	return &head.RaterModel{Classes: 2, Votes: []float64{40, 50, 60, 2}, BiasSD: 0.8,
		Bias: []float64{0.1, 1.5, -0.2, 0}, BiasSE: []float64{0.3, 0.3, 0.4, 0.8},
		Guess: []float64{0.01, 0.02, 0.7, 0.001}, GuessLogit: []float64{-4.6, -3.9, 0.85, -6.9}, GuessLogitSE: []float64{1.5, 1.2, 0.4, 3},
	}, []string{"ann", "bob", "cy", "dee"}
}

func TestDescribeRaters(t *testing.T) {
	raterModel, names := someRaters()
	// The file has the raters in another order, and one who is not in the model.
	ds := ratedBy([]string{"no", "yes"}, "bob x yes", "ann x no", "eve x no", "cy y yes", "ann y yes")
	r := DescribeRaters(ds, raterModel, names)
	var got []string
	for _, x := range r.Raters {
		got = append(got, fmt.Sprintf("%s %v %.2f %.2f %v", x.Name, x.Votes, x.Bias.Lo, x.Guess.Hi, x.Marks()))
	}
	want := []string{"ann 40 -0.49 0.16 []", "bob 50 0.91 0.18 [leans]", "cy 60 -0.98 0.84 [guesses]", "dee 2 -1.57 0.27 []", "eve 1 -1.57 NaN [average]"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if !r.Modelled || r.Class != "yes" || r.BiasSD != 0.8 {
		t.Errorf("report %+v", r)
	}
	// On x, bob agrees with nobody of two, ann and eve with one of two; on y both agree.
	for i, share := range []float64{0.75, 0, 1, math.NaN(), 0.5} {
		if a := float64(r.Raters[i].Agreement); a != share && !(math.IsNaN(a) && math.IsNaN(share)) {
			t.Errorf("others agree with %s in %v, want %v", r.Raters[i].Name, a, share)
		}
	}
	if alone := DescribeRaters(nil, raterModel, names); len(alone.Raters) != 4 || alone.Class != "" || alone.Raters[0].Agreement.Known() {
		t.Errorf("without data: %+v", alone)
	}
	plain := DescribeRaters(ds, nil, nil)
	if plain.Modelled || len(plain.Raters) != 4 || plain.Raters[1].Votes != 2 || plain.Raters[0].Bias.Value.Known() {
		t.Errorf("without a model of raters: %+v", plain)
	}
	// Unknown values are null in JSON, which can be read back.
	text, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	back := &RaterReport{}
	if err := json.Unmarshal(text, back); err != nil || back.Raters[0].Bias.Value.Known() || back.Raters[1].Votes != 2 {
		t.Errorf("%s reads back as %+v, %v", text, back, err)
	}
}

// With more than two classes there are guess rates but no biases.
func TestDescribeGuesses(t *testing.T) {
	raterModel, names := someRaters()
	raterModel.Classes, raterModel.Bias, raterModel.BiasSE, raterModel.BiasSD = 3, []float64{}, []float64{}, 0
	r := DescribeRaters(nil, raterModel, names)
	if r.BiasSD.Known() || r.Raters[1].Bias.Value.Known() || len(r.Raters[1].Flags) != 0 || !slices.Equal(r.Raters[2].Flags, []string{FlagGuesses}) {
		t.Errorf("report %+v", r)
	}
}

func TestPseudonyms(t *testing.T) {
	names := []string{"Ann", "bob", "Ann", "cy"}
	got := Pseudonyms(names, 7)
	if got[0] != got[2] || got[0] == got[1] || got[1] == got[3] {
		t.Errorf("pseudonyms %q of %q", got, names)
	}
	for i, code := range got {
		if !strings.HasPrefix(code, "R-") || len(code) != 7 || strings.Contains(strings.ToLower(code), strings.ToLower(names[i])) {
			t.Errorf("pseudonym %q of %q", code, names[i])
		}
	}
	// A pseudonym does not depend on the other names, but does depend on the seed.
	if again := Pseudonyms([]string{"cy", "zoe"}, 7); again[0] != got[3] {
		t.Errorf("cy is %q among others, and %q", again[0], got[3])
	}
	if other := Pseudonyms(names, 8); other[0] == got[0] {
		t.Errorf("seeds 7 and 8 both give %q", other[0])
	}
	// Of many names, some share five letters, and all are distinct.
	var many []string
	for i := range 50_000 {
		many = append(many, fmt.Sprint("rater ", i))
	}
	list := Pseudonyms(many, 0)
	slices.Sort(list)
	if n := len(slices.Compact(list)); n != len(many) {
		t.Errorf("%d pseudonyms of %d names", n, len(many))
	}
	raterModel, raters := someRaters()
	r := DescribeRaters(nil, raterModel, raters)
	r.UsePseudonyms(7)
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range raters {
		if strings.Contains(string(text), `"`+name+`"`) {
			t.Errorf("%q is in %s", name, text)
		}
	}
	if !r.Pseudonymous {
		t.Error("the report does not say that names are pseudonyms")
	}
}
