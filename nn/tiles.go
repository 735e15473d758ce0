package nn

import "math"

// tiles is a division of an [m, n] matrix product into pieces of rows and
// columns. Each element is the same chain of multiply-adds in any tile, so that the
// division may depend on the number of cores.
type tiles struct {
	m, n       int
	rows, cols int // of a tile
	across     int // tiles side by side
	count      int
}

const (
	panelCols = 16      // columns the kernel computes together
	panelRows = 12      // rows the kernel computes together
	tileWork  = 1 << 17 // least multiply-adds of a tile
	splitWork = 1 << 20 // multiply-adds, below which a loop is done before help arrives
	maxTiles  = 64
	tilesEach = 4 // tiles per core: enough to balance the load
)

// tile divides an m×n product over k among the given number of cores. Each tile reads all of its rows of the
// left and packs all of its columns of the right matrix; of t tiles, a across,
// that is a·m + (t/a)·n in all, which is least for a² = t·n/m.
func tile(m, n, k, workers int) tiles {
	want := 1.0
	if work := float64(m) * float64(n) * float64(k); work >= splitWork && workers > 1 {
		want = min(math.Floor(work/tileWork), maxTiles, float64(tilesEach*workers))
	}
	t := tiles{m: m, n: n, rows: max(m, 1)}
	panels := pieces(n, panelCols)
	across := max(1, int(math.Round(math.Sqrt(want*float64(n)/float64(t.rows)))))
	t.cols = pieces(panels, min(across, panels, int(want))) * panelCols
	t.across = pieces(n, t.cols)
	if down := int(want) / t.across; down > 1 {
		t.rows = pieces(pieces(m, down), panelRows) * panelRows
	}
	t.count = t.across * pieces(m, t.rows)
	return t
}

// at returns first row, rows, first column and columns of piece i.
func (t *tiles) at(i int) (r0, rows, c0, cols int) {
	r0, c0 = i/t.across*t.rows, i%t.across*t.cols
	return r0, min(t.rows, t.m-r0), c0, min(t.cols, t.n-c0)
}
