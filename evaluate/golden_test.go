package evaluate

import (
	"math"
	"slices"
	"testing"

	"credence/internal/logistic"
	"credence/mixture"
)

// Numbers in this file were computed with numpy 2.4.6, scipy 1.17.1,
// scikit-learn 1.9.1, statsmodels 0.15.0 and krippendorff (PyPI), unless a
// publication is named.

func near(t *testing.T, name string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.12g, want %.12g ± %g", name, got, want, tol)
	}
}

func votesOf(t *testing.T, rows [][]float64) Votes {
	t.Helper()
	v := Votes{Classes: len(rows[0]), Counts: slices.Concat(rows...)}
	if err := v.check(); err != nil {
		t.Fatal(err)
	}
	return v
}

// krippendorff2011 is the example of "Computing Krippendorff's
// alpha-reliability", section C: four coders, twelve units, five values.
var krippendorff2011 = [][]float64{
	{3, 0, 0, 0, 0}, {0, 3, 1, 0, 0}, {0, 0, 4, 0, 0}, {0, 0, 4, 0, 0}, {0, 4, 0, 0, 0}, {1, 1, 1, 1, 0},
	{0, 0, 0, 4, 0}, {3, 1, 0, 0, 0}, {0, 4, 0, 0, 0}, {0, 0, 0, 0, 3}, {2, 0, 0, 0, 0}, {0, 0, 1, 0, 0},
}

func TestAlphaPublished(t *testing.T) {
	for _, classes := range [][]string{
		{"1", "2", "3", "4", "5"},
		{"10", "13", "16", "19", "22"}, // shifted and scaled: on the same interval scale
	} {
		r, err := Check(itemsOf(krippendorff2011, classes...), CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "nominal", float64(r.AlphaNominal.Value), 0.743421052631579, 1e-14)
		near(t, "ordinal", float64(r.AlphaOrdinal.Value), 0.8153875037548814, 1e-14)
		near(t, "interval", float64(r.AlphaInterval.Value), 0.8491071428571428, 1e-14)
	}
	// Names have an order only if it is requested, and no values.
	for _, ordered := range []bool{false, true} {
		r, err := Check(itemsOf(krippendorff2011), CheckOptions{Ordered: ordered})
		if err != nil {
			t.Fatal(err)
		}
		if r.AlphaOrdinal.Value.Known() != ordered || r.AlphaInterval.Value.Known() {
			t.Errorf("ordered %v: ordinal alpha %v, interval alpha %v", ordered, r.AlphaOrdinal, r.AlphaInterval)
		}
	}
}

func TestFleissKappaPublished(t *testing.T) {
	for _, c := range []struct {
		rows [][]float64
		want float64
	}{
		// The worked example of Fleiss 1971 as in the Wikipedia article "Fleiss'
		// kappa": 0.210; statsmodels gives more digits.
		{[][]float64{
			{0, 0, 0, 0, 14}, {0, 2, 6, 4, 2}, {0, 0, 3, 5, 6}, {0, 3, 9, 2, 0}, {2, 2, 8, 1, 1},
			{7, 7, 0, 0, 0}, {3, 2, 6, 3, 0}, {2, 5, 3, 2, 2}, {6, 5, 2, 1, 0}, {0, 2, 2, 3, 7},
		}, 0.20993070442195522},
		// Unequal numbers of votes: Gwet's formula in numpy.
		{krippendorff2011, 0.7611692754224112},
	} {
		r, err := Check(itemsOf(c.rows), CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "kappa", float64(r.FleissKappa.Value), c.want, 1e-14)
	}
}

func TestKolmogorovSmirnovScipy(t *testing.T) {
	u := []float64{.01, .05, .2, .21, .33, .4, .52, .55, .7, .71}
	d, p := kolmogorovSmirnov(u)
	near(t, "D", d, 0.29, 1e-15)
	near(t, "p", p, 0.3067349058659904, 0.023) // scipy's is exact
	u = u[:0]
	for i := range 40 {
		u = append(u, math.Pow((float64(i)+.5)/40, 1.2))
	}
	d, p = kolmogorovSmirnov(u)
	near(t, "D", d, 0.07945171371785381, 1e-15)
	near(t, "p", p, 0.9449824474619539, 0.023)
	for i := range u {
		u[i] = math.Pow((float64(i)+.5)/40, 1.8)
	}
	d, p = kolmogorovSmirnov(u)
	near(t, "D", d, 0.22561882216521267, 1e-15)
	near(t, "p", p, 0.028563295698146085, 0.001)
	// The two series of the limiting distribution meet.
	near(t, "tail at 1", kolmogorovTail(1-1e-12), kolmogorovTail(1), 1e-11)
	near(t, "tail at 1", kolmogorovTail(1), 0.26999967167735456, 1e-14) // scipy.special.kolmogorov
}

// smallCounts are small and uneven on purpose.
var smallCounts = [][]float64{
	{3, 0, 1}, {0, 4, 0}, {1, 1, 2}, {2, 0, 0}, {0, 0, 1}, {5, 1, 0}, {0, 0, 3}, {1, 0, 0}, {0, 2, 2}, {4, 0, 0},
}

func TestConstantDirichletScipy(t *testing.T) {
	fit := fitConstantDirichlet(votesOf(t, smallCounts))
	for i, want := range []float64{0.5031172680508406, 0.29435780064997275, 0.36773715400880075} {
		near(t, "alpha", fit.Alpha[i], want, 1e-6)
	}
	if !fit.Identified {
		t.Error("items with two votes, but the concentration is not identified")
	}
}

func TestLogisticSklearn(t *testing.T) {
	v := votesOf(t, smallCounts)
	x := &logistic.Dense{Columns: 2}
	for j := range v.Len() {
		x.Values = append(x.Values, float64(float32((7*j+3)%11)/5-1), float64(float32((j*j)%7)/3-1))
	}
	fit := fittedLogistic(t, x, v, 0.05*sum(v.Counts), 1e-9)
	theta := fit.Theta
	want := []float64{-0.6496959222025995, 0.5078958164577189, 0.9464891857201082, -0.1714998415696684,
		-0.29679326351750857, -0.3363959748880503}
	for i, w := range want {
		near(t, "weight", theta[i], w, 1e-5)
	}
	mean := (theta[6] + theta[7] + theta[8]) / 3 // a common shift of the biases is arbitrary
	for i, b := range []float64{0.5162652089162483, -0.3180212480327475, -0.1982439608835008} {
		near(t, "bias", theta[6+i]-mean, b, 1e-5)
	}
	var means []float64
	p := make([]float64, 3)
	for j := range v.Len() {
		logistic.Softmax(p, fit.Z[3*j:3*j+3])
		means = append(means, p...)
	}
	near(t, "loss", sum(marginalLosses(func(j int) []float64 { return means[3*j : 3*j+3] }, v)), 28.57328941157302, 1e-5)
	c := fitConcentration(means, v)
	near(t, "concentration", c, 2.1477339579050096, 1e-4)
	loss := 0.0
	for j := range v.Len() {
		loss += concentratedLoss(c, means[3*j:3*j+3], v.Item(j))
	}
	near(t, "loss", loss, 26.66358965439661, 1e-5)
}

func TestPITScipy(t *testing.T) {
	m, err := mixture.NewDirichlet([]float64{.3, .7}, [][]float64{{2, 1, .5}, {.4, 3, 2}})
	if err != nil {
		t.Fatal(err)
	}
	u, err := pitValues(m, []float64{2, 1, 2}, []float64{.25, .5}) // scipy.stats.betabinom
	if err != nil {
		t.Fatal(err)
	}
	near(t, "u₁", u[0], 0.7298130609965713, 1e-13)
	near(t, "u₂", u[1], 0.23459321490107615, 1e-13)
}

func TestWilsonStatsmodels(t *testing.T) {
	lo, hi := wilson(3./20, 20, 1.959963984540054)
	near(t, "lo", lo, 0.052368745896216595, 1e-14)
	near(t, "hi", hi, 0.36041886474075696, 1e-14)
	lo, hi = wilson(0, 12, 1.959963984540054)
	near(t, "lo", lo, 0, 1e-14)
	near(t, "hi", hi, 0.24249400665524096, 1e-14)
}

func TestHolmStatsmodels(t *testing.T) {
	got := holm([]float64{.01, .04, math.NaN(), .03, .005, .5})
	for i, want := range []float64{.04, .09, math.NaN(), .09, .025, .5} {
		if math.IsNaN(want) != math.IsNaN(got[i]) || math.Abs(got[i]-want) > 1e-15 {
			t.Errorf("p-value %d adjusted to %v, want %v", i, got[i], want)
		}
	}
}
