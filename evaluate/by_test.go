package evaluate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"credence/internal/testsize"
)

// sites returns a data set with the column of sites. Distributions are right except
// at site b, where they are too narrow by ratio.
func sites(t *testing.T, n int, ratio float64, seed uint64) Input {
	t.Helper()
	w := simulate(t, n, 2, 4, seed)
	in := Input{Votes: w.votes}
	column := Column{Name: "Site"}
	for j, dist := range w.mixtures {
		site := string(rune('a' + j%3))
		if site == "b" {
			var err error
			if dist, err = dist.Rescale(1 / ratio); err != nil {
				t.Fatal(err)
			}
			w.mixtures[j] = dist
		}
		if j%60 == 5 {
			site = ""
		}
		column.Values = append(column.Values, site)
	}
	in.Predictions, in.Columns = predictionsOf(w.mixtures), []Column{column}
	return in
}

// A site with intervals that are too narrow is detected among others, and estimates are
// shrunk towards each other.
func TestDispersionBySite(t *testing.T) {
	r, err := Evaluate(sites(t, 3000, 2.5, 1), Options{Bootstrap: Bootstrap{Replicates: 20}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.DispersionBy) != 2 || r.DispersionBy[0].Column != "spread" || len(r.DispersionBy[0].Levels) != 4 {
		t.Fatalf("columns %+v", r.DispersionBy)
	}
	by := r.DispersionBy[1]
	var names []string
	for _, l := range by.Levels {
		names = append(names, l.Name)
		if math.Abs(float64(l.Shrunk.Value-by.Common.Value)) > math.Abs(float64(l.Ratio.Value-by.Common.Value)) {
			t.Errorf("site %s: ratio %.2f, shrunk to %.2f away from %.2f", l.Name, l.Ratio.Value, l.Shrunk.Value, by.Common.Value)
		}
	}
	if got := strings.Join(names, " "); got != "a b c (missing)" {
		t.Fatalf("levels %s", got)
	}
	b := by.Levels[1]
	if !(by.PValue < 1e-3) || !(by.Tau > 0.2) || !(b.PValue < 1e-3) || !(b.Shrunk.Value > 1.5) || !(b.Ratio.Lo > 1.2) {
		t.Errorf("sites %+v", by)
	}
	if got := fmt.Sprint(r.Warnings); strings.Count(got, "too wide for some items and too narrow for others, by") != 1 || !strings.Contains(got, "at b") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// If levels do not differ, the test rejects 5% of data sets; of 200, up to 22 with four
// standard errors, of 100, up to 13 (false-alarm rates 2e-4 and 5e-4).
func TestHeterogeneitySize(t *testing.T) {
	sets := testsize.Choose(60, 100, 200)
	rejected := 0
	for i := range sets {
		in := sites(t, 240, 1, 50+uint64(i))
		s, err := newSample(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		r := &Result{}
		sums := newTally(s.units)
		if err := tallyDispersion(sums, s, r, 1); err != nil {
			t.Fatal(err)
		}
		sums.run(Bootstrap{})
		if r.DispersionBy[1].PValue < 0.05 {
			rejected++
		}
	}
	n := float64(sets)
	if share := float64(rejected) / n; math.Abs(share-0.05) > 4*math.Sqrt(0.05*0.95/n) {
		t.Errorf("%d of %d data sets rejected", rejected, sets)
	}
}

func TestColumnErrors(t *testing.T) {
	for want, change := range map[string]func(c *Column){
		"column Site: expected values of 300 items, found 2":              func(c *Column) { c.Values = c.Values[:2] },
		`item 0: expected a number, to divide items into bins, found "a"`: func(c *Column) { c.Bins = 3 },
		"numbers can be divided into bins": func(c *Column) {
			for j := range c.Values {
				c.Values[j] = fmt.Sprint(j)
			}
		},
	} {
		in := sites(t, 300, 1, 1)
		in.Votes.Item(0)[0] += 2
		change(&in.Columns[0])
		if _, err := Evaluate(in, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// Numbers are divided into bins named by their ranges; missing values have a bin of their own.
func TestNumericColumn(t *testing.T) {
	in := sites(t, 2000, 1, 3)
	for j := range in.Columns[0].Values {
		in.Columns[0].Values[j] = fmt.Sprint(j % 50)
		if j%7 == 0 {
			in.Columns[0].Values[j] = ""
		}
	}
	in.Columns[0].Bins = 3
	r, err := Evaluate(in, Options{Bootstrap: Bootstrap{Replicates: 2}})
	if err != nil {
		t.Fatal(err)
	}
	levels := r.DispersionBy[1].Levels
	if len(levels) != 4 || levels[0].Name != "0 to 16" || levels[3].Name != "(missing)" {
		t.Errorf("levels %+v", levels)
	}
	items := 0
	for _, l := range levels {
		items += l.Items
	}
	if items != r.Agreement.Items {
		t.Errorf("%d items in levels, %d with two votes", items, r.Agreement.Items)
	}
}
