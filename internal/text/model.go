package text

import (
	"fmt"
	"math"
	"slices"
)

// Model gives logits of classes to documents. Any number of goroutines may share
// it.
type Model struct {
	*Vectorizer
	weights []float32 // [F × c]
	bias    []float64 // [c]
}

// Outputs returns the number c of logits: one for two classes, else one for
// each.
func (m *Model) Outputs() int { return len(m.bias) }

// Logits sets z, of length Outputs, to the logits of a document.
func (m *Model) Logits(z []float64, doc string) {
	copy(z, m.bias)
	c := len(m.bias)
	m.vector(doc, func(at []int32, values []float32) {
		for j, p := range at {
			x := float64(values[j])
			for k, w := range m.weights[int(p)*c : int(p)*c+c] {
				z[k] += x * float64(w)
			}
		}
	})
}

// Heard reports whether a document has a word, or a pair of words, that documents
// of the fit had, or no words at all. It looks at the first few pages.
func (m *Model) Heard(doc string) bool {
	const pages = 1 << 14
	words, heard := 0, false
	t := terms{emit: func(b uint32) {
		if b < blockSize {
			words++
			heard = heard || m.place[b] > 0
		}
	}}
	t.document(doc[:min(len(doc), pages)])
	return heard || words == 0
}

// Terms returns the number F of terms.
func (m *Model) Terms() int { return len(m.buckets) }

// Bias returns the logits of a document without terms.
func (m *Model) Bias() []float64 { return slices.Clone(m.bias) }

// Arrays returns the hashes of the terms [F], their weights among documents [F]
// and in the regression [F × c].
func (m *Model) Arrays() (terms, idf, weights []float32) {
	terms = make([]float32, len(m.buckets))
	for i, b := range m.buckets {
		terms[i] = float32(b)
	}
	return terms, m.idf, m.weights
}

// New returns the model of what [Model.Arrays] and [Model.Bias] gave, and refuses
// what no fit gives.
func New(terms, idf, weights []float32, bias []float64) (*Model, error) {
	m := &Model{Vectorizer: &Vectorizer{idf: idf}, weights: weights, bias: bias}
	for i, x := range terms {
		if !(x >= 0 && x < buckets) || x != float32(uint32(x)) {
			return nil, fmt.Errorf("term %d has hash %v, want a whole number below %d", i, x, buckets)
		}
		m.buckets = append(m.buckets, uint32(x))
	}
	if len(weights) != len(terms)*len(bias) || len(bias) == 0 {
		return nil, fmt.Errorf("%d weights for %d terms and %d logits", len(weights), len(terms), len(bias))
	}
	for _, b := range bias {
		if math.IsNaN(b) || math.IsInf(b, 0) {
			return nil, fmt.Errorf("a bias of %v", b)
		}
	}
	for i, w := range weights {
		if !(math.Abs(float64(w)) <= math.MaxFloat32) {
			return nil, fmt.Errorf("weight %d is %v", i, w)
		}
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	m.index()
	return m, nil
}
