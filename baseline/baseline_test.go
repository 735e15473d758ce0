package baseline

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"credence/head"
	"credence/internal/rng"
	"credence/mixture"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestSoftmaxIsHead: with one label an item it is the softmax head's loss.
func TestSoftmaxIsHead(t *testing.T) {
	r := made(t, Softmax, Options{Classes: 3})
	h := &head.Softmax{Classes: 3}
	out := []float32{1, 2, -1, 0.5, 0, 3, -2, 4, 1}
	votes := head.Counts{Classes: 3, Values: []float32{0, 1, 0, 1, 0, 0, 0, 0, 1}}
	a, b := make([]float32, 9), make([]float32, 9)
	near(t, "loss", r.Loss(a, out, votes, head.Step{}), h.Loss(b, out, votes, head.Step{}), 1e-6)
	for i := range a {
		near(t, "gradient", float64(a[i]), float64(b[i]), 1e-6)
	}
}

// TestMVEGaussian: the loss against the density written out.
func TestMVEGaussian(t *testing.T) {
	h := made(t, MVE, Options{Classes: 2, Warmup: -1})
	mean, variance := 0.3, 0.2+1e-4
	out := []float64{math.Log(0.3 / 0.7), math.Log(0.2)}
	density := func(y float64) float64 {
		return math.Exp(-(y-mean)*(y-mean)/(2*variance)) / math.Sqrt(2*math.Pi*variance)
	}
	want := -(2*math.Log(density(1)) + math.Log(density(0))) / 3
	near(t, "loss", h.loss(nil, out, []float64{2, 1}, head.Step{}), want, 1e-12)
	near(t, "criterion", h.criterion(out, []float64{2, 1}), want, 1e-12)
}

// TestQD: hard captures count strictly, soft ones smoothly, and the penalty
// acts only below the level.
func TestQD(t *testing.T) {
	h := made(t, QD, Options{Classes: 2})
	// Item by item: holds both labels; only 1; neither; ends on the label.
	out := []float64{-0.5, 1.5, 0.6, 1.2, 0.2, 0.8, 0, 1}
	ones := []float64{1, 0, 1, 0, 1, 0, 1, 0} // all labels are of the first class
	n, lambda, level := 4.0, 15.0, 0.95
	width := (2.0 + 0.6) / 2 // of the two that hold the label
	soft := (1 + 1 + 0 + 0.5) / n
	near(t, "loss", h.loss(nil, out, ones, head.Step{}), width+lambda*n/(level*(1-level))*(level-soft)*(level-soft), 1e-9)
	near(t, "criterion below the level", h.criterion(out, ones), missed+level-0.5, 1e-12)
	near(t, "loss of wide intervals", h.loss(nil, []float64{-1, 2, -1, 3}, []float64{1, 1, 0, 1}, head.Step{}), (2*3.0+4)/3, 1e-9)
	near(t, "criterion of wide intervals", h.criterion([]float64{-1, 2, -1, 3}, []float64{1, 1, 0, 1}), (2*3.0+4)/3, 1e-12)
	// An interval upside down holds nothing and has no width.
	near(t, "criterion upside down", h.criterion([]float64{2, -1}, []float64{1, 0}), missed+level, 1e-12)
	near(t, "z", h.method.(*qd).normal(), 1.959963984540054, 1e-12)

	e := h.Estimate([][]float32{{-0.1, 1.1}})
	near(t, "variance", e.Variance[1], math.Pow(1.2/(2*1.959963984540054), 2), 1e-7)
	near(t, "uncertainty", e.Uncertainty, 1.2, 1e-7)
	near(t, "mean", e.Mean[0], 0.5, 1e-7)
	e = h.Estimate([][]float32{{0.5, 1}, {0.7, 1.2}})
	sd := math.Sqrt(0.02) // of the ends, with n−1
	near(t, "lower", e.Lower[0], 0.6-1.959963984540054*sd, 1e-6)
	near(t, "upper", e.Upper[0], 1.1+1.959963984540054*sd, 1e-6)
	near(t, "mirrored lower", e.Lower[1], 1-e.Upper[0], 0)
}

// TestConfidence: hints on all or no labels against the formula, and λ moves
// towards the budget.
func TestConfidence(t *testing.T) {
	h := made(t, Confidence, Options{Classes: 2})
	c := h.method.(*confidence)
	p, conf := 0.7, 0.4
	out := []float64{math.Log(0.7), math.Log(0.3), math.Log(0.4 / 0.6)}
	loss, price := c.hinted(nil, out, []float64{1, 0}, []float64{1, 0})
	near(t, "loss with a hint", loss, -math.Log(conf*p+1-conf), 1e-12)
	near(t, "price", price, -math.Log(conf), 1e-12)
	loss, _ = c.hinted(nil, out, []float64{1, 0}, []float64{0, 0})
	near(t, "loss without", loss, -math.Log(p), 1e-12)

	grad := make([]float64, 3)
	h.loss(grad, out, []float64{1, 0}, head.Step{}) // −log 0.4 is above the budget
	near(t, "λ", h.State()[0], 0.1*1.01, 1e-15)
	out[2] = 5
	h.loss(grad, out, []float64{1, 0}, head.Step{})
	near(t, "λ", h.State()[0], 0.1, 1e-15)
	h.loss(nil, out, []float64{1, 0}, head.Step{})
	near(t, "λ after a loss alone", h.State()[0], 0.1, 1e-15)
	if err := h.SetState([]float64{0.25}); err != nil || h.State()[0] != 0.25 {
		t.Errorf("state %v, %v", h.State(), err)
	}
	for _, bad := range [][]float64{nil, {0}, {math.NaN()}, {1, 2}} {
		if h.SetState(bad) == nil {
			t.Errorf("state %v is taken", bad)
		}
	}
	if made(t, QD, Options{Classes: 2}).SetState([]float64{1}) == nil {
		t.Error("qd takes a state")
	}
	e := h.Estimate([][]float32{{0, 0, 0}, {0, 0, float32(math.Log(3))}})
	near(t, "uncertainty", e.Uncertainty, (0.5+0.25)/2, 1e-7)
	if e.Variance != nil || e.Lower != nil || e.Dirichlet != nil {
		t.Errorf("estimate %+v", e)
	}
}

// TestHalf: hints are fair draws, one a label. 20,000 labels in all, bounds of
// five standard errors: one false alarm in 1e6 if the seed were not fixed.
func TestHalf(t *testing.T) {
	for _, labels := range []float64{1, 2, 63, 64, 65, 200, 0.5, 2.25} {
		sum, n := 0.0, math.Ceil(20000/labels)
		for j := range int(n) {
			got := half(rng.New(1, "half", uint64(j)), labels)
			if got < 0 || got > labels {
				t.Fatalf("%v of %v labels", got, labels)
			}
			sum += got
		}
		sd := math.Sqrt(n * (math.Floor(labels) + math.Pow(labels-math.Floor(labels), 2)) / 4)
		near(t, "hints", sum, n*labels/2, 5*sd)
	}
}

// TestEvidential: values that can be had by hand.
func TestEvidential(t *testing.T) {
	h := made(t, Evidential, Options{Classes: 2, Evidence: "relu"})
	none := []float64{-1, -1} // no evidence: Dirichlet(1, 1)
	near(t, "loss without evidence", h.loss(nil, none, []float64{1, 0}, head.Step{Epoch: 50}), 0.5+1./6, 1e-12)
	// α = (2, 3), label of class 0: (1−.4)² + .6² + 2·6/(25·6); the divergence of
	// Dirichlet(1, 3) from Dirichlet(1, 1) is ∫ 3x² log 3x² = log 3 − 2/3.
	some := []float64{1, 2}
	squares := 0.72 + 2*6./(25*6)
	near(t, "loss before annealing", h.loss(nil, some, []float64{1, 0}, head.Step{}), squares, 1e-12)
	near(t, "loss, half annealed", h.loss(nil, some, []float64{1, 0}, head.Step{Epoch: 5}), squares+0.5*(math.Log(3)-2./3), 1e-12)
	near(t, "loss, annealed", h.loss(nil, some, []float64{1, 0}, head.Step{Epoch: 30}), squares+math.Log(3)-2./3, 1e-12)
	near(t, "criterion", h.criterion(some, []float64{1, 1}), -(math.Log(0.4)+math.Log(0.6))/2, 1e-12)

	e := h.Estimate([][]float32{{1, 2}})
	near(t, "mean", e.Mean[0], 0.4, 1e-12)
	near(t, "variance", e.Variance[0], 0.4*0.6/6, 1e-12)
	near(t, "uncertainty", e.Uncertainty, 2./5, 1e-12)
	e = h.Estimate([][]float32{{1, 2}, {-5, -5}})
	near(t, "mean of two", e.Mean[0], 0.45, 1e-12)
	if e.Dirichlet.K() != 2 {
		t.Errorf("%d components, want 2", e.Dirichlet.K())
	}
	// Abramowitz and Stegun 6.4.2–6.4.4: ψ'(1) = π²/6, ψ'(½) = π²/2.
	near(t, "ψ'(1)", trigamma(1), math.Pi*math.Pi/6, 2e-15)
	near(t, "ψ'(3/2)", trigamma(1.5), math.Pi*math.Pi/2-4, 2e-15)
	near(t, "ψ'(12)", trigamma(12), math.Pi*math.Pi/6-harmonic2(11), 2e-15)
	near(t, "ψ'(1e6)", trigamma(1e6), 1e-6+0.5e-12+1e-18/6, 1e-21)
}

func harmonic2(n int) float64 {
	sum := 0.0
	for k := n; k > 0; k-- {
		sum += 1 / float64(k*k)
	}
	return sum
}

// TestEstimates: means sum to one, two classes mirror each other, several equal
// members say what one does.
func TestEstimates(t *testing.T) {
	r := rand.New(rng.New(6, "estimates"))
	for _, v := range variants {
		for _, classes := range []int{2, 4} {
			o := v.options
			o.Classes = classes
			h := made(t, v.method, o)
			for range 50 {
				out := make([]float32, h.Outputs())
				for i := range out {
					out[i] = float32(4 * r.NormFloat64())
				}
				e := h.Estimate([][]float32{out})
				near(t, "sum of means", total(e.Mean), 1, 1e-12)
				if len(e.Mean) != classes || slices.Min(e.Mean) < 0 || e.Uncertainty < 0 {
					t.Errorf("%s: %+v", v.method, e)
				}
				if e.Variance != nil && (len(e.Variance) != classes || slices.Min(e.Variance) < 0) {
					t.Errorf("%s: variance %v", v.method, e.Variance)
				}
				if (e.Lower != nil) != (v.method == QD) || (e.Dirichlet != nil) != (v.method == Evidential) || (e.Variance == nil) != (v.method == Confidence) {
					t.Errorf("%s: %+v", v.method, e)
				}
				if classes == 2 && e.Variance != nil {
					near(t, "variance of the second class", e.Variance[1], e.Variance[0], 1e-12)
				}
				twice := h.Estimate([][]float32{out, out})
				for i := range e.Mean {
					near(t, "mean of two alike", twice.Mean[i], e.Mean[i], 1e-12)
				}
				if v.method == Softmax || v.method == Dropout {
					near(t, "variance between two alike", twice.Variance[0], 0, 1e-15)
				} else {
					near(t, "uncertainty of two alike", twice.Uncertainty, e.Uncertainty, 1e-9*max(1, e.Uncertainty))
				}
			}
		}
	}
	h := made(t, Softmax, Options{Classes: 2})
	e := h.Estimate([][]float32{{0, 0}, {float32(math.Log(3)), 0}})
	near(t, "mean", e.Mean[0], 0.625, 1e-7)
	near(t, "variance between", e.Variance[0], 0.125*0.125, 1e-7)
	e = h.Estimate([][]float32{{float32(math.Log(3)), 0}})
	near(t, "variance of a label", e.Variance[0], 0.75*0.25, 1e-7)
	m := made(t, MVE, Options{Classes: 2})
	e = m.Estimate([][]float32{{0, float32(math.Log(0.2))}, {float32(math.Log(3)), float32(math.Log(0.1))}})
	near(t, "variance of a mixture of two", e.Variance[0], 0.15+1e-4+0.125*0.125, 1e-7)
}

// TestStart: an untrained network says what is true of all items.
func TestStart(t *testing.T) {
	shares := []float64{0.2, 0.5, 0.3}
	for _, v := range variants {
		o := v.options
		o.Classes = 3
		h := made(t, v.method, o)
		bias := make([]float32, h.Outputs())
		h.Start(bias, shares)
		e := h.Estimate([][]float32{bias})
		for i, p := range shares {
			if v.method == Evidential {
				near(t, "mean", e.Mean[i], 1./3, 1e-6)
				near(t, "uncertainty", e.Uncertainty, 0.5, 1e-6)
				continue
			}
			near(t, string(v.method)+": mean", e.Mean[i], p, 1e-6)
		}
		if v.method == QD {
			near(t, "criterion", h.Criterion(bias, head.Counts{Classes: 3, Values: []float32{2, 5, 3}}), 2*(0.4+0.5+math.Sqrt(0.21)), 1e-6)
		}
	}
	// A class without labels, or with all of them, is no obstacle.
	for _, m := range Methods {
		h := made(t, m, Options{Classes: 2})
		bias := make([]float32, h.Outputs())
		h.Start(bias, []float64{1, 0})
		for _, b := range bias {
			if math.IsNaN(float64(b)) || math.IsInf(float64(b), 0) {
				t.Errorf("%s: start %v", m, bias)
			}
		}
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		method Method
		o      Options
		want   string
	}{
		{"bayes", Options{Classes: 2}, `method "bayes" is not one of ["softmax"`},
		{Softmax, Options{Classes: 1}, "classes 1, want at least 2"},
		{Softmax, Options{Classes: 2, Lambda: 1}, `method softmax does not have the settings {"lambda":1}`},
		{MVE, Options{Classes: 2, Floor: -1}, "floor -1, want more than 0"},
		{QD, Options{Classes: 2, Level: 1}, "level 1, want between 0 and 1"},
		{QD, Options{Classes: 2, Soften: math.Inf(1)}, "soften +Inf"},
		{QD, Options{Classes: 2, Lambda: math.NaN()}, "lambda NaN"},
		{Confidence, Options{Classes: 2, Budget: -1}, "budget -1"},
		{Evidential, Options{Classes: 2, Anneal: -1}, "anneal -1"},
		{Evidential, Options{Classes: 2, Evidence: "abs"}, `evidence "abs", want one of [softplus relu exp]`},
		{Dropout, Options{Classes: 2, Passes: 1}, "passes 1, want between 2 and 10000"},
	} {
		if _, err := New(c.method, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: error %v, want %q", c.method, c.o, err, c.want)
		}
	}
	var o Options
	for _, s := range [][2]string{{"lambda", "4"}, {"soften", "80"}, {"level", "0.9"}} {
		if err := o.Set(QD, s[0], s[1]); err != nil {
			t.Error(err)
		}
	}
	o.Classes = 2
	if got, err := o.Complete(QD); err != nil || got != (Options{Classes: 2, Lambda: 4, Soften: 80, Level: 0.9}) {
		t.Errorf("options %+v, %v", got, err)
	}
	for _, m := range Methods { // what Get gives, Set takes
		full, err := Options{Classes: 2}.Complete(m)
		if err != nil {
			t.Fatal(err)
		}
		again := Options{Classes: 2}
		for _, s := range m.Settings() {
			if got := full.Get(s.Name); got != s.Default {
				t.Errorf("%s: %s is %s, want %s", m, s.Name, got, s.Default)
			}
			if err := again.Set(m, s.Name, full.Get(s.Name)); err != nil {
				t.Error(err)
			}
		}
		if again != full {
			t.Errorf("%s: options %+v, want %+v", m, again, full)
		}
	}
	for _, s := range [][3]string{
		{"softmax", "lambda", "1"}, {"qd", "budget", "1"}, {"qd", "lambda", "many"}, {"qd", "lambda", "0"}, {"dropout", "passes", "2.5"}, {"mve", "warmup", "0"},
	} {
		if new(Options).Set(Method(s[0]), s[1], s[2]) == nil {
			t.Errorf("setting %q is taken", s)
		}
	}
	for _, m := range Methods {
		h := made(t, m, Options{Classes: 2})
		if len(h.Meaning()) < 40 {
			t.Errorf("%s means %q", m, h.Meaning())
		}
	}
}

// TestEvidentialIsMixture: the distribution is that of package mixture.
func TestEvidentialIsMixture(t *testing.T) {
	h := made(t, Evidential, Options{Classes: 3, Evidence: "exp"})
	got := h.Estimate([][]float32{{0, 1, 30}})
	want, err := mixture.NewDirichlet([]float64{1}, [][]float64{{2, 1 + math.E, 1 + math.Exp(largestExponent)}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		near(t, "quantile", got.Dirichlet.Marginal(i).Quantile(0.3), want.Marginal(i).Quantile(0.3), 1e-12)
	}
}
