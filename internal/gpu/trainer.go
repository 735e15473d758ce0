package gpu

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"credence/head"
	"credence/internal/cuda"
	"credence/nn"
)

// trainer is the [nn.Trainer].
type trainer struct{ *network }

// Step implements [nn.Trainer]. The update may still run when it returns.
func (t *trainer) Step(x []float32, at nn.Step, loss func(grad, out []float32)) error {
	defer runtime.KeepAlive(t)
	items, err := t.stepItems(x)
	if err != nil {
		return err
	}
	return t.stream.Do(func() error {
		from, err := t.launch(x, nn.Pass{Train: true, At: at}, training, lossShape{})
		if err != nil {
			return err
		}
		if err := t.stream.Synchronize(); err != nil {
			return err
		}
		s, size := t.steps, items*t.net.Out.Size()
		s.fetch()
		loss(s.grad[:size], t.outHost[:size])
		s.send()
		if err := t.run(graphKey{x: from.at, items: items, mode: training, back: true}); err != nil {
			return err
		}
		return t.stream.Mark(from.done)
	})
}

// stepItems is items for a step, which is never split into batches.
func (t *trainer) stepItems(x []float32) (int, error) {
	items, err := t.items(x)
	if items > t.batch {
		err = fmt.Errorf("gpu: %d items in a step of at most %d", items, t.batch)
	}
	return items, err
}

// Rate implements [nn.Trainer].
func (t *trainer) Rate() float64 { return t.steps.options.RateAt(t.steps.state.Steps) }

// State implements [nn.Trainer].
func (t *trainer) State() *nn.OptimizerState { return &t.steps.state }

// stepping has the data of training beyond the forward pass: gradients, moments, and the numbers of
// a step. The host sends [numbers, gradients of Own, gradients of the outputs] in one transfer.
type stepping struct {
	options nn.OptimizerOptions
	state   nn.OptimizerState
	net     *nn.Network
	grads   cuda.Memory
	moments [2]cuda.Memory
	squares cuda.Memory

	own      []*nn.Param // those of the loss that are trained
	ownHost  []float32   // pinned: their values
	host     []float32   // pinned, the data of the transfer
	numbers  []float32   // slices of host, with the next two
	ownGrads []float32
	grad     []float32
	device   cuda.Memory
}

const (
	stepNumbers  = 16 // places for the numbers of a step
	squareBlocks = 64 // as in optimizer.cu
)

func newStepping(b *builder, net *nn.Network, o nn.OptimizerOptions) *stepping {
	net.MakeGrads()
	s := &stepping{options: o, net: net}
	size := len(net.Values)
	s.grads = b.values(size)
	for i := range nn.OptimizerNamed(o.Kind).Moments {
		s.moments[i] = b.values(size)
		s.state.Moments[i] = make([]float32, size)
	}
	s.squares = b.values(2 * squareBlocks)
	values := 0
	for _, p := range net.Own {
		if p.Grad != nil {
			s.own = append(s.own, p)
			values += p.Size()
		}
	}
	s.ownHost = b.pinned(values)
	s.host = b.pinned(stepNumbers + values + b.network.batch*net.Out.Size())
	s.device = b.values(len(s.host))
	s.numbers, s.ownGrads, s.grad = s.host[:3], s.host[stepNumbers:][:values], s.host[stepNumbers+values:]
	return s
}

// download records the transfer of the values of Own with the outputs.
func (s *stepping) download(r *recorder, n *network) {
	at := 0
	for _, p := range s.own {
		r.check(r.stream.Download(s.ownHost[at:at+p.Size()], n.values.At(p.Offset)))
		at += p.Size()
	}
}

// fetch copies the transferred values of Own to the network, for the loss.
func (s *stepping) fetch() {
	from := s.ownHost
	for _, p := range s.own {
		copy(p.Value, from)
		from = from[p.Size():]
	}
}

// send sets the data that is sent before the backward pass.
func (s *stepping) send() {
	to := s.ownGrads
	for _, p := range s.own {
		copy(to, p.Grad)
		to = to[p.Size():]
	}
	s.count(s.numbers)
}

// count counts a step and sets its numbers.
func (s *stepping) count(numbers []float32) {
	numbers[0] = float32(s.options.RateAt(s.state.Steps))
	s.state.Steps++
	t := float64(s.state.Steps)
	numbers[1] = float32(1 - math.Pow(float64(float32(s.options.Beta1)), t))
	numbers[2] = float32(1 - math.Pow(float64(float32(s.options.Beta2)), t))
}

// backward records the way from the gradients of the outputs to the new weights.
func (s *stepping) backward(r *recorder, n *network, x cuda.Memory) {
	own := len(s.ownGrads)
	r.check(r.stream.Upload(s.device, s.host[:stepNumbers+own+r.items*n.net.Out.Size()]))
	from := s.device.At(stepNumbers)
	for _, p := range s.own {
		r.check(r.stream.Copy(s.grads.At(p.Offset), from, p.Size()))
		from = from.At(p.Size())
	}
	n.root.backward(r, 0, s.device.At(stepNumbers+own), n.out, x)
	s.move(r, n)
}

// stepArgs has the arguments of the kernels of optimizers; see recorder.go.
type stepArgs struct {
	w, m, v, d, numbers, squares                 cuda.Memory
	count, sgd, decoupled, nesterov, parts       int32
	beta1, beta2, epsilon, decay, clip, momentum float32
}

// optimizers are the kinds of optimizer.cu, each with its specific arguments.
var optimizers = map[string]stepArgs{"adam": {}, "adamw": {decoupled: 1}, "sgd": {sgd: 1}}

func (s *stepping) args(n *network) stepArgs {
	o := s.options
	a := optimizers[o.Kind]
	a.w, a.m, a.v, a.d, a.numbers, a.squares = n.values, s.moments[0], s.moments[1], s.grads, s.device, s.squares
	a.count, a.parts, a.nesterov = int32(len(s.net.Values)), squareBlocks, flag(o.Nesterov)
	a.beta1, a.beta2, a.epsilon = float32(o.Beta1), float32(o.Beta2), float32(o.Epsilon)
	a.decay, a.clip, a.momentum = float32(o.WeightDecay), float32(o.Clip), float32(o.Momentum)
	return a
}

// move records the step of the optimizer.
func (s *stepping) move(r *recorder, n *network) {
	args := s.args(n)
	if args.clip > 0 {
		r.launch("sum_squares", [3]int{squareBlocks, 1, 1}, 256, unsafe.Pointer(&args))
	}
	r.each("optimize", len(s.net.Values), unsafe.Pointer(&args))
}

// StepLoss implements [nn.Scorer]: it computes the loss of mixtures, with raters or without.
func (t *trainer) StepLoss(x []float32, at nn.Step, loss nn.DeviceLoss) (computed bool, err error) {
	raters, rated := loss.(*head.RaterLoss)
	l, ok := loss.(*head.MixtureLoss)
	switch {
	case rated:
		l = &raters.MixtureLoss
		if l.Most > raterVotes || l.Components > lossComponents {
			return false, nil
		}
	case !ok || l.Components > lossComponents || l.Classes > lossComponents || l.Components*(l.Classes+4) > lossScratch || l.Most > lossVotes:
		return false, nil
	}
	if len(t.steps.own) > 0 {
		return false, nil
	}
	return true, t.stepVotes(x, at, l, raters)
}

// stepVotes is a step with the loss of a mixture, with raters unless they are nil. It returns when the step is done.
func (t *trainer) stepVotes(x []float32, at nn.Step, l *head.MixtureLoss, raters *head.RaterLoss) error {
	defer runtime.KeepAlive(t)
	items, err := t.stepItems(x)
	if err != nil {
		return err
	}
	if l.Components*(l.Classes+1) != t.net.Out.Size() || len(l.Counts) != items*l.Classes {
		return fmt.Errorf("gpu: found %d counts for %d items and %d outputs, which do not match %d components of %d classes",
			len(l.Counts), items, t.net.Out.Size(), l.Components, l.Classes)
	}
	shape := lossShape{l.MixtureShape, raters != nil}
	if t.scoring == nil || t.scoring.loss != shape {
		if t.scoring, err = t.newScoring(shape); err != nil {
			return fmt.Errorf("GPU %d: the loss of %d items: %w", t.device.Number, t.batch, err)
		}
	}
	s := t.scoring
	s.send(l, raters)
	t.steps.count(s.numbers)
	s.numbers[3] = float32(1 / float64(l.Voted))
	err = t.stream.Do(func() error {
		from, err := t.launch(x, nn.Pass{Train: true, At: at}, training, shape)
		if err != nil {
			return err
		}
		if err := t.stream.Mark(from.done); err != nil {
			return err
		}
		return t.stream.Synchronize()
	})
	s.receive(l, raters)
	return err
}
