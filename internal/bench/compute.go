// Package bench implements the workloads of credence bench, which are the same on
// every machine: intervals of mixtures and the compute kernels. The training
// workload is in package train, next to the function it times.
package bench

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"credence/internal/kernel"
	"credence/internal/par"
	"credence/internal/rng"
	"credence/mixture"
)

// The workload of bench intervals.
const (
	IntervalRows       = 20_000 // mixtures
	intervalComponents = 3
	intervalLevel      = 0.95
	windows            = 5
)

// IntervalsResult is the output of bench intervals, with its JSON names.
type IntervalsResult struct {
	Workload      string  `json:"workload"`
	Threads       int     `json:"threads"`
	Components    int     `json:"components"`
	RowsPerSecond float64 `json:"rows_per_second"`
	Kernel        string  `json:"kernel"`
	MaxError      float64 `json:"max_error"`
}

// Intervals times two-sided intervals for the given time, reports the best of
// five windows, and computes their largest error.
func Intervals(duration time.Duration, seed uint64) (*IntervalsResult, error) {
	rows := drawMixtures(seed)
	dst := make([]mixture.Interval, IntervalRows)
	window := duration / windows
	best := 0.0
	for range windows {
		done := 0
		start := time.Now()
		for time.Since(start) < window || done == 0 {
			if err := mixture.IntervalsInto(dst, rows, mixture.TwoSided, intervalLevel); err != nil {
				return nil, err
			}
			done += IntervalRows
		}
		best = max(best, float64(done)/time.Since(start).Seconds())
	}
	worst, err := intervalsError(rows, dst)
	if err != nil {
		return nil, err
	}
	return &IntervalsResult{Workload: "intervals", Threads: par.Threads(), Components: intervalComponents,
		RowsPerSecond: math.Round(best), Kernel: kernel.Name(), MaxError: worst}, nil
}

// drawMixtures draws the rows of the workload.
func drawMixtures(seed uint64) mixture.BetaBatch {
	const n = IntervalRows * intervalComponents
	values := func() []float64 { return make([]float64, n) }
	rows := mixture.BetaBatch{K: intervalComponents, Weights: values(), A: values(), B: values()}
	r := rand.New(rng.New(seed, "bench.intervals"))
	for i := 0; i < n; i += intervalComponents {
		// Exponential variables over their sum are Dirichlet(1, …, 1).
		w, sum := rows.Weights[i:i+intervalComponents], 0.0
		for k := range w {
			w[k] = r.ExpFloat64()
			sum += w[k]
			rows.A[i+k] = math.Exp(1 + 1.5*r.NormFloat64())
			rows.B[i+k] = math.Exp(1 + 1.5*r.NormFloat64())
		}
		for k := range w {
			w[k] /= sum
		}
	}
	return rows
}

// intervalsError returns the largest relative error of the mass beyond an end.
// Close to 1 an interval's end has too few digits for this, so the distance from 1
// is used there, with the mass of the reflected mixture.
func intervalsError(rows mixture.BetaBatch, intervals []mixture.Interval) (float64, error) {
	level := intervalLevel // a variable, so that 1 − level rounds as it does in Interval
	tail := (1 - level) / 2
	worst := 0.0
	judge := func(x, mass float64) {
		if x >= smallestNormal {
			worst = max(worst, math.Abs(mass-tail)/tail)
		}
	}
	for i, interval := range intervals {
		k := i * rows.K
		m, err := mixture.NewBeta(rows.Weights[k:k+rows.K], rows.A[k:k+rows.K], rows.B[k:k+rows.K])
		if err != nil {
			return 0, fmt.Errorf("row %d: %w", i, err)
		}
		r := m.Reflect()
		if interval.Lo < 0.5 {
			judge(interval.Lo, m.CDF(interval.Lo))
		} else {
			_, y := m.QuantileBoth(tail)
			judge(y, r.Survival(y))
		}
		if interval.Hi < 0.5 {
			judge(interval.Hi, m.Survival(interval.Hi))
		} else {
			x, y := m.ComplementaryQuantile(tail)
			if x != interval.Hi {
				return 0, fmt.Errorf("row %d: the batch ends at %v, the row alone at %v", i, interval.Hi, x)
			}
			judge(y, r.CDF(y))
		}
	}
	return worst, nil
}

// smallestNormal is the smallest float64 with all its digits.
const smallestNormal = 0x1p-1022

// KernelResult is one line of bench kernels, with its JSON names.
type KernelResult struct {
	Kernel    string  `json:"kernel"` // the instruction set
	Operation string  `json:"operation"`
	Size      string  `json:"size"`
	Ms        float64 `json:"ms"`
	GFLOPS    float64 `json:"gflops"`
	Share     float64 `json:"share"` // of the multiply-add peak
	Peak      float64 `json:"peak_gflops"`
}

// Kernels times matrix products and convolutions, each for five windows of the
// given length, and shows the result of each.
func Kernels(window time.Duration, show func(KernelResult)) error {
	b := kernelBench{window, show}
	b.products()
	return b.convolutions()
}

// kernelBench times operations of package kernel.
type kernelBench struct {
	window time.Duration
	show   func(KernelResult)
}

// time runs f, which does the given number of floating-point operations, in
// five windows. The peak is measured before each, so that both see the same
// clock rate.
func (b *kernelBench) time(operation, size string, flops int, f func()) {
	f()
	best, peak := math.Inf(1), 0.0
	for range windows {
		peak = max(peak, kernel.Peak())
		n, start := 0, time.Now()
		for n == 0 || time.Since(start) < b.window {
			f()
			n++
		}
		best = min(best, time.Since(start).Seconds()/float64(n))
	}
	b.show(KernelResult{
		Kernel: kernel.Name(), Operation: operation, Size: size,
		Ms:     round(best*1e3, 1e6),
		GFLOPS: round(float64(flops)/best/1e9, 100),
		Share:  round(float64(flops)/best/peak, 1e4),
		Peak:   round(peak/1e9, 100),
	})
}

// round keeps 1/unit of x.
func round(x, unit float64) float64 { return math.Round(x*unit) / unit }

// products times the matrix products A·B, m×k by k×n.
func (b *kernelBench) products() {
	for _, s := range [][3]int{{64, 400, 120}, {512, 512, 512}, {1024, 1024, 1024}} {
		m, k, n := s[0], s[1], s[2]
		x, y, z := normals(m*k), normals(k*n), make([]float32, m*n)
		scratch := new(kernel.GemmScratch)
		b.time("product", fmt.Sprintf("%d·%d·%d", m, k, n), 2*m*n*k, func() {
			kernel.Gemm(m, n, k, kernel.Matrix{Data: z, Stride: n}, kernel.Matrix{Data: x, Stride: k},
				kernel.Matrix{Data: y, Stride: n}, nil, scratch)
		})
	}
}

// benchConvolution is a convolution of the paper's networks and the max-pool
// that follows it.
type benchConvolution struct {
	name               string
	channels           [2]int // in, out
	size, kernel, pool [3]int
}

var benchConvolutions = []benchConvolution{
	{"6→16 5² on 14²", [2]int{6, 16}, [3]int{1, 14, 14}, [3]int{1, 5, 5}, [3]int{1, 2, 2}},
	{"1→16 5³ on 96·96·80", [2]int{1, 16}, [3]int{96, 96, 80}, [3]int{5, 5, 5}, [3]int{5, 5, 5}},
	{"16→32 3³ on 18·18·15", [2]int{16, 32}, [3]int{18, 18, 15}, [3]int{3, 3, 3}, [3]int{2, 2, 2}},
}

// convolutions times the passes of each convolution for one item.
func (b *kernelBench) convolutions() error {
	for _, c := range benchConvolutions {
		one := [3]int{1, 1, 1}
		s := kernel.ConvShape{In: c.channels[0], Out: c.channels[1], Size: c.size, Kernel: c.kernel, Stride: one, Dilation: one}
		plan, err := kernel.NewConv(s, c.pool, true)
		if err != nil {
			return fmt.Errorf("convolution %s: %w", c.name, err)
		}
		taps := s.In * volume(s.Kernel)
		out, pooled := volume(plan.OutSize()), volume(plan.PooledSize())
		x, w, bias := normals(s.In*volume(s.Size)), normals(s.Out*taps), normals(s.Out)
		dy := normals(s.Out * out)
		y, dx := make([]float32, len(dy)), make([]float32, len(x))
		dw, db := make([]float32, len(w)), make([]float32, s.Out)
		packed, packedInput := make([]float32, plan.PackedLen()), make([]float32, plan.PackedInputLen())
		plan.Pack(packed, w)
		plan.PackInput(packedInput, w)
		g, best, arg := normals(s.Out*pooled), make([]float32, s.Out*pooled), make([]int32, s.Out*pooled)
		scratch := plan.NewScratch()

		sparse, sparseGrad := make([]float32, s.SparseLen()), make([]float32, s.SparseLen())
		plan.PackSparse(sparse, w)

		dense := 2 * out * s.Out * taps
		b.time("forward", c.name, dense, func() { plan.Forward(y, x, packed, bias, scratch) })
		b.time("forward+pool", c.name, 2*pooled*volume(c.pool)*s.Out*taps, func() {
			plan.ForwardPool(best, arg, x, packed, bias, kernel.ReLU, scratch)
		})
		b.time("weights", c.name, dense, func() { plan.GradWeight(dw, db, dy, x, scratch) })
		b.time("inputs", c.name, dense, func() { plan.GradInput(dx, dy, packedInput, scratch) })
		b.time("sparse", c.name, 4*s.Out*pooled*taps, func() {
			plan.GradSparse(sparseGrad, db, dx, g, arg, x, sparse, scratch)
		})
	}
	return nil
}

func volume(s [3]int) int { return s[0] * s[1] * s[2] }

// normals returns n standard normal numbers, the same at every call.
func normals(n int) []float32 {
	r := rand.New(rng.New(0, "bench.kernels"))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}
