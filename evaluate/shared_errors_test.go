package evaluate

import (
	"fmt"
	"math"
	"testing"

	"credence/dataset"
	"credence/internal/rng"
)

// sharedDesign simulates votes of people and judges on items with logit z: people vote with probability σ(z), judges with
// σ(slope·z + τ·u), where u is the same for all judges of an item.
type sharedDesign struct {
	items, people, judges int
	slope, tau            float64
	seed                  uint64
}

func (d sharedDesign) dataset() *dataset.Dataset {
	s := rng.New(d.seed, "evaluate.sharedDesign")
	normal := func() float64 { return math.Sqrt(-2*math.Log(1-s.Float64())) * math.Cos(2*math.Pi*s.Float64()) }
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Counts: make([]float32, 2*d.items)}
	for r := range d.people + d.judges {
		name := fmt.Sprintf("person %d", r)
		if r >= d.people {
			name = fmt.Sprintf("judge %d", r-d.people)
		}
		ds.Raters = append(ds.Raters, name)
	}
	for i := range d.items {
		ds.Items = append(ds.Items, fmt.Sprint(i))
		z, u := 1.5*normal(), normal()
		for r := range ds.Raters {
			x := z
			if r >= d.people {
				x = d.slope*z + d.tau*u
			}
			class := int32(0)
			if s.Float64() < 1/(1+math.Exp(-x)) {
				class = 1
			}
			ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(i), Rater: int32(r), Class: class})
			ds.Counts[2*i+int(class)]++
		}
	}
	return ds
}

// found returns how often shared errors are found in designs that differ in the seed: for the judges by name, and by search.
func (d sharedDesign) found(t *testing.T, times int) (named, searched float64) {
	t.Helper()
	for k := range times {
		d.seed = uint64(5000 + k)
		ds := d.dataset()
		list, err := TestSharedErrors(ds, [][]string{ds.Raters[d.people:]}, Bootstrap{Replicates: 200})
		if err != nil {
			t.Fatal(err)
		}
		if list[0].Found() {
			named += 1 / float64(times)
		}
		s, err := FindSharedErrors(ds, Bootstrap{Replicates: 200})
		if err != nil {
			t.Fatal(err)
		}
		if s != nil && s.Found() {
			searched += 1 / float64(times)
		}
	}
	return named, searched
}

// Of 60 simulations, a test of size 0.05 rejects more than 8 with probability 0.003, one of power 0.8 fewer than 40 with 0.006.
func TestSharedErrorsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates 180 designs")
	}
	for _, d := range []sharedDesign{{items: 200, people: 3, judges: 5, slope: 1}, {items: 200, people: 3, judges: 5, slope: 3}} {
		if named, searched := d.found(t, 60); named > 8.0/60 || searched > 8.0/60 {
			t.Errorf("%+v: independent errors found in %.2f of the simulations by name, %.2f by search", d, named, searched)
		}
	}
	d := sharedDesign{items: 200, people: 3, judges: 5, slope: 1, tau: 2}
	if named, searched := d.found(t, 60); named < 40.0/60 || searched < 0.5 {
		t.Errorf("shared errors found in only %.2f of the simulations by name, %.2f by search", named, searched)
	}
}

func TestSharedErrorsOne(t *testing.T) {
	d := sharedDesign{items: 200, people: 3, judges: 5, slope: 1, tau: 3, seed: 2}
	ds := d.dataset()
	s, err := FindSharedErrors(ds, Bootstrap{Replicates: 200})
	if err != nil || s == nil || !s.Found() {
		t.Fatalf("found %+v, %v", s, err)
	}
	if got, want := len(s.Raters), 5; got != want && got != 3 { // the group, or its complement
		t.Errorf("group %q, want the judges or the people", s.Raters)
	}
	// One vote by people per item: shared errors and the spread of items cannot be separated.
	single := sharedDesign{items: 100, people: 1, judges: 3, slope: 1, tau: 2}.dataset()
	list, err := TestSharedErrors(single, [][]string{single.Raters[1:]}, Bootstrap{Replicates: 50})
	if err != nil || list[0].Unknown == "" || list[0].PValue.Known() || list[0].Found() {
		t.Errorf("with one vote by people per item: %+v, %v", list, err)
	}
	if _, err := TestSharedErrors(single, [][]string{{"nobody"}}, Bootstrap{}); err == nil {
		t.Error("no error for an unknown rater")
	}
}

// A logistic judge of slope 1 responds as people do; a steeper one is curved.
func TestCurvature(t *testing.T) {
	if got := curvature(0.5, 0.05, 0.5, 0.05); math.Abs(got-1) > 1e-6 {
		t.Errorf("curvature of equal responses is %v, want 1", got)
	}
	// By bisection of the intercept in bisection of the slope, to 1e-9.
	for _, c := range []struct{ people, chh, group, chm, want float64 }{
		{0.0001, 0.05, 0.003, 1e-6, 131.2172506}, {0.0001, 1e-6, 0.3, 1e-6, 19.2435438}, {0.0001, 0.3, 0.98, 1e-6, 1048.665753}, {0.5, 1e-6, 0.003, 1e-6, 1.057228816},
	} {
		if got := curvature(c.people, c.chh, c.group, c.chm); !(math.Abs(got/c.want-1) < 2e-9) {
			t.Errorf("%+v: curvature %v", c, got)
		}
	}
	if got := curvature(0.5, 0.05, 0.5, 0.09); !(got > 1.01 && got < 2) {
		t.Errorf("curvature of a steep response is %v", got)
	}
}
