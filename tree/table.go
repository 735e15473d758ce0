package tree

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"credence/dataset"
	"credence/internal/par"
)

// Table holds the bins of N items. Forests that learn from some of them share it.
type Table struct {
	columns []dataset.Column
	n       int
	numbers []binned  // one per column that is a number, else empty
	codes   [][]int32 // of each category
	most    int       // largest number of bins
}

// binned is a number of every item, as its position among cuts: right of the cuts below bin b, left of the others.
type binned struct {
	cuts    []float32
	bins    []uint8 // [N]
	missing bool    // whether a bin is missingBin
}

const (
	missingBin = 255
	// mostBins is the largest number of bins; fewer items have fewer, since more would take time and fit noise.
	mostBins, someBins, fewBins = 255, 64, 32
	someItems, manyItems        = 2_000, 20_000
	// sampledItems is the number of items that cuts are chosen from.
	sampledItems = 200_000
	// blockValues is the number of values that are read at a time.
	blockValues = 1 << 26
)

// NewTable returns the table of n items with the given columns, whose inputs of the given width read returns.
func NewTable(columns []dataset.Column, n, width int, read func(i int, x []float32) error, threads int) (*Table, error) {
	t := &Table{columns: columns, n: n, numbers: make([]binned, len(columns)), most: fewBins}
	if n >= someItems {
		t.most = someBins
	}
	if n >= manyItems {
		t.most = mostBins
	}
	block := max(1, blockValues/max(1, n))
	for lo := 0; lo < len(columns); lo += block {
		some := columns[lo:min(lo+block, len(columns))]
		cells, err := readColumns(some, n, width, read, threads)
		if err != nil {
			return nil, err
		}
		par.Limit(threads).For(len(some), func(c int) {
			if some[c].Levels == 0 {
				t.numbers[lo+c] = bin(cells[c], t.most)
			}
		})
		for c := range some {
			if some[c].Levels > 0 {
				codes := make([]int32, n)
				for i, x := range cells[c] {
					codes[i] = int32(level(x, some[c].Levels))
				}
				t.codes = append(t.codes, codes)
			}
		}
	}
	return t, nil
}

// readColumns returns the values of columns of all items, NaN for missing numbers.
func readColumns(columns []dataset.Column, n, width int, read func(i int, x []float32) error, threads int) ([][]float32, error) {
	cells := make([][]float32, len(columns))
	for c := range cells {
		cells[c] = make([]float32, n)
	}
	const chunk = 512
	errs := make([]error, (n+chunk-1)/chunk)
	par.Limit(threads).Chunks(n, chunk, func(lo, hi int) {
		x := make([]float32, width)
		for i := lo; i < hi; i++ {
			if err := read(i, x); err != nil {
				errs[lo/chunk] = err
				return
			}
			for c, col := range columns {
				cells[c][i] = x[col.At]
				if col.Levels == 0 && col.Missing >= 0 && x[col.Missing] != 0 {
					cells[c][i] = float32(math.NaN())
				}
			}
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("trees: %w", err)
		}
	}
	return cells, nil
}

// bin chooses cuts between the values, at most most − 1, and returns the bin of each.
func bin(values []float32, most int) binned {
	every := (len(values) + sampledItems - 1) / sampledItems
	var sorted []float32
	for i := 0; i < len(values); i += every {
		if v := values[i]; v == v {
			sorted = append(sorted, v)
		}
	}
	slices.Sort(sorted)
	b := binned{cuts: chooseCuts(sorted, most-1), bins: make([]uint8, len(values))}
	for i, v := range values {
		if v != v {
			b.bins[i], b.missing = missingBin, true
			continue
		}
		b.bins[i] = uint8(sort.Search(len(b.cuts), func(k int) bool { return v <= b.cuts[k] }))
	}
	return b
}

// chooseCuts returns at most most cuts between sorted values: between all distinct ones if they are few, else at
// equally many items from each other as far as ties allow.
func chooseCuts(sorted []float32, most int) []float32 {
	var ends []int // the index after each distinct value but the last
	for i := 1; i < len(sorted); i++ {
		if sorted[i] != sorted[i-1] {
			ends = append(ends, i)
		}
	}
	var cuts []float32
	for k, next := 0, float64(len(sorted))/float64(most+1); k < len(ends); k++ {
		e := ends[k]
		if len(ends) > most {
			if float64(e) < next {
				continue
			}
			if len(cuts) == most {
				break
			}
			// The rest is divided evenly: a value with many ties does not use up the cuts of the others.
			next = float64(e) + float64(len(sorted)-e)/float64(most-len(cuts))
		}
		lo, hi := sorted[e-1], sorted[e]
		cut := lo/2 + hi/2
		if !(cut >= lo && cut < hi) {
			cut = lo
		}
		cuts = append(cuts, cut)
	}
	return cuts
}
