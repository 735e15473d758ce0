package calculator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// countdown is a context that is canceled after a number of calls of Err.
type countdown struct {
	context.Context
	left, asked atomic.Int64
}

func (c *countdown) Err() error {
	if c.asked.Add(1) > c.left.Load() {
		return context.Canceled
	}
	return nil
}

// TestAnswerStops: a query with many levels, quantiles and points stops soon after its context is done.
func TestAnswerStops(t *testing.T) {
	list := strings.TrimSuffix(strings.Repeat("0.3,", 50), ",")
	points := strings.TrimSuffix(strings.Repeat("[0.3,0.3,0.4],", 50), ",")
	for _, more := range []string{`"levels":[` + list + `]`, `"quantiles":[` + list + `]`, `"cdf":[` + list + `]`, `"logpdf":[` + points + `]`} {
		question := []byte(`{"weights":[0.5,0.5],"alpha":[[1,2,3],[3,4,5]],` + more + `}`)
		all := &countdown{Context: t.Context()}
		all.left.Store(1 << 62)
		if _, err := EvaluateOne(all, question, nil); err != nil {
			t.Fatal(err)
		}
		n := all.asked.Load()
		if n < 50 {
			t.Errorf("%.20s: the context was asked %d times, expected at least 50", more, n)
		}
		for left := int64(0); left < n; left = 2*left + 1 {
			ctx := &countdown{Context: t.Context()}
			ctx.left.Store(left)
			if _, err := EvaluateOne(ctx, question, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("%.20s: canceled after %d of %d questions, found the error %v", more, left, n, err)
			}
			if further := ctx.asked.Load() - left; further > 8 {
				t.Errorf("%.20s: canceled after %d of %d questions, %d further ones were asked", more, left, n, further)
			}
		}
	}
}

// TestSize: the size of a query is checked before it is evaluated.
func TestSize(t *testing.T) {
	refused := errors.New("refused")
	var got Size
	question := `{"weights":[0.5,0.5],"alpha":[[1,2,3],[3,4,5]],"levels":[0.5,0.9],` +
		`"quantiles":[0.1],"cdf":[0.1,0.2],"logpdf":[[0.1,0.2,0.7]]}`
	_, err := EvaluateOne(t.Context(), []byte(question),
		func(s Size) error { got = s; return refused })
	if want := (Size{Components: 2, Classes: 3, Levels: 2, Points: 3*5 + 1}); got != want || err != refused {
		t.Error(fmt.Sprintf("%+v, want %+v;", got, want), err)
	}
}
