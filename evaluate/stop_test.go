package evaluate

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"credence/dataset"
	"credence/internal/logistic"
)

// countdown is a context that is canceled after a number of calls of Err.
type countdown struct {
	context.Context
	left atomic.Int64
}

func newCountdown(t *testing.T, asks int64) *countdown {
	c := &countdown{Context: t.Context()}
	c.left.Store(asks)
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// An evaluation that is canceled at any time returns the error of its context and nothing else.
func TestEvaluateStopped(t *testing.T) {
	w := simulate(t, 120, 3, 4, 1)
	in := Input{Predictions: predictionsOf(w.mixtures), Votes: w.votes}
	const plenty = 1 << 40
	ctx := newCountdown(t, plenty)
	want, err := EvaluateContext(ctx, in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	asks := plenty - ctx.left.Load()
	if asks < 1000 {
		t.Errorf("the context was looked at %d times", asks)
	}
	for k := range int64(40) {
		r, err := EvaluateContext(newCountdown(t, k*asks/40), in, Options{})
		if r != nil || !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at %d of %d: %v, %v", k*asks/40, asks, r, err)
		}
	}
	text := func(r *Result) string { // numbers that are NaN are not equal to themselves
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if again, err := Evaluate(in, Options{}); err != nil || text(again) != text(want) {
		t.Errorf("without a context: %v, or another result", err)
	}
}

func TestFitReferencesStopped(t *testing.T) {
	ds := &dataset.Dataset{Items: []string{"a", "b", "c"}, Classes: []string{"x", "y"}, Counts: []float32{2, 1, 1, 1, 0, 3}}
	_, err := FitReferences(newCountdown(t, 1<<40), ds, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	x := &logistic.Dense{Columns: 1, Values: []float64{-1, 0, 1}}
	votes := Votes{2, []float64{2, 1, 1, 1, 0, 3}}
	ctx := newCountdown(t, 1<<40)
	if _, err := (&referenceData{x: x, votes: votes}).fitLogistic(ctx, 1); err != nil {
		t.Fatal(err)
	}
	asks := 1<<40 - ctx.left.Load()
	for k := range asks {
		ctx := newCountdown(t, k)
		if l, err := (&referenceData{x: x, votes: votes}).fitLogistic(ctx, 1); l != nil || !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at %d of %d: %v, %v", k, asks, l, err)
		}
		if more := -ctx.left.Load(); more > 5000 {
			t.Fatalf("stopped at %d of %d, it asked %d times more", k, asks, more)
		}
	}
}
