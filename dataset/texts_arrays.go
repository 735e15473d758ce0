package dataset

import (
	"fmt"
	"slices"

	"credence/internal/text"
)

// Array is a named array of numbers in row-major order.
type Array struct {
	Name   string
	Shape  []int
	Values []float32
}

// Arrays returns the numbers that are not in the JSON of the transform: the terms of
// each column of text, their inverse document frequencies, and their regression weights.
func (t *Transform) Arrays() []Array {
	var list []Array
	for i := range t.features {
		if m := t.features[i].model(); m != nil {
			terms, idf, weights := m.Arrays()
			n := len(terms)
			list = append(list, Array{textArray(i, "terms"), []int{n}, terms}, Array{textArray(i, "idf"), []int{n}, idf},
				Array{textArray(i, "weights"), []int{n, m.Outputs()}, weights})
		}
	}
	return list
}

func textArray(feature int, name string) string { return fmt.Sprintf("text%d.%s", feature, name) }

// SetArrays sets the arrays of a transform that was read from JSON. take returns
// the array with a name, or nil if there is none.
func (t *Transform) SetArrays(take func(name string) *Array) error {
	for i := range t.features {
		p := &t.features[i]
		if !p.document() {
			continue
		}
		if err := p.checkText(); err != nil {
			return err
		}
		n, c := p.Text.Terms, len(p.Mean)
		var values [3][]float32
		for k, want := range []Array{{Name: "terms", Shape: []int{n}}, {Name: "idf", Shape: []int{n}}, {Name: "weights", Shape: []int{n, c}}} {
			a := take(textArray(i, want.Name))
			if a == nil {
				return fmt.Errorf("feature %q: array %s is missing", p.Name, textArray(i, want.Name))
			}
			if !slices.Equal(a.Shape, want.Shape) {
				return fmt.Errorf("feature %q: array %s: expected shape %v, found %v", p.Name, a.Name, want.Shape, a.Shape)
			}
			values[k] = a.Values
		}
		var err error
		if p.Text.model, err = text.New(values[0], values[1], values[2], p.Text.Bias); err != nil {
			return fmt.Errorf("feature %q: %w", p.Name, err)
		}
	}
	return nil
}

// maxTexts limits the number of texts of a column: their indices are stored as float32.
const maxTexts = 1 << 24
