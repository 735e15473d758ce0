package text

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
