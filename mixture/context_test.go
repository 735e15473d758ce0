package mixture

import (
	"context"
	"errors"
	"math"
	"testing"
)

// countdown is a context that is canceled when its error was asked for a number of times.
type countdown struct {
	context.Context
	left, asked int
}

func (c *countdown) Err() error {
	if c.asked++; c.asked > c.left {
		return context.Canceled
	}
	return nil
}

// TestContext: long computations ask their context again and again, and stop soon after it is done.
func TestContext(t *testing.T) {
	const components, classes = 60, 40
	weights, alpha := make([]float64, components), make([][]float64, components)
	a, b := make([]float64, components), make([]float64, components)
	for k := range weights {
		weights[k] = 1.0 / components
		at := (float64(k) + 0.5) / components
		a[k], b[k] = 1e5*at, 1e5*(1-at)
		for i := range classes {
			alpha[k] = append(alpha[k], 20+math.Abs(float64((k+i)%7)))
		}
	}
	dist, err := NewBeta(weights, a, b)
	if err != nil {
		t.Fatal(err)
	}
	many, err := NewDirichlet(weights, alpha)
	if err != nil {
		t.Fatal(err)
	}
	reported := Reported{Dist: many, Resolution: 0.01}
	levels := make([]float64, 300)
	for k := range levels {
		levels[k] = float64(k+1) / 301
	}
	for name, f := range map[string]func(ctx context.Context) error{
		"highest density": func(ctx context.Context) error {
			_, err := dist.HighestDensityContext(ctx, 0.9)
			return err
		},
		"reported highest density": func(ctx context.Context) error {
			_, _, err := dist.Reported(0.01).HighestDensityContext(ctx, 0.9)
			return err
		},
		"top class": func(ctx context.Context) error {
			_, err := many.TopClassContext(ctx, nil)
			return err
		},
		"summary": func(ctx context.Context) error {
			_, err := reported.Summarize(ctx, []float64{0.9}, false)
			return err
		},
		"summary to six digits": func(ctx context.Context) error {
			_, err := reported.WithPrecision(SixDigits).Summarize(ctx, []float64{0.9}, true)
			return err
		},
		"levels": func(ctx context.Context) error {
			_, err := Reported{Dist: dist.Dirichlet()}.Summarize(ctx, levels, false)
			return err
		},
	} {
		all := &countdown{Context: t.Context(), left: math.MaxInt}
		if err := f(all); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if least := 5; all.asked < least {
			t.Errorf("%s: the context was asked %d times, expected at least %d", name, all.asked, least)
		}
		for left := 0; left < all.asked; left = 2*left + 1 {
			ctx := &countdown{Context: t.Context(), left: left}
			if err := f(ctx); !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: canceled after %d of %d questions, found the error %v", name, left, all.asked, err)
			}
			// The branches of a recursion and the loops around them each see it once.
			if more := ctx.asked - left; more > 60 {
				t.Fatalf("%s: canceled after %d questions, %d further ones were asked", name, left, more)
			}
		}
	}
}
