package tree

import (
	"fmt"
	"strings"

	"credence/dataset"
)

// Blend adds a forest to each network of an ensemble: a member is the mixture of network k with weight 1 − λ and the
// Dirichlet distribution of forest k with weight λ.
type Blend struct {
	Share   float64 // λ, above 0 and at most 1, where networks have no weight
	Forests []*Forest
}

// Member returns the blend of the members at some places of the ensemble; nil if b is nil.
func (b *Blend) Member(places ...int) *Blend {
	if b == nil {
		return nil
	}
	some := &Blend{Share: b.Share}
	for _, k := range places {
		some.Forests = append(some.Forests, b.Forests[k])
	}
	return some
}

// Check returns an error if the blend does not fit the columns, classes and number of members of a model. A nil blend fits
// all.
func (b *Blend) Check(columns []dataset.Column, classes, members int) error {
	if b == nil {
		return nil
	}
	if !(b.Share > 0 && b.Share <= 1) {
		return fmt.Errorf("trees: expected a share above 0 and at most 1, found %v", b.Share)
	}
	if len(b.Forests) != members {
		return fmt.Errorf("trees: expected a forest for each of %d networks, found %d", members, len(b.Forests))
	}
	for k, f := range b.Forests {
		if f.Classes != classes {
			return fmt.Errorf("trees: forest %d: expected %d classes, found %d", k, classes, f.Classes)
		}
		if len(f.columns) != len(columns) {
			return fmt.Errorf("trees: forest %d: expected %d columns, found %d", k, len(columns), len(f.columns))
		}
	}
	return nil
}

// Arrays returns the numbers of the forest, for a file.
func (f *Forest) Arrays() []dataset.Array {
	trees, o := f.Trees(), len(f.Start)
	list := []dataset.Array{
		{Name: "start", Shape: []int{o}, Values: f.Start},
		{Name: "splits", Shape: []int{trees, f.Depth}, Values: f.Splits}, {Name: "cuts", Shape: []int{trees, f.Depth}, Values: f.Cuts},
		{Name: "leaves", Shape: []int{trees, 1 << f.Depth, o}, Values: f.Leaves}, {Name: "gain", Shape: []int{len(f.Gain)}, Values: f.Gain},
	}
	for k, s := range f.Stats {
		n := shares(f.Classes)
		list = append(list, dataset.Array{Name: fmt.Sprintf("shares%d", k), Shape: []int{len(s) / n, n}, Values: s})
	}
	return list
}

// FromArrays returns the forest whose Arrays take returns by name, nil if there is none.
func FromArrays(columns []dataset.Column, classes int, take func(name string) *dataset.Array) (*Forest, error) {
	f := &Forest{Classes: classes}
	var missing []string
	get := func(name string, dims int) (values []float32, shape []int) {
		a := take(name)
		if a == nil || len(a.Shape) != dims {
			missing = append(missing, name)
			return nil, make([]int, dims)
		}
		return a.Values, a.Shape
	}
	f.Start, _ = get("start", 1)
	var shape []int
	f.Splits, shape = get("splits", 2)
	f.Depth = shape[1]
	f.Cuts, _ = get("cuts", 2)
	f.Leaves, _ = get("leaves", 3)
	f.Gain, _ = get("gain", 1)
	k := 0
	for _, c := range columns {
		if c.Levels > 0 {
			stats, _ := get(fmt.Sprintf("shares%d", k), 2)
			f.Stats = append(f.Stats, stats)
			k++
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("trees: expected arrays %s of other dimensions", strings.Join(missing, ", "))
	}
	return f, f.Bind(columns)
}

// Importance returns the share of each column in the reduction of the training loss by all splits, in the order of
// columns.
func (b *Blend) Importance() (columns []dataset.Column, share []float64) {
	sum := 0.0
	for _, f := range b.Forests {
		if columns == nil {
			columns, share = f.columns, make([]float64, len(f.columns))
		}
		for c, g := range f.Gain {
			share[c] += float64(g)
			sum += float64(g)
		}
	}
	for c := range share {
		if sum > 0 {
			share[c] /= sum
		}
	}
	return columns, share
}
