package study

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"credence/calibrate"
	"credence/head"
	"credence/internal/mnist"
	"credence/internal/rng"
	"credence/mixture"
	"credence/model"
)

// mnistFolder returns the folder of MNIST, if it is in the cache.
func mnistFolder(t *testing.T) string {
	t.Helper()
	dir, err := mnist.CacheFolder()
	if err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("MNIST is not in %s; credence data mnist puts it there", dir)
	}
	return dir
}

// tinyCoverage is a study of seconds.
func tinyCoverage() *Coverage {
	c := NewCoverage(true, 7)
	c.Train, c.Test = 300, 100
	c.Student.Epochs, c.Student.Patience = 2, 2
	c.Cells = []cell{{2, 2, 1, 7}, {2, 2, 1, 8}, {2, 3, 1, 7}, {3, 2, 1, 7}}
	return c
}

// TestCoverageStudy runs a tiny study to its end, stopped in between: all files
// are there, the same as those of a run without a stop and with another number
// of threads, and no piece is worked on twice.
func TestCoverageStudy(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a study twice; run without -short")
	}
	dir := mnistFolder(t)
	run := func(ctx context.Context, out string, progress func(what string)) error {
		c := tinyCoverage()
		f, err := OpenFolder(out, c, false)
		if err != nil {
			t.Fatal(err)
		}
		f.Progress = func(done, total int, what string) { progress(what) }
		c.Source.Folder = dir
		return Reproduce(ctx, c, f)
	}
	whole, parts := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
	if err := run(t.Context(), whole, func(string) {}); err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	ctx, cancel := context.WithCancel(t.Context())
	begun := map[string]int{}
	err := run(ctx, parts, func(what string) {
		if begun[what]++; len(begun) == 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "stopped") {
		t.Fatalf("stopped: got %v", err)
	}
	if err := run(t.Context(), parts, func(what string) { begun[what]++ }); err != nil {
		t.Fatal(err)
	}
	if len(begun) != 4 || begun["two classes, three votes, teacher of one epoch, seed 7"] != 2 || begun["two classes, two votes, teacher of one epoch, seed 8"] != 1 {
		t.Errorf("pieces were begun %v times", begun)
	}
	files, err := filepath.Glob(filepath.Join(whole, "[^.]*"))
	if err != nil || len(files) != 18 { // a page, ten figures, six tables, the numbers
		t.Fatalf("files %v, %v", files, err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(parts, filepath.Base(file)))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s differs: %v", filepath.Base(file), err)
		}
	}
	checkPage(t, whole)
	checkNumbers(t, whole)
}

// checkPage: every figure the page shows is there, and no number is missing.
func checkPage(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, part := range strings.Split(string(text), "](")[1:] {
		file, _, _ := strings.Cut(part, ")")
		shown++
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
			t.Errorf("figure %s: %v", file, err)
		}
	}
	if shown < 9 {
		t.Errorf("%d figures are shown", shown)
	}
	for _, bad := range []string{"NaN", "%!", "Inf"} {
		if i := strings.Index(string(text), bad); i >= 0 {
			t.Errorf("the page has %q: …%s…", bad, text[max(0, i-60):min(len(text), i+60)])
		}
	}
	for _, want := range []string{"98.19", "98.17", "at least -3", "94 to 99.5", "at most 5", "seed 8", "point mass"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// checkNumbers: numbers.json agrees with the table of all seeds.
func checkNumbers(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "numbers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var n CoverageNumbers
	if err := json.Unmarshal(text, &n); err != nil {
		t.Fatal(err)
	}
	if len(n.Bars) != 3 || len(n.Numbers) != (2+3)*4 || n.Seed != 7 || !n.Quick {
		t.Errorf("%d bars, %d entries, seed %d", len(n.Bars), len(n.Numbers), n.Seed)
	}
	for _, e := range n.Numbers {
		seeds := 1
		if e.Classes == 2 && e.Votes == 2 {
			seeds = 2
		}
		for l, c := range e.Coverage {
			if len(c.PerSeed) != seeds || (c.SE != nil) != (seeds > 1) || !(c.Mean >= 0 && c.Mean <= 1) || !(e.Width[l].Mean > 0) {
				t.Errorf("%+v", e)
			}
		}
	}
}

// TestStudentPredicts: the weights that were kept give what the model itself
// gives, for the test images and for how they are reported.
func TestStudentPredicts(t *testing.T) {
	dir := mnistFolder(t)
	set, test, err := mnist.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	set, test = set.Head(400), test.Head(100)
	g := groupings[3]
	teach, err := newTeacher(t.Context(), set, g, 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	o := tinyCoverage().Student
	o.Seed, o.Epochs, o.Patience = 6, 6, 6
	taught, err := teach.truth(set)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStudent(t.Context(), set, test, g, drawVotes(taught, 3, 2, 5), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.best) != 5 || len(s.weights) != 5 || len(s.weights[4]) != 6 {
		t.Fatalf("best %v of %d members", s.best, len(s.weights))
	}
	reported := s.model.Calibration
	s.model.Calibration = nil
	want, err := s.model.Predict(context.Background(), imageData(test, g.Names, make([]float32, 300)), model.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.model.Calibration = reported
	got, how, err := s.predict(indices(0, 5), s.best)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(meansOf(got), meansOf(head.Dists(want))) {
		t.Error("other predictions than the model's")
	}
	if how != reported || how.Items == 0 {
		t.Errorf("reported with %+v, the model with %+v", how, reported)
	}
	one, how, err := s.predict([]int{0}, []int{1})
	if err != nil || one[0].K() != s.options.Head.(head.Mixture).Components || slices.Equal(meansOf(one), meansOf(got)) {
		t.Errorf("one member: %v", err)
	}
	if how == reported || how.Items != len(s.held[0]) || how.Resolution != reported.Resolution {
		t.Errorf("one member, which held out %d images, is reported with %+v", len(s.held[0]), how)
	}
}

// Both ends of the softmax keep their digits, where 1 − p has none.
func TestSoftmaxKeepsDigits(t *testing.T) {
	p := appendSoftmax(nil, []float32{30, -20})
	if want := math.Exp(-50); p[0] != 1 || math.Abs(p[1]/want-1) > 1e-14 {
		t.Errorf("got %v, want 1 and %v", p, want)
	}
	p = appendSoftmax(p, []float32{1, 2, 3})
	for i, want := range []float64{0.09003057317038046, 0.24472847105479764, 0.6652409557748218} { // scipy.special.softmax
		if math.Abs(p[2+i]/want-1) > 1e-14 {
			t.Errorf("got %v, want %v", p[2+i], want)
		}
	}
}

// Votes follow the probabilities: with 20,000 draws each share is within 5
// standard errors, which happens by chance less than once in a million.
func TestDrawVotes(t *testing.T) {
	p := []float64{0.2, 0.5, 0.3}
	var truth []float64
	for range 10000 {
		truth = append(truth, p...)
	}
	counts := drawVotes(truth, 3, 2, 1)
	var sums [3]float64
	for j := 0; j < len(counts); j += 3 {
		if counts[j]+counts[j+1]+counts[j+2] != 2 {
			t.Fatalf("counts %v", counts[j:j+3])
		}
		for c := range sums {
			sums[c] += float64(counts[j+c])
		}
	}
	for c, n := range sums {
		if se := math.Sqrt(20000 * p[c] * (1 - p[c])); math.Abs(n-20000*p[c]) > 5*se {
			t.Errorf("class %d: %v of 20000 votes, want %v ± %v", c, n, 20000*p[c], se)
		}
	}
}

// Whether a truth is covered agrees with the ends of the interval, as reported and
// raw, and strata add up to all images.
func TestScore(t *testing.T) {
	var p []*mixture.Dirichlet
	var truth []float64
	r := rng.New(3, "test")
	for range 200 {
		a := []float64{4 * r.Float64(), 0.2 + r.Float64(), 3 * r.Float64()}
		m, err := mixture.NewDirichlet([]float64{0.3, 0.7}, [][]float64{a, {a[2], a[0], 5}})
		if err != nil {
			t.Fatal(err)
		}
		p = append(p, m)
		truth = appendSoftmax(truth, []float32{float32(4 * r.Float64()), 1, float32(9 * r.Float64())})
	}
	how := &calibrate.Calibration{Scale: 1.3, Resolution: 0.05}
	got := score(p, truth, 1, how)
	for _, reported := range kinds {
		inside, width := 0, 0.0
		for j, m := range p {
			in := m.Marginal(1).Interval(mixture.TwoSided, 0.9)
			if reported {
				a := head.NewDecoded(m)
				how.Apply(&a, calibrate.Item{Level: -1})
				in = a.Reported().Class(1).Interval(mixture.TwoSided, 0.9).Interval
			}
			width += in.Length() / 200
			if x := truth[3*j+1]; in.Lo <= x && x <= in.Hi {
				inside++
			}
		}
		s := got.as(reported)
		if c := s.Coverage[levelIndex(0.9)]; math.Abs(c-float64(inside)/200) > 1e-12 {
			t.Errorf("%s: coverage %v, want %v of 200", asText(reported), c, inside)
		}
		if math.Abs(s.Width[3]/width-1) > 1e-9 {
			t.Errorf("%s: width %v, want %v", asText(reported), s.Width[3], width)
		}
		byMean, byWidth, covered := 0, 0, 0.0
		for _, st := range s.Strata {
			switch {
			case strings.HasPrefix(st.Name, "mean"):
				byMean += st.Images
				covered += st.Coverage[3] * float64(st.Images)
			case strings.HasSuffix(st.Name, "third"):
				byWidth += st.Images
			}
		}
		if byMean != 200 || byWidth != 200 || math.Abs(covered-float64(inside)) > 1e-9 {
			t.Errorf("%s: strata of %d and %d images, %v of them covered", asText(reported), byMean, byWidth, covered)
		}
	}
}

// The mean of networks weighs strata by their images.
func TestAverage(t *testing.T) {
	one := func(coverage float64, strata ...stratum) network {
		x := coverageOf{Coverage: []float64{coverage}, Width: []float64{2 * coverage}, AtLeast: []float64{0}, Strata: strata}
		return network{Accuracy: coverage, Classes: []classResult{{Class: 1, Scale: coverage, Raw: x, Reported: x}}}
	}
	a := one(0.5, stratum{"s", 30, []float64{0.2}, []float64{1}})
	b := one(0.7, stratum{"s", 10, []float64{0.6}, []float64{2}}, stratum{"other", 7, []float64{0.9}, []float64{3}})
	n := average([]network{a, b})
	got := n.Classes[0].Reported
	if math.Abs(n.Accuracy-0.6) > 1e-12 || n.Classes[0].Class != 1 || math.Abs(got.Coverage[0]-0.6) > 1e-12 || math.Abs(got.Width[0]-1.2) > 1e-12 {
		t.Errorf("got %+v", n)
	}
	if s := got.Strata[0]; s.Images != 20 || math.Abs(s.Coverage[0]-0.3) > 1e-12 || math.Abs(s.Width[0]-1.25) > 1e-12 {
		t.Errorf("got %+v, want 20 images, coverage 0.3, width 1.25", s)
	}
	if s := got.Strata[1]; s.Images != 4 || s.Coverage[0] != 0.9 {
		t.Errorf("got %+v", s)
	}
	if again := a.Classes[0].Reported.Coverage[0]; again != 0.5 {
		t.Errorf("averaging changed a network: %v", again)
	}
}

func TestBars(t *testing.T) {
	curve := func(shift float64) (c []estimate) {
		for _, l := range curveLevels {
			c = append(c, newEstimate([]float64{l + shift - 0.01, l + shift + 0.01}, 100))
		}
		return c
	}
	for _, c := range []struct {
		shift  float64
		passed [3]bool
	}{{0.02, [3]bool{true, true, true}}, {-0.02, [3]bool{false, true, true}}, {-0.035, [3]bool{false, false, true}}, {0.0555, [3]bool{false, true, false}}} {
		for i, b := range bars(curve(c.shift)) {
			if b.Passed != c.passed[i] {
				t.Errorf("shift %v: %+v", c.shift, b)
			}
		}
	}
	if e := curve(0)[0]; math.Abs(e.se()-0.01) > 1e-12 || math.Abs(e.ItemSE-0.05) > 1e-12 {
		t.Errorf("standard errors %v and %v, want 0.01 and 0.05", e.se(), e.ItemSE)
	}
}

// The full study has five seeds of the headline setting and two of all others.
func TestCoveragePlan(t *testing.T) {
	seeds := map[setting]int{}
	c := NewCoverage(false, 1)
	for _, x := range c.Cells {
		seeds[x.setting()]++
	}
	if len(seeds) != 8 || c.Train != 60000 || c.Test != 10000 || c.Student.Epochs > 14 {
		t.Errorf("%+v", c)
	}
	for s, n := range seeds {
		if want := map[bool]int{true: 5, false: 2}[s == headline]; n != want {
			t.Errorf("%s: %d seeds, want %d", s, n, want)
		}
	}
}
