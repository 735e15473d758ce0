package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"credence/internal/kernel"
	"credence/internal/par"
	"credence/internal/rng"
	"credence/mixture"
)

// The workload of bench intervals.
const (
	intervalRows       = 20_000
	intervalComponents = 3
	intervalLevel      = 0.95
	benchWindows       = 5
)

// intervalsResult is what bench intervals prints, under its JSON names.
type intervalsResult struct {
	Workload      string  `json:"workload"`
	Threads       int     `json:"threads"`
	Components    int     `json:"components"`
	RowsPerSecond float64 `json:"rows_per_second"`
	Kernel        string  `json:"kernel"`
	MaxError      float64 `json:"max_error"`
}

func newBenchIntervals() *cobra.Command {
	var (
		window benchWindow
		seed   uint64
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "intervals",
		Short: "Time credible intervals of Beta mixtures",
		Long: `Time the two-sided 95% intervals of 20,000 random Beta mixtures of three
components: weights from Dirichlet(1, 1, 1), both parameters from
exp(N(1, 1.5²)). The best of five windows counts. Afterwards every end Q(q) is
put back into the distribution function F, and the largest |F(Q(q)) - q|/q is
printed (at the upper end, that of the survival function). Ends below 2.2e-308,
which have lost digits, are left out of it.`,
		Example: `  credence bench intervals
  credence bench intervals --seconds 5 --threads 1 --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			duration, err := window.start()
			if err != nil {
				return err
			}
			defer window.stop()
			result, err := benchIntervals(duration, seed)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(result)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), `workload         two-sided 95%% intervals, %d components, %d rows, seed %d
rows per second  %.0f
threads          %d
kernel           %s
largest error    %.2g
`, result.Components, intervalRows, seed, result.RowsPerSecond, result.Threads, result.Kernel, result.MaxError)
			return err
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	window.flags(f, 5, 1)
	f.Uint64Var(&seed, "seed", 1, "`seed` of the random mixtures")
	f.BoolVar(&asJSON, "json", false, "print one line of JSON")
	return cmd
}

func benchIntervals(duration time.Duration, seed uint64) (*intervalsResult, error) {
	rows := drawMixtures(seed)
	dst := make([]mixture.Interval, intervalRows)
	window := duration / benchWindows
	best := 0.0
	for range benchWindows {
		done := 0
		start := time.Now()
		for time.Since(start) < window || done == 0 {
			if err := mixture.IntervalsInto(dst, rows, mixture.TwoSided, intervalLevel); err != nil {
				return nil, err
			}
			done += intervalRows
		}
		best = max(best, float64(done)/time.Since(start).Seconds())
	}
	worst, err := intervalsError(rows, dst)
	if err != nil {
		return nil, err
	}
	return &intervalsResult{
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
	const n = intervalRows * intervalComponents
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
