package serve

import (
	"sync"

	"credence/internal/prediction"
	"credence/mixture"
)

// layout is what a row of an answer holds, and where.
type layout struct {
	maker *prediction.Maker
	names error            // why the rows cannot be objects: names of columns that are equal
	at    map[string][]int // where a row has the values of a name
	full  bool             // parameters of the mixtures are asked for
}

// layouts keeps the layouts of a model that are asked for again and again.
type layouts struct {
	mu   sync.RWMutex
	list map[layoutKey]*layout
}

// layoutKey is what a layout depends on, where all columns are wanted.
type layoutKey struct {
	level float64
	rule  abstention
}

// mostLayouts is how many layouts are kept: levels come from clients.
const mostLayouts = 16

// layout returns the layout of what is wanted.
func (s *served) layout(w *wanted) *layout {
	if w.columns != nil {
		return newLayout(s, w)
	}
	key := layoutKey{w.level, w.rule}
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
	l := &layout{at: map[string][]int{}, full: w.columns["weights"] || w.columns["alpha"]}
	// The precision of credence predict.
	l.maker = prediction.New(s.model, prediction.Options{
		Levels: []float64{w.level}, Precision: mixture.SixDigits, Wide: true,
		Top: w.wants("p_top"), Next: w.columns["next_gain"], MaxWidth: w.rule.maxWidth, MinTop: w.rule.minTop,
		Keep: func(name string) bool { return name == "mean" || name == "abstain" || w.wants(name) },
	})
	for i, c := range l.maker.Columns() {
		l.at[c.Of] = append(l.at[c.Of], i)
	}
	l.names = l.maker.CheckNames()
	return l
}

// places returns where a row has the values of a name: one for each class, or a single one if it is about the
// item. There are none if it was not asked for or the model does not tell it.
func (l *layout) places(name string) []int { return l.at[name] }
