package nn

// tiles is a division of an [m, n] matrix product into pieces of rows and
// columns: a constant of the shapes, whatever the number of cores.
type tiles struct {
	m, n       int
	rows, cols int // of a tile
	across     int // tiles side by side
	count      int
}

const (
	panel    = 16      // columns the kernel computes together
	tileWork = 1 << 17 // multiply-adds that make a piece worth handing over
	maxTiles = 64
)

// tile divides an m×n product over k. Columns are split first: a piece then
// packs only its own part of the right-hand matrix.
func tile(m, n, k int) tiles {
	want := min(max(m*n/tileWork*k+m*n%tileWork*k/tileWork, 1), maxTiles)
	panels := pieces(n, panel)
	t := tiles{m: m, n: n, rows: max(m, 1), cols: pieces(panels, min(want, panels)) * panel}
	t.across = pieces(n, t.cols)
	if down := want / t.across; down > 1 {
		t.rows = max(pieces(m, down), 8)
	}
	t.count = t.across * pieces(m, t.rows)
	return t
}

// work is the multiply-adds of the whole product over k.
func (t *tiles) work(k int) int { return t.m * t.n * k }

// at returns first row, rows, first column and columns of piece i.
func (t *tiles) at(i int) (r0, rows, c0, cols int) {
	r0, c0 = i/t.across*t.rows, i%t.across*t.cols
	return r0, min(t.rows, t.m-r0), c0, min(t.cols, t.n-c0)
}
