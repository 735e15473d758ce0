package mixture

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// simplex minimizes cost·x with rows·x = rhs ≥ 0 and x ≥ 0, from the basis whose columns are unit vectors, by Bland's
// rule, which cannot cycle.
func simplex(cost []float64, rows [][]float64, rhs []float64, basis []int) float64 {
	for {
		enter := -1
		for j := range cost {
			reduced := cost[j]
			for i, b := range basis {
				reduced -= cost[b] * rows[i][j]
			}
			if reduced < -1e-12 {
				enter = j
				break
			}
		}
		if enter < 0 {
			value := 0.0
			for i, b := range basis {
				value += cost[b] * rhs[i]
			}
			return value
		}
		leave, least := -1, math.Inf(1)
		for i := range rows {
			if rows[i][enter] > 1e-12 {
				if r := rhs[i] / rows[i][enter]; r < least-1e-15 || r <= least && basis[i] < basis[leave] {
					leave, least = i, r
				}
			}
		}
		pivot := rows[leave][enter]
		for j := range cost {
			rows[leave][j] /= pivot
		}
		rhs[leave] /= pivot
		for i := range rows {
			if x := rows[i][enter]; i != leave && x != 0 {
				for j := range cost {
					rows[i][j] -= x * rows[leave][j]
				}
				rhs[i] -= x * rhs[leave]
			}
		}
		basis[leave] = enter
	}
}

// splitsOf returns all splits of n votes between d classes with their probabilities under m.
func splitsOf(t *testing.T, m *Dirichlet, n int) (splits [][]float64, p []float64) {
	var add func(prefix []float64, left int)
	add = func(prefix []float64, left int) {
		if len(prefix) == m.Classes()-1 {
			s := append(slices.Clone(prefix), float64(left))
			l, err := m.LogCounts(s)
			if err != nil {
				t.Fatal(err)
			}
			splits, p = append(splits, s), append(p, math.Exp(l))
			return
		}
		for c := range left + 1 {
			add(append(slices.Clone(prefix), float64(c)), left-c)
		}
	}
	add(nil, n)
	return splits, p
}

// terms returns the numbers whose differences the score sums: the shares, or the cumulative shares.
func terms(score Score, x []float64) []float64 {
	x = slices.Clone(x)
	if score == WassersteinScore {
		for k := 1; k < len(x); k++ {
			x[k] += x[k-1]
		}
	}
	return x
}

// linearProgram returns the least expected distance, from the linear program over q and the positive and negative
// parts of each difference from a share that occurs.
func linearProgram(score Score, splits [][]float64, p []float64, d, n int) float64 {
	prob := make([]float64, d*(n+1)) // of term k being s/n
	for i, s := range splits {
		for k, c := range terms(score, s) {
			prob[k*(n+1)+int(c)] += p[i]
		}
	}
	pairs := d * (n + 1)
	width := d + 2*pairs + 1
	cost := make([]float64, width)
	cost[width-1] = 1e4 // of a sum other than 1
	var rows [][]float64
	var rhs []float64
	var basis []int
	for k := range d {
		for s := range n + 1 {
			i := k*(n+1) + s
			row := make([]float64, width)
			for j := range d {
				if j == k || j < k && score == WassersteinScore {
					row[j] = 1
				}
			}
			row[d+i], row[d+pairs+i] = -1, 1
			cost[d+i], cost[d+pairs+i] = prob[i], prob[i]
			rows, rhs, basis = append(rows, row), append(rhs, float64(s)/float64(n)), append(basis, d+pairs+i)
		}
	}
	sum := make([]float64, width)
	for j := range d {
		sum[j] = 1
	}
	sum[width-1] = 1
	return simplex(cost, append(rows, sum), append(rhs, 1), append(basis, width-1))
}

// randomDist returns a mixture with some tied classes.
func randomDist(r *rand.Rand, d int) *Dirichlet {
	weights, alpha := make([]float64, 1+r.IntN(3)), [][]float64{}
	total := 0.0
	for k := range weights {
		weights[k] = 0.1 + r.Float64()
		total += weights[k]
		row := make([]float64, d)
		for i := range row {
			row[i] = math.Exp(2 * r.NormFloat64())
			if r.IntN(3) == 0 {
				row[i] = row[0]
			}
		}
		alpha = append(alpha, row)
	}
	for k := range weights {
		weights[k] /= total
	}
	m, err := NewDirichlet(weights, alpha)
	if err != nil {
		panic(err)
	}
	return m
}

// TestPointLinearProgram: the expected distance at the point equals the optimum of a linear program.
func TestPointLinearProgram(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 200 {
		d, n := 2+r.IntN(4), 1+r.IntN(5)
		m := randomDist(r, d)
		splits, p := splitsOf(t, m, n)
		for _, score := range []Score{WassersteinScore, ManhattanScore} {
			q := m.Point(nil, score, n)
			value, sum := 0.0, 0.0
			at := terms(score, q)
			for i, s := range splits {
				for k, c := range terms(score, s) {
					value += p[i] * math.Abs(at[k]-c/float64(n))
				}
			}
			for _, x := range q {
				sum += x
				if !(x >= 0 && x <= 1) {
					t.Errorf("trial %d, %v of %d votes: point %v", trial, score, n, q)
				}
			}
			if math.Abs(sum-1) > 1e-12 {
				t.Errorf("trial %d, %v: the point sums to %v", trial, score, sum)
			}
			if want := linearProgram(score, splits, p, d, n); !(math.Abs(value-want) <= 1e-9) {
				t.Errorf("trial %d, %v of %d votes on %d classes: expected distance %v, linear program %v", trial, score, n, d, value, want)
			}
		}
	}
}

// TestPointProbabilities: without votes, cumulative probabilities are medians, and the quantiles of the Manhattan
// distance have one level, also where the distribution function is flat between separated modes.
func TestPointProbabilities(t *testing.T) {
	apart, err := NewDirichlet([]float64{0.5, 0.5}, [][]float64{{1e6, 2e6, 3e6}, {4e6, 1e6, 1e6}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for trial := range 60 {
		m := apart
		if trial > 0 {
			m = randomDist(r, 2+r.IntN(4))
		}
		at := terms(WassersteinScore, m.Point(nil, WassersteinScore, 0))
		for k, c := range at[:m.Classes()-1] {
			if f := m.Cumulative(k).CDF(c); !(math.Abs(f-0.5) < 1e-8) {
				t.Errorf("trial %d: P(p₀+…+p_%d ≤ %v) = %v, expected the median", trial, k, c, f)
			}
		}
		q := m.Point(nil, ManhattanScore, 0)
		lo, hi, sum := 1.0, 0.0, 0.0
		for k, x := range q {
			f := m.Marginal(k).CDF(x)
			lo, hi, sum = min(lo, f), max(hi, f), sum+x
		}
		if !(hi-lo < 1e-6) || !(math.Abs(sum-1) < 1e-12) {
			t.Errorf("trial %d: the quantiles %v with the sum %v have levels from %v to %v", trial, q, sum, lo, hi)
		}
	}
}

// TestPointClasses: the points that are one class, and the mean.
func TestPointClasses(t *testing.T) {
	m, err := NewDirichlet([]float64{1}, [][]float64{{4, 1, 1, 5}})
	if err != nil {
		t.Fatal(err)
	}
	for score, want := range map[Score][]float64{AbsoluteScore: {0, 0, 1, 0}, ZeroOneScore: {0, 0, 0, 1}, MeanScore: m.Mean(nil)} {
		if got := m.Point([]float64{7}, score, 0); !slices.Equal(got[1:], want) || got[0] != 7 {
			t.Errorf("%v: %v, expected %v after 7", score, got, want)
		}
	}
	for _, name := range ScoreNames() {
		if s, err := ParseScore(name); err != nil || s.String() != name {
			t.Errorf("ParseScore(%q) = %v, %v", name, s, err)
		}
	}
	if _, err := ParseScore("emd"); err == nil {
		t.Error("ParseScore(emd): expected an error")
	}
	// A tie: one vote on two equal classes has the median anywhere from 0 to 1.
	tie, _ := NewDirichlet([]float64{1}, [][]float64{{2, 2}})
	for _, score := range []Score{WassersteinScore, ManhattanScore} {
		if got := tie.Point(nil, score, 1); !slices.Equal(got, []float64{0.5, 0.5}) {
			t.Errorf("%v of a tie: %v, expected the middle", score, got)
		}
	}
}
