package train

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"credence/dataset"
	"credence/head"
)

// vote adds a vote by a rater of the given name on item j.
func vote(ds *dataset.Dataset, j int, name string, class int32) {
	r := slices.Index(ds.Raters, name)
	if r < 0 {
		r = len(ds.Raters)
		ds.Raters = append(ds.Raters, name)
	}
	ds.Counts[j*len(ds.Classes)+int(class)]++
	ds.Ratings = append(ds.Ratings, dataset.Rating{Item: int32(j), Rater: int32(r), Class: class})
}

// withoutVotes removes the votes on items, so that another rater can be the only one to vote on them.
func withoutVotes(ds *dataset.Dataset, items ...int) {
	ds.Ratings = slices.DeleteFunc(ds.Ratings, func(r dataset.Rating) bool { return slices.Contains(items, int(r.Item)) })
	for _, j := range items {
		clear(ds.CountsOf(j))
	}
}

// TestRatersStray: two votes under another spelling, or a new rater's single vote, on items without
// other votes do not keep other raters from being modelled; the raters treated as average ones are recorded.
func TestRatersStray(t *testing.T) {
	for name, c := range map[string]struct {
		change func(ds *dataset.Dataset)
		left   string
	}{
		"another spelling": {func(ds *dataset.Dataset) { vote(ds, 3, "a", 1); vote(ds, 7, "a", 0) }, `"a" (2 votes)`},
		"a new rater":      {func(ds *dataset.Dataset) { vote(ds, 3, "new", 1) }, `"new" (1 vote)`},
		"first in the file": {func(ds *dataset.Dataset) {
			vote(ds, 3, "new", 1)
			ds.Raters = []string{"new", "A", "B", "C"}
			for k := range ds.Ratings {
				ds.Ratings[k].Rater = (ds.Ratings[k].Rater + 1) % 4
			}
		}, `"new" (1 vote)`},
	} {
		for _, how := range []string{"auto", "on"} {
			ds := rated(300, []float64{-1.5, 0, 1.5}, 1)
			withoutVotes(ds, 3, 7)
			c.change(ds)
			o := bare()
			o.Epochs, o.Raters = 25, how
			res := fitted(t, ds, o)
			m := res.Model
			p := m.Provenance.Raters
			if p == nil || !p.Known || p.Left == nil || p.Left.Names() != c.left {
				t.Fatalf("%s, %s: %+v", name, how, p)
			}
			if !slices.Equal(m.Raters, []string{"A", "B", "C"}) || !(m.RaterModel.Bias[0] < -0.8 && m.RaterModel.Bias[2] > 0.8) || m.RaterModel.Votes[0] != 298 {
				t.Errorf("%s, %s: raters %q with leans %v and votes %v", name, how, m.Raters, m.RaterModel.Bias, m.RaterModel.Votes)
			}
			if text := fmt.Sprint(m.Provenance.Warnings); !strings.Contains(text, p.Left.String()) || strings.Contains(text, "new") {
				t.Errorf("%s, %s: warnings %q", name, how, m.Provenance.Warnings)
			}
			if how == "on" {
				continue
			}
			was := runtime.GOMAXPROCS(1)
			again := fitted(t, ds, o)
			runtime.GOMAXPROCS(was)
			if !bytes.Equal(encoded(t, m), encoded(t, again.Model)) {
				t.Errorf("%s: another number of cores gives another model", name)
			}
			o.Members = members(t, ds, o)
			joined := fitted(t, ds, o)
			if !bytes.Equal(encoded(t, m), encoded(t, joined.Model)) {
				t.Errorf("%s: members that are joined give another model", name)
			}
		}
	}
}

// TestRaterGroups: raters of two sites that share no item are modelled, each group with a mean bias of 0.
func TestRaterGroups(t *testing.T) {
	ds := rated(400, []float64{-1.5, 0, 1.5}, 3)
	ds.Raters = append(ds.Raters, "D", "E", "F")
	for k := range ds.Ratings {
		if ds.Ratings[k].Item >= 200 {
			ds.Ratings[k].Rater += 3
		}
	}
	o := quick()
	o.Epochs = 25
	m := fitted(t, ds, o).Model
	if p := m.Provenance.Raters; p == nil || !p.Known || p.Left != nil {
		t.Fatalf("%+v", p)
	}
	for g := range 2 {
		b := m.RaterModel.Bias[3*g:][:3]
		if math.Abs(b[0]+b[1]+b[2]) > 1e-4 || !(b[0] < -0.7 && b[2] > 0.7) {
			t.Errorf("group %d: leans %v, expected about -1.5, 0, 1.5 with a sum of 0", g, b)
		}
	}
}

// TestFromRaters: the losses before and now are those of each model with its rater model, so that a model that no
// longer has one does not appear better.
func TestFromRaters(t *testing.T) {
	all := rated(300, []float64{-2, 0, 2}, 4)
	old := first(all, 200)
	o := Options{Widths: []int{8}, Epochs: 25, Ensemble: 5, Seed: 3, NoReferences: true, Raters: "on", Transform: dataset.TransformOptions{Scores: "off"}}
	base := fitted(t, old, o)
	held := base.Model.Provenance.Scores.NLLPerVote
	for _, how := range []string{"on", "off"} {
		res := fitted(t, all, Options{From: &WarmStart{Model: base.Model, Data: old}, Seed: 3, NoReferences: true, Raters: how, Trees: "off"})
		c := res.Model.Provenance.From
		if !c.RatersBefore || c.RatersNow != (how == "on") || c.Items != 300 {
			t.Fatalf("%s: %+v", how, c)
		}
		// Both are before calibration. Two thirds of the items are those of held; the standard deviation of
		// the mean over the others is 0.02.
		if math.Abs(c.Before-held) > 0.06 || math.Abs(c.After-res.Model.Provenance.Scores.NLLPerVote) > 0.02 {
			t.Errorf("%s: %.4f before, expected about %.4f; %.4f now, expected %.4f", how, c.Before, held, c.After, res.Model.Provenance.Scores.NLLPerVote)
		}
		if how == "off" && !(c.After > c.Before+0.03) {
			t.Errorf("without raters: %.4f before, %.4f now", c.Before, c.After)
		}
	}
	// Votes of raters unknown to the model before count as those of average ones, and fractional votes cannot be
	// compared.
	plain := fitted(t, old, Options{Widths: []int{8}, Epochs: 25, Ensemble: 5, Seed: 3, NoReferences: true, Raters: "off"})
	res := fitted(t, all, Options{From: &WarmStart{Model: plain.Model, Data: old}, Seed: 3, NoReferences: true, Raters: "on"})
	if c := res.Model.Provenance.From; c.RatersBefore || !c.RatersNow || !(c.After < c.Before-0.03) {
		t.Errorf("raters now: %+v", c)
	}
	all.Counts[2*250] += 0.5
	res = fitted(t, all, Options{From: &WarmStart{Model: base.Model, Data: old}, Seed: 3, NoReferences: true, Raters: "auto", Head: head.Mixture{}})
	if c := res.Model.Provenance.From; c.Items != 0 || !strings.Contains(fmt.Sprint(res.Model.Provenance.Warnings), "are not compared") {
		t.Errorf("parts of votes: %+v, warnings %q", c, res.Model.Provenance.Warnings)
	}
}
