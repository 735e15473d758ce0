package model

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// countdown is a context that is canceled when its error was asked for a number of times.
type countdown struct {
	context.Context
	left  int64
	asked atomic.Int64
}

func (c *countdown) Err() error {
	if c.asked.Add(1) > c.left {
		return context.Canceled
	}
	return nil
}

// TestPredictContext: a prediction stops between the networks of a batch, and returns no predictions then.
func TestPredictContext(t *testing.T) {
	m, ds := small(t), items(40)
	o := PredictOptions{BatchValues: 10 * m.itemSize()}
	all := &countdown{Context: t.Context(), left: 1 << 62}
	if got, err := m.Predict(all, ds, o); err != nil || len(got) != ds.Len() {
		t.Fatal(err, len(got))
	}
	n := all.asked.Load()
	if least := int64(4 * len(m.Members)); n < least { // four batches
		t.Errorf("the context was asked %d times, expected at least %d", n, least)
	}
	for left := range n {
		ctx := &countdown{Context: t.Context(), left: left}
		if _, err := m.Predict(ctx, ds, o); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled after %d of %d questions, found the error %v", left, n, err)
		}
	}
}
