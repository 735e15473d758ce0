package serve

import (
	"credence/mixture"
	"credence/predict"
)

// layout is what a row of an answer holds.
type layout struct {
	table *predict.Table
	names error // why the rows cannot be objects: names of columns that are equal
	full  bool  // parameters of the mixtures are asked for
}

// layoutKey is what a layout depends on, where all columns are wanted.
type layoutKey struct{ level, maxWidth, minTop float64 }

// mostLayouts is how many layouts are kept: levels come from clients.
const mostLayouts = 16

// layout returns the layout of what is wanted. Those that are asked for again and again are kept.
func (s *served) layout(w *wanted) *layout {
	if w.columns != nil {
		return newLayout(s, w)
	}
	key := layoutKey{w.level, w.MaxWidth, w.MinTop}
	if l, ok := s.layouts.Load(key); ok {
		return l.(*layout)
	}
	l := newLayout(s, w)
	if s.kept.Add(1) <= mostLayouts {
		s.layouts.Store(key, l)
	}
	return l
}

func newLayout(s *served, w *wanted) *layout {
	// The precision of credence predict.
	t := predict.NewTable(s.model, predict.Format{
		Summary: predict.Summary{Levels: []float64{w.level}, Precision: mixture.SixDigits, MaxWidth: w.MaxWidth, MinTop: w.MinTop},
		Wide:    true, Top: w.wants("p_top"), Next: w.columns["next_gain"],
		Keep: w.keeps,
	})
	return &layout{table: t, names: t.CheckNames(), full: w.columns["weights"] || w.columns["alpha"]}
}
