package head

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// An engine that finds what the CPU finds leaves the head as the CPU does, over epochs too.
func TestRaterLossOfDevice(t *testing.T) {
	const items, raters = 5, 4
	of := func() *raterHead { return ratedHead(t, 2, 2, raters, rand.New(rand.NewPCG(1, 2))) }
	cpu, device := of(), of()
	r := rand.New(rand.NewPCG(3, 4))
	for epoch := range uint64(3) {
		out, b := ratedBatch(cpu, items, 3, r)
		at := Step{Epoch: epoch}
		want := cpu.Loss(make([]float32, len(out)), out, b, at)
		l, ok := device.OnDevice(b, at).(*RaterLoss)
		if !ok || len(l.Voters) != len(b.Ratings) || len(l.Scores) != len(b.Ratings) {
			t.Fatalf("no loss for a device: %+v", l)
		}
		for k, v := range l.Voters {
			rater := b.Ratings[k].Rater
			if v.Second != (b.Ratings[k].Class == 1) || v.Guess != cpu.known[rater].guess || v.Odds != cpu.known[rater].odds {
				t.Errorf("vote %d by %+v, want rater %d with %+v", k, v, rater, cpu.known[rater])
			}
			l.Scores[k] = VoteScore{cpu.scores[k].bias, cpu.scores[k].guessed}
		}
		for _, nll := range cpu.nll {
			l.Sum += nll
		}
		if got := l.Loss(); got.Votes != want.Votes || got.Over != want.Over || got.Mean-want.Mean > 1e-12 || want.Mean-got.Mean > 1e-12 {
			t.Errorf("loss %+v, want %+v", got, want)
		}
		if !slices.Equal(device.sums, cpu.sums) || !slices.Equal(device.bias, cpu.bias) || !slices.Equal(device.guess, cpu.guess) {
			t.Errorf("epoch %d: raters %v, want %v", epoch, device.sums, cpu.sums)
		}
	}
}

// What no engine computes is refused: more classes, votes without a rater, fractions of votes.
func TestRaterLossRefused(t *testing.T) {
	const items, raters = 3, 4
	r := rand.New(rand.NewPCG(1, 2))
	three, two := ratedHead(t, 2, 3, raters, r), ratedHead(t, 2, 2, raters, r)
	_, b := ratedBatch(three, items, 3, r)
	if l := three.OnDevice(b, Step{}); l != nil {
		t.Error("three classes were taken")
	}
	_, unnamed := ratedBatch(two, items, 3, r)
	_, half := ratedBatch(two, items, 3, r)
	unnamed.Counts.Values[1]++
	half.Counts.Values[1] += 0.5
	for name, b := range map[string]Batch{"unnamed": unnamed, "half": half} {
		if l := two.OnDevice(b, Step{}); l != nil {
			t.Errorf("%s votes were taken", name)
		}
	}
}
