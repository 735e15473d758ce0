package mixture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"credence/internal/par"
	"credence/internal/rng"
	"credence/internal/special"
	"credence/internal/testsize"
)

// mixtures returns how many random mixtures a property is tried on.
func mixtures() int { return testsize.Choose(2000, 20_000, 100_000) }

// randomBeta draws a mixture over the whole range that the package promises: up
// to six components, parameters from 1e-3 to 1e7, weights down to 1e-12. Half
// of them stay where fitted mixtures live.
func randomBeta(r *rand.Rand) (w, a, b []float64) {
	k := 1 + r.IntN(6)
	lo, hi := math.Log(1e-3), math.Log(1e7)
	if r.IntN(2) == 0 {
		lo, hi = math.Log(0.05), math.Log(500)
	}
	total := 0.0
	for range k {
		v := r.ExpFloat64()
		if r.IntN(8) == 0 {
			v = math.Exp(-27.6 * r.Float64()) // down to 1e-12
		}
		w = append(w, v)
		total += v
		a = append(a, math.Exp(lo+(hi-lo)*r.Float64()))
		b = append(b, math.Exp(lo+(hi-lo)*r.Float64()))
	}
	for i := range w {
		w[i] /= total
	}
	return w, a, b
}

// forRandom calls check on n random mixtures, on all cores, and reports the
// first few failures with the parameters that caused them.
func forRandom(t *testing.T, n int, check func(m *Beta, r *rand.Rand) error) {
	t.Helper()
	var mu sync.Mutex
	failures := 0
	const piece = 100
	par.For(n/piece, func(p int) {
		for i := range piece {
			r := rand.New(rng.New(1, t.Name(), uint64(p*piece+i)))
			w, a, b := randomBeta(r)
			m, err := NewBeta(w, a, b)
			if err == nil {
				err = check(m, r)
			}
			if err != nil {
				mu.Lock()
				if failures++; failures <= 5 {
					t.Errorf("w = %v, a = %v, b = %v: %v", w, a, b, err)
				}
				mu.Unlock()
			}
		}
	})
	if failures > 5 {
		t.Errorf("%d of %d mixtures failed", failures, n)
	}
}

// massBelow is the lower or upper tail at a logit, by a path other than the
// solver's.
func (m *Beta) massBelow(z float64) (lower, upper float64) {
	e := m.endAt(z)
	return e.lower, e.upper
}

func TestQuantileInvertsCDF(t *testing.T) {
	forRandom(t, mixtures(), func(m *Beta, r *rand.Rand) error {
		last := math.Inf(-1)
		for _, q := range []float64{1e-300, 1e-12, 0.025, 0.2, 0.5, 0.9, 0.975, 1 - 1e-12} {
			z := m.QuantileLogit(q)
			if !(z >= last) {
				return fmt.Errorf("quantile(%v) has logit %v, below that of a smaller q, %v", q, z, last)
			}
			last = z
			lower, upper := m.massBelow(z)
			got, want := lower, q
			if q > 0.5 {
				got, want = upper, 1-q
			}
			// Rounding the logit, and x with it, moves the mass by its density times
			// an ulp, which at large parameters is more than the solver's error.
			_, slope, _ := m.logPDFCurve(z)
			tol := 1e-12 + 4e-16*max(2, math.Abs(z))*math.Abs(slope)
			if !near(got, want, tol) {
				return fmt.Errorf("quantile(%v) has logit %v, where the tail is %v (relative error %.2g)", q, z, got, got/want-1)
			}
		}
		return nil
	})
}

func TestQuantileOfCDF(t *testing.T) {
	forRandom(t, mixtures(), func(m *Beta, r *rand.Rand) error {
		x := m.Quantile(r.Float64())
		if x < 1e-300 || x == 1 {
			return nil
		}
		lower, upper := m.CDF(x), m.Survival(x)
		// Between separated modes the quantile function is too steep to come back.
		if x*m.PDF(x)/min(lower, upper) < 1e-3 {
			return nil
		}
		back := m.Quantile(lower)
		if upper < lower {
			back, _ = m.ComplementaryQuantile(upper)
		}
		if !near(back, x, 1e-11) {
			return fmt.Errorf("quantile(CDF(%v)) = %v (relative error %.2g)", x, back, back/x-1)
		}
		return nil
	})
}

// mass returns P(p in i), from both tails so that no digits are lost.
func (m *Beta) mass(i Interval) float64 {
	return 1 - m.CDF(i.Lo) - m.Survival(i.Hi)
}

func TestIntervalMass(t *testing.T) {
	forRandom(t, mixtures(), func(m *Beta, r *rand.Rand) error {
		level := []float64{0.5, 0.75, 0.9, 0.95, 0.99}[r.IntN(5)]
		for side, i := range []Interval{m.Interval(TwoSided, level), m.Interval(Upper, level), m.Interval(Lower, level)} {
			// An end that underflows, or rounds to one, cannot hold its mass.
			if i.Lo < 1e-300 && Side(side) != Upper || i.Hi == 1 && Side(side) != Lower || i.Lo == 1 {
				continue
			}
			if e := math.Abs(m.mass(i) - level); !(e < 1e-10) && !steep(m, i) {
				return fmt.Errorf("[%v, %v] has mass %v, want %v", i.Lo, i.Hi, m.mass(i), level)
			}
		}
		return nil
	})
}

// steep reports whether rounding an end of i to a float64 moves more mass than
// the test's tolerance.
func steep(m *Beta, i Interval) bool {
	for _, x := range []float64{i.Lo, i.Hi} {
		if x > 0 && x < 1 && m.PDF(x)*x*0x1p-52 > 1e-11 {
			return true
		}
	}
	return false
}

func TestHighestDensity(t *testing.T) {
	forRandom(t, mixtures(), func(m *Beta, r *rand.Rand) error {
		level := []float64{0.5, 0.8, 0.95, 0.99}[r.IntN(4)]
		two := m.Interval(TwoSided, level)
		set := m.HighestDensity(level)
		if len(set) == 0 {
			return fmt.Errorf("empty highest-density set")
		}
		length, mass, last := 0.0, 0.0, math.Inf(-1)
		lowest, unsure := math.Inf(1), false
		for _, i := range set {
			if !(i.Lo > last && i.Hi >= i.Lo) {
				return fmt.Errorf("pieces %v are not in order", set)
			}
			last = i.Hi
			length += i.Length()
			mass += m.mass(i)
			for _, x := range []float64{i.Lo, i.Hi} {
				if x > 0 && x < 1 {
					lowest = min(lowest, m.LogPDF(x))
				}
			}
			// Poles put mass where float64 has no numbers left: next to 1, and
			// below the smallest.
			unsure = unsure || i.Hi == 1 && m.Survival(1-0x1p-40) > 1e-13 || i.Lo == 0 && m.CDF(1e-290) > 1e-13 ||
				i.Hi < 1e-290 || i.Lo > 1-0x1p-40 || steep(m, i)
		}
		if unsure {
			return nil
		}
		if !(math.Abs(mass-level) < 1e-9) {
			return fmt.Errorf("highest-density set %v at level %v has mass %v", set, level, mass)
		}
		if two.Lo > 0 && two.Hi < 1 && !steep(m, two) && !(length <= two.Length()*(1+1e-9)) {
			return fmt.Errorf("highest-density set %v is longer than the two-sided interval %v", set, two)
		}
		// No point outside may have a higher density than the set's ends.
		for range 20 {
			x := m.Quantile(r.Float64())
			in := false
			for _, i := range set {
				in = in || i.Contains(x)
			}
			if !in && x > 0 && x < 1 && m.LogPDF(x) > lowest+1e-6 {
				return fmt.Errorf("%v lies outside %v, where the density is lower", x, set)
			}
		}
		return nil
	})
}

func TestOneComponentIsPlainBeta(t *testing.T) {
	forRandom(t, mixtures(), func(m *Beta, r *rand.Rand) error {
		_, a, b := m.Component(0)
		one, err := NewBeta([]float64{1}, []float64{a}, []float64{b})
		if err != nil {
			return err
		}
		plain := special.NewBeta(a, b)
		q := r.Float64()
		z := one.QuantileLogit(q)
		p := special.AtLogit(z)
		lower, upper, density := plain.Tails(&p)
		if l, u := one.massBelow(z); l != lower || u != upper {
			return fmt.Errorf("tails %v, %v, of the plain Beta %v, %v", l, u, lower, upper)
		}
		if p.X > 1e-300 && p.X < 0.5 {
			if got, want := one.PDF(p.X), density/p.X/p.Y; !near(got, want, 1e-9) {
				return fmt.Errorf("density %v, of the plain Beta %v", got, want)
			}
		}
		return nil
	})
}

func TestSplittingChangesNothing(t *testing.T) {
	forRandom(t, mixtures(), func(m *Beta, r *rand.Rand) error {
		var w, a, b []float64
		for k := range m.K() {
			wk, ak, bk := m.Component(k)
			s := r.Float64()
			w = append(w, wk*s, wk*(1-s))
			a = append(a, ak, ak)
			b = append(b, bk, bk)
		}
		n, err := NewBeta(w, a, b)
		if err != nil {
			return err
		}
		q := r.Float64()
		x, y := m.QuantileBoth(q)
		x2, y2 := n.QuantileBoth(q)
		if x < 1e-300 || y < 1e-300 {
			return nil
		}
		if m.CDF(x) > 0 && x*m.PDF(x)/min(m.CDF(x), m.Survival(x)) > 1e-3 && (!near(x2, x, 1e-10) || !near(y2, y, 1e-10)) {
			return fmt.Errorf("quantile(%v) = %v, after splitting %v", q, x, x2)
		}
		if !near(n.CDF(x), m.CDF(x), 1e-12) || !near(n.Mean(), m.Mean(), 1e-13) || !near(n.Variance(), m.Variance(), 1e-12) {
			return fmt.Errorf("splitting changed the CDF or a moment")
		}
		return nil
	})
}

// randomDirichlet draws a mixture of 2 to 5 classes.
func randomDirichlet(r *rand.Rand) *Dirichlet {
	w, _, _ := randomBeta(r)
	d := 2 + r.IntN(4)
	alpha := make([][]float64, len(w))
	for k := range alpha {
		for range d {
			alpha[k] = append(alpha[k], math.Exp(-3+9*r.Float64()))
		}
	}
	m, err := NewDirichlet(w, alpha)
	if err != nil {
		panic(err)
	}
	return m
}

func TestUpdateInTwoSteps(t *testing.T) {
	for i := range uint64(mixtures() / 10) {
		r := rand.New(rng.New(2, "update", i))
		m := randomDirichlet(r)
		first, second, both := make([]float64, m.Classes()), make([]float64, m.Classes()), make([]float64, m.Classes())
		for range 1 + r.IntN(6) {
			first[r.IntN(len(first))]++
			second[r.IntN(len(second))]++
		}
		for c := range both {
			both[c] = first[c] + second[c]
		}
		update := func(m *Dirichlet, votes []float64) *Dirichlet {
			u, err := m.Update(votes)
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		logVotes := func(m *Dirichlet, votes []float64) float64 {
			l, err := m.LogVotes(votes)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		once, step := update(m, both), update(m, first)
		twice := update(step, second)
		for k := range once.K() {
			w, a := once.Component(k)
			w2, a2 := twice.Component(k)
			if !near(w2, w, 1e-10) {
				t.Fatalf("mixture %d: weight %d is %v in one step, %v in two", i, k, w, w2)
			}
			for c := range a {
				if !near(a2[c], a[c], 1e-15) {
					t.Fatalf("mixture %d: alpha %v in one step, %v in two", i, a, a2)
				}
			}
		}
		// The chain rule of the predictive distribution.
		if got, want := logVotes(m, both), logVotes(m, first)+logVotes(step, second); math.Abs(got-want) > 1e-10 {
			t.Fatalf("mixture %d: P(both) = exp %v, P(first) P(second | first) = exp %v", i, got, want)
		}
	}
}
