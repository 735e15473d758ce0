package train

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"credence/head"
	"credence/internal/rng"
	"credence/nn"
)

// Workloads are the names that [NewWorkload] knows, in order of size.
var Workloads = []string{"mlp", "mlp-raters", "lenet5", "lenet5-raters", "cnn2d", "cnn3d"}

// workloads are the sizes of the benchmarks, by network.
var workloads = map[string]struct {
	in                       nn.Shape
	components, votes, batch int
}{
	"mlp":    {nn.Shape{2}, 10, 2, 64},
	"lenet5": {nn.Shape{1, 28, 28}, 3, 2, 64},
	"cnn2d":  {nn.Shape{3, 32, 32}, 3, 3, 128},
	"cnn3d":  {nn.Shape{1, 96, 96, 80}, 3, 3, 16},
}

// Workload is a benchmark: one network and one fixed batch.
type Workload struct {
	Name    string
	Batch   int
	Stepper *Stepper

	x     []float32
	votes head.Batch
	at    nn.Step
	turns []*nn.Pinned // copies of x that take turns where inputs are taken ahead
}

// NewWorkload sets up a benchmark with random inputs and votes, two classes:
//
//	mlp            2-64-64-30, 10 components, 2 votes, 64 items
//	mlp-raters     the same with 3 votes by 30 raters, who lean and guess
//	lenet5         28×28 images, 3 components, 2 votes, 64 items
//	lenet5-raters  the same with 3 votes by 30 raters
//	cnn2d          32×32 images in color, 3 components, 3 votes, 128 items
//	cnn3d          96×96×80 volumes, 3 components, 3 votes, 16 items
//
// A nil engine is the CPU. An engine that takes inputs ahead gets them anew for each step.
func NewWorkload(e nn.Engine, name string) (*Workload, error) {
	if !slices.Contains(Workloads, name) {
		return nil, fmt.Errorf("workload %q is not one of %v", name, Workloads)
	}
	network, rated := strings.CutSuffix(name, "-raters")
	size := workloads[network]
	in, votes, batch := size.in, size.votes, size.batch
	const classes = 2
	mixture, task := head.Mixture{Components: size.components}, head.Task{Classes: classes}
	method := head.Method(mixture)
	if rated {
		votes, task.Raters = 3, 30
		method = mixture.WithRaters()
	}
	h, err := method.New(task)
	if err != nil {
		return nil, err
	}
	root, err := nn.ByName(network, in, h.Outputs())
	if err != nil {
		return nil, err
	}
	net, err := nn.New(root, in, nn.Options{Own: h.Own()})
	if err != nil {
		return nil, err
	}
	s, err := NewStepper(e, net, h, nn.OptimizerOptions{}, batch)
	if err != nil {
		return nil, err
	}
	h.Bind(net.Own)
	w := &Workload{Name: name, Batch: batch, Stepper: s}
	r := rand.New(rng.New(0, "workload"))
	w.x = make([]float32, batch*in.Size())
	for i := range w.x {
		w.x[i] = float32(r.NormFloat64())
	}
	w.votes.Counts = head.Counts{Classes: classes, Values: make([]float32, batch*classes)}
	for j := range batch {
		for range votes {
			c := r.IntN(classes)
			w.votes.Counts.Values[j*classes+c]++
			if rated {
				w.votes.Ratings = append(w.votes.Ratings, head.Rating{
					Item: int32(j), Rater: int32(r.IntN(task.Raters)), Class: int32(c)})
			}
		}
	}
	return w, w.pin(e)
}

// pin makes copies of the inputs that an engine takes ahead in turn.
func (w *Workload) pin(e nn.Engine) error {
	pinner, pins := e.(nn.Pinner)
	feeder, feeds := w.Stepper.Trainer.(nn.Feeder)
	if !pins || !feeds {
		return nil
	}
	for range 2 {
		p, err := pinner.Pin(len(w.x))
		if err != nil {
			return err
		}
		copy(p.Values, w.x)
		w.turns = append(w.turns, p)
	}
	return feeder.Ahead(w.turns[0].Values)
}

// Step trains once on the batch and returns the loss. The inputs of the next step are taken ahead.
func (w *Workload) Step() float64 {
	x := w.x
	if w.turns != nil {
		x = w.turns[w.at.Step%2].Values
		if err := w.Stepper.Trainer.(nn.Feeder).Ahead(w.turns[(w.at.Step+1)%2].Values); err != nil {
			panic(err)
		}
	}
	loss, err := w.Stepper.Step(x, w.votes, w.at)
	if err != nil {
		panic(err) // the batch is made for the network
	}
	w.at.Step++
	return loss.Mean
}

// Timing is what [Workload.Time] measured.
type Timing struct {
	PerStep       time.Duration // in the best of five windows
	AllocsPerStep int           // whole ones, over all windows: the runtime makes a few of its own
	Steps         int
	Loss          float64 // after the last step
}

// Time repeats steps for about the given time, in five windows of at least one
// step each, after three steps that do not count.
func (w *Workload) Time(total time.Duration) Timing {
	for range 3 {
		w.Step()
	}
	const windows = 5
	var before, after runtime.MemStats
	t := Timing{PerStep: 1<<63 - 1}
	runtime.ReadMemStats(&before)
	for range windows {
		n, start := 0, time.Now()
		var d time.Duration
		for d < total/windows {
			t.Loss = w.Step()
			n++
			d = time.Since(start)
		}
		t.PerStep = min(t.PerStep, d/time.Duration(n))
		t.Steps += n
	}
	runtime.ReadMemStats(&after)
	t.AllocsPerStep = int(after.Mallocs-before.Mallocs) / t.Steps
	return t
}
