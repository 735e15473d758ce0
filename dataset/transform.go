package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// encoding is the network input of a categorical feature.
type encoding uint8

const (
	// oneHot is one value per level, 1 for the level of the item: all values are 0
	// for an unknown level.
	oneHot encoding = iota
	// code is one whole number, the index into a table of embeddings.
	code
)

// fitted is a feature with the parameters estimated from the training items.
type fitted struct {
	Feature
	// Mean and SD of a numeric feature (length 1), of each element of a vector, or
	// of each channel of an image or volume. SD 0 marks a constant, whose
	// standardized value is 0.
	Mean []float64 `json:"mean,omitempty"`
	SD   []float64 `json:"sd,omitempty"`
	// Min and Max are the smallest and largest training values, one per mean;
	// empty in models of early versions. Prediction warns about values far outside.
	Min []float32 `json:"min,omitempty"`
	Max []float32 `json:"max,omitempty"`
	// Knots and Scores are values of a number, increasing, and their normal scores; empty without them.
	Knots  []float32 `json:"knots,omitempty"`
	Scores []float32 `json:"scores,omitempty"`
	// Missing reports whether the value was missing in training items: then a
	// numeric feature has an additional indicator, a categorical one a further level.
	Missing  bool     `json:"missing,omitempty"`
	Encoding encoding `json:"encoding,omitempty"`
	// Text is the model of documents; Mean and SD are those of its logits.
	Text *fittedText `json:"text,omitempty"`
}

// Transform converts the raw row of an item into the flat input of a network:
//
//	[ dense values | one code for each embedded column | one block for each image or volume ]
//
// Numeric values and vectors are standardized with the mean and standard
// deviation of the training items; a missing one becomes 0, the mean, and sets
// an indicator if it was missing in training items too. Categorical columns with few
// levels are one-hot, the others codes. Images and volumes are standardized per
// channel. A document becomes the class logits of a regression on its words.
// A Transform is fitted by [Fit] and stored as JSON without loss; the models of documents
// are stored separately, as [Transform.Arrays].
// Where features include several judges, the shares of judges per label follow the dense values, then the normal
// scores of numbers.
type Transform struct {
	features []fitted
	shares   *judgeShares // nil without judges
}

// transformFile is the JSON of a Transform.
type transformFile struct {
	Version int          `json:"version"`
	Parts   []fitted     `json:"parts"`
	Shares  *judgeShares `json:"judge_shares,omitempty"`
}

// MarshalJSON writes the transform so that reading it restores the same numbers.
func (t *Transform) MarshalJSON() ([]byte, error) {
	return json.Marshal(transformFile{1, t.features, t.shares})
}

// UnmarshalJSON reads the output of MarshalJSON and returns an error for values
// that no fit produces.
func (t *Transform) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var f transformFile
	if err := dec.Decode(&f); err != nil {
		return fmt.Errorf("reading a transform: %w", err)
	}
	if f.Version != 1 {
		return fmt.Errorf("reading a transform: expected version 1, found %d", f.Version)
	}
	u := Transform{f.Parts, f.Shares}
	if err := u.shares.check(); err != nil {
		return err
	}
	if err := checkFeatures(u.Schema()); err != nil {
		return fmt.Errorf("reading a transform: %w", err)
	}
	for _, p := range f.Parts {
		if err := p.check(); err != nil {
			return fmt.Errorf("reading a transform: feature %q: %w", p.Name, err)
		}
	}
	*t = u
	return nil
}

func (p *fitted) check() error {
	if p.document() {
		if err := p.checkText(); err != nil {
			return err
		}
	} else if p.Text != nil {
		return fmt.Errorf("expected no text model in a %v feature, found one", p.Kind)
	}
	want := p.channels()
	if p.Kind == Categorical {
		want = 0
	}
	if len(p.Mean) != want || len(p.SD) != want {
		return fmt.Errorf("expected %d means and standard deviations, found %d and %d", want, len(p.Mean), len(p.SD))
	}
	for i := range p.Mean {
		if p.SD[i] < 0 || math.IsNaN(p.Mean[i]+p.SD[i]) || math.IsInf(p.Mean[i]+p.SD[i], 0) {
			return fmt.Errorf("invalid mean %v or standard deviation %v", p.Mean[i], p.SD[i])
		}
	}
	if len(p.Min) != len(p.Max) || len(p.Min) != 0 && len(p.Min) != want {
		return fmt.Errorf("expected %d smallest and largest values, found %d and %d", want, len(p.Min), len(p.Max))
	}
	if err := p.checkScores(); err != nil {
		return err
	}
	if p.Encoding > code {
		return fmt.Errorf("expected encoding 0 (one-hot) or 1 (code), found %d", p.Encoding)
	}
	return nil
}

// channels returns the number of means of a feature: one for a number, one per
// element of a vector, one per channel otherwise.
func (p *fitted) channels() int {
	switch {
	case p.Kind == Tensor || p.Embedding != nil:
		return p.Shape[0]
	case p.Kind == Text:
		return len(p.Mean)
	}
	return 1
}

// Clone returns a copy to which [Transform.FitText] can be applied again.
func (t *Transform) Clone() *Transform {
	c := &Transform{slices.Clone(t.features), t.shares}
	for i := range c.features {
		p := &c.features[i]
		p.Mean, p.SD = slices.Clone(p.Mean), slices.Clone(p.SD)
	}
	return c
}

// Schema returns the features that the transform requires, with the levels of
// categorical ones: the schema for reading new items. Other columns of a file
// are not needed.
func (t *Transform) Schema() []Feature {
	schema := make([]Feature, len(t.features))
	for i, p := range t.features {
		schema[i] = p.Feature
		if p.Kind == Numeric && len(p.Min) == 1 {
			schema[i].binary = (p.Min[0] == 0 || p.Min[0] == 1) && (p.Max[0] == 0 || p.Max[0] == 1)
		}
	}
	return schema
}

// InputKind is the type of a block of the network input.
type InputKind uint8

const (
	Dense InputKind = iota // Width numbers
	Codes                  // one whole number below Levels
	Grid                   // an image or a volume of Shape
)

// Input describes one block of the flat network input.
type Input struct {
	Name     string
	Kind     InputKind
	Offset   int      // index of the first value of the block
	Width    int      // number of values
	Features []string // Dense: the name of each value, such as "age", "age missing", "sex=male"
	Levels   int      // Codes: the number of codes; code 0 is a level that was not in the training data
	Shape    []int    // Grid: [C,H,W] or [C,D,H,W]; of a vector, in Blocks: [n]
}

// Inputs describes the blocks in order: at most one Dense, then Codes, then
// Grids.
func (t *Transform) Inputs() []Input {
	var names []string
	var dense, codes, grids []Input
	offsets := t.offsets()
	for i, p := range t.features {
		switch at := offsets[i]; p.input() {
		case Dense:
			names = append(names, p.names()...)
		case Codes:
			levels := p.firstLevel() + len(p.Levels) // unknown, missing if that was in the training data, and the levels
			codes = append(codes, Input{Name: p.Name, Kind: Codes, Offset: at, Width: 1, Levels: levels})
		case Grid:
			grids = append(grids, Input{Name: p.Name, Kind: Grid, Offset: at, Width: p.Width(), Shape: slices.Clone(p.Shape)})
		}
	}
	if names = slices.Concat(names, t.shares.names(), t.scoreNames()); len(names) > 0 {
		dense = []Input{{Name: "dense", Kind: Dense, Width: len(names), Features: names}}
	}
	return slices.Concat(dense, codes, grids)
}

// offsets returns the index of each feature in the flat network input: numbers first, then codes, then grids.
func (t *Transform) offsets() []int {
	offsets, next := make([]int, len(t.features)), 0
	for _, kind := range []InputKind{Dense, Codes, Grid} {
		for i := range t.features {
			if p := &t.features[i]; p.input() == kind {
				offsets[i] = next
				next += p.width()
			}
		}
		if kind == Dense {
			next += t.shares.width() + len(t.scored())
		}
	}
	return offsets
}

// sharesAt returns the index of the shares of judges in the network input: after the features that are numbers.
func (t *Transform) sharesAt() int {
	at := 0
	for i := range t.features {
		if p := &t.features[i]; p.input() == Dense {
			at += p.width()
		}
	}
	return at
}

// Width returns the length of the flat network input.
func (t *Transform) Width() int {
	w := t.shares.width() + len(t.scored())
	for i := range t.features {
		w += t.features[i].width()
	}
	return w
}

// input returns the kind of network input of the feature.
func (p *fitted) input() InputKind {
	switch {
	case p.Kind == Tensor && len(p.Shape) > 1:
		return Grid
	case p.Kind == Categorical && p.Encoding == code:
		return Codes
	}
	return Dense
}

// firstLevel returns the code of the first level; code 0 is unknown, 1 missing.
func (p *fitted) firstLevel() int {
	if p.Missing {
		return 2
	}
	return 1
}

// width returns the number of values of the feature in the network input.
func (p *fitted) width() int {
	w := p.Feature.Width()
	switch {
	case p.Kind == Categorical && p.Encoding == oneHot:
		w = len(p.Levels)
	case p.Kind == Text:
		w = len(p.Mean)
	case p.Kind != Numeric:
		return w
	}
	if p.Missing {
		w++
	}
	return w
}

// names returns the name of each value of a dense feature.
func (p *fitted) names() []string {
	var names []string
	switch p.Kind {
	case Numeric:
		names = append(names, p.Name)
	case Categorical:
		for _, l := range p.Levels {
			names = append(names, p.Name+"="+l)
		}
	case Text, Tensor: // a vector, as it is dense
		for i := range p.channels() {
			names = append(names, fmt.Sprintf("%s[%d]", p.Name, i))
		}
	}
	if p.Missing && p.Kind != Tensor {
		names = append(names, p.Name+" missing")
	}
	return names
}

var errNoFeatures = errors.New("the data have no features")

// Blocks describes the network input as [Transform.Inputs] does, but splits the
// numbers at the vectors, in order: each vector is a Dense block with its own
// name, and the columns between vectors are a block called "table".
func (t *Transform) Blocks() []Input {
	var blocks []Input
	offsets := t.offsets()
	add := func(b Input) {
		if n := len(blocks) - 1; b.Shape == nil && n >= 0 && blocks[n].Shape == nil {
			b.Offset, b.Features = blocks[n].Offset, append(blocks[n].Features, b.Features...)
			blocks = blocks[:n]
		}
		b.Width = len(b.Features)
		blocks = append(blocks, b)
	}
	for i := range t.features {
		p := &t.features[i]
		if p.input() != Dense {
			continue
		}
		b := Input{Name: tableBlock, Kind: Dense, Offset: offsets[i], Features: p.names()}
		if p.Kind == Tensor || p.Embedding != nil {
			b.Name, b.Shape = p.Name, slices.Clone(p.Shape)
		}
		add(b)
	}
	if t.shares != nil {
		add(Input{Name: tableBlock, Kind: Dense, Offset: t.sharesAt(), Features: t.shares.names()})
	}
	if names := t.scoreNames(); names != nil {
		add(Input{Name: tableBlock, Kind: Dense, Offset: t.Plain(), Features: names})
	}
	return append(blocks, slices.DeleteFunc(t.Inputs(), func(in Input) bool { return in.Kind == Dense })...)
}

// tableBlock is the name of a block of columns.
const tableBlock = "table"
