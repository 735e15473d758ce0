package head

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"credence/internal/oracle"
)

// TestRatersOracle: the likelihood against sums in 120 bits. Of two classes the integral over z is a
// trapezoidal sum with steps of 1/8 from −45 to 45, beyond which nothing is left of α ≥ 0.7; it shares neither nodes nor functions with the head. The head's weights of nodes are
// exponentials in float32, and windows leave out what is below e^−13.
func TestRatersOracle(t *testing.T) {
	const bits oracle.Precision = 120
	r := rand.New(rand.NewPCG(11, 12))
	h := ratedHead(t, 1, 2, 4, r)
	for range 12 {
		out, b := ratedBatch(h, 1, 0, r)
		for range 1 + r.IntN(4) {
			c := r.IntN(2)
			b.Ratings = append(b.Ratings, Rating{0, int32(r.IntN(4)), int32(c)})
			b.Counts.Values[c]++
		}
		for i := range out {
			out[i] = max(out[i], -0.3)
		}
		got := h.Loss(nil, out, b, Step{}).Mean
		alpha := []float64{math.Exp(float64(out[1])), math.Exp(float64(out[2]))}
		one := bits.New(1)
		add := func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(uint(bits)).Add(x, y) }
		mul := func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(uint(bits)).Mul(x, y) }
		quo := func(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(uint(bits)).Quo(x, y) }
		whole, like := bits.New(0), bits.New(0)
		for i := -45 * 8; i <= 45*8; i++ {
			z := bits.New(float64(i) / 8)
			odds := bits.Exp(z)
			q := quo(one, add(one, odds))
			p := mul(odds, q)
			w := mul(bits.Pow(p, bits.New(alpha[1])), bits.Pow(q, bits.New(alpha[0])))
			whole = add(whole, w)
			for _, v := range b.Ratings {
				o := mul(odds, bits.Exp(bits.New(float64(h.bias[v.Rater]))))
				g := quo(one, add(one, bits.Exp(bits.New(-float64(h.guess[v.Rater])))))
				chance := quo(o, add(one, o))
				if v.Class == 0 {
					chance = quo(one, add(one, o))
				}
				sure := add(one, new(big.Float).Neg(g))
				w = mul(w, add(mul(sure, chance), quo(g, bits.New(2))))
			}
			like = add(like, w)
		}
		ratio, _ := quo(like, whole).Float64()
		if want := -math.Log(ratio); !(math.Abs(got-want) <= 2e-5) {
			t.Errorf("α %v, votes %v: loss %v, want %v", alpha, b.Ratings, got, want)
		}
	}
}
