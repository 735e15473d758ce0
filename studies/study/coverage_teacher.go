package study

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"credence/head"
	"credence/internal/mnist"
	"credence/internal/par"
	"credence/internal/rng"
	"credence/nn"
	"credence/train"
)

// grouping makes classes of the ten digits.
type grouping struct {
	Name   string
	Names  []string // of the classes
	Class  [10]int  // of each digit
	Panels []int    // classes whose coverage the paper shows
}

// The paper's two and three classes. With two, the interval of one class is the
// mirror image of the other's.
var groupings = map[int]grouping{
	2: {"two classes", []string{"0–4", "5–9"}, [10]int{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, []int{0}},
	3: {"three classes", []string{"0–2", "3–6", "7–9"}, [10]int{0, 0, 0, 1, 1, 1, 1, 2, 2, 2}, []int{0, 1, 2}},
}

// How teachers are trained.
const (
	teacherBatch = 64
	teacherRate  = 3e-4
)

// teacher is a LeNet-5 with a softmax, trained on the digits themselves.
type teacher struct {
	net     *nn.Network
	classes int
}

// newTeacher trains a teacher for the given number of epochs.
func newTeacher(ctx context.Context, set *mnist.Set, g grouping, epochs int, seed uint64) (*teacher, error) {
	d := len(g.Names)
	shape := nn.Shape{1, mnist.Height, mnist.Width}
	root, err := nn.ByName("lenet5", shape, d)
	if err != nil {
		return nil, err
	}
	net, err := nn.New(root, shape, nn.Options{Seed: seed, Init: nn.He})
	if err != nil {
		return nil, err
	}
	s, err := train.NewStepper(nil, net, crossEntropy(d), nn.OptimizerOptions{Rate: teacherRate}, teacherBatch)
	if err != nil {
		return nil, err
	}
	x := make([]float32, teacherBatch*mnist.Pixels)
	votes := make([]float32, teacherBatch*d)
	at := nn.Step{Seed: seed}
	for epoch := range epochs {
		at.Epoch = uint64(epoch)
		order := rand.New(rng.New(seed, "study.coverage.teacher", at.Epoch)).Perm(set.Len())
		for lo := 0; lo < len(order); lo += teacherBatch {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			part := order[lo:min(lo+teacherBatch, len(order))]
			set.Standard(x, part)
			clear(votes)
			for j, i := range part {
				votes[j*d+g.Class[set.Labels[i]]] = 1
			}
			batch := head.Batch{Counts: head.Counts{Classes: d, Values: votes[:len(part)*d]}}
			loss, err := s.Step(x[:len(part)*mnist.Pixels], batch, at)
			if err != nil {
				return nil, err
			}
			if math.IsNaN(loss.Mean) {
				return nil, fmt.Errorf("the teacher of seed %d: the loss is not a number", seed)
			}
			at.Step++
		}
	}
	return &teacher{net, d}, nil
}

// crossEntropy is the loss of a classifier of the given number of classes whose items have one label each.
type crossEntropy int

// Outputs implements [head.Objective].
func (d crossEntropy) Outputs() int { return int(d) }

// Loss implements [head.Objective]: −log p_y, averaged over the items.
func (d crossEntropy) Loss(grad, out []float32, b head.Batch, _ head.Step) head.Loss {
	n := b.Items()
	exps := make([]float32, len(out))
	sum, scale := 0.0, 1/float64(n)
	for j := 0; j < len(out); j += int(d) {
		top := slices.Max(out[j : j+int(d)])
		for i := range int(d) {
			exps[j+i] = out[j+i] - top
			sum -= float64(b.Counts.Values[j+i]) * float64(exps[j+i])
		}
	}
	for i, x := range exps {
		exps[i] = float32(math.Exp(float64(x)))
	}
	for j := range n {
		e, s, g := exps[j*int(d):][:d], b.Counts.Item(j), grad[j*int(d):][:d]
		z := 0.0
		for _, x := range e {
			z += float64(x)
		}
		sum += math.Log(z)
		for i, x := range e {
			g[i] = float32((float64(x)/z - float64(s[i])) * scale)
		}
	}
	return head.Loss{Mean: sum * scale, Over: float64(n), Votes: float64(n)}
}

// truth returns the teacher's probabilities of all images [N × d], as softmax of
// its logits in float64. A probability close to one is known by the sum of the
// others, which are not rounded to zero.
func (t *teacher) truth(set *mnist.Set) ([]float64, error) {
	const batch = 250
	session, err := t.net.NewSession(batch)
	if err != nil {
		return nil, err
	}
	p := make([]float64, 0, set.Len()*t.classes)
	x := make([]float32, batch*mnist.Pixels)
	for lo := 0; lo < set.Len(); lo += batch {
		items := indices(lo, min(lo+batch, set.Len()))
		set.Standard(x, items)
		out, err := session.Forward(x[:len(items)*mnist.Pixels], nn.Pass{})
		if err != nil {
			return nil, err
		}
		for len(out) > 0 {
			p = appendSoftmax(p, out[:t.classes])
			out = out[t.classes:]
		}
	}
	return p, nil
}

// appendSoftmax appends softmax of the logits; with two classes it is
// sigmoid(±Δ) of their difference.
func appendSoftmax(p []float64, logits []float32) []float64 {
	for _, v := range logits {
		total := 0.0
		for _, u := range logits {
			total += math.Exp(float64(u) - float64(v))
		}
		p = append(p, 1/total)
	}
	return p
}

// drawVotes draws the given number of votes per image from the teacher's probabilities
// [N × d] and returns their counts.
func drawVotes(truth []float64, d, votes int, seed uint64) []float32 {
	counts := make([]float32, len(truth))
	par.For(len(truth)/d, func(i int) {
		r := rng.New(seed, "study.coverage.votes", uint64(i))
		p := truth[i*d : (i+1)*d]
		for range votes {
			u, c := r.Float64(), 0
			for ; c < d-1 && u >= p[c]; c++ {
				u -= p[c]
			}
			counts[i*d+c]++
		}
	})
	return counts
}

// accuracy is the share of images whose most probable class, of probabilities
// [N × d], is that of their digit.
func accuracy(p []float64, set *mnist.Set, g grouping) float64 {
	d, right := len(g.Names), 0
	for i, digit := range set.Labels {
		row := p[i*d : (i+1)*d]
		if slices.Index(row, slices.Max(row)) == g.Class[digit] {
			right++
		}
	}
	return float64(right) / float64(set.Len())
}

// indices are the numbers from lo to hi−1.
func indices(lo, hi int) []int {
	at := make([]int, hi-lo)
	for i := range at {
		at[i] = lo + i
	}
	return at
}
