package kernel

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"
)

// eachImplB runs f once for every implementation this processor has.
func eachImplB(b *testing.B, f func(b *testing.B)) {
	for _, name := range Available() {
		b.Run("impl="+name, func(b *testing.B) {
			useImpl(b, name)
			f(b)
		})
	}
}

// measure times f, which does the given number of floating-point operations, in
// windows of about half a millisecond and reports the rate of the best one, by
// the processor time of the thread: the machine is shared.
func measure(b *testing.B, flops int, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f()
	start := threadTime()
	f()
	reps := int(500*time.Microsecond/(threadTime()-start+1)) + 1
	best := time.Duration(math.MaxInt64)
	for b.Loop() {
		start := threadTime()
		for range reps {
			f()
		}
		best = min(best, threadTime()-start)
	}
	sec := best.Seconds() / float64(reps)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(sec*1e6, "µs")
	b.ReportMetric(float64(flops)/sec/1e9, "GFLOP/s")
}

func BenchmarkPeak(b *testing.B) {
	eachImplB(b, func(b *testing.B) {
		best := 0.0
		for b.Loop() {
			best = max(best, Peak())
		}
		b.ReportMetric(best/1e9, "GFLOP/s")
	})
}

// benchShape is one of the sizes of `credence bench kernels`.
type benchShape struct {
	name string
	convCase
}

func benchShapes() []benchShape {
	lenet := conv2(1, 6, 28, 28, 5)
	lenet.Pad = [3]int{0, 2, 2}
	return []benchShape{
		{"1-16x5^3on96x96x80", convCase{conv3(1, 16, [3]int{96, 96, 80}, [3]int{5, 5, 5}), [3]int{5, 5, 5}}},
		{"16-32x3^3on18x18x15", convCase{conv3(16, 32, [3]int{18, 18, 15}, [3]int{3, 3, 3}), [3]int{2, 2, 2}}},
		{"6-16x5^2on14x14", convCase{conv2(6, 16, 14, 14, 5), [3]int{1, 2, 2}}},
		{"1-6x5^2on28x28", convCase{lenet, [3]int{1, 2, 2}}},
	}
}

func BenchmarkConv(b *testing.B) {
	for _, s := range benchShapes() {
		r := newRand(1)
		d := newConvData(s.ConvShape, func(n int) []float32 { return normals(r, n) })
		eachImplB(b, func(b *testing.B) { // a plan is one of an implementation
			c, sc := mustConv(b, s.ConvShape, s.pool)
			out := volume(c.OutSize())
			flops := 2 * out * s.Out * s.In * volume(s.Kernel)
			covered := 2 * volume(c.PooledSize()) * volume(s.pool) * s.Out * s.In * volume(s.Kernel)
			packed, packedIn := make([]float32, c.PackedLen()), make([]float32, c.PackedInputLen())
			y, dx, dw, db := make([]float32, len(d.dy)), make([]float32, len(d.x)), make([]float32, len(d.w)), make([]float32, len(d.bias))
			n := s.Out * volume(c.PooledSize())
			g, yp, arg := normals(r, n), make([]float32, n), make([]int32, n)
			c.Pack(packed, d.w)
			c.PackInput(packedIn, d.w)
			run := func(op string, flops int, f func()) {
				b.Run(fmt.Sprintf("shape=%s/op=%s", s.name, op), func(b *testing.B) {
					measure(b, flops, f)
				})
			}
			run("pool", covered, func() { c.ForwardPool(yp, arg, d.x, packed, d.bias, ReLU, sc) })
			run("forward", flops, func() { c.Forward(y, d.x, packed, d.bias, sc) })
			run("dw", flops, func() { c.GradWeight(dw, db, d.dy, d.x, sc) })
			run("dx", flops, func() { c.GradInput(dx, d.dy, packedIn, sc) })
			c.ForwardPool(yp, arg, d.x, packed, d.bias, Identity, sc)
			dw, w := make([]float32, s.SparseLen()), make([]float32, s.SparseLen())
			c.PackSparse(w, d.w)
			run("sparse-dw", 2*n*c.taps, func() { c.GradSparse(dw, db, nil, g, arg, d.x, w, sc) })
			run("sparse-dw-dx", 4*n*c.taps, func() { c.GradSparse(dw, db, dx, g, arg, d.x, w, sc) })
		})
	}
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range [][3]int{{64, 120, 400}, {512, 512, 512}, {1024, 1024, 1024}, {64, 64, 64}, {64, 64, 2}} {
		m, n, k := s[0], s[1], s[2]
		r := newRand(1)
		x, y, z := normals(r, m*k), normals(r, n*k), make([]float32, m*n)
		sc := new(GemmScratch)
		eachImplB(b, func(b *testing.B) {
			for _, tr := range []string{"NN", "NT", "TN"} {
				b.Run(fmt.Sprintf("m=%d/n=%d/k=%d/%s", m, n, k, tr), func(b *testing.B) {
					am, bm := Matrix{Data: x, Stride: k}, Matrix{Data: y, Stride: n}
					if tr[0] == 'T' {
						am = Matrix{Data: x, Stride: m, Trans: true}
					}
					if tr[1] == 'T' {
						bm = Matrix{Data: y, Stride: k, Trans: true}
					}
					measure(b, 2*m*n*k, func() {
						Gemm(m, n, k, Matrix{Data: z, Stride: n}, am, bm, nil, sc)
					})
				})
			}
		})
	}
}
