package study

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"credence/dataset"
	"credence/internal/cohort"
	"credence/nn"
)

// tinyADNI is a study that takes seconds.
func tinyADNI() *ADNI {
	a := NewADNI(true, 3)
	a.Scans, a.Fresh, a.Size, a.Epochs, a.PaperEpochs = 40, 20, cohort.Size{24, 24, 24}, 2, 1
	return a
}

func TestADNI(t *testing.T) {
	if testing.Short() {
		t.Skip("draws and trains on sixty small volumes")
	}
	a := tinyADNI()
	a.Keep = true
	a.Scratch = filepath.Join(t.TempDir(), "scans")
	dir := filepath.Join(t.TempDir(), "out")
	run := func() map[string]string {
		f, err := OpenFolder(dir, a, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := Reproduce(t.Context(), a, f); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !e.IsDir() {
				text, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				files[e.Name()] = string(text)
			}
		}
		return files
	}
	files := run()
	for _, name := range []string{"README.md", "numbers.json", "fits.csv", "scans.csv", "coverage.csv", "network.svg", "scatter.svg",
		"subjects.svg", "training.svg", "coverage.svg", "scatter-fresh.svg"} {
		if files[name] == "" {
			t.Errorf("the study has not written %s", name)
		}
	}
	// Every output says that the cohort is synthetic.
	for _, name := range []string{"README.md", "numbers.json", "scans.csv", "scatter.svg", "subjects.svg", "coverage.svg", "scatter-fresh.svg"} {
		if !strings.Contains(files[name], "ynthetic") {
			t.Errorf("%s does not say that the cohort is synthetic", name)
		}
	}
	var numbers struct {
		Bars []Bar `json:"bars"`
	}
	if err := json.Unmarshal([]byte(files["numbers.json"]), &numbers); err != nil || len(numbers.Bars) != 12 {
		t.Errorf("numbers.json: %v, %d bars, want 12", err, len(numbers.Bars))
	}
	rows, err := csv.NewReader(strings.NewReader(files["fits.csv"])).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Errorf("fits.csv: %v, %d rows, want 5", err, len(rows))
	}
	if again := run(); again["README.md"] != files["README.md"] || again["scans.csv"] != files["scans.csv"] {
		t.Error("a finished study gives another page the second time")
	}
	own := ownCohort(t, a)
	if strings.Contains(own["README.md"], "ynthetic") || own["coverage.csv"] != "" {
		t.Error("a study of a cohort of one's own speaks of a synthetic one, or of coverage that nobody knows")
	}
	if !strings.Contains(own["README.md"], "| DX |") {
		t.Error("a study of a cohort of one's own has no table of what instruments say")
	}
}

// ownCohort runs the study on the files of the synthetic one, as if they were
// anybody's.
func ownCohort(t *testing.T, a *ADNI) map[string]string {
	t.Helper()
	b := *a
	b.Clinical = filepath.Join(a.Scratch, "seed-3", cohort.ClinicalFile)
	b.Scratch, b.PaperEpochs = filepath.Join(t.TempDir(), "own"), 0
	dir := filepath.Join(t.TempDir(), "out")
	f, err := OpenFolder(dir, &b, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := Reproduce(t.Context(), &b, f); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b.Clinical); err != nil {
		t.Errorf("the study has removed a cohort that is not its own: %v", err)
	}
	files := map[string]string{}
	for _, name := range []string{"README.md", "coverage.csv"} {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(text)
	}
	return files
}

// TestOracleCovers: intervals of one who knows what images show hold the truth
// as often as they say, within 4 standard errors of 4,000 scans (false-alarm
// rate 6e-5 per level; 2.7 points at 75%).
func TestOracleCovers(t *testing.T) {
	c, err := cohort.New(cohort.Options{Scans: 4000, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	s := &scans{study: &dataset.Dataset{Classes: cohort.Classes[:]}, probability: func(x float64) float64 {
		_, mean := c.Probability(x)
		return mean
	}}
	for _, scan := range c.Scans {
		s.shown, s.truth = append(s.shown, scan.Shown), append(s.truth, scan.Mean)
		s.study.Items = append(s.study.Items, scan.Name())
		ad := float32(0)
		for _, v := range scan.Votes {
			if v {
				ad++
			}
		}
		s.study.Counts = append(s.study.Counts, 3-ad, ad)
	}
	o := newOracle(s)
	for _, level := range adniLevels {
		inside := 0.0
		for i, x := range s.shown {
			if lo, hi := o.interval(x, level); lo <= s.truth[i] && s.truth[i] <= hi {
				inside += 1.0 / float64(len(s.shown))
			}
		}
		if d := math.Abs(inside - level); d > 4*math.Sqrt(level*(1-level)/4000) {
			t.Errorf("the oracle's %g%% intervals hold %.1f%% of the truth", 100*level, 100*inside)
		}
	}
	if majority, oracle := o.accuracies(s.study, s.shown); !(majority > 0.8 && majority < 0.9 && oracle > majority+0.04) {
		t.Errorf("accuracies %.3f of the majority and %.3f of the oracle", majority, oracle)
	}
}

// TestScratchIsSpared: a folder for volumes may hold other things, which stay.
func TestScratchIsSpared(t *testing.T) {
	if testing.Short() {
		t.Skip("draws and trains on small volumes")
	}
	a := tinyADNI()
	a.Scans, a.Fresh, a.Epochs, a.PaperEpochs = 20, 10, 1, 0
	a.Scratch = t.TempDir()
	other := filepath.Join(a.Scratch, "prepared", "mine")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFolder(filepath.Join(t.TempDir(), "out"), a, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := Reproduce(t.Context(), a, f); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("the study has removed what is not its own: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(a.Scratch, "seed-*")); len(left) > 0 {
		t.Errorf("the volumes %v were left behind", left)
	}
}

func TestGroups(t *testing.T) {
	for _, c := range []struct {
		counts []float32
		want   string
	}{{[]float32{3, 0}, "NC+MCI by all"}, {[]float32{0, 1}, "AD by all"}, {[]float32{1, 2}, "MIX"}, {[]float32{0, 0}, ""}} {
		if got := groupOf(c.counts); got != c.want {
			t.Errorf("votes %v are %q, want %q", c.counts, got, c.want)
		}
	}
	g := groupOfScans("MIX", []adniScan{{Group: "MIX", Mean: 0.05, Lower: 0, Upper: 0.1}, {Group: "MIX", Mean: 0.5, Lower: 0.2, Upper: 0.7}, {Group: "AD by all"}}, nil)
	if g.Scans != 2 || g.Low != 0.5 || g.Wide != 0.5 || math.Abs(g.Median-0.3) > 1e-12 {
		t.Errorf("got %+v", g)
	}
	if v := between([3]float64{0.2, 0.5, 0.8}); math.Abs(v-0.03) > 1e-12 {
		t.Errorf("V/m = %v, want 0.09/3", v)
	}
}

func TestStages(t *testing.T) {
	net, err := nn.ByName("cnn3d", nn.Shape{1, 96, 96, 80}, 9)
	if err != nil {
		t.Fatal(err)
	}
	got, err := stagesOf(net, nn.Shape{1, 96, 96, 80})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, s := range got {
		words = append(words, strings.Join(s.Done, " "))
	}
	if want := []string{"", "conv 5³ ReLU max-pool 5³", "conv 3³ ReLU max-pool 2³", "dense"}; !slices.Equal(words, want) {
		t.Errorf("stages %q, want %q", words, want)
	}
	for i, want := range [][]int{{1, 96, 96, 80}, {16, 18, 18, 15}, {32, 8, 8, 6}, {9}} {
		if !slices.Equal(got[i].Shape, want) {
			t.Errorf("stage %d has the shape %v, want %v", i, got[i].Shape, want)
		}
	}
}

// Widths that follow from the mean say nothing beyond it, however the groups differ in their means;
// a tenth that is added to those of one group is found.
func TestBeyond(t *testing.T) {
	const n = 2000
	means, widths, mixed := make([]float64, n), make([]float64, n), make([]bool, n)
	for i := range n {
		means[i] = (float64(i*7919%n) + 0.5) / n
		widths[i] = math.Sqrt(means[i] * (1 - means[i]))
		mixed[i] = means[i] > 0.2 && i%3 > 0 || i%7 == 0
	}
	if got := beyond(means, widths, mixed); math.Abs(got) > 1e-3 {
		t.Errorf("widths by the mean alone: %v beyond it", got)
	}
	for i := range widths {
		if mixed[i] {
			widths[i] += 0.1
		}
	}
	// Neighbors are of both groups, so a share of what was added is taken away again.
	if got := beyond(means, widths, mixed); !(got > 0.03 && got <= 0.1) {
		t.Errorf("a tenth more: %v beyond the mean", got)
	}
	if got := beyond(means, widths, make([]bool, n)); got != 0 {
		t.Errorf("one group: %v", got)
	}
}
