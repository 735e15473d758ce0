package head

import (
	"math"
	"testing"
)

func TestSoftmax(t *testing.T) {
	h := &Softmax{Classes: 3}
	out := []float32{1, -0.5, 2, 0, 0, 0, 30, -30, 0}
	votes := Counts{3, []float32{1, 0, 2, 0, 0, 0, 0, 1, 0}}
	grad := make([]float32, 9)
	loss := h.Loss(grad, out, votes, Step{})
	want := 0.0
	for _, j := range []int{0, 2} {
		z := 0.0
		for _, x := range out[3*j:][:3] {
			z += math.Exp(float64(x))
		}
		for i, s := range votes.Item(j) {
			want -= float64(s) * (float64(out[3*j+i]) - math.Log(z)) / 2
		}
	}
	if !(math.Abs(loss-want) <= 1e-6*want) {
		t.Errorf("loss %v, want %v", loss, want)
	}
	for i := range out {
		const h32 = 1.0 / 64
		x := out[i]
		out[i] = x + h32
		up := h.Loss(nil, out, votes, Step{})
		out[i] = x - h32
		d := (up - h.Loss(nil, out, votes, Step{})) / (2 * h32)
		out[i] = x
		if !(math.Abs(d-float64(grad[i])) <= 1e-4) {
			t.Errorf("gradient %d is %v, by differences %v", i, grad[i], d)
		}
	}
}
