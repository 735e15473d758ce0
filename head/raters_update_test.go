package head

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRatersErringNetwork: a network that is certain of what no vote says is corrected as it is without
// raters, and its votes make guessers neither of all raters nor, step by step, of most.
func TestRatersErringNetwork(t *testing.T) {
	const items, raters = 50, 3
	r := rand.New(rand.NewPCG(1, 2))
	h := ratedHead(t, 1, 2, raters, r)
	for i := range raters {
		h.guess[i], h.bias[i] = guessStart, 0
	}
	plain, err := Mixture{Components: 1}.New(Task{Classes: 2})
	if err != nil {
		t.Fatal(err)
	}
	b := Batch{Counts: Counts{Classes: 2, Values: make([]float32, 2*items)}}
	out := make([]float32, items*h.Outputs())
	for j := range items {
		out[j*h.Outputs()+1], out[j*h.Outputs()+2] = 8, -3 // p is about e^-11
		for v := range raters {
			b.Ratings = append(b.Ratings, Rating{int32(j), int32(v), 1})
			b.Counts.Values[2*j+1]++
		}
	}
	size := func(grad []float32) (sum float64) {
		for _, x := range grad {
			sum += math.Abs(float64(x))
		}
		return sum
	}
	rated, alike := make([]float32, len(out)), make([]float32, len(out))
	plain.Loss(alike, out, b, Step{})
	for epoch := range uint64(5) {
		h.Loss(rated, out, b, Step{Epoch: epoch})
		if got, want := size(rated), size(alike); !(got > 0.5*want) {
			t.Errorf("epoch %d: the gradient is %v, without raters %v", epoch, got, want)
		}
	}
	for i, u := range h.guess {
		if u > guessMean {
			t.Errorf("rater %d comes to guess, logit %v", i, u)
		}
	}
}

// TestRatersUnseen: of somebody who cast no vote it is known what the prior says.
func TestRatersUnseen(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	h := ratedHead(t, 2, 2, 3, r)
	out, b := ratedBatch(h, 20, 4, r)
	for k := range b.Ratings {
		b.Ratings[k].Rater %= 2
	}
	h.guess[2], h.bias[2] = guessStart, 0
	grad := make([]float32, len(out))
	h.Loss(grad, out, b, Step{Epoch: 0})
	h.Loss(grad, out, b, Step{Epoch: 1})
	if h.guess[2] != guessMean {
		t.Errorf("logit g is %v, want %v", h.guess[2], float32(guessMean))
	}
}
