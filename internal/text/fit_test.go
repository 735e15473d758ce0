package text

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"credence/internal/kernel"
)

// valuesOf returns the values of a document's terms by bucket.
func valuesOf(v *Vectorizer, doc string) map[uint32]float64 {
	m := map[uint32]float64{}
	v.vector(doc, func(at []int32, values []float32) {
		for i, p := range at {
			m[v.buckets[p]] = float64(values[i])
		}
	})
	return m
}

// TestGolden compares values with those of scikit-learn 1.9.1,
//
//	TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
//
// fitted to the same documents, and for characters √2 times those of
//
//	TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
//
// which omit no term because each is in at least two documents.
func TestGolden(t *testing.T) {
	docs := []string{"good day good", "good day good", "day night", "day night"}
	v := newVectorizer(docs, 1<<20)
	got := valuesOf(v, docs[0])
	word := func(h uint64) uint32 { return uint32(h >> (64 - blockBits)) }
	run := func(s string) uint32 {
		h := uint64(offset)
		for _, r := range s {
			h = (h ^ uint64(r)) * factor
		}
		return blockSize + uint32(mix(h)>>(64-blockBits))
	}
	for name, c := range map[string]struct {
		bucket uint32
		want   float64
	}{
		"good": {word(hash("good")), goldenGood}, "day": {word(hash("day")), goldenDay},
		"good day": {word(pair("good", "day")), goldenPair}, " goo": {run(" goo"), math.Sqrt2 * goldenRun}, " d": {run(" d"), math.Sqrt2 * goldenCommon},
	} {
		if math.Abs(got[c.bucket]-c.want) > 1e-6 {
			t.Errorf("%q has the value %.8f, want %.8f", name, got[c.bucket], c.want)
		}
	}
	if n := len(valuesOf(v, "quite unheard")); n > 2 {
		t.Errorf("%d terms of unknown words", n)
	}
}

// corpus returns documents whose votes depend on two words.
func corpus(n, classes int, seed uint64) Data {
	r := rand.New(rand.NewPCG(seed, 1))
	d := Data{Classes: classes, Terms: 1 << 16, Entries: 1 << 20}
	for i := range n {
		var w []string
		for range 5 + r.IntN(10) {
			w = append(w, fmt.Sprintf("w%d", r.IntN(60)))
		}
		mean := make([]float64, classes)
		mean[r.IntN(classes)] = 1
		k := r.IntN(classes)
		mean[k] += 2
		w = append(w, fmt.Sprintf("word%d", k))
		for _, m := range mean {
			d.Labels = append(d.Labels, m/3)
		}
		d.Documents, d.Weights, d.Folds = append(d.Documents, strings.Join(w, " ")), append(d.Weights, 1+r.Float64()), append(d.Folds, i%5)
	}
	return d
}

// TestOptimum checks that the gradient vanishes at the solution, also by a dense
// computation that shares nothing with the solver.
func TestOptimum(t *testing.T) {
	for _, classes := range []int{2, 4} {
		d := corpus(60, classes, 7)
		v := newVectorizer(d.Documents, d.Terms)
		p := newPath(newMatrix(v, d.Documents), &d).problem(2, 0.5)
		s := p.Start()
		p.Solve(t.Context(), s)
		f := len(v.buckets) * Outputs(classes)
		objective := func(w, b []float64) float64 {
			c := Outputs(classes)
			sum := 0.0
			for i, doc := range d.Documents {
				z := make([]float64, classes)
				copy(z[classes-c:], b)
				v.vector(doc, func(at []int32, values []float32) {
					for j, f := range at {
						for k := range c {
							z[classes-c+k] += float64(values[j]) * w[int(f)*c+k]
						}
					}
				})
				total, dot := 0.0, 0.0
				for k := range z {
					total += math.Exp(z[k])
					dot += d.Labels[i*classes+k] * z[k]
				}
				if d.Folds[i] != 2 {
					sum += d.Weights[i] * (math.Log(total) - dot)
				}
			}
			return sum + 0.25*kernel.Dot64(w, w) + biasPenalty/2*kernel.Dot64(b, b)
		}
		for j := 0; j < len(s.Theta); j += 1 + j%7 {
			at := func(h float64) float64 {
				w, b := slices.Clone(s.Theta[:f]), slices.Clone(s.Theta[f:])
				if j < len(w) {
					w[j] += h
				} else {
					b[j-len(w)] += h
				}
				return objective(w, b)
			}
			// The gradient at 0 is about 5 for the informative words.
			if slope := (at(1e-4) - at(-1e-4)) / 2e-4; math.Abs(slope) > 2e-2 {
				t.Errorf("%d classes: slope %.3g along %d of %d at the solution", classes, slope, j, f)
			}
		}
	}
}

// TestFit checks that informative words are found, that held-out logits are worse than those of the
// full model, and that nothing depends on the number of cores.
func TestFit(t *testing.T) {
	for _, classes := range []int{2, 3} {
		d := corpus(300, classes, 3)
		var first string
		for _, threads := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(threads)
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
			m, held, err := Fit(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			if !(held.Loss < held.Base-0.1) {
				t.Errorf("%d classes: held-out loss %.4f, without words %.4f", classes, held.Loss, held.Base)
			}
			z := make([]float64, m.Outputs())
			m.Logits(z, d.Documents[0])
			if got := fmt.Sprint(m.buckets, m.idf, m.weights, m.bias, held, z); first == "" {
				first = got
			} else if got != first {
				t.Errorf("%d classes: another fit with %d threads", classes, threads)
			}
		}
	}
}

// TestFewEntries checks that documents beyond the memory limit are not used in the fit, but
// still get logits.
func TestFewEntries(t *testing.T) {
	d := corpus(300, 2, 3)
	d.Entries = 10_000
	_, held, err := Fit(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if len(held.Logits) != 300 || slices.Contains(held.Logits, 0) {
		t.Error("documents without logits")
	}
}

// TestNothingToLearn fits documents without terms, without votes for a class, and none
// at all.
func TestNothingToLearn(t *testing.T) {
	for name, d := range map[string]Data{
		"none":     {Classes: 2, Terms: 10, Entries: 10},
		"blank":    {Classes: 2, Terms: 10, Entries: 10, Documents: []string{"", " ", "", ""}, Labels: []float64{1, 0, 0, 1, 1, 0, 1, 0}, Weights: []float64{1, 1, 1, 1}, Folds: []int{0, 1, 0, 1}},
		"one fold": {Classes: 2, Terms: 10, Entries: 10, Documents: []string{"a b", "a b"}, Labels: []float64{1, 0, 0, 1}, Weights: []float64{1, 1}, Folds: []int{0, 0}},
		"no votes": {Classes: 3, Terms: 10, Entries: 10, Documents: []string{"a b", "a b"}, Labels: []float64{1, 0, 0, 1, 0, 0}, Weights: []float64{1, 1}, Folds: []int{0, 1}},
	} {
		m, held, err := Fit(t.Context(), d)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, x := range slices.Concat(held.Logits, m.bias, []float64{held.Loss, held.Base}) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Errorf("%s: %v in %+v", name, x, held)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		terms, idf, weights []float32
		bias                []float64
		want                string
	}{
		{[]float32{1, 1}, []float32{1, 1}, []float32{0, 0}, []float64{0}, "ascending"},
		{[]float32{1.5}, []float32{1}, []float32{0}, []float64{0}, "whole number"},
		{[]float32{buckets}, []float32{1}, []float32{0}, []float64{0}, "below"},
		{[]float32{nan}, []float32{1}, []float32{0}, []float64{0}, "whole number"},
		{[]float32{1}, []float32{nan}, []float32{0}, []float64{0}, "from 1 to 100"},
		{[]float32{1}, []float32{1}, []float32{nan}, []float64{0}, "weight 0 is NaN"},
		{[]float32{1}, []float32{1}, []float32{0}, []float64{math.Inf(1)}, "bias of +Inf"},
		{[]float32{1}, []float32{}, []float32{0}, []float64{0}, "1 terms with 0 weights"},
		{[]float32{1}, []float32{1}, []float32{0, 1}, []float64{0}, "2 weights for 1 terms"},
	} {
		if _, err := New(c.terms, c.idf, c.weights, c.bias); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %s", c, err, c.want)
		}
	}
}

const (
	goldenGood   = 0.7351201803
	goldenDay    = 0.2873752032
	goldenPair   = 0.4341738207
	goldenRun    = 0.2734304316
	goldenCommon = 0.1068901766
)
