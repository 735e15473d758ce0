package head

import (
	"math"
	"math/rand/v2"
	"testing"

	"credence/nn"
)

// ratedHead returns a head with raters whose parameters are drawn, as bound to tensors.
func ratedHead(t testing.TB, components, classes, raters int, r *rand.Rand) *raterHead {
	return ratedTask(t, components, Task{Classes: classes, Raters: raters}, r)
}

// ratedTask is ratedHead for a task.
func ratedTask(t testing.TB, components int, task Task, r *rand.Rand) *raterHead {
	classes, raters := task.Classes, task.Raters
	h, err := Mixture{Components: components, Raters: "on"}.New(task)
	if err != nil {
		t.Fatal(err)
	}
	head := h.(*raterHead)
	var own []*nn.Param
	for _, o := range h.Own() {
		p := &nn.Param{Name: o.Name, Shape: o.Shape, Value: make([]float32, o.Shape.Size())}
		for i := range p.Value {
			p.Value[i] = o.Start
		}
		own = append(own, p)
	}
	h.Bind(own)
	for i := range raters {
		head.guess[i] = float32(-3 + 2*r.NormFloat64())
		if classes == 2 {
			head.bias[i] = float32(r.NormFloat64())
		} else {
			sum := float32(0)
			taste := head.taste[i*classes:][:classes]
			for c := range taste {
				taste[c] = r.Float32() + 0.05
				sum += taste[c]
			}
			for c := range taste {
				taste[c] /= sum
			}
		}
		if head.scaled {
			head.bias[i], head.logScale[i] = float32(r.NormFloat64()), float32(0.5*r.NormFloat64())
		}
	}
	return head
}

// ratedBatch draws raw outputs and votes.
func ratedBatch(h *raterHead, items, votes int, r *rand.Rand) ([]float32, Batch) {
	out := make([]float32, items*h.Outputs())
	for i := range out {
		out[i] = float32(1.5 * r.NormFloat64())
	}
	b := Batch{Counts: Counts{Classes: h.classes, Values: make([]float32, items*h.classes)}}
	for j := range items {
		for range r.IntN(votes + 1) {
			c := r.IntN(h.classes)
			b.Ratings = append(b.Ratings, Rating{int32(j), int32(r.IntN(h.raters)), int32(c)})
			b.Counts.Values[j*h.classes+c]++
		}
	}
	return out, b
}

// TestRatersGradient: gradients of the raw outputs and scores of the raters against differences.
// The loss is computed with exponentials in float32, which leaves about 1e-6 of it to chance, so
// that differences over ±2^-6 are good to about 1e-4.
func TestRatersGradient(t *testing.T) {
	for _, task := range []Task{{Classes: 2}, {Classes: 3}, {Classes: 5}, {Classes: 3, Ordered: true}, {Classes: 5, Ordered: true}} {
		classes := task.Classes
		task.Raters = 4
		r := rand.New(rand.NewPCG(uint64(classes), 1))
		h := ratedTask(t, 3, task, r)
		out, b := ratedBatch(h, 6, 5, r)
		grad := make([]float32, len(out))
		h.Loss(grad, out, b, Step{})
		scores := append([]score(nil), h.scores...)
		at := func(x *float32) float64 {
			const step = 1.0 / 64
			was := *x
			*x = was + step
			up := h.Loss(nil, out, b, Step{}).Mean
			*x = was - step
			down := h.Loss(nil, out, b, Step{}).Mean
			*x = was
			return (up - down) / (2 * step)
		}
		near := func(what string, got, want float64) {
			if !(math.Abs(got-want) <= 3e-4*max(1, math.Abs(want))) {
				t.Errorf("%d classes, %s: %v, want %v", classes, what, got, want)
			}
		}
		for i := range out {
			near("output", float64(grad[i]), at(&out[i]))
		}
		for rater := range h.raters {
			bias, guess, scale := 0.0, 0.0, 0.0
			for k, rating := range b.Ratings {
				if int(rating.Rater) == rater {
					bias -= scores[k].bias * h.scale
					guess -= scores[k].guess * h.scale
					scale -= scores[k].scale * h.scale
				}
			}
			if h.bias != nil {
				near("bias", bias, at(&h.bias[rater]))
			}
			if h.scaled {
				near("scale", scale, at(&h.logScale[rater]))
			}
			near("guess", guess, at(&h.guess[rater]))
		}
	}
}

// TestRatersAlike: raters without bias who never guess give the loss of the mixture without raters.
func TestRatersAlike(t *testing.T) {
	for _, classes := range []int{2, 3, 8} {
		for _, votes := range []int{3, 30} {
			r := rand.New(rand.NewPCG(uint64(classes), uint64(votes)))
			h := ratedHead(t, 4, classes, 5, r)
			for i := range h.guess {
				h.guess[i] = -40
			}
			clear(h.bias)
			out, b := ratedBatch(h, 40, votes, r)
			for i := range out {
				out[i] *= 2
			}
			plain, err := Mixture{Components: 4}.New(Task{Classes: classes})
			if err != nil {
				t.Fatal(err)
			}
			got, want := make([]float32, len(out)), make([]float32, len(out))
			g, w := h.Loss(got, out, b, Step{}), plain.Loss(want, out, b, Step{})
			if !(math.Abs(g.Mean-w.Mean) <= 2e-6*w.Mean) || g.Over != w.Over || g.Votes != w.Votes {
				t.Errorf("%d classes, %d votes: loss %v, want %v", classes, votes, g, w)
			}
			largest := 0.0
			for _, x := range want {
				largest = max(largest, math.Abs(float64(x)))
			}
			for i := range got {
				if !(math.Abs(float64(got[i]-want[i])) <= 5e-5*largest) {
					t.Errorf("%d classes, %d votes: gradient %d is %v, want %v", classes, votes, i, got[i], want[i])
				}
			}
		}
	}
}
