package train

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"credence/dataset"
)

// broken are rows of which one cannot be read.
type broken struct {
	dataset.Rows
	bad   int
	reads atomic.Int64
}

var errBroken = errors.New("broken")

func (b *broken) ReadRow(i int, dst []float32) error {
	b.reads.Add(1)
	if i == b.bad {
		return errBroken
	}
	return b.Rows.ReadRow(i, dst)
}

func feedOf(t *testing.T, rows dataset.Rows, memory int64) (*inputs, *feed) {
	t.Helper()
	ds := pictures(10)
	tr, err := dataset.Fit(ds, []int{0, 1, 2, 3}, dataset.TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if rows != nil {
		ds.Rows = rows
	}
	in, err := newInputs(ds, tr, memory)
	if err != nil {
		t.Fatal(err)
	}
	return in, in.feed(in.buffers(3, false), 4, func(i int) []int { return [][]int{{9, 0}, {3, 4, 5}, {1}, {2, 7}}[i] }, nil)
}

// Batches come in order with the same content, read ahead or not.
func TestFeed(t *testing.T) {
	_, kept := feedOf(t, nil, 0)
	_, ahead := feedOf(t, nil, 1)
	if kept.free != nil || ahead.free == nil {
		t.Fatal("reading ahead where inputs are in memory, or not where they are not")
	}
	for range 4 {
		x, v, err := kept.next()
		y, w, err2 := ahead.next()
		if err != nil || err2 != nil || len(x) == 0 || !slices.Equal(x, y) || !slices.Equal(v.Counts.Values, w.Counts.Values) {
			t.Fatalf("%v %v, %v %v: %v, %v", x, v, y, w, err, err2)
		}
	}
	kept.close()
	ahead.close()
}

// An error comes in its turn, and names the item; a feed may be closed at any
// time; no more is read than the buffers hold.
func TestFeedErrors(t *testing.T) {
	ds := pictures(10)
	_, f := feedOf(t, &broken{Rows: ds.Rows, bad: 4}, 1)
	if _, _, err := f.next(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.next(); !errors.Is(err, errBroken) || err.Error() != `item "image 4": broken` {
		t.Error(err)
	}
	f.close()
	rows := &broken{Rows: ds.Rows, bad: -1}
	_, f = feedOf(t, rows, 1)
	f.close()
	if n := rows.reads.Load(); n > 5 {
		t.Errorf("%d rows read for a feed of two buffers that nobody asked", n)
	}
}
