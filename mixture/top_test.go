package mixture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"credence/internal/par"
	"credence/internal/rng"
	"credence/internal/special"
	"credence/internal/testsize"
)

func TestTopClassClosedForms(t *testing.T) {
	type row struct {
		alpha []float64
		want  []float64
	}
	var rows []row
	// Symmetric: 1/d, at every size of the parameter.
	for _, a := range []float64{1e-100, 1e-3, 0.1, 1, 30, 1e4, 1e7, 1e12} {
		for _, d := range []int{2, 3, 10, 100, 1000} {
			rows = append(rows, row{slices.Repeat([]float64{a}, d), slices.Repeat([]float64{1 / float64(d)}, d)})
		}
	}
	// Gamma(n) against two exponentials: ∫ γ(g; n) (1−e⁻ᵍ)² dg = 1 − 2·2⁻ⁿ + 3⁻ⁿ.
	for _, n := range []float64{0.01, 0.5, 2, 7, 30} {
		p := 1 - 2*math.Pow(2, -n) + math.Pow(3, -n)
		rows = append(rows, row{[]float64{n, 1, 1}, []float64{p, (1 - p) / 2, (1 - p) / 2}})
	}
	// A class that is all but impossible leaves a comparison of two.
	for _, ab := range [][2]float64{{3, 5}, {400, 380}, {1e6, 1.001e6}} {
		m := mustDirichlet(t, []float64{1}, [][]float64{{ab[0], ab[1]}})
		two := m.TopClass(nil)
		rows = append(rows, row{[]float64{ab[0], ab[1], 1e-12}, []float64{two[0], two[1], 0}})
	}
	rows = append(rows, row{[]float64{1e7, 1e-3, 3}, []float64{1, 0, 0}})
	for _, r := range rows {
		got := mustDirichlet(t, []float64{1}, [][]float64{r.alpha}).TopClass(nil)
		for i, want := range r.want {
			if !(math.Abs(got[i]-want) < topError) {
				t.Errorf("alpha %v: P(%d is top) = %v, want %v", r.alpha[:min(3, len(r.alpha))], i, got[i], want)
			}
		}
		if s := special.Sum(got); !(math.Abs(s-1) < 1e-14) {
			t.Errorf("alpha %v: sums to %v", r.alpha[:min(3, len(r.alpha))], s)
		}
	}
}

// slowTop returns the probabilities by brute force: the same integral over the
// logarithm u of the largest variable instead of its square root, in thousands
// of cells with three Gauss points each, distribution functions summed up from
// the right.
func slowTop(alpha []float64) []float64 {
	d := len(alpha)
	largest := slices.Max(alpha)
	// Below u = −40, P(U_j ≤ u) is e^{a_j u}/Γ(1+a_j) and the integral is a power.
	lo := max(-40, math.Log(largest)-50/math.Sqrt(largest))
	hi := math.Log(largest + 12*math.Sqrt(largest) + 60)
	const cells = 4000
	h := (hi - lo) / cells
	constant, logs := make([]float64, d), make([]float64, d)
	for j, a := range alpha {
		logs[j] = math.Log(a)
		if l, _ := math.Lgamma(a); a < 100 {
			constant[j] = a*logs[j] - a - l
		} else { // Stirling's formula
			constant[j] = 0.5*math.Log(a/(2*math.Pi)) - 1/(12*a) + 1/(360*a*a*a)
		}
	}
	density := func(j int, u float64) float64 {
		v := u - logs[j]
		return math.Exp(constant[j] + alpha[j]*(v-math.Expm1(v)))
	}
	// The points of a cell, from right to left; C[i][j] integrates from point i to
	// the cell's right end, by the parabola through the three points.
	r := math.Sqrt(0.6)
	points := [3]float64{r, 0, -r}
	weights := [3]float64{5. / 9, 8. / 9, 5. / 9}
	var c [3][3]float64
	for i, x := range points {
		for j, p := range points {
			q, s := points[(j+1)%3], points[(j+2)%3]
			primitive := func(x float64) float64 { return x*x*x/3 - (q+s)*x*x/2 + q*s*x }
			c[i][j] = (primitive(1) - primitive(x)) / ((p - q) * (p - s))
		}
	}
	result, above := make([]float64, d), make([]float64, d)
	pdf, cdf := make([][3]float64, d), make([][3]float64, d)
	for n := cells - 1; n >= 0; n-- {
		mid := lo + (float64(n)+0.5)*h
		for j := range alpha {
			for i, p := range points {
				pdf[j][i] = density(j, mid+p*h/2)
			}
			for i := range points {
				cdf[j][i] = 1 - above[j] - h/2*(c[i][0]*pdf[j][0]+c[i][1]*pdf[j][1]+c[i][2]*pdf[j][2])
			}
			for i, w := range weights {
				above[j] += h / 2 * w * pdf[j][i]
			}
		}
		for i, w := range weights {
			for j := range alpha {
				p := h / 2 * w * pdf[j][i]
				for k := range alpha {
					if k != j {
						p *= cdf[k][i]
					}
				}
				result[j] += p
			}
		}
	}
	if lo == -40 {
		l, total := 0.0, special.Sum(alpha)
		for _, a := range alpha {
			g, _ := math.Lgamma(1 + a)
			l += a*lo - g
		}
		for j, a := range alpha {
			result[j] += a / total * math.Exp(l)
		}
	}
	return result
}

// The whole range of parameters and numbers of classes, one component and many,
// with weights down to 1e-12.
func TestTopClassAgainstSlow(t *testing.T) {
	n := testsize.Choose(10, 30, 100)
	ranges := [][2]float64{{-3, 6}, {-3, 1}, {-1, 2}, {0, 0.5}, {-3, -2}, {2, 2.1}, {3.9, 4}, {5.99, 6}}
	var mu sync.Mutex
	worst := 0.0
	par.For(n*len(ranges), func(i int) {
		r := rand.New(rng.New(8, "top", uint64(i)))
		lo, hi := ranges[i%len(ranges)][0], ranges[i%len(ranges)][1]
		d, k := 3+r.IntN(8), 1
		if r.IntN(4) == 0 {
			k = 2 + r.IntN(14)
		}
		w, alpha, total := make([]float64, k), make([][]float64, k), 0.0
		for c := range w {
			w[c] = math.Pow(10, -12*r.Float64()*float64(r.IntN(2)))
			total += w[c]
			for range d {
				alpha[c] = append(alpha[c], math.Pow(10, lo+(hi-lo)*r.Float64()))
			}
		}
		want := make([]float64, d)
		for c := range w {
			w[c] /= total
			for j, p := range slowTop(alpha[c]) {
				want[j] += w[c] * p
			}
		}
		m, err := NewDirichlet(w, alpha)
		if err != nil {
			t.Error(err)
			return
		}
		for j, got := range m.TopClass(nil) {
			e := math.Abs(got - want[j])
			if !(e < topError) {
				t.Errorf("w = %v, alpha = %v: P(%d is top) = %v, want %v (error %.2g)", w, alpha, j, got, want[j], e)
			}
			mu.Lock()
			worst = max(worst, e)
			mu.Unlock()
		}
	})
	t.Logf("largest error of %d mixtures: %.2g", n*len(ranges), worst)
}

// Classes are left out by a bound, which must be one.
func TestLogAbove(t *testing.T) {
	for i := range uint64(5000) {
		r := rand.New(rng.New(9, "above", i))
		b := math.Pow(10, -3+7*r.Float64())
		a := b * math.Pow(10, -4*r.Float64())
		exact := mustDirichlet(t, []float64{1}, [][]float64{{a, b}}).Marginal(0).Survival(0.5)
		if bound := logAbove(a, b, math.Log(a), math.Log(b)); exact > 1e-300 && !(bound >= math.Log(exact)-1e-9) {
			t.Errorf("P(Gamma(%v) > Gamma(%v)) is %v, above its bound %v", a, b, exact, math.Exp(bound))
		}
	}
}

// ensembles draws mixtures like those of five networks with three components, of
// which one has most of the weight.
func ensembles(tb testing.TB, n, classes int) []*Dirichlet {
	list := make([]*Dirichlet, n)
	for i := range list {
		r := rand.New(rng.New(1, "ensembles", uint64(i)))
		var w []float64
		var alpha [][]float64
		for range 5 {
			member, total := make([]float64, 3), 0.0
			for k := range member {
				member[k] = math.Exp(6 * r.NormFloat64())
				total += member[k]
				a := make([]float64, classes)
				for j := range a {
					a[j] = math.Exp(-1 + 2.5*r.NormFloat64())
				}
				alpha = append(alpha, a)
			}
			for _, v := range member {
				w = append(w, v/total/5)
			}
		}
		list[i] = mustDirichlet(tb, w, alpha)
	}
	return list
}

func TestTopClassAllocatesLittle(t *testing.T) {
	const d = 5
	dst := make([]float64, 0, d)
	for _, m := range ensembles(t, 50, d) {
		// The result's zeros, the workspace, the classes and their distributions, and
		// the numbers, which grow with the number of classes that are integrated. Under the race detector a pool forgets
		// one in four of what it is given.
		if n := testing.AllocsPerRun(8, func() { dst = m.TopClass(dst[:0]) }); n > 4+d-2 {
			t.Errorf("%v allocations", n)
		}
	}
}

func BenchmarkTopClass(b *testing.B) {
	m := mustDirichlet(b, []float64{0.5, 0.3, 0.2}, [][]float64{{8, 2, 1}, {0.3, 5, 2}, {40, 50, 60}})
	var dst []float64
	b.Run("K=3/d=3", func(b *testing.B) {
		for b.Loop() {
			dst = m.TopClass(dst[:0])
		}
	})
	for _, d := range []int{5, 10} {
		b.Run(fmt.Sprintf("K=15/d=%d", d), func(b *testing.B) {
			list := ensembles(b, 200, d)
			for i := 0; b.Loop(); i++ {
				dst = list[i%len(list)].TopClass(dst[:0])
			}
		})
	}
}
