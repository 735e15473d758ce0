package kernel

import (
	"fmt"
	"testing"

	"credence/internal/rng"
)

// TestMask: every implementation gives the bits of the reference, also where the
// counter of the stream runs over 32 bits.
func TestMask(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		for _, n := range lengths() {
			for _, limit := range []uint32{0, 1, 1 << 31, 3 << 30, 1<<32 - 1} {
				for _, skip := range []uint64{0, 5, 1<<32 - 2} {
					got := newGuarded(make([]float32, n), n%4)
					want := make([]float32, n)
					stream := func() *rng.Stream {
						s := rng.New(uint64(n), "test", uint64(limit))
						s.Skip(skip)
						return s
					}
					Mask(got.x, stream(), limit, 1.25)
					maskGeneric(want, stream(), limit, 1.25)
					what := fmt.Sprintf("n=%d limit=%d skip=%d", n, limit, skip)
					sameBits(t, what, got.x, want)
					got.check(t, what)
				}
			}
		}
	})
}
