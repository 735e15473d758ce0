package cohort

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"testing"
)

func mustNew(t *testing.T, o Options) *Cohort {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// counts returns how many scans of a part are at each level of an instrument.
func counts(scans []Scan, l int) (n [3]int) {
	for _, s := range scans {
		n[s.Level[l]]++
	}
	return n
}

// The paper's table: NC, MCI and AD by diagnosis, CDR and MMSE.
func TestPaperTable(t *testing.T) {
	want := map[string][3]int{"DX": {500, 822, 338}, "CDR": {664, 830, 166}, "MMSE": {785, 570, 305}}
	for seed := range uint64(5) {
		c := mustNew(t, Options{Seed: seed, Fresh: 10})
		for l, in := range Instruments {
			if got := counts(c.Scans[:PaperScans], l); got != want[in.Name] {
				t.Errorf("seed %d: %s is %v, want %v", seed, in.Name, got, want[in.Name])
			}
		}
	}
}

// For other sizes margins are the paper's shares by largest remainder.
func TestOddSizes(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 20, 101, 997, 1661, 3320} {
		c := mustNew(t, Options{Scans: n, Fresh: 4, Seed: 3})
		if len(c.Scans) != n+4 {
			t.Errorf("%d scans, want %d", len(c.Scans), n+4)
		}
		for l, in := range Instruments {
			got := counts(c.Scans[:n], l)
			for level := range got {
				exact := float64(in.Counts[level]) * float64(n) / PaperScans
				if math.Abs(float64(got[level])-exact) >= 1 {
					t.Errorf("%d scans: %d are %v by %s, exactly it would be %.2f", n, got[level], Level(level), in.Name, exact)
				}
			}
		}
	}
	if got := counts(mustNew(t, Options{Scans: 3320, Seed: 1}).Scans, 0); got != [3]int{1000, 1644, 676} {
		t.Errorf("twice the paper's scans: %v", got)
	}
}

func TestApportion(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		n      int
		want   []int
	}{
		{[]float64{500, 822, 338}, 1660, []int{500, 822, 338}},
		{[]float64{500, 822, 338}, 10, []int{3, 5, 2}}, // 3.01, 4.95, 2.04
		{[]float64{1, 1, 1}, 2, []int{1, 1, 0}},
		{[]float64{1, 1, 1}, 0, []int{0, 0, 0}},
		{[]float64{0.86, 0.12, 0.02}, 166, []int{143, 20, 3}}, // 142.76, 19.92, 3.32
	} {
		if got := apportion(c.shares, c.n); !slices.Equal(got, c.want) {
			t.Errorf("apportion(%v, %d) = %v, want %v", c.shares, c.n, got, c.want)
		}
	}
}

// The threshold lies midway between the most severe reading that is not AD and
// the least severe that is; worse readings never get better values; values lie
// in the paper's bands; and fresh scans are cut by the same rule.
func TestReadings(t *testing.T) {
	c := mustNew(t, Options{Scans: 1660, Fresh: 2000, Seed: 2})
	for l := range Instruments {
		below, above := math.Inf(-1), math.Inf(1)
		for _, s := range c.Scans[:1660] {
			if s.Level[l] == AD {
				above = min(above, s.Reading[l])
			} else {
				below = max(below, s.Reading[l])
			}
		}
		if !(below < above) || c.Thresholds[l] != (below+above)/2 {
			t.Errorf("%s: threshold %v, want midway between %v and %v", Instruments[l].Name, c.Thresholds[l], below, above)
		}
		for _, s := range c.Scans {
			if (s.Level[l] == AD) != (s.Reading[l] > c.Thresholds[l]) {
				t.Fatalf("%s: reading %v is %v at threshold %v", Instruments[l].Name, s.Reading[l], s.Level[l], c.Thresholds[l])
			}
		}
		sorted := slices.Clone(c.Scans)
		slices.SortFunc(sorted, func(a, b Scan) int { return cmp.Compare(a.Reading[l], b.Reading[l]) })
		for i := range sorted[1:] {
			a, b := sorted[i], sorted[i+1]
			if a.Level[l] > b.Level[l] || l == 1 && a.CDR > b.CDR || l == 2 && a.MMSE < b.MMSE {
				t.Fatalf("%s: %+v comes before %+v", Instruments[l].Name, a, b)
			}
		}
	}
	for _, s := range c.Scans {
		want := [3]Level{NC, NC, NC}
		switch s.DX {
		case "MCI":
			want[0] = MCI
		case "Dementia":
			want[0] = AD
		}
		switch {
		case s.CDR >= 1:
			want[1] = AD
		case s.CDR == 0.5:
			want[1] = MCI
		}
		switch {
		case s.MMSE <= 23:
			want[2] = AD
		case s.MMSE <= 27:
			want[2] = MCI
		}
		if s.Level != want || s.MMSE > 30 || s.MMSE < 0 || s.CDR > 3 {
			t.Fatalf("DX %s, CDR %v, MMSE %d are the levels %v, found %v", s.DX, s.CDR, s.MMSE, want, s.Level)
		}
	}
}

// Fresh scans are a Monte Carlo experiment on the truth: given s, instrument l
// says AD with probability π_l, so over scans with s in a band the number of
// ADs less Σπ has variance Σπ(1−π); likewise the exchangeable votes and p̄. 32
// sums, each within 5.2 standard errors: a false alarm in 150,000 seeds. A
// threshold off by 0.02 or a σ off by 3% would be seen.
func TestTruth(t *testing.T) {
	c := mustNew(t, Options{Fresh: 200000, Seed: 5})
	type sum struct{ excess, variance float64 }
	var instrument [3][8]sum
	var votes [8]sum
	add := func(s *sum, ad bool, p float64) {
		if ad {
			s.excess++
		}
		s.excess -= p
		s.variance += p * (1 - p)
	}
	for _, s := range c.Scans[PaperScans:] {
		band := int(min(max((s.Severity+0.4)/0.4, 0), 7))
		for l, p := range s.Pi {
			add(&instrument[l][band], s.Level[l] == AD, p)
		}
		if mean := (s.Pi[0] + s.Pi[1] + s.Pi[2]) / 3; math.Abs(mean-s.Mean) > 1e-12 {
			t.Fatalf("the mean of %v is not %v", s.Pi, s.Mean)
		}
		for _, ad := range s.Votes {
			add(&votes[band], ad, s.Mean)
		}
	}
	for band := range votes {
		for l, in := range Instruments {
			if s := instrument[l][band]; math.Abs(s.excess) > 5.2*math.Sqrt(s.variance) {
				t.Errorf("%s, band %d: %.1f more ADs than expected, standard error %.1f", in.Name, band, s.excess, math.Sqrt(s.variance))
			}
		}
		if s := votes[band]; math.Abs(s.excess) > 5.2*math.Sqrt(s.variance) {
			t.Errorf("votes, band %d: %.1f more ADs than expected, standard error %.1f", band, s.excess, math.Sqrt(s.variance))
		}
	}
}

// Who knows what the image shows is right about the majority of the instruments
// in 92% of scans, where the commoner answer alone is right in 85%. At 50,000
// scans the standard error, with about 2.6 scans per subject, is below 0.2 points,
// and the ranks of the study add 0.5: at a point the alarm is false for less
// than one seed in a hundred, and the seed is fixed.
func TestOracle(t *testing.T) {
	c := mustNew(t, Options{Fresh: 50000, Seed: 1})
	fresh := c.Scans[PaperScans:]
	slices.SortFunc(fresh, func(a, b Scan) int { return cmp.Compare(a.Shown, b.Shown) })
	ad := func(s *Scan) bool {
		n := 0
		for _, l := range s.Level {
			if l == AD {
				n++
			}
		}
		return n >= 2
	}
	ill := 0
	for i := range fresh {
		if ad(&fresh[i]) {
			ill++
		}
	}
	right, best := ill, 0 // when all are called AD
	for i := range fresh {
		if ad(&fresh[i]) {
			right--
		} else {
			right++
		}
		best = max(best, right)
	}
	n := float64(len(fresh))
	if majority := 1 - float64(ill)/n; math.Abs(majority-0.855) > 0.01 {
		t.Errorf("the commoner answer is right in %.3f", majority)
	}
	if oracle := float64(best) / n; math.Abs(oracle-0.92) > 0.01 {
		t.Errorf("the oracle is right in %.3f", oracle)
	}
}

// Several visits per subject, not all of them by all, with a small drift; s is
// close to standard normal. False alarm rate below 1e-6: five standard errors of
// the mean over some 630 subjects are 0.2.
func TestVisits(t *testing.T) {
	c := mustNew(t, Options{Seed: 4})
	subjects, mean, square := 0, 0.0, 0.0
	names := map[string]bool{}
	for i := range c.Scans {
		s := &c.Scans[i]
		if names[s.Name()] {
			t.Errorf("%s is there twice", s.Name())
		}
		names[s.Name()] = true
		mean += s.Severity / PaperScans
		square += s.Severity * s.Severity / PaperScans
		if s.Visit == 0 {
			subjects++
			continue
		}
		before := &c.Scans[i-1]
		if before.Subject != s.Subject || before.Visit != s.Visit-1 {
			t.Fatalf("%s does not follow its last visit", s.Name())
		}
		if drift := s.Severity - before.Severity; math.Abs(drift) > 0.3 {
			t.Errorf("%s drifts by %v", s.Name(), drift)
		}
	}
	if subjects < 550 || subjects > 720 {
		t.Errorf("%d subjects", subjects)
	}
	if math.Abs(mean) > 0.25 || math.Abs(square-1) > 0.35 {
		t.Errorf("severity has mean %v and mean square %v", mean, square)
	}
}

func TestNewIsRepeatable(t *testing.T) {
	a, b := mustNew(t, Options{Scans: 50, Seed: 7}), mustNew(t, Options{Scans: 50, Fresh: 30, Seed: 7})
	if !reflect.DeepEqual(a.Scans, b.Scans[:50]) || a.Thresholds != b.Thresholds {
		t.Error("fresh scans change those of the study")
	}
	if c := mustNew(t, Options{Scans: 50, Seed: 8}); reflect.DeepEqual(a.Scans, c.Scans) {
		t.Error("two seeds gave the same cohort")
	}
	last := b.Scans[49].Subject
	for _, s := range b.Scans[50:] {
		if s.Part != Fresh || s.Subject <= last {
			t.Fatalf("fresh scan %+v", s)
		}
	}
	for _, o := range []Options{{Scans: -1}, {Fresh: -1}, {Scans: 1 << 30}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
