package mixture

import (
	"cmp"
	"fmt"
	"math"

	"credence/internal/par"
	"credence/internal/special"
)

// Interval is a set of probabilities between two ends, both included.
type Interval struct {
	Lo, Hi float64
}

// Length returns Hi − Lo.
func (i Interval) Length() float64 { return i.Hi - i.Lo }

// Contains reports whether Lo ≤ x ≤ Hi.
func (i Interval) Contains(x float64) bool { return i.Lo <= x && x <= i.Hi }

// Side says which ends of a credible interval are free. With γ = 1 − level and
// Q the quantile function, the three intervals are those of Wu et al. 2019.
type Side int

const (
	TwoSided Side = iota // [Q(γ/2), Q(1−γ/2)]
	Upper                // [0, Q(1−γ)]: an upper bound
	Lower                // [Q(γ), 1]: a lower bound
)

// String returns "two-sided", "upper" or "lower".
func (s Side) String() string {
	if s < TwoSided || s > Lower {
		return fmt.Sprintf("Side(%d)", int(s))
	}
	return [...]string{"two-sided", "upper", "lower"}[s]
}

// Interval returns the credible interval of the given side and level, which
// must lie strictly between 0 and 1 (otherwise both ends are NaN).
func (m *Beta) Interval(side Side, level float64) Interval {
	if !(level > 0 && level < 1) {
		return Interval{math.NaN(), math.NaN()}
	}
	gamma := 1 - level
	switch side {
	case Upper:
		hi, _ := m.ComplementaryQuantile(gamma)
		return Interval{0, hi}
	case Lower:
		return Interval{m.Quantile(gamma), 1}
	}
	lo, hi := m.between(gamma/2, gamma/2)
	return Interval{lo, hi}
}

// BetaBatch holds many Beta mixtures of K components each, row by row: the mixture
// of row i is Weights[i·K : (i+1)·K], A and B likewise.
type BetaBatch struct {
	K             int
	Weights, A, B []float64
}

// Len returns the number of rows.
func (r BetaBatch) Len() int {
	if r.K <= 0 {
		return 0
	}
	return len(r.Weights) / r.K
}

func (r BetaBatch) check() error {
	if r.K <= 0 {
		return invalid("rows of %d components", r.K)
	}
	if len(r.Weights)%r.K != 0 || len(r.A) != len(r.Weights) || len(r.B) != len(r.Weights) {
		return invalid("rows of %d components, but %d weights, %d values of a and %d of b",
			r.K, len(r.Weights), len(r.A), len(r.B))
	}
	return nil
}

// rowsPerPiece is how many rows one goroutine takes at a time: about 0.1 ms.
const rowsPerPiece = 256

// IntervalsInto sets dst[i] to the credible interval of row i, as [Beta.Interval] would, on all cores. The result
// does not depend on their number, and nothing is allocated a row. If some rows are not mixtures, the error names the
// first of them; the rows that are have their intervals.
func IntervalsInto(dst []Interval, rows BetaBatch, side Side, level float64) error {
	if err := rows.check(); err != nil {
		return err
	}
	n := rows.Len()
	if len(dst) < n {
		return fmt.Errorf("room for %d intervals, but %d rows", len(dst), n)
	}
	if !(level > 0 && level < 1) {
		return fmt.Errorf("level is %v: it lies between 0 and 1", level)
	}
	errs := make([]error, (n+rowsPerPiece-1)/rowsPerPiece)
	workers := make([]intervalWorker, par.Threads())
	par.ForWorker(len(errs), func(worker, piece int) {
		from := piece * rowsPerPiece
		errs[piece] = workers[worker].intervals(dst, rows, from, min(n, from+rowsPerPiece), side, level)
	})
	return cmp.Or(errs...)
}

// intervalWorker finds intervals of rows with memory of its own.
type intervalWorker struct {
	lanes laneSolver
	law   Beta
	rows  []int // those that the lanes have
}

// intervals sets those of rows from … to−1. If some are not mixtures, its error names the first of them.
func (v *intervalWorker) intervals(dst []Interval, rows BetaBatch, from, to int, side Side, level float64) (err error) {
	gamma := 1 - level
	if side == TwoSided {
		gamma /= 2
	}
	lanes := min(gamma, 1-gamma) >= laneMass
	v.lanes.begin(to-from, rows.K, 2)
	v.rows = room(v.rows, to-from)
	for i := from; i < to; i++ {
		w, a, b := rows.row(i)
		sum, e := checkMixture(w, a, b)
		switch {
		case e != nil:
			if err == nil {
				err = fmt.Errorf("row %d: %w", i, e)
			}
		case lanes && v.lanes.add(w, a, b, sum):
			if side != Upper {
				v.lanes.ends = append(v.lanes.ends, laneEndAt(len(v.rows), gamma, 1-gamma))
			}
			if side != Lower {
				v.lanes.ends = append(v.lanes.ends, laneEndAt(len(v.rows), 1-gamma, gamma))
			}
			v.rows = append(v.rows, i)
		default:
			v.law.fill(w, a, b, sum)
			dst[i] = v.law.Interval(side, level)
		}
	}
	v.lanes.solve()
	ends := v.lanes.ends
	next := func(i int) float64 {
		e := &ends[0]
		ends = ends[1:]
		if math.IsNaN(e.root) { // too much for the lanes
			w, a, b := rows.row(i)
			sum, _ := checkMixture(w, a, b)
			v.law.fill(w, a, b, sum)
			e.root = v.law.solveTail(e.q, e.upper)
		}
		x, _ := special.Logistic(e.logit())
		return x
	}
	for _, i := range v.rows {
		dst[i] = Interval{0, 1}
		if side != Upper {
			dst[i].Lo = next(i)
		}
		if side != Lower {
			dst[i].Hi = next(i)
		}
	}
	return err
}

// row returns weights and parameters of row i.
func (r BetaBatch) row(i int) (w, a, b []float64) {
	from, to := i*r.K, (i+1)*r.K
	return r.Weights[from:to], r.A[from:to], r.B[from:to]
}
