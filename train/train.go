// Package train fits networks to votes.
//
// [Fit] trains a [credence/model.Model] on a data set, and returns it with the
// predictions of the networks for the items they held out. The model is an ensemble:
// each network stops early by the votes of its fold. The zero value of [Options] is
// useful: fields left zero (the network, its size, the number of components, networks
// and epochs, the regularization) are chosen from the number of items and the shape of
// the features; a negative number means none where that makes sense. Seed 0 is a seed
// like any other. [Complete] returns the options that Fit would choose, and the errors
// it would return for the data, without training.
//
// A long fit writes its state to the folder Options.Checkpoint. When its context is
// canceled, Fit returns the best model so far with [ErrStopped]; a call with the same
// data and options and Resume set continues from the folder and ends with the same
// model as a fit that was never stopped. With other data or options it fails with
// [ErrResume]. [RemoveCheckpoint] removes the checkpoints.
//
// A [Stepper] performs one training step: forward, loss, backward, update. Training
// repeats it and benchmarks time it; [NewWorkload] sets up the networks and batches
// of the benchmarks.
package train

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"credence/head"
	"credence/internal/par"
	"credence/internal/rng"
	"credence/nn"
)

// Stepper trains a network step by step, with the loss of a head and the trainer of
// an engine.
type Stepper struct {
	Net     *nn.Network
	Head    head.Objective
	Trainer nn.Trainer

	scorer nn.Scorer // nil unless the engine can compute losses on its device
	device deviceHead
	score  func(grad, out []float32) // computes the loss of the current batch
	votes  head.Batch
	at     nn.Step
	loss   head.Loss
}

// NewStepper returns a stepper for batches of up to the given number of items,
// after checking that network and head are compatible. A nil engine means the CPU.
func NewStepper(e nn.Engine, net *nn.Network, h head.Objective, o nn.OptimizerOptions, batch int) (*Stepper, error) {
	if net.Out.Size() != h.Outputs() {
		return nil, fmt.Errorf("expected a network with %d outputs, found %v", h.Outputs(), net.Out)
	}
	if e == nil {
		e = nn.CPU{}
	}
	t, err := e.NewTrainer(net, o, batch)
	if err != nil {
		return nil, err
	}
	s := &Stepper{Net: net, Head: h, Trainer: t}
	s.device, _ = h.(deviceHead)
	s.scorer, _ = t.(nn.Scorer)
	s.score = func(grad, out []float32) { s.loss = s.Head.Loss(grad, out, s.votes, s.at) }
	return s, nil
}

// deviceHead is a head whose loss an engine may compute on its device.
type deviceHead interface {
	OnDevice(b head.Batch, at nn.Step) head.DeviceLoss // nil if it cannot be computed there
}

// Step trains on one batch x [N, in] with its votes and returns the loss before
// the update. On the CPU it allocates nothing.
func (s *Stepper) Step(x []float32, votes head.Batch, at nn.Step) (head.Loss, error) {
	s.votes, s.at = votes, at
	if s.scorer != nil && s.device != nil {
		if l := s.device.OnDevice(votes, at); l != nil {
			if computed, err := s.scorer.StepLoss(x, at, l); computed {
				return l.Loss(), err
			}
		}
	}
	err := s.Trainer.Step(x, at, s.score)
	return s.loss, err
}

// Workloads lists the names that [NewWorkload] accepts, in order of size.
var Workloads = []string{"mlp", "mlp-raters", "lenet5", "lenet5-raters", "cnn2d", "cnn3d"}

// workloads has the sizes of the benchmarks, by network.
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
	turns []*nn.Pinned // copies of x to alternate between if the engine reads inputs ahead
}

// NewWorkload sets up a benchmark with random inputs and votes, two classes:
//
//	mlp            2-64-64-30, 10 components, 2 votes, 64 items
//	mlp-raters     the same with 3 votes by 30 raters, with biases and guess rates
//	lenet5         28×28 images, 3 components, 2 votes, 64 items
//	lenet5-raters  the same with 3 votes by 30 raters
//	cnn2d          32×32 images in color, 3 components, 3 votes, 128 items
//	cnn3d          96×96×80 volumes, 3 components, 3 votes, 16 items
//
// A nil engine means the CPU. An engine that reads inputs ahead gets them again for each step.
func NewWorkload(e nn.Engine, name string) (*Workload, error) {
	if !slices.Contains(Workloads, name) {
		return nil, fmt.Errorf("expected a workload of %v, found %q", Workloads, name)
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

// pin makes two copies of the inputs, which an engine that reads ahead uses alternately.
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

// Step trains once on the batch and returns the loss. The inputs of the next step are passed to the engine ahead of time.
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
		panic(err) // the batch always fits the network
	}
	w.at.Step++
	return loss.Mean
}

// Timing is the result of [Workload.Time].
type Timing struct {
	PerStep       time.Duration // in the best of five windows
	AllocsPerStep int           // rounded down, over all windows: the runtime makes a few allocations itself
	LoopsPerStep  int           // on several cores, which meet at the end of each
	Steps         int
	Loss          float64 // after the last step
}

// Time repeats steps for about the given time, in five windows of at least one
// step each, after three warm-up steps.
func (w *Workload) Time(total time.Duration) Timing {
	for range 3 {
		w.Step()
	}
	const windows = 5
	var before, after runtime.MemStats
	t := Timing{PerStep: 1<<63 - 1}
	runtime.ReadMemStats(&before)
	loops := par.Loops()
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
	t.LoopsPerStep = int(par.Loops()-loops) / t.Steps
	return t
}
