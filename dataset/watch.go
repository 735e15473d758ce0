package dataset

import (
	"fmt"
	"slices"

	"credence/internal/words"
)

// Watch compares the features of new items with those a transform was fitted on. A
// model answers for any input, however unlike its training items; a column in other
// units, or without values, shows only here.
type Watch struct {
	t      *Transform
	items  int
	unlike Unlike
	seen   []watched // one per part
}

// Unlike counts items unlike those of training.
type Unlike struct {
	Far     int // with a value far outside the training range
	Unknown int // with a level that training did not have
}

// Unlike returns how many of the items added so far are unlike those of training.
func (w *Watch) Unlike() Unlike { return w.unlike }

// watched counts what is unusual about one feature.
type watched struct {
	values, missing int
	unheard         int     // texts without a word that training had
	far             int     // items with a value far outside the training range
	lo, hi          float32 // of the values
}

// NewWatch returns a watch that has seen nothing yet.
func (t *Transform) NewWatch() *Watch {
	return &Watch{t: t, seen: make([]watched, len(t.parts))}
}

// Add looks at the items of ds, which has the features of the transform, except those
// for which skip is not nil. It reads every row once.
func (w *Watch) Add(ds *Dataset, skip []error) error {
	if ds.Rows == nil {
		return errNoFeatures
	}
	in, err := w.t.bind(ds.Parts)
	if err != nil {
		return err
	}
	row := make([]float32, ds.Rows.Width())
	for i := range ds.Rows.Len() {
		if skip != nil && skip[i] != nil {
			continue
		}
		if err := ds.Rows.ReadRow(i, row); err != nil {
			continue // prediction reports it
		}
		w.items++
		far, unknown := false, false
		for k := range in.ops {
			b := &in.ops[k]
			x := row[b.from : b.from+b.p.Part.Width()]
			far = w.seen[k].add(b, x) || far
			unknown = unknown || b.p.Kind == Categorical && x[0] == UnknownLevel
		}
		if far {
			w.unlike.Far++
		}
		if unknown {
			w.unlike.Unknown++
		}
	}
	return nil
}

// add takes the values of one item into account, and reports whether one of them is far outside the
// training range.
func (s *watched) add(b *binding, x []float32) (far bool) {
	p := b.p
	if p.Kind == Categorical || p.Kind == Text {
		if x[0] != x[0] {
			s.missing++
			return false
		}
		s.values++
		if i, err := textAt(x[0], len(b.texts)); p.Kind == Text && err == nil && !p.model().Heard(b.texts[i]) {
			s.unheard++
		}
		return false
	}
	each := len(x) / len(p.Mean)
	found := false
	for i, v := range x {
		if v != v {
			continue
		}
		if s.values == 0 && !found {
			s.lo, s.hi = v, v
		}
		found = true
		s.lo, s.hi = min(s.lo, v), max(s.hi, v)
		far = far || p.far(i/each, v)
	}
	if far {
		s.far++
	}
	if found {
		s.values++
	} else {
		s.missing++
	}
	return far
}

// farSDs is how many standard deviations from the mean are far where the training
// range is not known.
const farSDs = 20

// far reports whether a value of a channel lies farther outside the training range
// than half its length: the range of a sample is exceeded now and then, but rarely by
// so much. Of a constant, anything beyond its own size is far.
func (p *fitted) far(channel int, v float32) bool {
	x, mean, sd := float64(v), p.Mean[channel], p.SD[channel]
	if len(p.Min) == 0 {
		return sd > 0 && (x < mean-farSDs*sd || x > mean+farSDs*sd)
	}
	lo, hi := float64(p.Min[channel]), float64(p.Max[channel])
	margin := (hi - lo) / 2
	if hi == lo {
		margin = max(hi, -hi, 1)
	}
	return x < lo-margin || x > hi+margin
}

// Warnings tells what is unusual about the items added so far, in one warning for
// each kind of trouble.
func (w *Watch) Warnings() []error {
	var empty, gaps, foreign, far []string
	for k := range w.seen {
		s, p := &w.seen[k], &w.t.parts[k]
		switch {
		case s.values == 0 && s.missing > 0:
			empty = append(empty, p.Name)
		case s.missing > 0 && !p.Missing && p.Kind != Tensor:
			gaps = append(gaps, fmt.Sprintf("%s (%s of %s)", p.Name, words.Thousands(s.missing), words.Thousands(w.items)))
		}
		if s.unheard*2 > s.values {
			foreign = append(foreign, fmt.Sprintf("%s (%s of %s)", p.Name, words.Thousands(s.unheard), number(s.values, "text")))
		}
		if s.far == 0 {
			continue
		}
		text := fmt.Sprintf("%s (%s of %s, %g to %g", p.Name, words.Thousands(s.far), number(w.items, "item"), s.lo, s.hi)
		if len(p.Min) > 0 {
			text += fmt.Sprintf("; in training %g to %g", slices.Min(p.Min), slices.Max(p.Max))
		}
		far = append(far, text+")")
	}
	var list []error
	for _, trouble := range []struct {
		format string
		names  []string
	}{
		{"no item has a value in %s: every prediction goes without", empty},
		{"values are missing that every training item had, and count as the mean or as no level: %s", gaps},
		{"texts have no word in common with those of training: %s; are they in the same language?", foreign},
		{"values far outside what training saw, for which predictions mean little: %s; are the units the same?", far},
	} {
		if len(trouble.names) > 0 {
			list = append(list, fmt.Errorf(trouble.format, words.Few(trouble.names)))
		}
	}
	return list
}
