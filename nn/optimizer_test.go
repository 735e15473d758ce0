package nn

import (
	"math"
	"testing"
)

// reference is one parameter under the textbook formulas, in float64.
func reference(o OptimizerOptions, w float64, grads []float64) float64 {
	var m, v float64
	for t, g := range grads {
		switch o.Kind {
		case "sgd":
			g += o.WeightDecay * w
			m = o.Momentum*m + g
			if o.Nesterov {
				w -= o.Rate * (g + o.Momentum*m)
			} else {
				w -= o.Rate * m
			}
			continue
		case "adam":
			g += o.WeightDecay * w
		case "adamw":
			w -= o.Rate * o.WeightDecay * w
		}
		m = 0.9*m + 0.1*g
		v = 0.999*v + 0.001*g*g
		n := float64(t + 1)
		w -= o.Rate * m / (1 - math.Pow(0.9, n)) / (math.Sqrt(v/(1-math.Pow(0.999, n))) + 1e-8)
	}
	return w
}

func TestOptimizers(t *testing.T) {
	grads := []float64{0.5, -0.2, 0.9, 0.3, -1}
	for _, o := range []OptimizerOptions{
		{Kind: "sgd", Rate: 0.1},
		{Kind: "sgd", Rate: 0.1, Momentum: 0.9, WeightDecay: 0.01},
		{Kind: "sgd", Rate: 0.1, Momentum: 0.9, Nesterov: true},
		{Kind: "adam", Rate: 0.1, WeightDecay: 0.01},
		{Kind: "adamw", Rate: 0.1, WeightDecay: 0.01},
	} {
		net, err := New(&scale{}, Shape{1}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := newOptimizer(net, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range grads {
			net.Params[0].Grad[0] = float32(g)
			p.step()
		}
		got, want := float64(net.Params[0].Value[0]), reference(o, 2, grads)
		if !(math.Abs(got-want) <= 1e-6) {
			t.Errorf("%+v: %v, want %v", o, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	net, err := New(&Dense{Out: 1, NoBias: true}, Shape{2}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newOptimizer(net, OptimizerOptions{Kind: "sgd", Rate: 1, Clip: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := net.Params[0]
	copy(w.Value, []float32{0, 0})
	copy(w.Grad, []float32{3, 4})
	if norm := p.step(); norm != 5 {
		t.Errorf("norm %v, want 5", norm)
	}
	if math.Abs(float64(w.Value[0])+0.6) > 1e-6 || math.Abs(float64(w.Value[1])+0.8) > 1e-6 {
		t.Errorf("step to %v, want [-0.6 -0.8]", w.Value)
	}
}

func TestSchedule(t *testing.T) {
	s := Schedule{Kind: "cosine", WarmUp: 4, Total: 14, Final: 0.1}
	for step, want := range map[uint64]float64{0: 0.25, 3: 1, 4: 1, 9: 0.55, 14: 0.1, 99: 0.1} {
		if got := s.factor(step); math.Abs(got-want) > 1e-12 {
			t.Errorf("step %d: factor %v, want %v", step, got, want)
		}
	}
	var zero Schedule
	if zero.factor(0) != 1 || zero.factor(1000) != 1 {
		t.Error("the zero schedule changes the rate")
	}
}

func TestOptimizerErrors(t *testing.T) {
	net, err := New(&Dense{Out: 1}, Shape{2}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []OptimizerOptions{
		{Kind: "lion"}, {Rate: -1}, {Momentum: 1}, {Beta1: 1}, {WeightDecay: -1}, {Clip: math.NaN()},
		{Schedule: Schedule{Kind: "step"}}, {Schedule: Schedule{Kind: "cosine"}},
	} {
		if _, err := newOptimizer(net, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// TestCorrection: leaving the power out changes no bit.
func TestCorrection(t *testing.T) {
	for _, beta := range []float32{0.5, 0.9, 0.99, 0.999, 0.9999} {
		for step := uint64(1); float64(step)*(1-float64(beta)) < 40; step++ {
			if got, want := correction(beta, step), float32(1-math.Pow(float64(beta), float64(step))); got != want {
				t.Fatalf("beta %v, step %d: %v, want %v", beta, step, got, want)
			}
		}
	}
}
