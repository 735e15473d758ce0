package kernel

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// eachImpl runs f once for every implementation this processor has.
func eachImpl(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	for _, name := range Available() {
		t.Run("impl="+name, func(t *testing.T) {
			useImpl(t, name)
			f(t)
		})
	}
}

// useImpl selects an implementation until the test ends.
func useImpl(t testing.TB, name string) {
	t.Helper()
	old := Name()
	if err := Use(name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Use(old); err != nil {
			t.Error(err)
		}
	})
}

func nan32() float32 { return float32(math.NaN()) }

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// normals returns n standard normal values.
func normals(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// integers returns n integers from -k to k: sums of their products are exact,
// and ties frequent.
func integers(r *rand.Rand, n, k int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.IntN(2*k+1) - k)
	}
	return x
}

// guardLen is the number of NaNs on each side of a guarded slice.
const guardLen = 19

// guarded is a slice with NaNs on both sides, which catch reads (the result
// turns NaN) and writes (check) outside of it. shift moves its start.
type guarded struct {
	all []float32
	x   []float32
}

func newGuarded(x []float32, shift int) guarded {
	all := make([]float32, guardLen+shift+len(x)+guardLen)
	for i := range all {
		all[i] = float32(math.NaN())
	}
	lo := guardLen + shift
	copy(all[lo:], x)
	return guarded{all, all[lo : lo+len(x) : lo+len(x)]}
}

func (g guarded) check(t *testing.T, what string) {
	t.Helper()
	lo := len(g.all) - guardLen - len(g.x)
	for i, v := range g.all {
		if (i < lo || i >= lo+len(g.x)) && v == v {
			t.Fatalf("%s: wrote %v outside the slice, at index %d of %d", what, v, i-lo, len(g.x))
		}
	}
}

// lengths are the slice lengths that elementwise kernels are tested on.
func lengths() []int {
	var n []int
	for i := range 131 {
		n = append(n, i)
	}
	for k := 8; k <= 12; k++ {
		n = append(n, 1<<k-1, 1<<k, 1<<k+1)
	}
	return n
}

// sameBits fails unless got and want are equal bit for bit, up to the sign of
// zero and the payload of NaN.
func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(got[i] == want[i] || got[i] != got[i] && want[i] != want[i]) {
			t.Fatalf("%s: [%d] = %v, want %v", what, i, got[i], want[i])
		}
	}
}

// near fails unless |got − want| ≤ tol·(scale + |want|) everywhere.
func near(t *testing.T, what string, got []float32, want []float64, tol, scale float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(float64(got[i])-want[i]) <= tol*(scale+math.Abs(want[i]))) {
			t.Fatalf("%s: [%d] = %v, want %v", what, i, got[i], want[i])
		}
	}
}

func TestUse(t *testing.T) {
	old := Name()
	defer Use(old)
	for _, name := range Available() {
		if err := Use(name); err != nil || Name() != name {
			t.Errorf("Use(%q): %v, name %q", name, err, Name())
		}
	}
	if err := Use("mmx"); err == nil || !strings.Contains(err.Error(), "mmx") {
		t.Errorf("Use of an unknown kernel: %v", err)
	}
	if err := useNamed("mmx"); err == nil || !strings.HasPrefix(err.Error(), Env+": ") {
		t.Errorf("unknown kernel in the environment: %v", err)
	}
	if err := useNamed(""); err != nil {
		t.Errorf("no kernel in the environment: %v", err)
	}
	if err := useNamed("generic"); err != nil || Name() != "generic" {
		t.Errorf("generic kernel in the environment: %v, %s in use", err, Name())
	}
}
