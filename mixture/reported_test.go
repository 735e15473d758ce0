package mixture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"credence/internal/rng"
)

// randomReported draws a class of an item with a distribution over the whole range and a
// resolution between 1e-4 and 0.02.
func randomReported(m *Beta, r *rand.Rand) ReportedClass {
	return m.Reported(math.Exp(math.Log(1e-4) + math.Log(200)*r.Float64()))
}

var reportedLevels = []float64{0.01, 0.2, 0.5, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 0.999}

// checkMass returns an error if i has less mass than the level. Ends are rounded to
// float64, which next to a steep density costs mass.
func checkMass(m *Beta, i Interval, level float64) error {
	below, above := 0.0, 0.0
	if i.Lo > 0 {
		below = m.CDF(i.Lo)
	}
	if i.Hi < 1 {
		above = m.Survival(i.Hi)
	}
	if mass := 1 - below - above; mass < level-1e-10 && !steep(m, i) && i.Lo < 1-0x1p-40 {
		return fmt.Errorf("[%v, %v] has the mass %v, less than %v", i.Lo, i.Hi, mass, level)
	}
	return nil
}

func TestReportedIntervals(t *testing.T) {
	forRandom(t, mixtures()/5, func(m *Beta, r *rand.Rand) error {
		c := randomReported(m, r)
		e := c.resolution
		for _, side := range []Side{TwoSided, Upper, Lower} {
			last := Interval{1, 0}
			for _, level := range reportedLevels {
				i := c.Interval(side, level)
				if !(0 <= i.Lo && i.Lo <= i.Hi && i.Hi <= 1) {
					return fmt.Errorf("%v at %v: [%v, %v]", side, level, i.Lo, i.Hi)
				}
				if last.Lo <= last.Hi && !(i.Lo <= last.Lo && i.Hi >= last.Hi) {
					return fmt.Errorf("%v at %v: [%v, %v] does not contain that of a smaller level, %v", side, level, i.Lo, i.Hi, last)
				}
				last = i.Interval
				if side == TwoSided && !i.Contains(m.Mean()) {
					return fmt.Errorf("two-sided at %v: [%v, %v] does not contain the mean %v", level, i.Lo, i.Hi, m.Mean())
				}
				if err := checkMass(m, i.Interval, level); err != nil {
					return fmt.Errorf("%v at %v: %w", side, level, err)
				}
				if want := i.Hi <= e || i.Lo >= 1-e; i.AtLeast != want {
					return fmt.Errorf("%v at %v: [%v, %v] reads at least: %v", side, level, i.Lo, i.Hi, i.AtLeast)
				}
				// No end lies strictly within ε of 0 or 1, but to contain the mean.
				mean := m.Mean()
				if within(e, i.Lo) && i.Lo != mean || within(e, 1-i.Hi) && i.Hi != mean {
					return fmt.Errorf("%v at %v: [%v, %v] ends within %v of 0 or 1", side, level, i.Lo, i.Hi, e)
				}
			}
		}
		return nil
	})
}

// Where the rule changes, at γ = h, B, B + f and 2B, an end moves by at most ε beyond
// what the quantiles themselves move by.
func TestReportedEndsAreContinuous(t *testing.T) {
	forRandom(t, mixtures()/5, func(m *Beta, r *rand.Rand) error {
		c := randomReported(m, r)
		const step = 1e-9
		f, h := max(c.below, c.above), min(c.below, c.above)
		most := f + moved*(f-h)
		for _, gamma := range []float64{c.below, c.above, most, most + f, 2 * most} {
			if !(gamma > 1e-6 && gamma < 1-1e-6) {
				continue
			}
			a, b := c.Interval(TwoSided, 1-gamma*(1-step)), c.Interval(TwoSided, 1-gamma*(1+step))
			lo, hi := c.resolution*(1+1e-6), c.resolution*(1+1e-6)
			for _, q := range []float64{gamma / 2, gamma, most, f} {
				more, less := min(q+4*step*gamma, 1), q-4*step*gamma
				lo += m.Quantile(more) - m.Quantile(less)
				x, _ := m.ComplementaryQuantile(less)
				y, _ := m.ComplementaryQuantile(more)
				hi += x - y
			}
			if math.Abs(a.Lo-b.Lo) > lo || math.Abs(a.Hi-b.Hi) > hi {
				return fmt.Errorf("around level %v [%v, %v] becomes [%v, %v], ε = %v", 1-gamma, a.Lo, a.Hi, b.Lo, b.Hi, c.resolution)
			}
		}
		return nil
	})
}

// A distribution of U shape that tips from one side to the other: the interval is [0, 1] in
// between, and within ε of it on both sides.
func TestReportedTips(t *testing.T) {
	const e = 0.01
	for _, tip := range []float64{-1e-9, 0, 1e-9} {
		m, err := NewBeta([]float64{1}, []float64{0.5}, []float64{0.5 + tip})
		if err != nil {
			t.Fatal(err)
		}
		c := m.Reported(e)
		for gamma := 0.01; gamma < 0.3; gamma += 0.001 {
			i := c.Interval(TwoSided, 1-gamma)
			want := Interval{0, 1}
			if c.below <= gamma/2 {
				want = m.Interval(TwoSided, 1-gamma)
			}
			if math.Abs(i.Lo-want.Lo) > e*(1+1e-6) || math.Abs(i.Hi-want.Hi) > e*(1+1e-6) {
				t.Fatalf("tip %v, level %v: [%v, %v], want %v within %v", tip, 1-gamma, i.Lo, i.Hi, want, e)
			}
		}
	}
}

func TestReportedKnown(t *testing.T) {
	beta := func(a, b float64) *Beta {
		m, err := NewBeta([]float64{1}, []float64{a}, []float64{b})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	const e = 0.02
	// Beta(1, b) has F(x) = 1 − (1−x)ᵇ.
	quantile := func(q, b float64) float64 { return -math.Expm1(math.Log1p(-q) / b) }
	f, h := -math.Expm1(1.5*math.Log1p(-e)), math.Pow(e, 1.5)
	most := f + 2*(f-h) // 0.084
	for _, c := range []struct {
		a, b, level float64
		want        ReportedInterval
	}{
		{1, 1.5, 0.95, ReportedInterval{Interval: Interval{0, quantile(0.95, 1.5)}}},
		{1, 1.5, 0.9, ReportedInterval{Interval: Interval{0, quantile(1-most, 1.5)}}},
		{1, 1.5, 0.85, ReportedInterval{Interval: Interval{quantile(0.15-most, 1.5), quantile(1-most, 1.5)}}},
		{1, 1.5, 0.8, ReportedInterval{Interval: Interval{quantile(0.1, 1.5), quantile(0.9, 1.5)}}},
		{1, 20, 0.9, ReportedInterval{Interval: Interval{0, quantile(0.9, 20)}}},
		{1, 1000, 0.9, ReportedInterval{Interval{0, e}, true}},
		{1000, 1, 0.9, ReportedInterval{Interval{1 - e, 1}, true}},
		{1, 1, 0.97, ReportedInterval{Interval: Interval{0, 1}}},
		{1, 1, 0.9, ReportedInterval{Interval: Interval{0.05, 0.95}}},
	} {
		got := beta(c.a, c.b).Reported(e).Interval(TwoSided, c.level)
		if !near(got.Lo, c.want.Lo, 1e-12) || !near(got.Hi, c.want.Hi, 1e-12) || got.AtLeast != c.want.AtLeast {
			t.Errorf("Beta(%v, %v) at %v: %v, want %v", c.a, c.b, c.level, got, c.want)
		}
	}
	off := beta(1, 1000).Reported(0).Interval(TwoSided, 0.9)
	if want := beta(1, 1000).Interval(TwoSided, 0.9); off.Interval != want || off.AtLeast {
		t.Errorf("without a resolution: %v, want %v", off, want)
	}
	if i := beta(1, 2).Reported(e).Interval(TwoSided, 1); !math.IsNaN(i.Lo) || !math.IsNaN(i.Hi) {
		t.Errorf("level 1: %v, want NaN", i)
	}
}

func TestReportedHighestDensity(t *testing.T) {
	forRandom(t, mixtures()/10, func(m *Beta, r *rand.Rand) error {
		c := randomReported(m, r)
		e := c.resolution
		var last []Interval
		for _, level := range []float64{0.3, 0.75, 0.9, 0.95, 0.99} {
			set, atLeast := c.HighestDensity(level)
			mass, length, end, cells := 0.0, 0.0, -1.0, true
			for _, i := range set {
				if !(i.Lo > end && i.Hi >= i.Lo && i.Hi <= 1) {
					return fmt.Errorf("pieces %v are not in order", set)
				}
				if within(e*(1-1e-9), i.Lo) || within(e*(1-1e-9), 1-i.Hi) || within(e*(1-1e-9), i.Hi) || within(e*(1-1e-9), 1-i.Lo) {
					return fmt.Errorf("level %v: %v ends within a cell of width %v", level, set, e)
				}
				end = i.Hi
				mass += m.CDF(i.Hi) - m.CDF(i.Lo)
				length += i.Length()
				cells = cells && (i == Interval{0, e} || i == Interval{1 - e, 1})
			}
			if mass < level-1e-9 && !steepSet(m, set) {
				return fmt.Errorf("level %v: %v has the mass %v", level, set, mass)
			}
			if atLeast != cells {
				return fmt.Errorf("level %v: %v reads at least: %v", level, set, atLeast)
			}
			if two := c.Interval(TwoSided, level); length > two.Length()+e+1e-9 && !steepSet(m, set) {
				return fmt.Errorf("level %v: %v is longer than the two-sided interval [%v, %v]", level, set, two.Lo, two.Hi)
			}
			for _, i := range last {
				if !covered(i, set) && !steepSet(m, set) {
					return fmt.Errorf("level %v: %v does not contain that of a smaller level, %v", level, set, last)
				}
			}
			last = set
		}
		return nil
	})
}

// covered reports whether i lies in one of the pieces, but for rounding.
func covered(i Interval, set []Interval) bool {
	for _, s := range set {
		if s.Lo <= i.Lo+1e-9 && i.Hi <= s.Hi+1e-9 {
			return true
		}
	}
	return false
}

func steepSet(m *Beta, set []Interval) bool {
	for _, i := range set {
		if steep(m, i) {
			return true
		}
	}
	return false
}

// within reports whether 0 < x < e, with room for rounding.
func within(e, x float64) bool { return x > 1e-15 && x < e*(1-1e-9) }

func TestReportedOverClasses(t *testing.T) {
	for i := range uint64(mixtures() / 10) {
		r := rand.New(rng.New(24, "classes", i))
		item, err := NewReported(randomDirichlet(r), DefaultResolution(math.Exp(15*r.Float64())))
		if err != nil {
			t.Fatal(err)
		}
		level := reportedLevels[r.IntN(len(reportedLevels))]
		lo, hi := 0.0, 0.0
		sd := item.SD(nil)
		for c := range item.Dist.Classes() {
			x := item.Class(c).Interval(TwoSided, level)
			lo, hi = lo+x.Lo, hi+x.Hi
			if v := item.Dist.Variance(nil)[c]; !near(sd[c]*sd[c], v, 1e-12) {
				t.Fatalf("mixture %d: standard deviation %v, variance %v", i, sd[c], v)
			}
		}
		if lo > 1+1e-12 || hi < 1-1e-12 {
			t.Fatalf("mixture %d at %v: ends sum to %v and %v", i, level, lo, hi)
		}
		votes := make([]float64, item.Dist.Classes())
		votes[0] = 3
		after, err := item.Update(votes)
		if err != nil {
			t.Fatal(err)
		}
		dist, err := item.Dist.Update(votes)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := after.Class(0).Interval(TwoSided, level), (Reported{Dist: dist, Resolution: item.Resolution}).Class(0).Interval(TwoSided, level); got != want {
			t.Fatalf("mixture %d after votes: %v, want %v", i, got, want)
		}
	}
}

// The region of a distribution with most of its mass next to a corner: of 20,000 other draws
// it contains at least the level but for 5.5 standard errors of both samples (a false
// alarm in 4e7), and the corner itself is in it.
func TestReportedRegion(t *testing.T) {
	dist := mustDirichlet(t, []float64{0.7, 0.3}, [][]float64{{0.01, 0.02, 5}, {3, 2, 2}})
	item, err := NewReported(dist, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rng.New(25, "region"))
	for _, level := range []float64{0.5, 0.8, 0.95} {
		region, err := item.Region(level, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		const draws = 20000
		in := 0.0
		for range draws {
			ok, err := region.Contains(dist.Sample(nil, r))
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				in++
			}
		}
		se := math.Sqrt(level * (1 - level) * (1./draws + 1./DefaultDraws))
		if in/draws < level-5.5*se {
			t.Errorf("level %v: the region contains %v", level, in/draws)
		}
		if ok, err := region.Contains([]float64{0, 0, 1}); err != nil || !ok {
			t.Errorf("level %v: the corner is in the region: %v, %v", level, ok, err)
		}
	}
	if _, err := item.Region(2, 0, 1); err == nil {
		t.Error("level 2: no error")
	}
}

func TestResolution(t *testing.T) {
	for votes, want := range map[float64]float64{0: 0.02, 1: 0.02, 3600: 0.01, 1e12: 1e-4} {
		if got := DefaultResolution(votes); !near(got, want, 1e-15) {
			t.Errorf("resolution of %v votes is %v, want %v", votes, got, want)
		}
	}
	dist := mustDirichlet(t, []float64{1}, [][]float64{{1, 1}})
	for _, e := range []float64{-1e-9, 0.11, math.NaN(), math.Inf(1)} {
		if _, err := NewReported(dist, e); err == nil {
			t.Errorf("resolution %v: no error", e)
		}
	}
}

func FuzzReported(f *testing.F) {
	f.Add(0.5, 1.0, 1.0, 3.0, 0.1, 0.01, 0.95)
	f.Add(0.1, 1e-3, 1e7, 1e7, 1e-3, 0.02, 0.75)
	f.Add(1.0, 0.5, 0.5, 1.0, 1.0, 1e-4, 0.5)
	f.Add(0.06, 72.5, 143.0, 1.8, 0.16, 1.1428571428950818e-05, 0.1875) // meets 1−ε after rounding
	f.Fuzz(func(t *testing.T, w, a1, b1, a2, b2, e, level float64) {
		for _, x := range []float64{a1, b1, a2, b2} {
			if !(x >= 1e-3 && x <= 1e7) {
				t.Skip()
			}
		}
		if !(w >= 0 && w <= 1 && level > 1e-6 && level < 1-1e-6) {
			t.Skip()
		}
		m, err := NewBeta([]float64{w, 1 - w}, []float64{a1, a2}, []float64{b1, b2})
		if err != nil {
			t.Skip()
		}
		item, err := NewReported(m.Dirichlet(), e)
		if err != nil {
			t.Skip()
		}
		c := item.Class(0)
		for _, side := range []Side{TwoSided, Upper, Lower} {
			i := c.Interval(side, level)
			if !(0 <= i.Lo && i.Lo <= i.Hi && i.Hi <= 1) || side == TwoSided && !i.Contains(m.Mean()) {
				t.Fatalf("%v: [%v, %v], mean %v", side, i.Lo, i.Hi, m.Mean())
			}
			if err := checkMass(m, i.Interval, level); err != nil {
				t.Fatal(err)
			}
		}
		end := -1.0
		set, _ := c.HighestDensity(level)
		for _, i := range set {
			if !(i.Lo > end && i.Hi >= i.Lo && i.Hi <= 1) {
				t.Fatalf("pieces %v are not in order", set)
			}
			end = i.Hi
		}
		if end < 0 {
			t.Fatal("an empty set")
		}
	})
}

func BenchmarkReportedInterval(b *testing.B) {
	m := ensembles(b, 1, 3)[0]
	item, err := NewReported(m, 0.01)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("two-sided", func(b *testing.B) {
		for b.Loop() {
			item.Class(0).Interval(TwoSided, 0.95)
		}
	})
	b.Run("highest-density", func(b *testing.B) {
		for b.Loop() {
			item.Class(0).HighestDensity(0.95)
		}
	})
}

// Of two classes the second mirrors the first to the bit, and agrees with its own distribution.
func TestReportedMirror(t *testing.T) {
	m, err := NewDirichlet([]float64{0.3, 0.7}, [][]float64{{0.4, 9}, {3, 2}})
	if err != nil {
		t.Fatal(err)
	}
	r := Reported{Dist: m, Resolution: 0.01}
	for _, level := range []float64{0.5, 0.8, 0.95} {
		for side, other := range map[Side]Side{TwoSided: TwoSided, Upper: Lower, Lower: Upper} {
			got := r.Class(1).Interval(side, level)
			if want := r.Class(0).Interval(other, level).Mirror(); got != want {
				t.Errorf("%v at %v: %v, want %v", side, level, got, want)
			}
			own := m.Marginal(1).Reported(0.01).Interval(side, level)
			if math.Abs(own.Lo-got.Lo) > 1e-14 || math.Abs(own.Hi-got.Hi) > 1e-14 || own.AtLeast != got.AtLeast {
				t.Errorf("%v at %v: %v, by its own distribution %v", side, level, got, own)
			}
		}
		got, _ := r.Class(1).HighestDensity(level)
		own, _ := m.Marginal(1).Reported(0.01).HighestDensity(level)
		if len(got) != len(own) {
			t.Fatalf("highest density at %v: %v, by its own distribution %v", level, got, own)
		}
		for k := range got {
			if math.Abs(own[k].Lo-got[k].Lo) > 1e-9 || math.Abs(own[k].Hi-got[k].Hi) > 1e-9 {
				t.Errorf("highest density at %v: %v, by its own distribution %v", level, got, own)
			}
		}
	}
}
