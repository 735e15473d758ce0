package mixture

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestStepLevels compares with the smallest step of each bucket: what is found is at most that, less than an eighth below it,
// and one of the steps that were required; buckets in which none was required are left alone. One value is used again and again.
func TestStepLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var levels stepLevels
	for range 2000 {
		n := 1 + r.IntN(64)
		want, got := make([]float64, n), make([]float64, n)
		for i := range want {
			want[i], got[i] = math.Inf(1), math.Inf(1)
		}
		required := map[float64]bool{math.Inf(1): true}
		for range r.IntN(30) {
			from := r.IntN(n)
			to := from + 1 + r.IntN(n-from)
			step := math.Exp(12*r.Float64() - 11)
			required[step] = true
			levels.require(from, to, step)
			for i := from; i < to; i++ {
				want[i] = min(want[i], step)
			}
		}
		levels.fill(got)
		for i := range got {
			if !required[got[i]] || got[i] > want[i] || got[i] < want[i]/1.125 {
				t.Fatalf("bucket %d of %d: step %v, the smallest required is %v", i, n, got[i], want[i])
			}
		}
	}
	// Steps beyond the levels at both ends.
	got := []float64{1, 1, 1}
	levels.require(0, 2, 1e-15)
	levels.require(1, 3, 100)
	levels.require(2, 3, 50)
	levels.fill(got)
	if got[0] != 1e-15 || got[1] != 1e-15 || got[2] != 50 {
		t.Errorf("steps %v", got)
	}
}
