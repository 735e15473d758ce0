package kernel

import (
	"fmt"
	"math"
	"testing"
)

// TestTwoVotes compares with the reference: numbers of components around those of vectors, all counts, parameters of many
// sizes, faint weights, and other numbers after those of an item.
func TestTwoVotes(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		r := newRand(5)
		for k := 1; k <= 20; k++ {
			v := NewTwoVotes(k)
			ref := NewTwoVotes(k)
			for s0 := range 17 {
				for s1 := range 17 - s0 {
					if s0+s1 == 0 {
						continue
					}
					e := make([]float32, 3*k+VoteSlack)
					for i := range e {
						switch i % 7 {
						case 0:
							e[i] = 0 // after an item as well, where 1/(0+0) must not count
						default:
							e[i] = float32(math.Exp(6 * r.NormFloat64()))
						}
					}
					for c := range k { // parameters are positive
						e[k+2*c], e[k+2*c+1] = float32(math.Exp(6*r.NormFloat64())), float32(math.Exp(6*r.NormFloat64()))
					}
					if k > 2 {
						e[1], e[2] = 1e-35, 1e-38
					}
					e[0] = 1
					what := fmt.Sprintf("%d components, %d and %d votes", k, s0, s1)
					var sums [2]float64
					want := make([]float32, 3*k)
					twoVotesGeneric(ref.work, want[:k], want[k:], e, k, s0, s1, 0.25, &sums)
					g := newGuarded(make([]float32, 3*k), k%4)
					weight, total := v.Likelihood(g.x, e[:3*k], s0, s1, 0.25)
					g.check(t, what)
					close := func(name string, got, want, scale float64) {
						t.Helper()
						if !(math.Abs(got-want) <= 1e-13*math.Abs(want)+scale) {
							t.Fatalf("%s: %s %v, want %v", what, name, got, want)
						}
					}
					close("weight", weight, sums[0], 0)
					close("total", total, sums[1], 0)
					for c := range k {
						// A float32 near the rounding of another differs by one in its last place.
						near := func(got, want float32) float64 { return 2e-7*math.Abs(float64(want)) + 1e-9*0.25 }
						close("gradient of a weight", float64(g.x[c]), float64(want[c]), near(g.x[c], want[c]))
						for i := k + 2*c; i < k+2*c+2; i++ {
							close("gradient of a parameter", float64(g.x[i]), float64(want[i]), near(g.x[i], want[i]))
						}
					}
					if w2, t2 := v.Likelihood(nil, e[:3*k], s0, s1, 0.25); w2 != weight || t2 != total {
						t.Fatalf("%s: without a gradient %v and %v", what, w2, t2)
					}
				}
			}
		}
	})
}

// TestLogits compares ClampLogits and StopGradients with their references: all lengths around those of vectors, values at, near and
// far beyond the limit, infinite and NaN.
func TestLogits(t *testing.T) {
	const limit = 20
	above := math.Nextafter32(limit, 100)
	special := []float32{limit, -limit, above, -above, float32(math.Inf(1)), float32(math.Inf(-1)), 0, float32(math.Copysign(0, -1)), 1e30}
	eachImpl(t, func(t *testing.T) {
		r := newRand(6)
		for width := 2; width <= 70; width++ {
			for _, k := range []int{1, width / 3, width / 2, width - 1} {
				if k < 1 {
					continue
				}
				rows := 1 + r.IntN(4)
				n := rows * width
				x := newGuarded(normals(r, n), n%4)
				for i := range x.x {
					x.x[i] *= 25
					if i%width >= k && r.IntN(3) == 0 {
						x.x[i] = special[r.IntN(len(special))]
					}
				}
				if n%5 == 0 {
					x.x[n-1] = float32(math.NaN())
				}
				what := fmt.Sprintf("%d rows of %d values, %d logits", rows, width, k)
				want, got := make([]float32, n), newGuarded(make([]float32, n), n%3)
				outside := clampLogitsGeneric(want, x.x, width, k, limit)
				if c := ClampLogits(got.x, x.x, width, k, limit); c != outside {
					t.Fatalf("%s: %d outside, want %d", what, c, outside)
				}
				got.check(t, what)
				sameBits(t, what+": clamped", got.x, want)
				g := newGuarded(normals(r, n), n%4)
				g.x[0] = 0
				copy(want, g.x)
				stopGradientsGeneric(want, x.x, width, k, limit)
				StopGradients(g.x, x.x, width, k, limit)
				g.check(t, what)
				sameBits(t, what+": gradients", g.x, want)
			}
		}
	})
}

func BenchmarkTwoVotes(b *testing.B) {
	for _, k := range []int{3, 10} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			eachImplB(b, func(b *testing.B) {
				r := newRand(5)
				const items = 64
				e, g := make([]float32, 3*k*items+VoteSlack), make([]float32, 3*k)
				for i := range e {
					e[i] = float32(math.Exp(2 * r.NormFloat64()))
				}
				var s [items]int
				for i := range s {
					s[i] = r.IntN(3)
				}
				v := NewTwoVotes(k)
				for b.Loop() {
					for i := range items {
						v.Likelihood(g, e[3*k*i:][:3*k], s[i], 2-s[i], 0.1)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*items), "ns/item")
			})
		})
	}
}
