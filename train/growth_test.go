package train

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"credence/dataset"
	"credence/head"
	"credence/internal/rng"
	"credence/nn"
)

// growth is one setting of BenchmarkGrowth: a step of the mlp workload with
// everything at its default but one.
type growth struct {
	batch, features, components, classes, votes, threads int
}

// BenchmarkGrowth shows how the time of a step grows with each of its sizes.
func BenchmarkGrowth(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	base := growth{batch: 64, features: 2, components: 10, classes: 2, votes: 2, threads: 1}
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
	run("features", []int{2, 10, 50, 250, 1000}, func(g *growth, v int) { g.features = v })
	run("components", []int{1, 3, 10, 30}, func(g *growth, v int) { g.components = v })
	run("classes", []int{2, 5, 20, 100}, func(g *growth, v int) { g.classes = v })
	run("votes", []int{2, 10, 100, 1000}, func(g *growth, v int) { g.votes = v })
	run("batch4096/threads", []int{1, 2}, func(g *growth, v int) { g.batch, g.threads = 4096, v })
}

// build returns a network of two hidden layers of 64 and a fixed batch.
func (g growth) build(b *testing.B) (*Stepper, []float32, head.Batch) {
	b.Helper()
	runtime.GOMAXPROCS(g.threads)
	h, err := head.Mixture{Components: g.components}.New(head.Task{Classes: g.classes})
	if err != nil {
		b.Fatal(err)
	}
	root, err := nn.ByName("mlp", nn.Shape{g.features}, h.Outputs())
	if err != nil {
		b.Fatal(err)
	}
	net, err := nn.New(root, nn.Shape{g.features}, nn.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s, err := NewStepper(nil, net, h, nn.OptimizerOptions{}, g.batch)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rng.New(0, "growth"))
	x := make([]float32, g.batch*g.features)
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

// BenchmarkFitRows shows how one epoch of a whole fit grows with rows, features and threads:
// features in memory, one network, no trees, no references.
func BenchmarkFitRows(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, c := range []struct{ rows, features, threads int }{
		{10_000, 50, 2}, {100_000, 50, 2}, {1_000_000, 50, 2},
		{100_000, 10, 2}, {100_000, 250, 2}, {100_000, 50, 1},
	} {
		b.Run(fmt.Sprintf("rows=%d/features=%d/threads=%d", c.rows, c.features, c.threads), func(b *testing.B) {
			ds := manyRows(c.rows, c.features)
			runtime.GOMAXPROCS(c.threads)
			for b.Loop() {
				o := Options{Epochs: 1, Ensemble: 1, Batch: largeBatch, Widths: []int{128, 128}, NoReferences: true, Trees: "off"}
				if _, err := Fit(b.Context(), ds, o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(c.rows), "µs/row")
		})
	}
}

// manyRows returns rows of normal numbers with two votes each, whose classes depend on the
// first numbers.
func manyRows(n, features int) *dataset.Dataset {
	ds := &dataset.Dataset{Classes: []string{"no", "yes"}, Items: make([]string, n), Counts: make([]float32, 2*n)}
	for k := range features {
		ds.Features = append(ds.Features, dataset.Feature{Name: fmt.Sprintf("x%d", k)})
	}
	rows := &dataset.Memory{N: n, W: features, Values: make([]float32, n*features)}
	r := rand.New(rng.New(0, "many rows"))
	for i := range rows.Values {
		rows.Values[i] = float32(r.NormFloat64())
	}
	for i := range n {
		x := rows.Values[i*features:]
		p := 1 / (1 + math.Exp(-2*math.Tanh(float64(x[0]))-float64(x[1]*x[2])))
		for range 2 {
			if r.Float64() < p {
				ds.Counts[2*i+1]++
			} else {
				ds.Counts[2*i]++
			}
		}
	}
	ds.Rows = rows
	return ds
}
