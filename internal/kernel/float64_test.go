package kernel

import (
	"math"
	"testing"
)

// guarded64 returns n normal values with NaNs on both sides, and the whole.
func guarded64(seed uint64, n int) (x, all []float64) {
	r := newRand(seed)
	all = make([]float64, n+16)
	for i := range all {
		all[i] = math.NaN()
	}
	x = all[8 : 8+n : 8+n]
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x, all
}

func sameBits64(t *testing.T, got, want, all []float64) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("[%d] = %v, want %v", i, got[i], want[i])
		}
	}
	for i, v := range all {
		if (i < 8 || i >= 8+len(want)) && v == v {
			t.Fatalf("wrote %v outside the slice, at index %d of %d", v, i-8, len(want))
		}
	}
}

// TestDots64 compares with the sums in words of the package, to the bit.
func TestDots64(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, n := range lengths()[:140] {
			for _, d := range []int{0, 1, 2, 3, 4, 5, 7, 10} {
				w, _ := guarded64(1, d*n)
				x, _ := guarded64(2, n)
				dst, all := guarded64(3, d)
				want := make([]float64, d)
				for c := range want {
					var s [4]float64
					for k, v := range x {
						lane := k % 4
						if k >= n&^3 {
							lane = 0
						}
						s[lane] += float64(w[c*n+k] * v)
					}
					want[c] = (s[0] + s[1]) + (s[2] + s[3])
				}
				Dots64(dst, w, x)
				sameBits64(t, dst, want, all)
			}
		}
	})
}

// TestAddRows64 compares with additions one by one, to the bit.
func TestAddRows64(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, n := range lengths()[:140] {
			for _, rows := range []int{0, 1, 3, 4, 5, 8, 9} {
				for _, ld := range []int{n, n + 3} {
					x, _ := guarded64(4, max(0, (rows-1)*ld+n))
					a, _ := guarded64(5, rows)
					y, all := guarded64(6, n)
					want := append([]float64(nil), y...)
					for r := range rows {
						for k := range n {
							want[k] += float64(a[r] * x[r*ld+k])
						}
					}
					AddRows64(y, a, x, ld)
					sameBits64(t, y, want, all)
				}
			}
		}
	})
}
