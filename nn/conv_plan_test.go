package nn

import (
	"math/rand/v2"
	"testing"

	"credence/internal/kernel"
)

// TestConvPlans: predictions have the bits of a plan without tiles of two dimensions, before and after a training pass, and a
// training pass has those of a plan with them, where there are any.
func TestConvPlans(t *testing.T) {
	shape := kernel.ConvShape{In: 1, Out: 16, Size: [3]int{8, 20, 24}, Kernel: [3]int{5, 5, 5},
		Stride: [3]int{1, 1, 1}, Dilation: [3]int{1, 1, 1}}
	net, err := New(&Conv{Out: 16, Kernel: Ints{5}, Dims: 3}, Shape{1, 8, 20, 24}, Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, net.In.Size())
	r := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	want := func(tiles bool) []float32 {
		plan, err := kernel.NewConv(shape, [3]int{}, tiles)
		if err != nil {
			t.Fatal(err)
		}
		packed, y := make([]float32, plan.PackedLen()), make([]float32, net.Out.Size())
		plan.Pack(packed, net.Params[0].Value)
		plan.Forward(y, x, packed, net.Params[1].Value, plan.NewScratch())
		return y
	}
	s, err := net.NewSession(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, train := range []bool{false, true, false} {
		y, err := s.Forward(x, Pass{Train: train})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "training", y, want(train))
	}
	if a, b := want(false), want(true); shape.Tiles() == (a[0] == b[0] && a[7] == b[7] && a[99] == b[99]) {
		t.Errorf("tiles %v: outputs %v and %v", shape.Tiles(), a[:8], b[:8])
	}
}
