package mixture

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestStepLevels compares with the smallest step of each bucket: what is found is at most that, and less than 1/32 below it;
// buckets in which none was required are left alone. One value is used again and again.
func TestStepLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var levels stepLevels
	for range 2000 {
		n := 1 + r.IntN(64)
		want, got := make([]float64, n), make([]float64, n)
		for i := range want {
			want[i], got[i] = math.Inf(1), math.Inf(1)
		}
		for range r.IntN(30) {
			from := r.IntN(n)
			to := from + 1 + r.IntN(n-from)
			step := math.Exp(12*r.Float64() - 11)
			levels.require(from, to-1, step, -1)
			levels.require(to-1, from, step/2, 0) // an empty range
			for i := from; i < to; i++ {
				want[i] = min(want[i], step)
			}
		}
		levels.fill(got)
		for i := range got {
			if got[i] > want[i] || got[i] <= want[i]*(1-1./32) && !math.IsInf(want[i], 1) {
				t.Fatalf("bucket %d of %d: step %v, the smallest required is %v", i, n, got[i], want[i])
			}
		}
	}
	// Steps beyond the levels at both ends, and a bucket beyond the last.
	got := []float64{1, 1, 1}
	levels.require(0, 1, 1e-15, -1)
	levels.require(1, 3, 100, -1)
	levels.fill(got)
	if got[0] != 0 || got[1] != 0 || got[2] != 7.875 {
		t.Errorf("steps %v", got)
	}
}
