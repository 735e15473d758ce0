package dataset

import (
	"fmt"
	"math"
	"sync"

	"credence/internal/words"
)

// InputRows are the network inputs of the items of a data set: a Transform applied
// to its rows. It implements [Rows], with the width of the transform.
type InputRows struct {
	ops     []binding // all features
	numbers []scaled  // numeric features without missing values in training: tables have many
	others  []int     // the indices of all others
	rows    Rows
	width   int
	raw     int       // values of a raw row
	bufs    sync.Pool // raw rows

	shares   *judgeShares // nil without judges
	votes    []judgeVote  // of judges
	sharesAt int          // index of the shares
	scored   []binding    // the normal scores
}

// scaled is a value that is only standardized.
type scaled struct {
	from, to int
	mean, sd float64
}

// binding is the position of a feature in a raw row and in the network input.
type binding struct {
	p        *fitted
	from, to int
	width    int       // of the raw values
	texts    []string  // of a text feature
	held     []float32 // [N × outputs] or nil: logits by models fitted without the item; NaN for items not in the fit
	levels   []int32   // raw code → index into p.Levels, or −1 (unknown)
}

// Over returns the network inputs of the items of ds. Features are matched by
// name: their order, and the order of levels, may differ from those in the fit.
func (t *Transform) Over(ds *Dataset) (*InputRows, error) {
	if ds.Rows == nil {
		return nil, errNoFeatures
	}
	in, err := t.bind(ds.Features)
	if err != nil {
		return nil, err
	}
	in.rows = ds.Rows
	return in, nil
}

func (t *Transform) bind(schema []Feature) (*InputRows, error) {
	at := make(map[string]int, len(schema))
	offset := make([]int, len(schema))
	w := 0
	for i, p := range schema {
		at[p.Name], offset[i] = i, w
		w += p.Width()
	}
	in := &InputRows{width: t.Width(), raw: w}
	in.bufs.New = func() any { b := make([]float32, w); return &b }
	for i, to := range t.offsets() {
		p := &t.features[i]
		j, ok := at[p.Name]
		if !ok {
			return nil, &caused{fmt.Sprintf("feature %q is missing: the model was trained with it", p.Name), ErrMissingFeature}
		}
		q := schema[j]
		vector := p.Embedding != nil && q.Kind == Tensor // computed elsewhere, or that of an image
		if q.Kind != p.Kind && !vector {
			return nil, fmt.Errorf("feature %q: expected %v as in training, found %v", p.Name, p.Kind, q.Kind)
		}
		if (p.Kind == Tensor || p.Embedding != nil) && words.Shape(p.Shape) != words.Shape(q.Shape) {
			return nil, fmt.Errorf("feature %q: expected shape %s as in training, found %s", p.Name, words.Shape(p.Shape), words.Shape(q.Shape))
		}
		if err := sameVolumes(p.Feature, q); err != nil {
			return nil, err
		}
		if p.document() && p.model() == nil {
			return nil, fmt.Errorf("text feature %q is not fitted yet", p.Name)
		}
		b := binding{p: p, from: offset[j], width: q.Width(), to: to, texts: q.Texts}
		if q.Kind == Text && q.Embedding != nil {
			b.from, b.width = b.from+1, b.width-1 // without the index
		}
		if p.Kind == Categorical {
			index := newLevelIndex(p.Levels, true)
			b.levels = make([]int32, len(q.Levels))
			for k, l := range q.Levels {
				b.levels[k] = index.code(l)
			}
		}
		if p.Kind == Numeric && !p.Missing {
			in.numbers = append(in.numbers, scaled{b.from, b.to, p.Mean[0], p.SD[0]})
		} else {
			in.others = append(in.others, len(in.ops))
		}
		in.ops = append(in.ops, b)
	}
	for k, i := range t.scored() {
		in.scored = append(in.scored, binding{p: in.ops[i].p, from: in.ops[i].from, to: t.Plain() + k})
	}
	if t.shares != nil {
		in.shares, in.sharesAt, in.votes = t.shares, t.sharesAt(), t.shares.judgeVotes(schema, offset)
	}
	return in, nil
}

// Len returns the number of items.
func (in *InputRows) Len() int { return in.rows.Len() }

// Width returns the length of a network input.
func (in *InputRows) Width() int { return in.width }

// ReadRow fills dst with the network input of item i.
func (in *InputRows) ReadRow(i int, dst []float32) error {
	if err := checkRow(in, i, dst); err != nil {
		return err
	}
	var raw []float32
	if in.rows.Len() == 1 {
		// The first use of a new pool takes a process-wide lock, on which callers
		// that read one row each would contend.
		raw = make([]float32, in.raw)
	} else {
		b := in.bufs.Get().(*[]float32)
		defer in.bufs.Put(b)
		raw = *b
	}
	if err := in.rows.ReadRow(i, raw); err != nil {
		return err
	}
	return in.apply(dst, raw, i)
}

// apply fills dst with the network input of the raw row of item i.
func (in *InputRows) apply(dst, raw []float32, i int) error {
	in.scale(dst, raw)
	if in.shares != nil {
		in.shares.fill(in.votes, raw, dst[in.sharesAt:in.sharesAt+in.shares.width()])
	}
	for _, s := range in.scored {
		dst[s.to] = s.p.score(raw[s.from])
	}
	for _, k := range in.others {
		b := &in.ops[k]
		p := b.p
		to := dst[b.to : b.to+p.width()]
		kind := p.Kind
		if p.Embedding != nil {
			kind = Tensor
		}
		switch kind {
		case Numeric:
			to[0] = standardize(raw[b.from], p.Mean[0], p.SD[0])
			to[1] = 0 // the indicator, which the features of in.numbers do not have
			if raw[b.from] != raw[b.from] {
				to[1] = 1
			}
		case Categorical:
			if err := b.category(to, raw[b.from]); err != nil {
				return err
			}
		case Text:
			if err := b.document(to, raw[b.from], i); err != nil {
				return err
			}
		case Tensor:
			each := len(to) / len(p.Mean)
			for c := range p.Mean {
				from := raw[b.from+c*each : b.from+(c+1)*each]
				standardizeAll(to[c*each:(c+1)*each], from, p.Mean[c], p.SD[c])
			}
		}
	}
	return nil
}

// scale standardizes the numbers of a raw row.
func (in *InputRows) scale(dst, raw []float32) {
	// Four at a time, see standardizeAll.
	ns := in.numbers
	for ; len(ns) >= 4; ns = ns[4:] {
		a, b, c, d := &ns[0], &ns[1], &ns[2], &ns[3]
		x, y, z, w := raw[a.from], raw[b.from], raw[c.from], raw[d.from]
		p, q := (float64(x)-a.mean)/a.sd, (float64(y)-b.mean)/b.sd
		r, s := (float64(z)-c.mean)/c.sd, (float64(w)-d.mean)/d.sd
		if t := float32(p) + float32(q) + float32(r) + float32(s); t-t != 0 { // missing, constant or too large
			for _, n := range ns[:4] {
				dst[n.to] = standardize(raw[n.from], n.mean, n.sd)
			}
			continue
		}
		dst[a.to], dst[b.to], dst[c.to], dst[d.to] = float32(p), float32(q), float32(r), float32(s)
	}
	for _, n := range ns {
		dst[n.to] = standardize(raw[n.from], n.mean, n.sd)
	}
}

// category writes the network input of the level with raw code x.
func (b *binding) category(to []float32, x float32) error {
	level, missing := int32(UnknownLevel), x != x
	if !missing && x != UnknownLevel {
		if !(x >= 0 && int(x) < len(b.levels)) || x != float32(int(x)) {
			return fmt.Errorf("feature %q: expected the code of one of %d levels, found %v", b.p.Name, len(b.levels), x)
		}
		level = b.levels[int(x)]
	}
	clear(to)
	switch {
	case b.p.Encoding == oneHot && missing && b.p.Missing:
		to[len(to)-1] = 1
	case b.p.Encoding == oneHot && level >= 0:
		to[level] = 1
	case b.p.Encoding == code && missing && b.p.Missing:
		to[0] = 1
	case b.p.Encoding == code && level >= 0:
		to[0] = float32(int(level) + b.p.firstLevel())
	}
	return nil
}

// standardize returns (x − mean)/sd, and 0 for a missing or constant value.
func standardize(x float32, mean, sd float64) float32 {
	if x != x || sd == 0 {
		return 0
	}
	z := (float64(x) - mean) / sd
	return float32(max(-math.MaxFloat32, min(math.MaxFloat32, z)))
}

// standardizeAll standardizes all values of a channel, as standardize does one.
func standardizeAll(to, from []float32, mean, sd float64) {
	if sd == 0 {
		clear(to)
		return
	}
	// Four at a time: with one at a time, each conversion would wait for the
	// division before it, because they share a register.
	i := 0
	for ; i+4 <= len(from); i += 4 {
		x, z := from[i:i+4:i+4], to[i:i+4:i+4]
		z0, z1 := (float64(x[0])-mean)/sd, (float64(x[1])-mean)/sd
		z2, z3 := (float64(x[2])-mean)/sd, (float64(x[3])-mean)/sd
		z[0], z[1], z[2], z[3] = float32(z0), float32(z1), float32(z2), float32(z3)
		if s := z[0] + z[1] + z[2] + z[3]; s-s != 0 { // one is missing, or too large
			for k, v := range x {
				z[k] = standardize(v, mean, sd)
			}
		}
	}
	for ; i < len(from); i++ {
		to[i] = standardize(from[i], mean, sd)
	}
}
