package mixture

import (
	"fmt"
	"sync"

	"credence/internal/par"
)

// Rows holds many Beta mixtures of K components each, row by row: the mixture
// of row i is Weights[i·K : (i+1)·K], A and B likewise.
type Rows struct {
	K             int
	Weights, A, B []float64
}

// Len returns the number of rows.
func (r Rows) Len() int {
	if r.K <= 0 {
		return 0
	}
	return len(r.Weights) / r.K
}

func (r Rows) check() error {
	if r.K <= 0 {
		return invalid("rows of %d components", r.K)
	}
	if len(r.Weights)%r.K != 0 || len(r.A) != len(r.Weights) || len(r.B) != len(r.Weights) {
		return invalid("rows of %d components, but %d weights, %d values of a and %d of b",
			r.K, len(r.Weights), len(r.A), len(r.B))
	}
	return nil
}

// rowsPerPiece is how many rows one goroutine takes at a time: about 0.2 ms.
const rowsPerPiece = 64

// IntervalsInto sets dst[i] to the credible interval of row i, as
// [Beta.Interval] would, on all cores. The result does not depend on their
// number, and nothing is allocated a row. If some rows are not mixtures, the
// error names the first of them; the rows that are have their intervals.
func IntervalsInto(dst []Interval, rows Rows, side Side, level float64) error {
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
	pieces := (n + rowsPerPiece - 1) / rowsPerPiece
	var (
		mu    sync.Mutex
		first = n // the first bad row
		bad   error
	)
	workspaces := make([]Beta, par.Threads())
	par.ForWorker(pieces, func(worker, piece int) {
		m := &workspaces[worker]
		for i := piece * rowsPerPiece; i < min(n, (piece+1)*rowsPerPiece); i++ {
			k := i * rows.K
			err := m.set(rows.Weights[k:k+rows.K], rows.A[k:k+rows.K], rows.B[k:k+rows.K])
			if err != nil {
				mu.Lock()
				if i < first {
					first, bad = i, err
				}
				mu.Unlock()
				continue
			}
			dst[i] = m.Interval(side, level)
		}
	})
	if bad != nil {
		return fmt.Errorf("row %d: %w", first, bad)
	}
	return nil
}
