package evaluate

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/internal/rng"
	"credence/mixture"
)

// world is a simulation in which the predictions are right: every item's
// probabilities are drawn from its mixture, its votes from them.
type world struct {
	mixtures []*mixture.Dirichlet
	votes    Votes
	truth    []float64
}

// simulate draws n items of d classes with up to m votes, K = 2.
func simulate(t testing.TB, n, d, m int, seed uint64) world {
	t.Helper()
	r := rand.New(rng.New(seed, "evaluate.simulate"))
	w := world{votes: Votes{Classes: d, Counts: make([]float64, n*d)}}
	for j := range n {
		weight := .2 + .6*r.Float64()
		alpha := make([][]float64, 2)
		for k := range alpha {
			for range d {
				alpha[k] = append(alpha[k], math.Exp(1.2*r.NormFloat64()))
			}
		}
		x, err := mixture.NewDirichlet([]float64{weight, 1 - weight}, alpha)
		if err != nil {
			t.Fatal(err)
		}
		w.mixtures = append(w.mixtures, x)
		w.truth = x.Sample(w.truth, r)
		vote(w.votes.Item(j), w.truth[j*d:], 1+r.IntN(m), r)
	}
	return w
}

// vote adds m votes drawn from p to counts.
func vote(counts, p []float64, m int, r *rand.Rand) {
	for range m {
		u, c := r.Float64(), 0
		for ; c < len(counts)-1 && u >= p[c]; c++ {
			u -= p[c]
		}
		counts[c]++
	}
}

// If predictions are right, all diagnostics agree: within 4.5 bootstrap
// standard errors, and for the p-value above 1e-3. Some 40 numbers are looked
// at, so the false-alarm rate is about 2e-3; the seed is fixed.
func TestDiagnosticsOnRightPredictions(t *testing.T) {
	w := simulate(t, 4000, 3, 6, 1)
	r, err := Evaluate(Input{Predictions: predictionsOf(w.mixtures), Votes: w.votes, Truth: w.truth}, Options{Bootstrap: Bootstrap{Replicates: 200}})
	if err != nil {
		t.Fatal(err)
	}
	within := func(name string, got, want, se Number) {
		t.Helper()
		if !(math.Abs(float64(got-want)) <= 4.5*float64(se)) {
			t.Errorf("%s = %.4f ± %.4f, want %.4f", name, got, se, want)
		}
	}
	within("dispersion ratio", r.DispersionRatio.Value, 1, r.DispersionRatio.SE)
	for _, b := range r.DispersionBins {
		within("dispersion ratio of a bin", b.Ratio.Value, 1, b.Ratio.SE)
	}
	within("agreement", r.Agreement.Observed, r.Agreement.Predicted, r.Agreement.SE)
	for _, c := range r.Coverage {
		within("coverage of class "+c.Class, c.Empirical, Number(c.Level), c.SE)
	}
	for _, c := range r.CoverageStrata {
		if c.Items > 200 && c.Empirical < 1 {
			within("coverage of "+c.Stratum, c.Empirical, Number(c.Level), c.SE)
		}
	}
	if r.PITPValue < 1e-3 {
		t.Errorf("PIT p-value %v", r.PITPValue)
	}
	if !(r.ECE.Value < .01) {
		t.Errorf("ECE %.4f (plain %.4f)", r.ECE.Value, r.ECEPlain)
	}
	if len(r.Warnings) != 1 { // no references
		t.Errorf("warnings %q", r.Warnings)
	}
}

// Predictions that are overconfident by a factor of four are detected.
func TestDiagnosticsOnWrongPredictions(t *testing.T) {
	w := simulate(t, 2000, 3, 20, 2)
	for j, m := range w.mixtures {
		var weights []float64
		var alpha [][]float64
		for k := range m.K() {
			x, a := m.Component(k)
			for i := range a {
				a[i] *= 4
			}
			weights, alpha = append(weights, x), append(alpha, a)
		}
		w.mixtures[j], _ = mixture.NewDirichlet(weights, alpha)
	}
	r, err := Evaluate(Input{Predictions: predictionsOf(w.mixtures), Votes: w.votes, Truth: w.truth}, Options{Bootstrap: Bootstrap{Replicates: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if r.PITPValue > 1e-6 || r.DispersionRatio.Value < 1+5*r.DispersionRatio.SE || r.Coverage[0].Empirical > .7 {
		t.Errorf("PIT p-value %v, dispersion ratio %v ± %v, coverage %+v", r.PITPValue, r.DispersionRatio, r.DispersionRatio.SE, r.Coverage[0])
	}
}

// The p-value of the PIT is uniform when predictions are right: of 400 data
// sets, the share below 0.05 is 0.05 within 4 standard errors (false-alarm rate
// 6e-5; it would find a rate of 0.11 in half of all cases).
func TestPITFalseAlarms(t *testing.T) {
	const sets = 400
	alarms := 0
	for i := range sets {
		w := simulate(t, 60, 3, 5, 100+uint64(i))
		s, err := newSample(t.Context(), Input{Predictions: predictionsOf(w.mixtures), Votes: w.votes})
		if err != nil {
			t.Fatal(err)
		}
		var r Result
		s.pit(&r, uint64(i))
		if r.PITPValue < .05 {
			alarms++
		}
	}
	if share := float64(alarms) / sets; share < .05-4*.0109 || share > .05+4*.0109 {
		t.Errorf("%d of %d data sets below 0.05", alarms, sets)
	}
}

// calibrationErrors simulates items whose predicted class has the probability
// q + gap(q), and returns the mean over data sets of the calibration error,
// corrected and plain, with the mean of the true one.
func calibrationErrors(t *testing.T, sets, items, votes int, gap func(q float64) float64) (corrected, plain, truth float64) {
	for i := range sets {
		r := rand.New(rng.New(uint64(i), t.Name()))
		s := &sample{n: items, d: 2, total: make([]float64, items), unit: make([]int, items), units: items}
		p, hits := make([]float64, items), make([]float64, items)
		for j := range items {
			p[j] = .5 + .5*r.Float64()
			s.unit[j], s.total[j] = j, float64(votes)
			q := p[j] + gap(p[j])
			truth += math.Abs(gap(p[j])) / float64(items*sets)
			// Votes on an item agree more than by chance.
			a := r.Float64()
			for range votes {
				u := r.Float64()
				if r.Float64() < .5 {
					u = a
				}
				if u < q {
					hits[j]++
				}
			}
		}
		tt := newTally(items)
		c, _ := calibrate(tt, s, p, hits, 15)
		var e, f Number
		tt.estimate(&e, nil, func(x []float64) float64 { v, _ := c.ece(x); return v })
		tt.estimate(&f, nil, func(x []float64) float64 { _, v := c.ece(x); return v })
		tt.run(Bootstrap{Replicates: 2})
		corrected += float64(e) / float64(sets)
		plain += float64(f) / float64(sets)
	}
	return corrected, plain, truth
}

// The correction removes most of the sampling noise if predictions are
// calibrated, and almost nothing if they are far from it. The standard
// errors of the means are about 5e-4.
func TestECECorrection(t *testing.T) {
	corrected, plain, _ := calibrationErrors(t, 200, 600, 3, func(q float64) float64 { return 0 })
	t.Logf("calibrated: %.4f, plain %.4f", corrected, plain)
	if plain < .02 || corrected > .3*plain {
		t.Errorf("calibrated: %.4f, plain %.4f", corrected, plain)
	}
	corrected, plain, truth := calibrationErrors(t, 200, 600, 3, func(q float64) float64 { return -.4 * (q - .5) })
	t.Logf("overconfident: %.4f, plain %.4f, true %.4f", corrected, plain, truth)
	if math.Abs(corrected-truth) > .01 || math.Abs(corrected-truth) > math.Abs(plain-truth)+.003 {
		t.Errorf("overconfident: %.4f, plain %.4f, true %.4f", corrected, plain, truth)
	}
}
