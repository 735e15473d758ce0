package study

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"credence/evaluate"
	"credence/internal/simulation"
	"credence/train"
)

// tiny is a version of the study that takes seconds.
func tiny() *Comparison {
	c := NewComparison(true, 1)
	c.Items = map[simulation.Design]int{simulation.Paper: 240, simulation.Spread: 400}
	c.Fresh, c.Covered, c.Grid, c.Ensemble = 3000, 250, 9, 2
	c.Common = train.Options{Widths: []int{32, 32}, Epochs: 40, Rate: 3e-3}
	return c
}

func openTiny(t *testing.T, dir string) *Folder {
	t.Helper()
	f, err := OpenFolder(dir, tiny(), false)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTinyComparison runs all methods on both designs. The tolerances are far
// from what few items give: accuracy within four points of the best, the spread
// of the second design found by the mixture and by no rival.
func TestTinyComparison(t *testing.T) {
	if testing.Short() {
		t.Skip("trains sixteen methods twice")
	}
	dir := t.TempDir()
	c := tiny()
	c.TuneSeeds, c.RemedySeeds, c.Sizes, c.Remedies = []uint64{101}, []uint64{102}, []int{120}, true
	methodsBefore, remediesBefore := methods, remedies
	defer func() { methods, remedies = methodsBefore, remediesBefore }()
	methods, remedies = nil, remedies[3:5]
	for _, m := range methodsBefore {
		if m.ours() { // few items need more epochs
			settings := m.first()
			settings.Epochs = 60
			m.grid = []train.Options{settings}
		}
		m.grid = m.grid[:min(2, len(m.grid))] // enough to choose
		methods = append(methods, m)
	}
	f := openTiny(t, dir)
	measured, err := c.Measure(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	res := measured.(*comparisonResult)
	if err := write(f, c.Name(), res); err != nil {
		t.Fatal(err)
	}
	for _, d := range res.Designs {
		ours := d.headline()
		lost := d.Truth[0].Bayes - ours.Seeds[0].Accuracy
		if !(lost < 0.04) {
			t.Errorf("%s: accuracy %v, best possible %v", d.Design, ours.Seeds[0].Accuracy, d.Truth[0].Bayes)
		}
		if len(d.Contenders) != 16 {
			t.Errorf("%d contenders, want 16", len(d.Contenders))
		}
		for _, c := range d.Contenders {
			o := c.Seeds[0]
			if !(o.Accuracy > 0.2 && o.Items.Correlation >= -1 && o.Items.Correlation <= 1) || len(o.Field) != 81 {
				t.Errorf("%s, %s: accuracy %v, correlation %v, %d places", d.Design, c.Label, o.Accuracy, o.Items.Correlation, len(o.Field))
			}
			if o.Items.SDError.Known() == (c.Method == "confidence") {
				t.Errorf("%s, %s: error of the standard deviation %v", d.Design, c.Label, o.Items.SDError)
			}
			if (o.Coverage != nil) != (c.ours() || c.Method == "evidential") {
				t.Errorf("%s, %s: %d numbers of coverage", d.Design, c.Label, len(o.Coverage))
			}
		}
	}
	spread := res.design(simulation.Spread)
	rival, of := bestRival(spread, contenderResult.Correlation, func(a, b evaluate.Number) bool { return a > b })
	if ours := spread.headline().Correlation().Mean; !(ours > 0.7 && ours > rival) {
		t.Errorf("spread design: correlation %v, that of %s %v", ours, of, rival)
	}
	for _, line := range res.ofSize(simulation.Paper) {
		if len(line) != 2 || line[0].Items != 120 || line[1].Items != 240 || !(line[0].SDError.Mean > 0) {
			t.Errorf("by number of items: %+v", line)
		}
	}
	if n := len(res.ofSize(simulation.Spread)); n != 5 || len(res.Remedies) != 4 {
		t.Errorf("%d contenders by number of items, want 5; %d remedies, want 4", n, len(res.Remedies))
	}
	checkStudyFiles(t, dir, []string{"methods.csv", "seeds.csv", "coverage.csv", "tuning.csv", "sizes.csv"})
}

// checkStudyFiles checks that the files of a study are there, and that its page
// refers to no others.
func checkStudyFiles(t *testing.T, dir string, tables []string) {
	t.Helper()
	for _, name := range tables {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Count(string(text), "\n") < 10 {
			t.Errorf("%s: %v, %d bytes", name, err, len(text))
		}
		if strings.Contains(string(text), "NaN") {
			t.Errorf("%s has a number that is none", name)
		}
	}
	var numbers struct {
		Bars []Bar `json:"bars"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "numbers.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &numbers); err != nil || len(numbers.Bars) != 18 {
		t.Errorf("numbers.json: %v, %d bars", err, len(numbers.Bars))
	}
	page, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"NaN", "%!", "Inf"} {
		if strings.Contains(string(page), bad) {
			t.Errorf("the page has %q in it", bad)
		}
	}
	figures := 0
	for _, part := range strings.Split(string(page), "](")[1:] {
		name, _, _ := strings.Cut(part, ")")
		figures++
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() > 300_000 {
			t.Errorf("%s: %v, want at most 300 kB", name, err)
		}
	}
	if figures != 16 {
		t.Errorf("%d figures on the page, want 16", figures)
	}
}

// TestComparisonResumes: a study that is stopped and continued gives the same
// numbers as one that is not, and does nothing twice.
func TestComparisonResumes(t *testing.T) {
	if testing.Short() {
		t.Skip("trains sixteen methods several times")
	}
	c := tiny()
	c.Items, c.Fresh, c.Covered = map[simulation.Design]int{simulation.Paper: 60, simulation.Spread: 60}, 200, 200
	c.Common.Epochs = 2
	methodsBefore := methods
	defer func() { methods = methodsBefore }()
	methods = slices.Clone(methods)
	methods[0].grid = []train.Options{annealed(train.Options{})} // what is shipped has epochs of its own, five times as many
	numbers := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, "numbers.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	whole, parts := t.TempDir(), t.TempDir()
	uninterrupted := openTiny(t, whole)
	measured, err := c.Measure(t.Context(), uninterrupted) // figures and pages are drawn below
	if err != nil {
		t.Fatal(err)
	}
	if err := uninterrupted.writeJSON("numbers.json", measured.Numbers()); err != nil {
		t.Fatal(err)
	}
	begun := 0
	for _, stopAt := range []int{5, 20, 0} {
		ctx, cancel := context.WithCancel(t.Context())
		f := openTiny(t, parts)
		f.Progress = func(done, total int, what string) {
			begun++
			if done == stopAt && stopAt > 0 {
				cancel()
			}
			if total != 34 {
				t.Errorf("%d pieces are planned, want 34", total)
			}
		}
		err := Reproduce(ctx, c, f)
		cancel()
		if stopAt > 0 && !errors.Is(err, context.Canceled) && !errors.Is(err, train.ErrStopped) {
			t.Fatalf("stopped at piece %d: %v", stopAt, err)
		}
		if stopAt == 0 && err != nil {
			t.Fatal(err)
		}
	}
	if begun != 34+2 {
		t.Errorf("%d pieces were begun, want 34 and the two that were stopped", begun)
	}
	if numbers(whole) != numbers(parts) {
		t.Error("a study that was stopped and continued has other numbers")
	}
}

func TestComparisonRefusesNothing(t *testing.T) {
	var c Comparison
	f, err := OpenFolder(t.TempDir(), c, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := Reproduce(t.Context(), c, f); err == nil || !strings.Contains(err.Error(), "0 seeds") {
		t.Errorf("error %v", err)
	}
}

// TestStrata: bounds belong to the stratum above them.
func TestStrata(t *testing.T) {
	for mean, want := range map[float64]string{0: "below 0.1", 0.0999: "below 0.1", 0.1: "0.1 to 0.3", 0.5: "0.3 to 0.7", 0.7: "0.7 to 0.9", 1: "above 0.9"} {
		if got := stratumOf(mean); got != want {
			t.Errorf("a mean of %v is in stratum %q, want %q", mean, got, want)
		}
	}
}

// TestAccuracyOfTies: a tie is half right.
func TestAccuracyOfTies(t *testing.T) {
	s := &sample{fresh: &simulation.Simulation{Votes: [][2]int{{1, 0}, {0, 1}, {1, 0}, {0, 1}}}}
	if got := s.accuracy([]float64{0.9, 0.9, 0.5, 0.5}); got != 0.5 {
		t.Errorf("accuracy %v, want (1 + 0 + ½ + ½)/4", got)
	}
}

// TestGaps: levels outside of 75…95% do not count, and the gap is that of the
// mean over seeds.
func TestGaps(t *testing.T) {
	shifted := func(shift float64) outcome {
		var o outcome
		for _, level := range levels {
			at := coverageAt{Level: level, Items: 10, Raw: level + shift, Reported: level + 0.04}
			if !judged(level) {
				at.Raw = 0
			}
			o.Coverage = append(o.Coverage, at, coverageAt{Level: level, Stratum: "below 0.1", Items: 3})
		}
		return o
	}
	raw, reported := gaps([]outcome{shifted(-0.03), shifted(0.01)})
	if d := raw - 0.01; d > 1e-12 || d < -1e-12 {
		t.Errorf("gap %v, want 0.01", raw)
	}
	if d := reported - 0.04; d > 1e-12 || d < -1e-12 {
		t.Errorf("gap as reported %v, want 0.04", reported)
	}
	if d := signedGap(shifted(-0.03), false) + 0.03; d > 1e-12 || d < -1e-12 {
		t.Errorf("shift %v, want −0.03", signedGap(shifted(-0.03), false))
	}
}
