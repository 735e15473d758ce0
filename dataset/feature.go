package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"credence/internal/array"
	"credence/internal/words"
	"credence/record"
)

// Kind is the type of the values of a feature.
type Kind uint8

const (
	Numeric     Kind = iota // one number per item
	Categorical             // one of a list of levels per item
	Tensor                  // an array of numbers per item, of fixed shape
	Text                    // a document per item
)

var kindNames = [...]string{"numeric", "categorical", "tensor", "text"}

// String returns "numeric", "categorical", "tensor" or "text".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MarshalText writes the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the kind's name.
func (k *Kind) UnmarshalText(text []byte) error {
	i := slices.Index(kindNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("expected a feature kind among %v, found %q", kindNames, text)
	}
	*k = Kind(i)
	return nil
}

// UnknownLevel is the raw value of a categorical cell whose level is not in
// [Feature].Levels. (A missing cell is NaN.)
const UnknownLevel = -1

// Feature describes a feature block: its name, its kind and the layout of its raw values in a row.
type Feature struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Levels of a categorical feature; the raw value of a cell is an index into
	// Levels, UnknownLevel, or NaN.
	Levels []string `json:"levels,omitempty"`
	// Texts of a text feature, in data but not in a model; the raw value of a
	// cell is an index into Texts, or NaN.
	Texts []string `json:"-"`
	// Shape of a tensor: [n] for a vector, [C,H,W] for an image and [C,D,H,W]
	// for a volume, in row-major order.
	Shape []int `json:"shape,omitempty"`
	// Volume describes how a tensor [1,X,Y,Z] was made from NIfTI files; nil for
	// other tensors.
	Volume *Preparation `json:"volume,omitempty"`
	// Embedding describes how a vector was computed from an image, or from a text, by a backbone; nil for other features. The
	// raw values of such a text are its index, then the vector, whose length is Shape.
	Embedding *Embedding `json:"embedding,omitempty"`
	// Judge marks the votes of a machine, the judge of that name: a category, or a number if the labels are numbers and more than two.
	Judge bool `json:"judge,omitempty"`

	// Comma is whether numbers had a decimal comma in training, in a table whose fields are not separated by
	// semicolons: 1,250 is then 1.25.
	Comma bool `json:"comma,omitempty"`

	binary bool // only 0 and 1 in training, as booleans of Python data frames: True and False are read as 1 and 0
}

// Width returns the number of raw values of the feature in a row.
func (p Feature) Width() int {
	if p.Kind != Tensor && p.Embedding == nil {
		return 1
	}
	n := 1
	for _, s := range p.Shape {
		n *= s
	}
	if p.Kind == Text {
		n++ // the index
	}
	return n
}

// String describes the feature: "age: numeric", "sex: categorical (female, male)".
func (p Feature) String() string {
	if p.Kind == Categorical {
		return fmt.Sprintf("%s: categorical (%s)", p.Name, words.Few(p.Levels))
	}
	return p.Name + ": " + kindOf(p)
}

// kindOf describes a feature without its name.
func kindOf(p Feature) string {
	if p.Kind == Tensor {
		return "tensor " + words.Shape(p.Shape)
	}
	if p.Embedding != nil {
		return fmt.Sprintf("text as a vector of %d", p.Shape[0])
	}
	return p.Kind.String()
}

// featureNamed returns the index of the feature with a name, or −1.
func featureNamed(schema []Feature, name string) int {
	return slices.IndexFunc(schema, func(p Feature) bool { return p.Name == name })
}

// totalWidth returns the length W of a raw row.
func totalWidth(schema []Feature) int {
	w := 0
	for _, p := range schema {
		w += p.Width()
	}
	return w
}

// checkFeatures returns an error for invalid kinds or shapes and for duplicate names.
func checkFeatures(schema []Feature) error {
	seen := map[string]bool{}
	for _, p := range schema {
		if seen[p.Name] {
			return fmt.Errorf("two features have the name %q", p.Name)
		}
		seen[p.Name] = true
		if int(p.Kind) >= len(kindNames) {
			return fmt.Errorf("feature %q: unknown kind %v", p.Name, p.Kind)
		}
		if err := p.checkEmbedding(); err != nil {
			return err
		}
		if p.Kind != Tensor {
			continue
		}
		if len(p.Shape) != 1 && len(p.Shape) != 3 && len(p.Shape) != 4 {
			return fmt.Errorf("feature %q: expected shape [n], [C,H,W] or [C,D,H,W], found %v", p.Name, p.Shape)
		}
		w := 1
		for _, s := range p.Shape {
			if s < 1 || w > array.MaxRow/s {
				return fmt.Errorf("feature %q: shape %v is invalid or too large", p.Name, p.Shape)
			}
			w *= s
		}
		if err := p.checkVolume(); err != nil {
			return err
		}
	}
	return nil
}

// role is the use of a column of a feature file.
type role uint8

const (
	roleFeature role = iota
	roleItem         // the ids
	roleGroup        // the group of an item, for splits
	roleSplit        // train, validation or test
	roleWeight       // the weight of an item in training
	roleVote         // votes, in a file of features and votes
	roleIgnored
)

var roleNames = [...]string{"feature", "item", "group", "split", "weight", "vote", "ignored"}

// String returns the role's name.
func (r role) String() string { return roleNames[r] }

// ColumnInfo describes how a column of a feature file was read.
type ColumnInfo struct {
	Name    string
	role    role
	Feature Feature // the feature, if the column is one
	Missing int     // number of cells without a value
	Reason  string  // why the column is ignored
}

// String reads like "age: numeric, 3 missing" or "notes: ignored (…)".
func (c ColumnInfo) String() string {
	if c.role != roleFeature {
		if c.Reason != "" {
			return fmt.Sprintf("%s: %v (%s)", c.Name, c.role, c.Reason)
		}
		return fmt.Sprintf("%s: %v", c.Name, c.role)
	}
	s := c.Feature.String()
	if c.Missing > 0 {
		s += ", " + words.Thousands(c.Missing) + " missing"
	}
	return s
}

// DescribeColumns summarizes in a line or two how the columns were read: "66
// features: 64 numeric, 2 categorical (sex, site); ignored: notes".
func DescribeColumns(columns []ColumnInfo) string {
	var features, missing int
	var judges []string
	var names [len(kindNames)][]string // of each kind
	var ignored []string
	for _, c := range columns {
		switch c.role {
		case roleIgnored:
			ignored = append(ignored, c.Name)
		case roleFeature:
			features++
			missing += c.Missing
			if c.Feature.Judge {
				judges = append(judges, c.Name)
				continue
			}
			name := c.Name
			if c.Feature.Kind == Tensor {
				name += " " + words.Shape(c.Feature.Shape)
			}
			names[c.Feature.Kind] = append(names[c.Feature.Kind], name)
		}
	}
	var kinds []string
	for _, kind := range []Kind{Numeric, Categorical, Text, Tensor} {
		n, some := len(names[kind]), " ("+words.Few(names[kind])+")"
		switch {
		case n == 0:
		case kind == Numeric:
			kinds = append(kinds, words.Thousands(n)+" numeric")
		case kind == Tensor:
			kinds = append(kinds, words.Plural(n, "tensor")+some)
		default:
			kinds = append(kinds, words.Thousands(n)+" "+kind.String()+some)
		}
	}
	if len(judges) > 0 {
		kinds = append(kinds, words.Plural(len(judges), "judge")+" ("+words.Few(judges)+")")
	}
	s := words.Plural(features, "feature")
	if len(kinds) > 0 {
		s += ": " + strings.Join(kinds, ", ")
	}
	if missing > 0 {
		s += "; " + words.Plural(missing, "missing value")
	}
	if len(ignored) > 0 {
		s += "; ignored: " + words.Few(ignored)
	}
	return s
}

// Unused reports whether the column is ignored.
func (c ColumnInfo) Unused() bool { return c.role == roleIgnored }

// Booleans differ between formats: True in files from pandas, TRUE in R and in workbooks, true in JSON,
// a bit in Parquet and Arrow, and the numbers 0 and 1 in arrays and data frames. A level or class that is a boolean is
// the same in all spellings, regardless of the one in training; all other texts are compared exactly.

// boolOf returns 1 for a spelling of true and 0 for one of false and reports whether a text is either. With numbers,
// the numbers 1 and 0 are booleans too.
func boolOf(s string, numbers bool) (value int, ok bool) {
	switch {
	case len(s) == 4 && strings.EqualFold(s, "true"):
		return 1, true
	case len(s) == 5 && strings.EqualFold(s, "false"):
		return 0, true
	case numbers:
		x, ok := record.ParseNumber(s, false)
		return int(x), ok && (x == 0 || x == 1)
	}
	return 0, false
}

// levelIndex maps texts to the indices of levels or classes.
type levelIndex struct {
	codes map[string]int32
	// bools are the codes of the level that is false and of the one that is true, or −1 if there is none or several.
	bools   [2]int32
	numbers bool // all levels are booleans, so that the numbers 0 and 1 are booleans too
}

// newLevelIndex returns the index of levels. With numbers, 0 and 1 are booleans if all levels are booleans.
func newLevelIndex(levels []string, numbers bool) *levelIndex {
	x := &levelIndex{codes: make(map[string]int32, len(levels)), bools: [2]int32{-1, -1}}
	x.numbers = numbers && !slices.ContainsFunc(levels, func(l string) bool { _, ok := boolOf(l, true); return !ok })
	var found [2]int
	for i, l := range levels {
		x.codes[l] = int32(i)
		if b, ok := boolOf(l, x.numbers); ok {
			x.bools[b] = int32(i)
			if found[b]++; found[b] > 1 {
				x.bools[b] = -1
			}
		}
	}
	return x
}

// code returns the index of the level with a text, or UnknownLevel.
func (x *levelIndex) code(text string) int32 {
	if c, ok := x.codes[text]; ok {
		return c
	}
	if b, ok := boolOf(text, x.numbers); ok {
		return x.bools[b]
	}
	return UnknownLevel
}

// oneSpelling returns names with one spelling for each boolean if all of them are booleans: unchanged if each
// has only one spelling, so that equal files still give equal models, else true and false.
func oneSpelling(names []string) []string {
	var spelled [2]string
	several := false
	for _, name := range names {
		b, ok := boolOf(name, false)
		if !ok {
			return names
		}
		several = several || spelled[b] != "" && spelled[b] != name
		spelled[b] = name
	}
	if !several {
		return names
	}
	out := make([]string, len(names))
	for i, name := range names {
		b, _ := boolOf(name, false)
		out[i] = strconv.FormatBool(b == 1)
	}
	return out
}
