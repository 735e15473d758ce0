package kernel

import "testing"

// TestNoAllocations checks that kernels allocate nothing once scratch is warm.
func TestNoAllocations(t *testing.T) {
	eachImpl(t, func(t *testing.T) {
		s := convCase{conv3(3, 21, [3]int{5, 6, 7}, [3]int{2, 3, 2}), [3]int{2, 2, 2}}
		s.Pad = [3]int{1, 0, 1}
		checkAllocations(t, s)
		for _, s := range benchShapes()[2:] { // those of lenet5
			checkAllocations(t, s.convCase)
		}
	})
}

func checkAllocations(t *testing.T, s convCase) {
	t.Helper()
	r := newRand(1)
	c, sc := mustConv(t, s.ConvShape, s.pool)
	d := newConvData(s.ConvShape, func(n int) []float32 { return normals(r, n) })
	packed, packedIn := make([]float32, c.PackedLen()), make([]float32, c.PackedInputLen())
	n := s.Out * volume(c.PooledSize())
	y, arg, g := make([]float32, n), make([]int32, n), normals(r, n)
	w, m1, m2 := normals(r, n), make([]float32, n), make([]float32, n)
	sparse := make([]float32, s.SparseLen())
	gs := new(GemmScratch)
	m := Matrix{Data: normals(r, 30*30), Stride: 30}
	out := Matrix{Data: make([]float32, 30*30), Stride: 30}
	adam := &Adam{Correction1: 1, Correction2: 1}
	if a := testing.AllocsPerRun(5, func() {
		c.Pack(packed, d.w)
		c.PackInput(packedIn, d.w)
		c.ForwardPool(y, arg, d.x, packed, d.bias, Tanh, sc)
		c.ForwardPool(y, arg, d.x, packed, d.bias, ReLU, sc)
		c.PackSparse(sparse, d.w)
		c.GradSparse(sparse, d.bias, d.x, g, arg, d.x, sparse, sc)
		c.UnpackSparse(d.w, sparse)
		c.Forward(d.dy, d.x, packed, d.bias, sc)
		c.GradWeight(d.w, d.bias, d.dy, d.x, sc)
		c.GradInput(d.x, d.dy, packedIn, sc)
		Gemm(30, 30, 30, out, m, m, nil, gs)
		adam.Update(w, m1, m2, g)
		Sum(y)
		SumSq(y)
	}); a != 0 {
		t.Errorf("%v: %v allocations", s, a)
	}
}
