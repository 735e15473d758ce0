package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// padded returns a slice of n numbers with room for whole blocks, and NaN behind it.
func padded(n int) []float64 {
	x := make([]float64, WholeBlocks(n)+BetaLanes)
	for i := n; i < len(x); i++ {
		x[i] = math.NaN()
	}
	return x[:n:WholeBlocks(n)]
}

// drawTerms draws n terms, from one end of the range of parameters to the other, some of very little weight.
func drawTerms(r *rand.Rand, n int) *BetaTerms {
	t := &BetaTerms{padded(n), padded(n), padded(n), padded(n), padded(n), padded(n), padded(n)}
	for i := range n {
		a, b := math.Exp(24*r.Float64()-12), math.Exp(24*r.Float64()-12)
		if r.IntN(3) == 0 {
			a, b = math.Exp(4*r.Float64()-2), math.Exp(4*r.Float64()-2)
		}
		t.A[i], t.B[i], t.LogA[i], t.LogB[i], t.LogSum[i] = a, b, math.Log(a), math.Log(b), math.Log(a+b)
		t.LogW[i], t.LogBeta[i] = -30*r.Float64()*r.Float64(), lgamma(a)+lgamma(b)-lgamma(a+b)
	}
	return t
}

// zoneRule is the rule of a table that leaves out some terms.
func zoneRule(n int) *ZoneRule {
	return &ZoneRule{LogMissing: -22, LogNarrow: 0.4, LogTerms: math.Log(float64(n)), End: 30, Step: 0.7, Longest: 1.2, Power: 1.5, Mild: 1.8, Far: 3, Tail: -3.5, Bend: 3.4}
}

// TestBetaTableSet compares zones with those of plain Go, and checks what they claim: the mass beyond a term's range, which is at most
// LogMissing, and that zones follow one another.
func TestBetaTableSet(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(36)
		var table, reference BetaTable
		for n := range 40 {
			terms, rule := drawTerms(r, n), zoneRule(n)
			lo, hi, ok := table.Set(terms, rule)
			if len(terms.A) != n || len(terms.LogW) != n || table.n != n {
				t.Fatalf("%d terms: lengths changed", n)
			}
			if n == 0 {
				if ok {
					t.Fatal("a table of no terms")
				}
				continue
			}
			reference.n, reference.blocks = n, make([]betaBlock, len(table.blocks))
			var least [3]BetaPoints
			betaZonesGeneric(&least, reference.blocks, terms, rule)
			some, all, lowest, highest := false, true, math.Inf(1), math.Inf(-1)
			for i := range n {
				got, want := &table.blocks[i/BetaLanes], &reference.blocks[i/BetaLanes]
				lane := i % BetaLanes
				near := func(name string, g, w float64) {
					if g != w && !(math.Abs(g-w) <= 1e-13*max(1, math.Abs(w))) {
						t.Errorf("term %d of %d, a %v, b %v: %s %v, want %v", i, n, terms.A[i], terms.B[i], name, g, w)
					}
				}
				for j := range want.Edges {
					near(fmt.Sprint("edge ", j), got.Edges[j][lane], want.Edges[j][lane])
				}
				from, to := table.Range(i)
				if out := math.IsInf(from, 1); out != (terms.LogW[i] <= rule.LogMissing) {
					t.Errorf("term %d of weight e^%v: left out: %v", i, terms.LogW[i], out)
				} else if out {
					continue
				}
				for j := range want.Steps {
					near(fmt.Sprint("step ", j), got.Steps[j][lane], want.Steps[j][lane])
				}
				near("C", got.C[lane], want.C[lane])
				if got.A[lane] != terms.A[i] || got.B[lane] != terms.B[i] {
					t.Errorf("term %d: parameters %v and %v", i, got.A[lane], got.B[lane])
				}
				all = all && from < to // else its mass is beyond the ends
				for j := range betaZones {
					if from, to := got.Edges[j][lane], got.Edges[j+1][lane]; !(from <= to) && j != 2 && all {
						t.Errorf("term %d: zone %d from %v to %v", i, j, from, to)
					}
				}
				some, lowest, highest = true, min(lowest, from), max(highest, to)
			}
			if ok != (some && all) || some && (lo != lowest || hi != highest) {
				t.Errorf("%d terms: from %v to %v, %v, want %v to %v", n, lo, hi, ok, lowest, highest)
			}
		}
	})
}

// TestBetaTableLevels compares with the smallest step of all zones that touch a bucket: the level's step is at most that, and less than
// 1/32 below it. A bucket that no zone touches has none.
func TestBetaTableLevels(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(37)
		var table BetaTable
		for n := 1; n < 100; n++ {
			terms, rule := drawTerms(r, n%20+1), zoneRule(n)
			lo, hi, ok := table.Set(terms, rule)
			if !ok {
				continue
			}
			for i := range table.blocks { // steps beyond the levels at both ends
				b := &table.blocks[i]
				b.Steps[r.IntN(betaZones)][r.IntN(BetaLanes)] = 1e-12
				b.Steps[r.IntN(betaZones)][r.IntN(BetaLanes)] = 100
			}
			width := math.Ldexp(1, math.Ilogb((hi-lo)/60)+1)
			per, first := 1/width, math.Floor(lo/width)
			var got [BetaBuckets]uint16
			table.Levels(&got, per, first)
			for bucket, level := range got {
				want := math.Inf(1)
				for i := range table.n {
					b, lane := &table.blocks[i/BetaLanes], i%BetaLanes
					if b.Edges[0][lane] > b.Edges[betaZones][lane] {
						continue
					}
					for j := range betaZones {
						from, to := b.Edges[j][lane], b.Edges[j+1][lane]
						if from < to && int(from*per-first) <= bucket && bucket <= int(to*per-first) {
							want = min(want, b.Steps[j][lane])
						}
					}
				}
				step := StepOfLevel(level)
				switch {
				case want < 0x1p-29:
					want = 0
				case want > 7.875 && !math.IsInf(want, 1):
					want = 7.875
				}
				if step > want || !(step > want*(1-1./32)) && step != want {
					t.Fatalf("bucket %d: step %v of level %d, the smallest required is %v", bucket, step, level, want)
				}
			}
		}
	})
}

// TestBetaTable compares with the densities one by one in plain Go, of all terms that matter in a block of points.
func TestBetaTable(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(31)
		var table BetaTable
		for n := 1; n < 24; n++ {
			blocks := n % 4
			z := make([]float64, blocks*BetaLanes)
			for i := range z {
				z[i] = 60*r.Float64() - 30
			}
			slices.Sort(z)
			if blocks == 3 { // a last block of one point, as tables have it
				for i := range BetaLanes {
					z[2*BetaLanes+i] = z[len(z)-1]
				}
			}
			terms := drawTerms(r, n)
			table.Set(terms, zoneRule(n))
			if blocks > 0 { // a term that ends in the last point
				b, lane := &table.blocks[0], r.IntN(min(n, BetaLanes))
				b.Edges[0][lane], b.Edges[betaZones][lane] = z[len(z)-1]-1, z[len(z)-1]
				b.A[lane], b.B[lane], b.C[lane] = 1, 2, 0
			}
			got := make([]float64, BetaDerivatives*len(z)+1)
			for i := range got {
				got[i] = math.NaN() // of which nothing may be left but the last
			}
			table.Sums(got[:BetaDerivatives*len(z)], z)
			if !math.IsNaN(got[len(got)-1]) {
				t.Fatal("wrote behind the end")
			}
			for block := range blocks {
				at := (*BetaPoints)(z[block*BetaLanes:])
				var matter []BetaTerm
				for k := range n {
					if lo, hi := table.Range(k); lo < at[BetaLanes-1] && hi >= at[0] {
						b, lane := &table.blocks[k/BetaLanes], k%BetaLanes
						matter = append(matter, BetaTerm{b.A[lane], b.B[lane], b.C[lane]})
					}
				}
				var sums [BetaDerivatives]BetaPoints
				for d := range sums {
					copy(sums[d][:], got[d*len(z)+block*BetaLanes:])
				}
				compareBetaSums(t, &sums, at, matter)
			}
		}
	})
}

// compareBetaSums reports sums that differ from those of plain Go. Errors of a derivative are those of its largest
// term, from φs to φsᵈ.
func compareBetaSums(t *testing.T, got *[BetaDerivatives]BetaPoints, z *BetaPoints, terms []BetaTerm) {
	t.Helper()
	var want [BetaDerivatives]BetaPoints
	betaSumsGeneric(&want, z, terms)
	for i := range z {
		size := [BetaDerivatives]float64{1e-100, 1e-100, 1e-100, 1e-100, 1e-100, 1e-100}
		for _, term := range terms {
			var one [BetaDerivatives]BetaPoints
			betaSumsGeneric(&one, z, []BetaTerm{term})
			s := term.A + term.B
			for d := range size {
				size[d] += one[0][i] * max(math.Pow(s, float64(d)), s) * (1 + s)
			}
		}
		for d := range got {
			if e := math.Abs(got[d][i] - want[d][i]); !(e <= 2e-12*size[d]) {
				t.Errorf("%d terms, derivative %d at %v: %v, want %v", len(terms), d, z[i], got[d][i], want[d][i])
			}
		}
	}
}

// plainTerms returns terms of which all matter everywhere.
func plainTerms(table *BetaTable, terms ...BetaTerm) {
	table.n, table.blocks = len(terms), make([]betaBlock, WholeBlocks(len(terms))/BetaLanes)
	for i := range table.blocks {
		b := &table.blocks[i]
		for lane := range BetaLanes {
			b.Edges[0][lane], b.Edges[betaZones][lane] = math.Inf(1), math.Inf(-1)
			if k := i*BetaLanes + lane; k < len(terms) {
				b.A[lane], b.B[lane], b.C[lane] = terms[k].A, terms[k].B, terms[k].C
				b.Edges[0][lane], b.Edges[betaZones][lane] = -99, 99
			}
		}
	}
}

// TestBetaTableDerivatives: central differences of each are the next.
func TestBetaTableDerivatives(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		const h = 1e-4
		var table BetaTable
		plainTerms(&table, BetaTerm{2, 5, math.Log(30 * 0.7)}, BetaTerm{0.3, 1.5, -1}, BetaTerm{20, 3, 6})
		var at [3][BetaDerivatives * BetaLanes]float64
		var z [3]BetaPoints
		for i := range BetaLanes {
			z[1][i] = float64(i) - 3.7
			z[0][i], z[2][i] = z[1][i]-h, z[1][i]+h
		}
		for j := range at {
			table.Sums(at[j][:], z[j][:])
		}
		for d := 1; d < BetaDerivatives; d++ {
			for i := range BetaLanes {
				before := (d-1)*BetaLanes + i
				want := (at[2][before] - at[0][before]) / (2 * h)
				if got := at[1][d*BetaLanes+i]; !(math.Abs(got-want) <= 1e-5*(1+math.Abs(want))) {
					t.Errorf("derivative %d at %v: %v, want %v", d, z[1][i], got, want)
				}
			}
		}
	})
}

// TestBetaBeyond compares with the incomplete beta function next to an end, which for one parameter of 1 is a power,
//
//	I_ε(a, 1) = ε^a,   I_ε(1, b) = 1 − (1−ε)^b,
//
// and with plain Go.
func TestBetaBeyond(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(38)
		const end = 30
		small := 1 / (1 + math.Exp(end))
		for n := 1; n < 30; n++ {
			terms := drawTerms(r, n)
			var table BetaTable
			for i := range n {
				switch i % 3 {
				case 0:
					terms.A[i], terms.B[i], terms.LogBeta[i] = math.Exp(2-8*r.Float64()), 1, 0
					terms.LogBeta[i] = -math.Log(terms.A[i])
				case 1:
					terms.A[i], terms.B[i] = 1, math.Exp(16*r.Float64())
					terms.LogBeta[i] = -math.Log(terms.B[i])
				}
				terms.LogA[i], terms.LogB[i], terms.LogSum[i] = math.Log(terms.A[i]), math.Log(terms.B[i]), math.Log(terms.A[i]+terms.B[i])
			}
			table.Set(terms, zoneRule(n))
			got, want := padded(n), make([]float64, len(table.blocks)*BetaLanes)
			for _, upper := range []bool{false, true} {
				sum := table.Beyond(got, upper, end)
				betaBeyondGeneric(want, table.blocks, upper, end, math.Exp(-end))
				total := 0.0
				for i, g := range got {
					total += g
					if w := want[i]; !(math.Abs(g-w) <= 1e-11*w) {
						t.Errorf("Beta(%v, %v), upper %v: %v, want %v", terms.A[i], terms.B[i], upper, g, w)
					}
					exact, weight := math.NaN(), math.Exp(terms.LogW[i])
					switch {
					case upper || g == 0:
					case i%3 == 0:
						exact = weight * math.Pow(small, terms.A[i])
					case i%3 == 1:
						exact = -weight * math.Expm1(terms.B[i]*math.Log1p(-small))
					}
					if !math.IsNaN(exact) && !(math.Abs(g-exact) <= 1e-9*exact) {
						t.Errorf("Beta(%v, %v): mass %v below −%v, want %v", terms.A[i], terms.B[i], g, end, exact)
					}
				}
				if !(math.Abs(total-sum) <= 1e-14*sum) {
					t.Errorf("sum %v, want %v", sum, total)
				}
			}
		}
	})
}

func BenchmarkBetaTable(b *testing.B) {
	eachImplB(b, func(b *testing.B) {
		for _, n := range []int{1, 22, 45} {
			var table BetaTable
			var terms []BetaTerm
			for i := range n {
				terms = append(terms, BetaTerm{1.5 + float64(i), 3, -2})
			}
			plainTerms(&table, terms...)
			z := make([]float64, 8*BetaLanes)
			for i := range z {
				z[i] = 0.1*float64(i) - 3
			}
			dst := make([]float64, BetaDerivatives*len(z))
			b.Run(fmt.Sprintf("terms=%d", n), func(b *testing.B) {
				for b.Loop() {
					table.Sums(dst, z)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*8), "ns/block")
			})
		}
	})
}

func BenchmarkBetaZones(b *testing.B) {
	eachImplB(b, func(b *testing.B) {
		const n = 45
		terms, rule := drawTerms(newRand(39), n), zoneRule(n)
		var table BetaTable
		var levels [BetaBuckets]uint16
		for b.Loop() {
			lo, hi, _ := table.Set(terms, rule)
			table.Levels(&levels, 1, math.Floor(lo))
			_ = hi
		}
	})
}
