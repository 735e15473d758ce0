package head

import (
	"math"
	"testing"
)

// TestSoftmax: the loss against cross-entropy written out, over the labels of a batch.
func TestSoftmax(t *testing.T) {
	h := made(t, Softmax{}, 3)
	out := []float32{1, -0.5, 2, 0, 0, 0, 30, -30, 0}
	votes := Counts{3, []float32{1, 0, 2, 0, 0, 0, 0, 1, 0}}
	want := 0.0
	for _, j := range []int{0, 2} {
		z := 0.0
		for _, x := range out[3*j:][:3] {
			z += math.Exp(float64(x))
		}
		for i, s := range votes.Item(j) {
			want -= float64(s) * (float64(out[3*j+i]) - math.Log(z)) / 4
		}
	}
	near(t, "loss", lossOf(h, nil, out, votes), want, 1e-9*want)
}
