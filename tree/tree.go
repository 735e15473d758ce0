// Package tree fits boosted trees to votes. A [Forest] predicts one Dirichlet distribution per item, from class logits
// and a logarithm of the concentration S that are sums over trees:
//
//	μ = softmax(logits),    α = S·μ,    log S between −4 and 8
//
// It maximizes the likelihood of the votes of each item together, as networks do, by Newton steps on histograms of at
// most 255 bins per column. Trees are symmetric: all nodes of a level split by the same column at the same value, and
// leaves have a value per output, so that an item takes one comparison per level. Missing values go to the side that
// fits better. Numbers are compared as they are; categories become the shares of votes of their levels, which are
// computed without the item's own fold where trees learn from them.
//
// A [Table] holds the bins of all items, which forests trained on different items share. A [Booster] grows a forest
// tree by tree; its caller decides when to stop. Sums are in a fixed order: results do not depend on the number of
// cores.
//
// Dimension letters: N items, F values per item that trees compare, d classes, O outputs, T trees, D levels.
package tree

import (
	"fmt"
	"math"
	"slices"

	"credence/dataset"
	"credence/internal/par"
)

// Forest is a fitted sum of trees.
type Forest struct {
	Classes int
	Depth   int       // D
	Start   []float32 // [O], the outputs without trees
	// Splits [T, D] are the values that are compared, Cuts [T, D] what with: an item is right of a cut if its value is
	// larger. A split by F + f is by value f if a missing one is to the right of all cuts, by f if it is to the left.
	Splits []float32
	Cuts   []float32
	// Leaves [T, 2^D, O] are added to the outputs; bit k of the index of a leaf is 1 right of cut k.
	Leaves []float32
	// Stats has the shares of votes of the levels of each category, [levels, shares].
	Stats [][]float32
	// Gain [columns] is the reduction of the training loss by splits of each column.
	Gain []float32

	columns []dataset.Column
	values  []value
	at      []int32 // Splits
}

// value is one of the F numbers of an item that trees compare: a column that is a number, or a share of a category.
type value struct {
	column   int // index into columns
	category int // index into Stats, or −1
	share    int
}

// values returns what trees compare, for columns of inputs and d classes.
func values(columns []dataset.Column, d int) []value {
	var list []value
	categories := 0
	for c, col := range columns {
		if col.Levels == 0 {
			list = append(list, value{c, -1, 0})
			continue
		}
		for s := range shares(d) {
			list = append(list, value{c, categories, s})
		}
		categories++
	}
	return list
}

// shares returns the number of values of a category: the share of each class, or of the second of two.
func shares(d int) int {
	if d == 2 {
		return 1
	}
	return d
}

// Outputs returns O, the number of outputs for d classes: a logit per class, or one for two classes, and log S.
func Outputs(d int) int {
	if d == 2 {
		return 2
	}
	return d + 1
}

// Trees returns T.
func (f *Forest) Trees() int { return len(f.Splits) / f.Depth }

// Bind sets the columns of the inputs that the forest reads, and returns an error if they or its fields do not fit
// together.
func (f *Forest) Bind(columns []dataset.Column) error {
	if f.Classes < 2 || f.Depth < 1 || f.Depth > maxDepth {
		return fmt.Errorf("trees: expected at least 2 classes and 1 to %d levels, found %d and %d", maxDepth, f.Classes, f.Depth)
	}
	f.columns, f.values = columns, values(columns, f.Classes)
	o, trees := Outputs(f.Classes), f.Trees()
	var levels []int
	for _, c := range columns {
		if c.Levels > 0 {
			levels = append(levels, c.Levels)
		}
	}
	for _, c := range []struct {
		what        string
		found, want int
	}{
		{"starting values", len(f.Start), o}, {"splits", len(f.Splits), trees * f.Depth}, {"cuts", len(f.Cuts), trees * f.Depth},
		{"values of leaves", len(f.Leaves), trees << f.Depth * o}, {"categories", len(f.Stats), len(levels)}, {"gains", len(f.Gain), len(columns)},
	} {
		if c.found != c.want {
			return fmt.Errorf("trees: expected %d %s, found %d", c.want, c.what, c.found)
		}
	}
	for k, stats := range f.Stats {
		if len(stats) != levels[k]*shares(f.Classes) {
			return fmt.Errorf("trees: expected %d shares of category %d, found %d", levels[k]*shares(f.Classes), k, len(stats))
		}
	}
	for _, list := range append([][]float32{f.Start, f.Cuts, f.Leaves, f.Gain}, f.Stats...) {
		if i := slices.IndexFunc(list, func(v float32) bool { return v-v != 0 }); i >= 0 {
			return fmt.Errorf("trees: expected finite numbers, found %v", list[i])
		}
	}
	f.at = make([]int32, len(f.Splits))
	for k, s := range f.Splits {
		if f.at[k] = int32(s); !(s >= 0 && int(s) < 2*len(f.values)) || float32(f.at[k]) != s {
			return fmt.Errorf("trees: expected splits by values below %d, found %v", 2*len(f.values), s)
		}
	}
	return nil
}

// maxDepth is the largest depth of a tree.
const maxDepth = 8

// LogAlpha returns log α [N, d] for inputs x [N, width], on at most the given number of threads.
func (f *Forest) LogAlpha(x []float32, width, threads int) []float32 {
	n, d := len(x)/width, f.Classes
	dst := make([]float32, n*d)
	par.Limit(threads).Chunks(n, 32, func(lo, hi int) {
		z := make([]float32, 2*len(f.values))
		out := make([]float32, len(f.Start))
		for j := lo; j < hi; j++ {
			f.read(z, x[j*width:(j+1)*width])
			f.outputs(out, z)
			logAlpha(dst[j*d:(j+1)*d], out)
		}
	})
	return dst
}

// read sets z [2F] to the values of an item: twice, with a missing one below and above all numbers.
func (f *Forest) read(z, x []float32) {
	n := len(f.values)
	for k, v := range f.values {
		c := &f.columns[v.column]
		low := x[c.At]
		high := low
		switch {
		case v.category >= 0:
			low = f.Stats[v.category][level(low, c.Levels)*shares(f.Classes)+v.share]
			high = low
		case c.Missing >= 0 && x[c.Missing] != 0:
			low, high = float32(math.Inf(-1)), float32(math.Inf(1))
		}
		z[k], z[n+k] = low, high
	}
}

// level returns the index of a code below levels, 0 (an unknown level) for any other number.
func level(code float32, levels int) int {
	if code >= 0 && int(code) < levels {
		return int(code)
	}
	return 0
}

// outputs sets out [O] to the sum of the trees for values z.
func (f *Forest) outputs(out, z []float32) {
	copy(out, f.Start)
	depth, o := f.Depth, len(out)
	size := o << depth
	for splits, cuts, leaves := f.at, f.Cuts, f.Leaves; len(splits) >= depth; splits, cuts, leaves = splits[depth:], cuts[depth:], leaves[size:] {
		leaf := 0
		for k, s := range splits[:depth] {
			right := 0
			if z[s] > cuts[k] {
				right = 1
			}
			leaf |= right << k
		}
		for i, v := range leaves[leaf*o : leaf*o+o] {
			out[i] += v
		}
	}
}
