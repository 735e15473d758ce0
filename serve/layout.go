package serve

import (
	"sync"

	"credence/mixture"
	"credence/predict"
)

// layout is what a row of an answer holds.
type layout struct {
	table *predict.Table
	names error // why the rows cannot be objects: names of columns that are equal
	full  bool  // parameters of the mixtures are asked for
}

// layouts keeps the layouts of a model that are asked for again and again.
type layouts struct {
	mu   sync.RWMutex
	list map[layoutKey]*layout
}

// layoutKey is what a layout depends on, where all columns are wanted.
type layoutKey struct{ level, maxWidth, minTop float64 }

// mostLayouts is how many layouts are kept: levels come from clients.
const mostLayouts = 16

// layout returns the layout of what is wanted.
func (s *served) layout(w *wanted) *layout {
	if w.columns != nil {
		return newLayout(s, w)
	}
	key := layoutKey{w.level, w.MaxWidth, w.MinTop}
	s.layouts.mu.RLock()
	l := s.layouts.list[key]
	s.layouts.mu.RUnlock()
	if l != nil {
		return l
	}
	l = newLayout(s, w)
	s.layouts.mu.Lock()
	defer s.layouts.mu.Unlock()
	if s.layouts.list == nil {
		s.layouts.list = map[layoutKey]*layout{}
	}
	if len(s.layouts.list) < mostLayouts {
		s.layouts.list[key] = l
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
