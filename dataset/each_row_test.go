package dataset

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// numbered are rows whose values are their number; row bad cannot be read.
type numbered struct{ n, width, bad int }

var errBadRow = errors.New("a bad row")

func (r numbered) Len() int   { return r.n }
func (r numbered) Width() int { return r.width }

func (r numbered) ReadRow(i int, dst []float32) error {
	if i == r.bad {
		return errBadRow
	}
	for k := range dst {
		dst[k] = float32(i)
	}
	return nil
}

// Rows are read in order, wide ones too, and an error ends the loop.
func TestEachRow(t *testing.T) {
	stop := errors.New("enough")
	for _, width := range []int{3, wideRow} {
		for _, c := range []struct {
			bad, until int
			want       []int
			err        error
		}{{-1, -1, []int{8, 6, 4, 2, 0}, nil}, {4, -1, []int{8, 6}, errBadRow}, {-1, 6, []int{8, 6}, stop}} {
			var got []int
			err := eachRow(numbered{9, width, c.bad}, []int{8, 6, 4, 2, 0}, func(row int, x []float32) error {
				if x[0] != float32(row) || x[width-1] != float32(row) {
					return fmt.Errorf("row %d holds %v and %v", row, x[0], x[width-1])
				}
				got = append(got, row)
				if row == c.until {
					return stop
				}
				return nil
			})
			if !errors.Is(err, c.err) || !slices.Equal(got, c.want) {
				t.Errorf("width %d, %+v: %v, %v", width, c, got, err)
			}
		}
	}
}
