package dataset

import (
	"fmt"
	"slices"

	"credence/internal/words"
)

// Layout says what the axes of an item in an array mean: C channels, D depth,
// H height, W width. Images and volumes are handed on with channels first.
type Layout string

const (
	// autoLayout takes one axis as a vector, two as HW, three as CHW if the
	// first is at most 4, as HWC if the last is, else as DHW, and four as DHWC
	// if the last alone is at most 4, else as CDHW.
	autoLayout Layout = ""
	Vector     Layout = "vector" // all values in one vector
	HW         Layout = "HW"
	CHW        Layout = "CHW"
	HWC        Layout = "HWC"
	DHW        Layout = "DHW"
	CDHW       Layout = "CDHW"
	DHWC       Layout = "DHWC"
)

// resolve returns the layout of items of the given shape.
func (l Layout) resolve(item []int) (Layout, error) {
	if l != autoLayout {
		if l != Vector && !slices.Contains([]Layout{HW, CHW, HWC, DHW, CDHW, DHWC}, l) {
			return "", fmt.Errorf("layout %q is not one of [vector HW CHW HWC DHW CDHW DHWC]", string(l))
		}
		if l != Vector && len(l) != len(item) {
			return "", fmt.Errorf("layout %s takes items of %d axes, but these have %d: shape %s", l, len(l), len(item), words.Shape(item))
		}
		return l, nil
	}
	switch n := len(item); {
	case n <= 1:
		return Vector, nil
	case n == 2:
		return HW, nil
	case n == 3 && item[0] <= 4:
		return CHW, nil
	case n == 3 && item[2] <= 4:
		return HWC, nil
	case n == 3:
		return DHW, nil
	case n == 4 && item[0] > 4 && item[3] <= 4:
		return DHWC, nil
	case n == 4:
		return CDHW, nil
	}
	return "", fmt.Errorf("items with %d axes: only the layout \"vector\" reads them", len(item))
}

// arrange returns the shape of a part with channels first, and its rows.
func (l Layout) arrange(item []int, rows Rows) ([]int, Rows, error) {
	l, err := l.resolve(item)
	if err != nil {
		return nil, nil, err
	}
	switch l {
	case HW, DHW:
		return append([]int{1}, item...), rows, nil
	case CHW, CDHW:
		return slices.Clone(item), rows, nil
	case HWC, DHWC:
		last := len(item) - 1
		shape := append([]int{item[last]}, item[:last]...)
		if item[last] == 1 {
			return shape, rows, nil
		}
		return shape, channelsFirst{rows, item[last]}, nil
	}
	return []int{rows.Width()}, rows, nil
}

// channelsFirst moves the last axis, of c channels, to the front.
type channelsFirst struct {
	src Rows
	c   int
}

func (r channelsFirst) Len() int   { return r.src.Len() }
func (r channelsFirst) Width() int { return r.src.Width() }

func (r channelsFirst) ReadRow(i int, dst []float32) error {
	row := make([]float32, len(dst))
	if err := r.src.ReadRow(i, row); err != nil {
		return err
	}
	n := len(row) / r.c
	for c := range r.c {
		for p := range n {
			dst[c*n+p] = row[p*r.c+c]
		}
	}
	return nil
}
