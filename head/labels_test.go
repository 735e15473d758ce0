package head

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"credence/internal/rng"
	"credence/internal/special"
	"credence/mixture"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// decodeOne returns the prediction of a head for one item from the outputs of each member.
func decodeOne(h Head, outputs [][]float32) Decoded {
	var list []Output
	for _, out := range outputs {
		list = append(list, Output{Raw: out})
	}
	dst := make([]Decoded, 1)
	h.Decode(dst, list)
	return dst[0]
}

// criterionOf returns a head's criterion of one batch.
func criterionOf(h Head, out []float32, votes Counts) float64 {
	c := h.Criterion()
	c.Add(out, Batch{Counts: votes})
	return c.Value()
}

// TestMVEGaussian: the loss against the density written out.
func TestMVEGaussian(t *testing.T) {
	h := made(t, MVE{Warmup: -1}, 2)
	mean, variance := 0.3, 0.2+1e-4
	out := []float64{math.Log(0.3 / 0.7), math.Log(0.2)}
	density := func(y float64) float64 {
		return math.Exp(-(y-mean)*(y-mean)/(2*variance)) / math.Sqrt(2*math.Pi*variance)
	}
	want := -(2*math.Log(density(1)) + math.Log(density(0))) / 3
	near(t, "loss", h.loss(nil, out, []float64{2, 1}, Step{}), want, 1e-12)
	near(t, "criterion", h.criterion(out, []float64{2, 1}), want, 1e-12)
}

// TestQD: hard captures count strictly, soft ones smoothly, and the penalty
// acts only below the level.
func TestQD(t *testing.T) {
	h := made(t, QD{}, 2)
	// Item by item: contains both labels; only 1; neither; ends on the label.
	out := []float64{-0.5, 1.5, 0.6, 1.2, 0.2, 0.8, 0, 1}
	ones := []float64{1, 0, 1, 0, 1, 0, 1, 0} // all labels are of the first class
	n, lambda, level := 4.0, 15.0, 0.95
	width := (2.0 + 0.6) / 2 // of the two that contain the label
	soft := (1 + 1 + 0 + 0.5) / n
	near(t, "loss", h.loss(nil, out, ones, Step{}), width+lambda*n/(level*(1-level))*(level-soft)*(level-soft), 1e-9)
	near(t, "criterion below the level", h.criterion(out, ones), missed+level-0.5, 1e-12)
	near(t, "loss of wide intervals", h.loss(nil, []float64{-1, 2, -1, 3}, []float64{1, 1, 0, 1}, Step{}), (2*3.0+4)/3, 1e-9)
	near(t, "criterion of wide intervals", h.criterion([]float64{-1, 2, -1, 3}, []float64{1, 1, 0, 1}), (2*3.0+4)/3, 1e-12)
	// An inverted interval contains nothing and has no width.
	near(t, "criterion upside down", h.criterion([]float64{2, -1}, []float64{1, 0}), missed+level, 1e-12)
	near(t, "z", h.labeled.(*qd).normal(), 1.959963984540054, 1e-12)

	e := decodeOne(h, [][]float32{{-0.1, 1.1}})
	near(t, "variance", e.Variance[1], math.Pow(1.2/(2*1.959963984540054), 2), 1e-7)
	near(t, "uncertainty", e.Uncertainty, 1.2, 1e-7)
	near(t, "mean", e.Mean[0], 0.5, 1e-7)
	e = decodeOne(h, [][]float32{{0.5, 1}, {0.7, 1.2}})
	sd := math.Sqrt(0.02) // of the ends, with n−1
	near(t, "lower", e.Lower[0], 0.6-1.959963984540054*sd, 1e-6)
	near(t, "upper", e.Upper[0], 1.1+1.959963984540054*sd, 1e-6)
	near(t, "mirrored lower", e.Lower[1], 1-e.Upper[0], 0)
}

// TestConfidence: hints on all or no labels against the formula, and λ moves
// towards the budget.
func TestConfidence(t *testing.T) {
	h := made(t, Confidence{}, 2)
	c := h.labeled.(*confidence)
	p, conf := 0.7, 0.4
	out := []float64{math.Log(0.7), math.Log(0.3), math.Log(0.4 / 0.6)}
	loss, price := c.hinted(nil, out, []float64{1, 0}, []float64{1, 0})
	near(t, "loss with a hint", loss, -math.Log(conf*p+1-conf), 1e-12)
	near(t, "price", price, -math.Log(conf), 1e-12)
	loss, _ = c.hinted(nil, out, []float64{1, 0}, []float64{0, 0})
	near(t, "loss without", loss, -math.Log(p), 1e-12)

	grad := make([]float64, 3)
	h.loss(grad, out, []float64{1, 0}, Step{}) // −log 0.4 is above the budget
	near(t, "λ", h.State()[0], 0.1*1.01, 1e-15)
	out[2] = 5
	h.loss(grad, out, []float64{1, 0}, Step{})
	near(t, "λ", h.State()[0], 0.1, 1e-15)
	h.loss(nil, out, []float64{1, 0}, Step{})
	near(t, "λ after a loss alone", h.State()[0], 0.1, 1e-15)
	if err := h.SetState([]float64{0.25}); err != nil || h.State()[0] != 0.25 {
		t.Errorf("state %v, %v", h.State(), err)
	}
	for _, bad := range [][]float64{nil, {0}, {math.NaN()}, {1, 2}} {
		if h.SetState(bad) == nil {
			t.Errorf("state %v is taken", bad)
		}
	}
	if made(t, QD{}, 2).SetState([]float64{1}) == nil {
		t.Error("qd takes a state")
	}
	e := decodeOne(h, [][]float32{{0, 0, 0}, {0, 0, float32(math.Log(3))}})
	near(t, "uncertainty", e.Uncertainty, (0.5+0.25)/2, 1e-7)
	if e.Variance != nil || e.Lower != nil || e.Opinion != nil {
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
	h := made(t, Evidential{Evidence: "relu"}, 2)
	none := []float64{-1, -1} // no evidence: Dirichlet(1, 1)
	near(t, "loss without evidence", h.loss(nil, none, []float64{1, 0}, Step{Epoch: 50}), 0.5+1./6, 1e-12)
	// α = (2, 3), label of class 0: (1−.4)² + .6² + 2·6/(25·6); the divergence of
	// Dirichlet(1, 3) from Dirichlet(1, 1) is ∫ 3x² log 3x² = log 3 − 2/3.
	some := []float64{1, 2}
	squares := 0.72 + 2*6./(25*6)
	near(t, "loss before annealing", h.loss(nil, some, []float64{1, 0}, Step{}), squares, 1e-12)
	near(t, "loss, half annealed", h.loss(nil, some, []float64{1, 0}, Step{Epoch: 5}), squares+0.5*(math.Log(3)-2./3), 1e-12)
	near(t, "loss, annealed", h.loss(nil, some, []float64{1, 0}, Step{Epoch: 30}), squares+math.Log(3)-2./3, 1e-12)
	near(t, "criterion", h.criterion(some, []float64{1, 1}), -(math.Log(0.4)+math.Log(0.6))/2, 1e-12)

	e := decodeOne(h, [][]float32{{1, 2}})
	near(t, "mean", e.Mean[0], 0.4, 1e-12)
	near(t, "variance", e.Variance[0], 0.4*0.6/6, 1e-12)
	near(t, "uncertainty", e.Uncertainty, 2./5, 1e-12)
	e = decodeOne(h, [][]float32{{1, 2}, {-5, -5}})
	near(t, "mean of two", e.Mean[0], 0.45, 1e-12)
	if e.Opinion.K() != 2 {
		t.Errorf("%d components, want 2", e.Opinion.K())
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

// TestAnswers: means sum to one, two classes mirror each other, several equal
// members say what one does.
func TestAnswers(t *testing.T) {
	r := rand.New(rng.New(6, "estimates"))
	for _, v := range variants {
		for _, classes := range []int{2, 4} {
			h := made(t, v, classes)
			for range 50 {
				out := make([]float32, h.Outputs())
				for i := range out {
					out[i] = float32(4 * r.NormFloat64())
				}
				e := decodeOne(h, [][]float32{out})
				near(t, "sum of means", special.Sum(e.Mean), 1, 1e-12)
				if len(e.Mean) != classes || slices.Min(e.Mean) < 0 || e.Uncertainty < 0 {
					t.Errorf("%s: %+v", v.Name(), e)
				}
				if e.Variance != nil && (len(e.Variance) != classes || slices.Min(e.Variance) < 0) {
					t.Errorf("%s: variance %v", v.Name(), e.Variance)
				}
				if (e.Lower != nil) != (v.Name() == "qd") || (e.Opinion != nil) != (v.Name() == "evidential") || (e.Variance == nil) != (v.Name() == "confidence") {
					t.Errorf("%s: %+v", v.Name(), e)
				}
				if classes == 2 && e.Variance != nil {
					near(t, "variance of the second class", e.Variance[1], e.Variance[0], 1e-12)
				}
				twice := decodeOne(h, [][]float32{out, out})
				for i := range e.Mean {
					near(t, "mean of two alike", twice.Mean[i], e.Mean[i], 1e-12)
				}
				if v.Name() == "softmax" || v.Name() == "dropout" {
					near(t, "variance between two alike", twice.Variance[0], 0, 1e-15)
				} else {
					near(t, "uncertainty of two alike", twice.Uncertainty, e.Uncertainty, 1e-9*max(1, e.Uncertainty))
				}
			}
		}
	}
	h := made(t, Softmax{}, 2)
	e := decodeOne(h, [][]float32{{0, 0}, {float32(math.Log(3)), 0}})
	near(t, "mean", e.Mean[0], 0.625, 1e-7)
	near(t, "variance between", e.Variance[0], 0.125*0.125, 1e-7)
	e = decodeOne(h, [][]float32{{float32(math.Log(3)), 0}})
	near(t, "variance of a label", e.Variance[0], 0.75*0.25, 1e-7)
	m := made(t, MVE{}, 2)
	e = decodeOne(m, [][]float32{{0, float32(math.Log(0.2))}, {float32(math.Log(3)), float32(math.Log(0.1))}})
	near(t, "variance of a mixture of two", e.Variance[0], 0.15+1e-4+0.125*0.125, 1e-7)
}

// TestStart: an untrained network predicts the average of all items.
func TestStart(t *testing.T) {
	shares := []float64{0.2, 0.5, 0.3}
	for _, v := range variants {
		h := made(t, v, 3)
		bias := h.Start(Batch{Counts: Counts{Classes: 3, Values: []float32{2, 5, 3}}})
		e := decodeOne(h, [][]float32{bias})
		for i, p := range shares {
			if v.Name() == "evidential" {
				near(t, "mean", e.Mean[i], 1./3, 1e-6)
				near(t, "uncertainty", e.Uncertainty, 0.5, 1e-6)
				continue
			}
			near(t, v.Name()+": mean", e.Mean[i], p, 1e-6)
		}
		if v.Name() == "qd" {
			near(t, "criterion", criterionOf(h, bias, Counts{Classes: 3, Values: []float32{2, 5, 3}}), 2*(0.4+0.5+math.Sqrt(0.21)), 1e-6)
		}
	}
	// A class without labels, or with all of them, is no obstacle.
	for _, m := range Methods[1:] {
		h := made(t, m, 2)
		bias := h.Start(Batch{Counts: Counts{Classes: 2, Values: []float32{1, 0}}})
		for _, b := range bias {
			if math.IsNaN(float64(b)) || math.IsInf(float64(b), 0) {
				t.Errorf("%s: start %v", m.Name(), bias)
			}
		}
	}
}

// TestEvidentialIsMixture: the distribution is that of package mixture.
func TestEvidentialIsMixture(t *testing.T) {
	h := made(t, Evidential{Evidence: "exp"}, 3)
	got := decodeOne(h, [][]float32{{0, 1, 30}})
	want, err := mixture.NewDirichlet([]float64{1}, [][]float64{{2, 1 + math.E, 1 + math.Exp(largestExponent)}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		near(t, "quantile", got.Opinion.Marginal(i).Quantile(0.3), want.Marginal(i).Quantile(0.3), 1e-12)
	}
}

func TestSettingsRefused(t *testing.T) {
	for _, c := range []struct {
		m    Method
		d    int
		want string
	}{
		{Softmax{}, 1, "classes: expected at least 2, found 1"},
		{MVE{Floor: -1}, 2, "floor: expected a number above 0, found -1"},
		{QD{Level: 1}, 2, "level: expected a number between 0 and 1, found 1"},
		{QD{Soften: math.Inf(1)}, 2, "soften: expected a number above 0, found +Inf"},
		{QD{Lambda: math.NaN()}, 2, "lambda: expected a number above 0, found NaN"},
		{Confidence{Budget: -1}, 2, "budget: expected a number above 0, found -1"},
		{Evidential{Anneal: -1}, 2, "anneal: expected at least 1, found -1"},
		{Evidential{Evidence: "abs"}, 2, `evidence: expected one of [softplus relu exp], found "abs"`},
		{Dropout{Passes: 1}, 2, "passes: expected a number from 2 to 10000, found 1"},
	} {
		if _, err := c.m.New(Task{Classes: c.d}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: error %v, want %q", c.m.Name(), c.m, err, c.want)
		}
	}
	for _, s := range [][3]string{
		{"softmax", "lambda", "1"}, {"qd", "budget", "1"}, {"qd", "lambda", "many"}, {"qd", "lambda", "0"},
		{"dropout", "passes", "2.5"}, {"mve", "warmup", "0"}, {"mixture", "Components", "3"},
	} {
		m, err := MethodByName(s[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := WithSetting(m, s[1], s[2]); err == nil {
			t.Errorf("setting %q is taken", s)
		}
	}
	if _, err := MethodByName("bayes"); err == nil || !strings.Contains(err.Error(), `method "bayes" is not one of ["mixture" "softmax"`) {
		t.Errorf("an unknown method: %v", err)
	}
}

// TestMethods: what Get gives, Set takes; what Encode writes, Parse reads; every method that gives no
// distribution explains what it returns.
func TestMethods(t *testing.T) {
	for _, m := range Methods {
		full := Complete(m)
		again := m
		for _, s := range Settings(m) {
			if got := SettingValue(full, s.Name); got != s.Default {
				t.Errorf("%s: %s is %s, want %s", m.Name(), s.Name, got, s.Default)
			}
			var err error
			if again, err = WithSetting(again, s.Name, SettingValue(full, s.Name)); err != nil {
				t.Fatal(err)
			}
		}
		if again != full {
			t.Errorf("%s: %+v, want %+v", m.Name(), again, full)
		}
		text, err := Encode(full)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse(text); err != nil || got != full {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		h, err := m.New(Task{Classes: 2})
		if err != nil {
			t.Fatal(err)
		}
		tr := h.Traits()
		if !tr.Joint && (len(tr.Meaning) < 40 || len(tr.Columns(1)) == 0) {
			t.Errorf("%s means %q", m.Name(), tr.Meaning)
		}
	}
	own, err := Parse([]byte(`{"kind":"qd","lambda":4,"soften":80,"level":0.9}`))
	if want := (QD{Lambda: 4, Soften: 80, Level: 0.9}); err != nil || own != want {
		t.Errorf("%+v, %v", own, err)
	}
	for _, text := range []string{`{}`, `[]`, `{"kind":"magic"}`, `{"kind":"qd","level":"high"}`} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}
