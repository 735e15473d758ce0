package array

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"credence/internal/fault"
	"credence/internal/words"
)

// loss counts what float32 does not hold of the elements that were read.
type loss struct {
	rounded, vanished int64
	whole             string  // the first number that was rounded
	small             float64 // the first that became 0
}

// Loses reports whether elements may be of a size or precision that float32 does not
// have.
func (a *Array) Loses() bool {
	return a.dt.size == 8 || a.dt.size == 4 && a.dt.kind != 'f'
}

// Lost tells of whole numbers that were rounded and of small ones that became 0, among the
// rows that were read so far; nil means that there are none.
func (a *Array) Lost() error {
	a.lossMu.Lock()
	defer a.lossMu.Unlock()
	switch l := &a.loss; {
	case l.rounded > 0:
		return fmt.Errorf("%s: %s with more digits than the seven that are kept, such as %s: rounded",
			a.file, words.Plural(int(l.rounded), "whole number"), l.whole)
	case l.vanished > 0:
		return fmt.Errorf("%s: %s closer to 0 than 1e-45, such as %g: taken as 0", a.file, words.Plural(int(l.vanished), "value"), l.small)
	}
	return nil
}

// judge refuses elements of row i that float32 cannot hold, and counts those it does not
// hold exactly: whole numbers that are rounded, and small ones that become 0. The digits
// that other numbers lose are nothing to tell of.
func (a *Array) judge(i int, row []float32, b []byte) error {
	if !a.Loses() {
		return nil
	}
	order := a.dt.order()
	var lost loss
	for j, v := range row {
		if a.dt.kind == 'f' {
			x := math.Float64frombits(order.Uint64(b[8*j:]))
			switch {
			case math.IsInf(float64(v), 0) && !math.IsInf(x, 0):
				return fault.Malformed(a.file, "row %d: %g is too large: values lie within ±3.4e38", i, x)
			case v == 0 && x != 0:
				if lost.vanished++; lost.vanished == 1 {
					lost.small = x
				}
			}
			continue
		}
		if v >= -1<<24 && v <= 1<<24 && a.dt.size == 4 {
			continue
		}
		if text, exact := a.dt.exact(v, b[a.dt.size*j:], order); !exact {
			if lost.rounded++; lost.rounded == 1 {
				lost.whole = text
			}
		}
	}
	if lost.rounded+lost.vanished == 0 {
		return nil
	}
	a.lossMu.Lock()
	defer a.lossMu.Unlock()
	l := &a.loss
	l.whole, l.small = cmp.Or(l.whole, lost.whole), cmp.Or(l.small, lost.small)
	l.rounded += lost.rounded
	l.vanished += lost.vanished
	return nil
}

// exact reports whether v is the whole number at the beginning of b, which it returns as
// text if not.
func (d dtype) exact(v float32, b []byte, order binary.ByteOrder) (string, bool) {
	x := float64(v) // whole, and no larger than 2⁶⁴
	u := d.whole(b, order)
	if d.kind == 'u' && x < 1<<64 && uint64(x) == u || d.kind == 'i' && x < 1<<63 && int64(x) == int64(u) {
		return "", true
	}
	return d.digits(u), false
}
