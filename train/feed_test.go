package train

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/internal/rng"
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
	in, err := newInputs(ds, tr, memory, 0)
	if err != nil {
		t.Fatal(err)
	}
	return in, in.feed(in.buffers(3, false), 4, func(i int) []int { return [][]int{{9, 0}, {3, 4, 5}, {1}, {2, 7}}[i] }, nil)
}

// Batches come in order with the same content: of inputs that are kept, of features in
// memory, and read ahead.
func TestFeed(t *testing.T) {
	_, kept := feedOf(t, nil, 0)
	plain, raw := feedOf(t, nil, 1)
	_, ahead := feedOf(t, &broken{Rows: pictures(10).Rows, bad: -1}, 1)
	if kept.free != nil || raw.free != nil || plain.cached != nil || ahead.free == nil {
		t.Fatal("reading ahead where inputs are in memory, or not where they are not")
	}
	for range 4 {
		x, v, err := kept.next()
		for _, f := range []*feed{raw, ahead} {
			y, w, err2 := f.next()
			if err != nil || err2 != nil || len(x) == 0 || !slices.Equal(x, y) || !slices.Equal(v.Counts.Values, w.Counts.Values) {
				t.Fatalf("%v %v, %v %v: %v, %v", x, v, y, w, err, err2)
			}
		}
	}
	for _, f := range []*feed{kept, raw, ahead} {
		f.close()
	}
}

// TestFeedLong: a batch of several pieces whose rows are read when they are asked for has
// each item at its place, and an error names the item.
func TestFeedLong(t *testing.T) {
	const n = 3*feedItems + 5
	ds := manyRows(n, 3)
	ds.Features[2].Kind, ds.Features[2].Levels = dataset.Categorical, []string{"a", "b"}
	rows := ds.Rows.(*dataset.Memory)
	for i := range n {
		ds.Items[i], rows.Values[3*i+2] = strconv.Itoa(i), float32(i%2)
	}
	items := rand.New(rng.New(1, "order")).Perm(n)
	tr, err := dataset.Fit(ds, items, dataset.TransformOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in, err := newInputs(ds, tr, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	next := func() ([]float32, head.Batch, error) {
		return in.feed(in.buffers(n, false), 1, func(int) []int { return items }, nil).next()
	}
	x, votes, err := next()
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float32, in.width)
	for j, i := range items {
		if err := in.rows.ReadRow(i, want); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(x[j*in.width:(j+1)*in.width], want) || !slices.Equal(votes.Counts.Item(j), ds.CountsOf(i)) {
			t.Fatalf("place %d does not hold item %d", j, i)
		}
	}
	bad := items[2*feedItems+1]
	rows.Values[3*bad+2] = 7
	if _, _, err := next(); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("item %q: ", ds.Items[bad])) {
		t.Errorf("error %v, want one that names item %d", err, bad)
	}
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
