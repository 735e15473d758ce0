package predict

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestAppendRounded compares with strconv, next to ties and powers of ten too.
func TestAppendRounded(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	check := func(x float64, digits int) {
		t.Helper()
		got, want := string(appendRounded([]byte("a"), x, digits)), "a"+strconv.FormatFloat(x, 'g', digits, 64)
		if got != want {
			t.Fatalf("%v with %d digits: %s, want %s", x, digits, got, want)
		}
	}
	for _, x := range []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64, 0.1, 0.3} {
		for digits := range 19 {
			check(x, digits)
		}
	}
	for e := -18; e <= 18; e++ {
		x := math.Pow(10, float64(e))
		for digits := 1; digits < 18; digits++ {
			for _, y := range []float64{x, math.Nextafter(x, 0), math.Nextafter(x, 1e300), x * (1 - 1e-9), -x, 5 * x, 2.5 * x, 1.25 * x, 1234565 * x} {
				check(y, digits)
			}
		}
	}
	for range 300000 {
		x := math.Exp(90*r.Float64() - 45)
		digits := 1 + r.IntN(16)
		switch r.IntN(4) {
		case 0: // a tie, or nearly
			x = (float64(r.IntN(1000000)) + 0.5) / math.Pow(10, float64(r.IntN(12)))
		case 1:
			x = r.Float64()
		case 2:
			x = math.Nextafter((float64(r.IntN(1000000))+0.5)/math.Pow(10, float64(r.IntN(12))), float64(r.IntN(2)))
		}
		check(x, digits)
	}
}

func BenchmarkDigits(b *testing.B) {
	x := []float64{0.271694, 0.1372873456, 6.828824e-05, 0.95, 0.0460463, 1.18562e-09, 0.999363123, 1.31064}
	dst := make([]byte, 0, 64)
	i := 0
	for b.Loop() {
		dst = Digits(6).Append(dst[:0], x[i%len(x)])
		i++
	}
}
