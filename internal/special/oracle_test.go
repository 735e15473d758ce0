package special

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"credence/internal/oracle"
	"credence/internal/rng"
	"credence/internal/testsize"
)

// logUniform draws from 10^lo to 10^hi.
func logUniform(r *rand.Rand, lo, hi float64) float64 {
	return math.Pow(10, lo+(hi-lo)*r.Float64())
}

func points() uint64 { return uint64(testsize.Choose(300, 1000, 3000)) }

// The tails of single Beta distributions at logits around their center, the
// density of the logit with them.
func TestTailsAgainstOracle(t *testing.T) {
	for i := range points() {
		r := rand.New(rng.New(1, "tails", i))
		a, b := logUniform(r, -3, 7), logUniform(r, -3, 7)
		d := NewBeta(a, b)
		z := math.Log(a/b) + math.Sqrt(1/a+1/b)*20*(r.Float64()-0.5)
		p := AtLogit(z)
		if p.X > p.Y {
			p, d = AtLogit(-z), NewBeta(b, a)
			a, b = b, a
		}
		if p.X < 1e-300 {
			continue
		}
		p = At(p.X)
		lower, upper, density := d.Tails(&p)
		wantLower, wantUpper := oracle.Quick.IncBeta(a, b, oracle.Quick.New(p.X))
		rounding := 0x1p-51 * density
		check := func(what string, got float64, want *big.Float) {
			t.Helper()
			w, _ := want.Float64()
			if w > 1e-300 && !(math.Abs(got-w) <= 1e-12*w+rounding) {
				t.Errorf("%s of Beta(%v, %v) at %v is %v, want %v (relative error %.2g)", what, a, b, p.X, got, w, got/w-1)
			}
		}
		check("lower tail", lower, wantLower)
		check("upper tail", upper, wantUpper)
		x := oracle.Default.New(p.X)
		l := oracle.Default.Log(x)
		l.Mul(l, oracle.Default.New(a))
		m := oracle.Default.Log1p(new(big.Float).Neg(x))
		l.Add(l, m.Mul(m, oracle.Default.New(b)))
		l.Sub(l, oracle.Default.LogBeta(a, b))
		// Where the density is far out its logarithm is large, and known to a
		// relative 1e-16 only.
		want, _ := l.Float64()
		slope := math.Abs(a*p.Y-b*p.X) * 0x1p-52
		if got := d.LogFactor(&p); !(math.Abs(got-want) <= 6e-14+4e-16*math.Abs(want)+slope) {
			t.Errorf("log-density of logit Beta(%v, %v) at %v is %v, want %v", a, b, p.X, got, want)
		}
	}
}

func TestLogBetaAgainstOracle(t *testing.T) {
	for i := range points() {
		r := rand.New(rng.New(2, "beta", i))
		a, b := logUniform(r, -3, 7), logUniform(r, -3, 7)
		want, _ := oracle.Quick.LogBeta(a, b).Float64()
		if got := LogBeta(a, b); !(math.Abs(got-want) <= 1e-15*max(math.Abs(want), 8)) {
			t.Errorf("LogBeta(%v, %v) = %v, want %v (error %.2g)", a, b, got, want, got-want)
		}
	}
}

// The density of the square root of a Gamma variable, within ten standard
// deviations of its center.
func TestRootGammaAgainstOracle(t *testing.T) {
	for i := range points() {
		r := rand.New(rng.New(3, "gamma", i))
		a := logUniform(r, -3, 7)
		v := NewRootGamma(a)
		s := math.Abs(v.Root + 10*(r.Float64()-0.5))
		// 2 s²ᵃ⁻¹ exp(−s²) / Γ(a)
		p := oracle.Default
		bs, ba := p.New(s), p.New(a)
		l := p.Log(bs)
		l.Mul(l, new(big.Float).Sub(new(big.Float).Add(ba, ba), p.New(1)))
		l.Add(l, p.Log(p.New(2)))
		l.Sub(l, new(big.Float).Mul(bs, bs))
		l.Sub(l, p.LogGamma(ba))
		want, _ := l.Float64()
		// The derivative of the logarithm, times what rounding s and √a may do.
		rounding := 0x1p-51 * v.Root * math.Abs((2*a-1)/s-2*s)
		got := math.Log(v.Density(s, math.Log(s)))
		if want > -600 && !(math.Abs(got-want) <= 2e-13+rounding) {
			t.Errorf("log-density of the root of Gamma(%v) at %v is %v, want %v (error %.2g)", a, s, got, want, got-want)
		}
	}
}

func TestDigammaExcess(t *testing.T) {
	// ψ(2) − ln 1 = 1 − γ; ψ(3/2) − ln ½ = 2 − γ − ln 2; and the recurrence
	// ψ(a+2) = ψ(a+1) + 1/(a+1) everywhere.
	for _, c := range [][2]float64{{1, 1 - euler}, {0.5, 2 - euler - math.Ln2}} {
		if got := DigammaExcess(c[0]); !(math.Abs(got-c[1]) < 1e-15) {
			t.Errorf("DigammaExcess(%v) = %v, want %v", c[0], got, c[1])
		}
	}
	for l := -9.0; l < 9; l += 0.1 {
		a := math.Pow(10, l)
		got := DigammaExcess(a+1) - DigammaExcess(a)
		want := 1/(a+1) - math.Log1p(1/a)
		if !(math.Abs(got-want) <= 4e-15*max(math.Abs(math.Log(a)), 1)) {
			t.Errorf("DigammaExcess(%v): recurrence off by %g", a, got-want)
		}
	}
}

// ln(1+u) − u and eᵗ − 1 − t against their definitions with 200 bits.
func TestSmallDifferences(t *testing.T) {
	for i := range points() {
		r := rand.New(rng.New(4, "small", i))
		u := logUniform(r, -8, 0.5) * float64(1-2*r.IntN(2))
		if u <= -1 {
			u = -0.99
		}
		bu := oracle.Default.New(u)
		for _, c := range []struct {
			what string
			got  float64
			want *big.Float
		}{
			{"log1pmx", log1pmx(u), oracle.Default.Log1p(bu)},
			{"expm1mx", expm1mx(u), oracle.Default.Expm1(bu)},
		} {
			want, _ := new(big.Float).Sub(c.want, bu).Float64()
			if !(math.Abs(c.got-want) <= 8e-16*math.Abs(want)) {
				t.Errorf("%s(%v) = %v, want %v (relative error %.2g)", c.what, u, c.got, want, c.got/want-1)
			}
		}
	}
}

func BenchmarkTails(b *testing.B) {
	for _, c := range []struct {
		name    string
		a, b, x float64
	}{
		{"small", 0.2, 0.7, 0.1}, {"series", 3, 5, 0.1}, {"fraction", 30, 40, 0.42},
		{"large", 3000, 4000, 0.43}, {"quadrature", 1e6, 2e6, 0.3333},
	} {
		b.Run("method="+c.name, func(b *testing.B) {
			d, p := NewBeta(c.a, c.b), At(c.x)
			for b.Loop() {
				d.Tails(&p)
			}
		})
	}
}
