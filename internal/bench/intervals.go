// Package bench holds the workloads of credence bench, which are the same on
// every machine: intervals of mixtures and the compute kernels. That of training
// is in package train, beside the function it times.
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

// IntervalsResult is what bench intervals prints, under its JSON names.
type IntervalsResult struct {
	Workload      string  `json:"workload"`
	Threads       int     `json:"threads"`
	Components    int     `json:"components"`
	RowsPerSecond float64 `json:"rows_per_second"`
	Kernel        string  `json:"kernel"`
	MaxError      float64 `json:"max_error"`
}

// Intervals times two-sided intervals for the given time, of which the best of
// five windows counts, and finds their largest error.
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
	return &IntervalsResult{
		Workload:      "intervals",
		Threads:       par.Threads(),
		Components:    intervalComponents,
		RowsPerSecond: math.Round(best),
		Kernel:        kernel.Name(),
		MaxError:      worst,
	}, nil
}

// drawMixtures draws the rows of the workload.
func drawMixtures(seed uint64) mixture.Rows {
	const n = IntervalRows * intervalComponents
	rows := mixture.Rows{
		K:       intervalComponents,
		Weights: make([]float64, n),
		A:       make([]float64, n),
		B:       make([]float64, n),
	}
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
// Close to 1 an interval's end has too few digits to be judged by, so there the
// distance from 1 is taken, and the mass from the reflected mixture.
func intervalsError(rows mixture.Rows, intervals []mixture.Interval) (float64, error) {
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
