package train

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"credence/head"
	"credence/internal/par"
	"credence/internal/rng"
	"credence/nn"
)

// growth is one setting of BenchmarkGrowth: a step of the mlp workload with
// everything at its default but one.
type growth struct {
	batch, components, classes, votes, threads int
}

// BenchmarkGrowth shows how the time of a step grows with each of its sizes.
func BenchmarkGrowth(b *testing.B) {
	defer par.SetThreads(0)
	base := growth{batch: 64, components: 10, classes: 2, votes: 2, threads: 1}
	run := func(name string, values []int, set func(g *growth, v int)) {
		for _, v := range values {
			g := base
			set(&g, v)
			b.Run(fmt.Sprintf("%s=%d", name, v), func(b *testing.B) {
				s, x, votes := g.build(b)
				at := nn.Step{}
				for b.Loop() {
					s.Step(x, votes, at)
				}
			})
		}
	}
	run("batch", []int{16, 64, 256, 1024, 4096}, func(g *growth, v int) { g.batch = v })
	run("components", []int{1, 3, 10, 30}, func(g *growth, v int) { g.components = v })
	run("classes", []int{2, 5, 20, 100}, func(g *growth, v int) { g.classes = v })
	run("votes", []int{2, 10, 100, 1000}, func(g *growth, v int) { g.votes = v })
	run("batch4096/threads", []int{1, 2}, func(g *growth, v int) { g.batch, g.threads = 4096, v })
}

// build returns a network of two hidden layers of 64 and a fixed batch.
func (g growth) build(b *testing.B) (*Stepper, []float32, head.Batch) {
	b.Helper()
	par.SetThreads(g.threads)
	h, err := head.Mixture{Components: g.components}.New(head.Task{Classes: g.classes})
	if err != nil {
		b.Fatal(err)
	}
	root, err := nn.ByName("mlp", nn.Shape{2}, h.Outputs())
	if err != nil {
		b.Fatal(err)
	}
	net, err := nn.New(root, nn.Shape{2}, nn.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s, err := NewStepper(nil, net, h, nn.OptimizerOptions{}, g.batch)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rng.New(0, "growth"))
	x := make([]float32, g.batch*2)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	votes := head.Counts{Classes: g.classes, Values: make([]float32, g.batch*g.classes)}
	for j := range g.batch {
		for range g.votes {
			votes.Values[j*g.classes+r.IntN(g.classes)]++
		}
	}
	return s, x, head.Batch{Counts: votes}
}
