package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// encoding is how a categorical part enters the network.
type encoding uint8

const (
	// oneHot gives one value per level, 1 for the item's own: an unknown level
	// is all zeros.
	oneHot encoding = iota
	// code gives one whole number, to look up in a table of embeddings.
	code
)

// fitted is one part with what was learned about it on the training items.
type fitted struct {
	Part
	// Mean and SD of a numeric part (length 1), of each element of a vector, or
	// of each channel of an image or volume. SD 0 marks a constant, whose
	// standardized value is 0.
	Mean []float64 `json:"mean,omitempty"`
	SD   []float64 `json:"sd,omitempty"`
	// Min and Max are the smallest and largest training values, one per mean;
	// empty in models from before they were kept. Prediction warns by them.
	Min []float32 `json:"min,omitempty"`
	Max []float32 `json:"max,omitempty"`
	// Missing says that training items lacked the value: then a numeric part
	// has an indicator beside it, a categorical one a level for it.
	Missing  bool     `json:"missing,omitempty"`
	Encoding encoding `json:"encoding,omitempty"`
	// Text is what was learned from documents; Mean and SD are those of its logits.
	Text *fittedText `json:"text,omitempty"`
}

// Transform turns the raw row of an item into the flat input of a network:
//
//	[ dense values | one code for each embedded column | one block for each image or volume ]
//
// Numeric values and vectors are standardized with the mean and standard
// deviation of the training items; a missing one becomes 0, the mean, and sets
// an indicator if training items lacked it too. Categorical columns with few
// levels are one-hot, the others codes. Images and volumes are standardized by
// channel. A document becomes the logits of classes that a regression on its words
// gives it. It is fitted by [Fit] and kept as JSON, exactly; what is learned from documents
// is kept beside it, as [Transform.Arrays].
type Transform struct {
	parts []fitted
}

// transformFile is the JSON of a Transform.
type transformFile struct {
	Version int      `json:"version"`
	Parts   []fitted `json:"parts"`
}

// MarshalJSON writes the transform so that reading it gives the same numbers.
func (t *Transform) MarshalJSON() ([]byte, error) {
	return json.Marshal(transformFile{1, t.parts})
}

// UnmarshalJSON reads what MarshalJSON wrote, and refuses anything that could
// not have been fitted.
func (t *Transform) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var f transformFile
	if err := dec.Decode(&f); err != nil {
		return fmt.Errorf("reading a transform: %w", err)
	}
	if f.Version != 1 {
		return fmt.Errorf("reading a transform: version %d is not 1", f.Version)
	}
	u := Transform{f.Parts}
	if err := checkParts(u.Parts()); err != nil {
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
	if p.Kind == Text {
		if err := p.checkText(); err != nil {
			return err
		}
	} else if p.Text != nil {
		return fmt.Errorf("a model of text in a %v feature", p.Kind)
	}
	want := p.channels()
	if p.Kind == Categorical {
		want = 0
	}
	if len(p.Mean) != want || len(p.SD) != want {
		return fmt.Errorf("%d means and %d standard deviations for %d", len(p.Mean), len(p.SD), want)
	}
	for i := range p.Mean {
		if p.SD[i] < 0 || math.IsNaN(p.Mean[i]+p.SD[i]) || math.IsInf(p.Mean[i]+p.SD[i], 0) {
			return fmt.Errorf("mean %v and standard deviation %v", p.Mean[i], p.SD[i])
		}
	}
	if len(p.Min) != len(p.Max) || len(p.Min) != 0 && len(p.Min) != want {
		return fmt.Errorf("%d least and %d largest values for %d", len(p.Min), len(p.Max), want)
	}
	if p.Encoding > code {
		return fmt.Errorf("encoding %d is not 0 (one-hot) or 1 (code)", p.Encoding)
	}
	return nil
}

// channels is how many means a part has: one a number, one an element of a
// vector, one per channel otherwise.
func (p *fitted) channels() int {
	switch p.Kind {
	case Tensor:
		return p.Shape[0]
	case Text:
		return len(p.Mean)
	}
	return 1
}

// Clone returns a copy, of which [Transform.FitText] may learn anew.
func (t *Transform) Clone() *Transform {
	c := &Transform{slices.Clone(t.parts)}
	for i := range c.parts {
		p := &c.parts[i]
		p.Mean, p.SD = slices.Clone(p.Mean), slices.Clone(p.SD)
	}
	return c
}

// Parts returns the features that the transform takes, with the levels of
// categorical ones: the schema for reading new items. Columns of a file that
// are not among them are not needed.
func (t *Transform) Parts() []Part {
	parts := make([]Part, len(t.parts))
	for i, p := range t.parts {
		parts[i] = p.Part
		if p.Kind == Numeric && len(p.Min) == 1 {
			parts[i].binary = (p.Min[0] == 0 || p.Min[0] == 1) && (p.Max[0] == 0 || p.Max[0] == 1)
		}
	}
	return parts
}

// InputKind says what a block of the network input is.
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
	Offset   int      // where the block begins
	Width    int      // how many values it has
	Features []string // Dense: what each value is, as "age", "age missing", "sex=male"
	Levels   int      // Codes: how many codes there are; 0 is that of a level that training did not show
	Shape    []int    // Grid: [C,H,W] or [C,D,H,W]; of a vector, in Blocks: [n]
}

// Inputs describes the blocks in order: at most one Dense, then Codes, then
// Grids.
func (t *Transform) Inputs() []Input {
	var names []string
	var dense, codes, grids []Input
	offsets := t.offsets()
	for i, p := range t.parts {
		switch at := offsets[i]; p.input() {
		case Dense:
			names = append(names, p.names()...)
		case Codes:
			codes = append(codes, Input{Name: p.Name, Kind: Codes, Offset: at, Width: 1, Levels: p.codes()})
		case Grid:
			grids = append(grids, Input{Name: p.Name, Kind: Grid, Offset: at, Width: p.Width(), Shape: slices.Clone(p.Shape)})
		}
	}
	if len(names) > 0 {
		dense = []Input{{Name: "dense", Kind: Dense, Width: len(names), Features: names}}
	}
	return slices.Concat(dense, codes, grids)
}

// offsets returns where each part begins in the flat network input: numbers first, then codes, then grids.
func (t *Transform) offsets() []int {
	offsets, next := make([]int, len(t.parts)), 0
	for _, kind := range []InputKind{Dense, Codes, Grid} {
		for i := range t.parts {
			if p := &t.parts[i]; p.input() == kind {
				offsets[i] = next
				next += p.width()
			}
		}
	}
	return offsets
}

// Width returns the length of the flat network input.
func (t *Transform) Width() int {
	w := 0
	for i := range t.parts {
		w += t.parts[i].width()
	}
	return w
}

// input says what kind of network input the part becomes.
func (p *fitted) input() InputKind {
	switch {
	case p.Kind == Tensor && len(p.Shape) > 1:
		return Grid
	case p.Kind == Categorical && p.Encoding == code:
		return Codes
	}
	return Dense
}

// codes is how many codes an embedded column has: unknown, missing where
// training had it, and the levels.
func (p *fitted) codes() int { return p.firstLevel() + len(p.Levels) }

// firstLevel is the code of the first level; code 0 is unknown, 1 missing.
func (p *fitted) firstLevel() int {
	if p.Missing {
		return 2
	}
	return 1
}

// width is how many values of the network input the part has.
func (p *fitted) width() int {
	w := p.Part.Width()
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

// names says what each value of a dense part is.
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

// Blocks describes the network input as [Transform.Inputs] does, with the numbers
// cut where vectors begin and end, in order: each vector of a tensor is a Dense
// block under its own name, and the columns between vectors are one called "table".
func (t *Transform) Blocks() []Input {
	inputs := t.Inputs()
	if len(inputs) == 0 || inputs[0].Kind != Dense {
		return inputs
	}
	var blocks []Input
	at, features := 0, inputs[0].Features
	add := func(name string, width int) {
		if n := len(blocks); n > 0 && name == tableBlock && blocks[n-1].Name == tableBlock {
			blocks[n-1].Width += width
			blocks[n-1].Features = features[blocks[n-1].Offset : at+width]
		} else {
			blocks = append(blocks, Input{Name: name, Kind: Dense, Offset: at, Width: width, Features: features[at : at+width]})
		}
		at += width
	}
	for i := range t.parts {
		switch p := &t.parts[i]; {
		case p.input() != Dense:
		case p.Kind == Tensor:
			add(p.Name, p.width())
			blocks[len(blocks)-1].Shape = slices.Clone(p.Shape)
		default:
			add(tableBlock, p.width())
		}
	}
	return append(blocks, inputs[1:]...)
}

// tableBlock is the name of a block of columns.
const tableBlock = "table"
