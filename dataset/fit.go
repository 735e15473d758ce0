package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/internal/par"
	"credence/internal/words"
)

// TransformOptions specifies how features are converted into network inputs.
type TransformOptions struct {
	// OneHotLevels is the largest number of levels of a categorical column for
	// one-hot encoding; a column with more gets codes for an embedding. 0 means 4,
	// negative means none.
	OneHotLevels int `json:"one_hot_levels"`
	// OneHot and Embed name categorical columns with the given encoding.
	OneHot []string `json:"one_hot"`
	Embed  []string `json:"embed"`
	// RareLevel is the number of training items below which a level of an
	// embedded column shares the code of unknown levels, so that there are data to
	// learn this code from. 0 means 2.
	RareLevel int `json:"rare_level"`
	// Scores specifies whether numbers have normal scores as further inputs: "auto" or "off"; empty means auto.
	Scores string `json:"scores,omitempty"`
}

// Complete returns the options with defaults in place of zero values.
func (o TransformOptions) Complete() TransformOptions {
	o.OneHotLevels = cmp.Or(o.OneHotLevels, 4)
	o.RareLevel = cmp.Or(o.RareLevel, 2)
	o.Scores = cmp.Or(o.Scores, "auto")
	return o
}

// Fit fits a transform to the given items of ds, which should be the training
// items only. It reads them once, in the order of the data. Columns of text are
// fitted by [Transform.FitText].
func Fit(ds *Dataset, rows []int, opts TransformOptions) (*Transform, error) {
	if ds.Rows == nil || len(ds.Features) == 0 {
		return nil, errNoFeatures
	}
	if len(rows) == 0 {
		return nil, errors.New("no training items to standardize features on")
	}
	if err := checkFeatures(ds.Features); err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(opts.OneHot, opts.Embed) {
		if !slices.ContainsFunc(ds.Features, func(p Feature) bool { return p.Name == name && p.Kind == Categorical }) {
			return nil, fmt.Errorf("column %q is not categorical", name)
		}
	}
	if s := opts.Complete().Scores; s != "auto" && s != "off" {
		return nil, fmt.Errorf("normal scores: expected one of [auto off], found %q", s)
	}
	rows = slices.Sorted(slices.Values(rows))
	sums := make([]summary, len(ds.Features))
	for i, p := range ds.Features {
		sums[i] = newSummary(p)
		if p.Kind == Numeric && !p.Judge && opts.Scores != "off" {
			sums[i].every = (len(rows) + scoredItems - 1) / scoredItems
		}
	}
	err := eachRow(ds.Rows, rows, func(r int, raw []float32) error {
		at := 0
		for i, p := range ds.Features {
			w := p.Width()
			if err := sums[i].add(p.numbers(raw[at : at+w])); err != nil {
				return fmt.Errorf("item %q, feature %q: %w", ds.Items[r], p.Name, err)
			}
			at += w
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t := &Transform{features: make([]fitted, len(ds.Features))}
	if t.shares, err = fitShares(ds, rows); err != nil {
		return nil, err
	}
	par.For(len(sums), func(i int) {
		p := ds.Features[i]
		t.features[i] = sums[i].fit(p, opts)
		if p.document() {
			t.features[i].unread(len(ds.Classes))
		}
	})
	return t, nil
}

// summary collects the statistics of one feature for a transform.
type summary struct {
	channels []moments // of numbers
	texts    int       // number of texts
	levels   []int     // number of items per level
	missing  bool
	every    int       // of how many items the values are kept for normal scores; 0 without
	values   []float32 // of numbers
	seen     int       // values, if some are kept
}

// moments are sums of differences from the first value, so that a small spread
// around a large mean is not lost to rounding.
type moments struct {
	n            int
	shift        float64
	sum, squares float64
	min, max     float32
}

func newSummary(p Feature) summary {
	if p.Kind == Categorical {
		return summary{levels: make([]int, len(p.Levels))}
	}
	if p.document() {
		return summary{texts: len(p.Texts)}
	}
	f := fitted{Feature: p}
	return summary{channels: make([]moments, f.channels())}
}

func (s *summary) add(x []float32) error {
	if s.channels == nil {
		switch c := x[0]; {
		case c != c:
			s.missing = true
		case s.levels == nil:
			_, err := textAt(c, s.texts)
			return err
		case c >= 0 && int(c) < len(s.levels):
			s.levels[int(c)]++
		case c != UnknownLevel:
			return fmt.Errorf("expected the code of one of %d levels, found %v", len(s.levels), c)
		}
		return nil
	}
	if v := x[0]; s.every > 0 && v == v {
		if s.seen%s.every == 0 {
			s.values = append(s.values, v)
		}
		s.seen++
	}
	each := len(x) / len(s.channels)
	for c := range s.channels {
		m := s.channels[c] // a copy, which stays in registers
		for _, v := range x[c*each : (c+1)*each] {
			if v != v {
				s.missing = true
				continue
			}
			if v > math.MaxFloat32 || v < -math.MaxFloat32 {
				return errors.New("expected a finite value, found an infinity")
			}
			if m.n == 0 {
				m.shift, m.min, m.max = float64(v), v, v
			}
			d := float64(v) - m.shift
			m.n++
			m.sum += d
			m.squares += d * d
			m.min, m.max = min(m.min, v), max(m.max, v)
		}
		s.channels[c] = m
	}
	return nil
}

func (s *summary) fit(p Feature, opts TransformOptions) fitted {
	f := fitted{Feature: p, Missing: s.missing && p.Kind != Tensor && p.Embedding == nil}
	f.Texts = nil
	if p.Kind == Categorical {
		s.fitLevels(&f, opts)
		return f
	}
	for _, m := range s.channels {
		mean, sd := m.shift, 0.0
		if m.n > 0 {
			n := float64(m.n)
			mean += m.sum / n
			if m.min != m.max {
				sd = math.Sqrt(max(0, m.squares-m.sum*m.sum/n) / n)
			}
		}
		f.Mean = append(f.Mean, mean)
		f.SD = append(f.SD, sd)
		f.Min, f.Max = append(f.Min, m.min), append(f.Max, m.max)
	}
	f.fitScores(s.values)
	return f
}

// fitLevels keeps the levels that occur in the training data and selects the encoding.
func (s *summary) fitLevels(f *fitted, opts TransformOptions) {
	opts = opts.Complete()
	shown := 0
	for _, n := range s.levels {
		if n > 0 {
			shown++
		}
	}
	embed := slices.Contains(opts.Embed, f.Name) || shown > opts.OneHotLevels && !f.Judge && !slices.Contains(opts.OneHot, f.Name)
	least := 1
	if embed {
		f.Encoding, least = code, opts.RareLevel
	}
	var kept []string
	for i, n := range s.levels {
		if n >= least {
			kept = append(kept, f.Levels[i])
		}
	}
	f.Levels = kept
}

// Watch compares the features of new items with those a transform was fitted to. A
// model returns a prediction for any input, however different from its training items;
// a column in other units, or without values, is noticed only here.
type Watch struct {
	t      *Transform
	items  int
	unlike Unlike
	seen   []watched // one per feature
}

// Unlike counts items that differ from the training items.
type Unlike struct {
	Far     int // with a value far outside the training range
	Unknown int // with a level that is not in the training data
}

// Unlike returns the numbers of items added so far that differ from the training items.
func (w *Watch) Unlike() Unlike { return w.unlike }

// watched counts unusual values of one feature.
type watched struct {
	values, missing int
	unfamiliar      int     // texts without any word of the training data
	far             int     // items with a value far outside the training range
	lo, hi          float32 // of the values
}

// NewWatch returns a watch without items.
func (t *Transform) NewWatch() *Watch {
	return &Watch{t: t, seen: make([]watched, len(t.features))}
}

// Add adds the items of ds, which has the features of the transform, except those
// for which skip is not nil. It reads every row once.
func (w *Watch) Add(ds *Dataset, skip []error) error {
	if ds.Rows == nil {
		return errNoFeatures
	}
	in, err := w.t.bind(ds.Features)
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
			x := row[b.from : b.from+b.width]
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

// add adds the values of one item and reports whether one of them is far outside the
// training range.
func (s *watched) add(b *binding, x []float32) (far bool) {
	p := b.p
	if p.Kind == Categorical || p.document() {
		if x[0] != x[0] {
			s.missing++
			return false
		}
		s.values++
		if i, err := textAt(x[0], len(b.texts)); p.Kind == Text && err == nil && !p.model().KnowsWords(b.texts[i]) {
			s.unfamiliar++
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

// farSDs is the number of standard deviations from the mean that is far if the training
// range is unknown.
const farSDs = 20

// far reports whether a value of a channel is outside the training range by more than
// half its length: new items exceed the range of a sample now and then, but rarely by
// that much. For a constant, a difference greater than its absolute value (at least 1) is far.
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

// Warnings returns one warning for each kind of anomaly among the items added so
// far.
func (w *Watch) Warnings() []error {
	var empty, gaps, foreign, far []string
	for k := range w.seen {
		s, p := &w.seen[k], &w.t.features[k]
		switch {
		case s.values == 0 && s.missing > 0:
			empty = append(empty, p.Name)
		case s.missing > 0 && !p.Missing && p.Kind != Tensor:
			gaps = append(gaps, fmt.Sprintf("%s (%s of %s)", p.Name, words.Thousands(s.missing), words.Thousands(w.items)))
		}
		if s.unfamiliar*2 > s.values {
			foreign = append(foreign, fmt.Sprintf("%s (%s of %s)", p.Name, words.Thousands(s.unfamiliar), words.Plural(s.values, "text")))
		}
		if s.far == 0 {
			continue
		}
		text := fmt.Sprintf("%s (%s of %s, %g to %g", p.Name, words.Thousands(s.far), words.Plural(w.items, "item"), s.lo, s.hi)
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
		{"no item has a value in %s: predictions are made without it", empty},
		{"missing values in columns without missing values in training, treated as the mean or as no level: %s", gaps},
		{"texts without any word of the training data: %s; are they in the same language?", foreign},
		{"values far outside the training range, where predictions are unreliable: %s; are the units the same?", far},
	} {
		if len(trouble.names) > 0 {
			list = append(list, fmt.Errorf(trouble.format, words.Few(trouble.names)))
		}
	}
	return list
}
