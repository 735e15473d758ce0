package head

import (
	"slices"

	"credence/internal/kernel"
	"credence/internal/special"
)

// meaner is a head that tells the means of answers for less work than all of them.
type meaner interface {
	// means fills in Mean and Err of dst [N] as Decode would.
	means(dst []Answer, outputs []Output)
}

// DecodeMeans is [Decode] for those who ask for means alone: of a method whose other numbers take time, answers
// have only Mean and Err.
func DecodeMeans(h Head, outputs []Output, n int) ([]Answer, error) {
	if m, ok := h.(meaner); ok {
		return decode(m.means, h.Outputs(), outputs, n)
	}
	return Decode(h, outputs, n)
}

// means implements [meaner]: no distribution is made, and the exponentials of many items are taken at once.
func (h *mixtureHead) means(dst []Answer, outputs []Output) {
	k, d, width := h.components, h.classes, h.Outputs()
	n := len(dst)
	room := make([]float64, n*d+3*n*width)
	means, x, zeros, e := room[:n*d], room[n*d:][:n*width], room[n*d+n*width:][:n*width], room[n*d+2*n*width:]
	for _, out := range outputs {
		if !h.logits(x, out.Raw[:n*width]) {
			h.Decode(dst, outputs) // which says what is wrong with which item
			return
		}
		kernel.ExpLinear(e, x, zeros, 1, 0)
		for j := range dst {
			w, alpha := e[j*width:][:k], e[j*width+k:(j+1)*width]
			share := 1 / (special.Sum(w) * float64(len(outputs)))
			mean := means[j*d : (j+1)*d]
			for c, weight := range w {
				a := alpha[c*d : (c+1)*d]
				s := weight * share / special.Sum(a)
				for i, v := range a {
					mean[i] += s * v
				}
			}
		}
	}
	for j := range dst {
		dst[j].Mean = means[j*d : (j+1)*d : (j+1)*d]
	}
}

// logits sets x to the exponents of raw outputs, the largest weight's 0, and reports whether all are finite.
func (h *mixtureHead) logits(x []float64, raw []float32) bool {
	k, width := h.components, h.Outputs()
	limit := h.bound
	for ; len(raw) > 0; raw, x = raw[width:], x[width:] {
		top := slices.Max(raw[:k])
		for i, v := range raw[:k] {
			if v-v != 0 {
				return false
			}
			x[i] = float64(v) - float64(top)
		}
		for i, v := range raw[k:width] {
			if v-v != 0 {
				return false
			}
			x[k+i] = min(max(float64(v), -limit), limit)
		}
	}
	return true
}
