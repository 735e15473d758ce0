package dataset

import "credence/internal/array"

// Rows gives the raw feature values of items, one row of Width values per item.
// ReadRow may be called from several goroutines at once.
type Rows interface {
	Len() int   // N
	Width() int // W
	// ReadRow fills dst, of length W, with row i.
	ReadRow(i int, dst []float32) error
}

// Memory is rows held in memory: row i is Values[i·W : (i+1)·W].
type Memory struct {
	N, W   int
	Values []float32 // [N×W]
}

// Len returns N.
func (m *Memory) Len() int { return m.N }

// Width returns W.
func (m *Memory) Width() int { return m.W }

// ReadRow copies row i.
func (m *Memory) ReadRow(i int, dst []float32) error {
	if err := checkRow(m, i, dst); err != nil {
		return err
	}
	copy(dst, m.Values[i*m.W:])
	return nil
}

// checkRow catches a row number or a buffer that does not fit.
func checkRow(r Rows, i int, dst []float32) error {
	return array.CheckRow(r.Len(), r.Width(), i, dst)
}

// picked shows some rows of another source, in a given order.
type picked struct {
	src Rows
	at  []int
}

func (p picked) Len() int   { return len(p.at) }
func (p picked) Width() int { return p.src.Width() }

func (p picked) ReadRow(i int, dst []float32) error {
	if err := checkRow(p, i, dst); err != nil {
		return err
	}
	return p.src.ReadRow(p.at[i], dst)
}

// beside puts the rows of two sources side by side.
type beside struct {
	left, right Rows
}

// besides returns rows side by side, either of which may be nil.
func besides(left, right Rows) Rows {
	switch {
	case left == nil:
		return right
	case right == nil:
		return left
	}
	return beside{left, right}
}

func (b beside) Len() int   { return b.left.Len() }
func (b beside) Width() int { return b.left.Width() + b.right.Width() }

func (b beside) ReadRow(i int, dst []float32) error {
	if err := checkRow(b, i, dst); err != nil {
		return err
	}
	w := b.left.Width()
	if err := b.left.ReadRow(i, dst[:w]); err != nil {
		return err
	}
	return b.right.ReadRow(i, dst[w:])
}
