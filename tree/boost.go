package tree

import (
	"math"
	"slices"

	"credence/internal/par"
	"credence/internal/rng"
)

// Options controls how trees grow. Fields left zero are chosen.
type Options struct {
	Depth   int     // levels of a tree; 0 means 4
	Rate    float64 // share of a Newton step that a tree takes; 0 means 0.1
	L2      float64 // added to the curvature of a leaf; 0 means 3
	Rows    float64 // share of the items that a tree learns from; 0 means 0.8, and at most 200,000 items
	Columns float64 // share of the values that a tree may split by, below 1 from 8 to 48 of them; 0 means 0.3
	Seed    uint64
	Member  uint64 // with Seed, selects the samples
	Threads int    // largest number of goroutines; 0 means all cores
}

// leastColumns and mostColumns bound the number of values that a tree may split by, if there are as many.
const leastColumns, mostColumns = 8, 48

// mostRows is the largest number of items that a tree learns from.
const mostRows = 200_000

func (o Options) complete() Options {
	set := func(x *float64, def float64) {
		if *x == 0 {
			*x = def
		}
	}
	if o.Depth == 0 {
		o.Depth = 4
	}
	set(&o.Rate, 0.1)
	set(&o.L2, 3)
	set(&o.Rows, 0.8)
	set(&o.Columns, 0.3)
	return o
}

// Sample is what a forest learns from: some items of a table.
type Sample struct {
	Items   []int     // to learn from
	Folds   []int     // [N], of each item of the table; the statistics of a category leave out the fold of an item
	Votes   []float32 // [N, d]
	Weights []float64 // [N], or nil
	Start   []float64 // [d], α of the Dirichlet distribution without trees
}

// Booster adds trees to a forest, one at a time.
type Booster struct {
	o       Options
	table   *Table
	sample  Sample
	forest  *Forest
	items   []int32   // of the sample, sorted
	outputs []float32 // [N, O], of every item of the table
	grad    []float32 // [N, O, 2]
	grower  *grower
	gain    [][]float32 // [T, columns]
}

// NewBooster returns a booster without trees for d classes.
func NewBooster(t *Table, d int, s Sample, o Options) *Booster {
	o = o.complete()
	b := &Booster{o: o, table: t, sample: s}
	b.forest = &Forest{Classes: d, Depth: o.Depth, columns: t.columns, values: values(t.columns, d), Start: start(s.Start)}
	for _, i := range s.Items {
		b.items = append(b.items, int32(i))
	}
	slices.Sort(b.items)
	width := Outputs(d)
	b.outputs, b.grad = make([]float32, t.n*width), make([]float32, t.n*2*width)
	for i := range t.n {
		copy(b.outputs[i*width:(i+1)*width], b.forest.Start)
	}
	var list []binned
	categories := b.categories()
	for _, v := range b.forest.values {
		if v.category < 0 {
			list = append(list, t.numbers[v.column])
		} else {
			list = append(list, categories[v.category][v.share])
		}
	}
	b.grower = newGrower(list, width, t.most, o.Depth, o.L2, o.Threads)
	return b
}

// start returns the outputs [O] of a Dirichlet distribution.
func start(alpha []float64) []float32 {
	sum := 0.0
	var out []float32
	for _, a := range alpha {
		sum += a
		out = append(out, float32(math.Log(a)))
	}
	if len(alpha) == 2 {
		out = []float32{out[1] - out[0]}
	}
	return append(out, float32(math.Log(sum)))
}

// Trees returns the number of trees so far.
func (b *Booster) Trees() int { return len(b.gain) }

// Grow adds a tree.
func (b *Booster) Grow() {
	d, width := b.forest.Classes, len(b.forest.Start)
	const chunk = 256
	par.Limit(b.o.Threads).Chunks(len(b.items), chunk, func(lo, hi int) {
		alpha := make([]float32, d)
		for _, i := range b.items[lo:hi] {
			weight := 1.0
			if b.sample.Weights != nil {
				weight = b.sample.Weights[i]
			}
			at := int(i)
			gradient(b.grad[at*2*width:(at+1)*2*width], b.outputs[at*width:(at+1)*width], b.sample.Votes[at*d:(at+1)*d], alpha, weight)
		}
	})
	r := rng.New(b.o.Seed, "trees", b.o.Member, uint64(b.Trees()))
	rows := sampled(b.items, min(int(math.Ceil(b.o.Rows*float64(len(b.items)))), mostRows), r)
	all := make([]int, len(b.grower.values))
	for k := range all {
		all[k] = k
	}
	chosen := sampled(all, b.columns(len(all)), r)
	b.add(b.grower.grow(rows, b.grad, chosen))
}

// columns returns how many of n values a tree may split by.
func (b *Booster) columns(n int) int {
	if b.o.Columns == 1 {
		return n
	}
	return min(n, mostColumns, max(leastColumns, int(math.Ceil(b.o.Columns*float64(n)))))
}

// sampled returns k of the elements of list, in order, by Knuth's algorithm S.
func sampled[T any](list []T, k int, r *rng.Stream) []T {
	out := make([]T, 0, k)
	for i := range list {
		if r.Float64()*float64(len(list)-i) < float64(k-len(out)) {
			out = append(out, list[i])
		}
	}
	return out
}

// add adds the tree with the given splits, whose sums are those of the grower, to the forest and all outputs.
func (b *Booster) add(splits []split) {
	f, g := b.forest, b.grower
	width, from := len(f.Start), len(f.Leaves)
	gain := make([]float32, len(f.columns))
	for k := range f.Depth {
		at, cut := 0, float32(math.MaxFloat32) // all values are left of it
		if k < len(splits) {
			s := splits[k]
			at, cut = s.value, g.values[s.value].cuts[s.cut]
			gain[f.values[s.value].column] += float32(s.gain / 2)
			if s.right {
				at += len(f.values)
			}
		}
		f.Splits, f.Cuts = append(f.Splits, float32(at)), append(f.Cuts, cut)
	}
	b.gain = append(b.gain, gain)
	f.Leaves = append(f.Leaves, make([]float32, width<<f.Depth)...)
	leaves := f.Leaves[from:]
	for at := range g.ends { // the first split is the highest bit of the order of leaves, the lowest of their index
		leaf := 0
		for k := range splits {
			leaf |= at >> (len(splits) - 1 - k) & 1 << k
		}
		for o := range width {
			t := g.totals[at*2*width+2*o:]
			leaves[leaf*width+o] = float32(-b.o.Rate * t[0] / (t[1] + b.o.L2))
		}
	}
	par.Limit(b.o.Threads).Chunks(b.table.n, 1024, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			leaf := 0
			for k := range splits {
				if splits[k].isRight(g.values[splits[k].value].bins[i]) {
					leaf |= 1 << k
				}
			}
			out := b.outputs[i*width : (i+1)*width]
			for o, v := range leaves[leaf*width : (leaf+1)*width] {
				out[o] += v
			}
		}
	})
}

// LogAlpha appends log α [items, d] of items of the table to dst.
func (b *Booster) LogAlpha(dst []float32, items []int) []float32 {
	d, width := b.forest.Classes, len(b.forest.Start)
	from := len(dst)
	dst = append(dst, make([]float32, len(items)*d)...)
	for k, i := range items {
		logAlpha(dst[from+k*d:from+(k+1)*d], b.outputs[i*width:(i+1)*width])
	}
	return dst
}

// Forest returns the first trees.
func (b *Booster) Forest(trees int) *Forest {
	f := *b.forest
	f.Splits, f.Cuts = slices.Clone(f.Splits[:trees*f.Depth]), slices.Clone(f.Cuts[:trees*f.Depth])
	f.Leaves = slices.Clone(f.Leaves[:trees<<f.Depth*len(f.Start)])
	f.Gain = make([]float32, len(f.columns))
	for _, gain := range b.gain[:trees] {
		for c, v := range gain {
			f.Gain[c] += v
		}
	}
	if err := f.Bind(f.columns); err != nil {
		panic(err) // of its own making
	}
	return &f
}
