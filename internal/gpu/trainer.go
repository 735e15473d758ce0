package gpu

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"credence/internal/cuda"
	"credence/nn"
)

// trainer is the [nn.Trainer].
type trainer struct{ *network }

// Step implements [nn.Trainer]. The update may still run when it returns.
func (t *trainer) Step(x []float32, at nn.Step, loss func(grad, out []float32)) error {
	defer runtime.KeepAlive(t)
	items, err := t.items(x)
	if err != nil {
		return err
	}
	if items > t.batch {
		return fmt.Errorf("gpu: %d items in a step of at most %d", items, t.batch)
	}
	return t.stream.Do(func() error {
		from, err := t.launch(x, nn.Pass{Train: true, At: at}, training)
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
		if err := t.stream.Run(t.graphs[graphKey{x: from.at, items: items, mode: training}].backward); err != nil {
			return err
		}
		return t.stream.Mark(from.done)
	})
}

// Rate implements [nn.Trainer].
func (t *trainer) Rate() float64 { return t.steps.options.RateAt(t.steps.state.Steps) }

// State implements [nn.Trainer].
func (t *trainer) State() *nn.OptimizerState { return &t.steps.state }

// stepping is what training needs beside the forward pass: gradients, moments, and the numbers of
// a step. The host sends [numbers, gradients of Own, gradients of the outputs] in one piece.
type stepping struct {
	options nn.OptimizerOptions
	state   nn.OptimizerState
	net     *nn.Network
	grads   cuda.Memory
	moments [2]cuda.Memory
	squares cuda.Memory

	own      []*nn.Param // those of the loss that are trained
	ownHost  []float32   // pinned: their values
	host     []float32   // pinned, what is sent
	numbers  []float32   // parts of host
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
	if b.err == nil {
		s.numbers, s.ownGrads, s.grad = s.host[:3], s.host[stepNumbers:][:values], s.host[stepNumbers+values:]
	}
	return s
}

// download records that the values of Own come with the outputs.
func (s *stepping) download(r *recorder, n *network) {
	at := 0
	for _, p := range s.own {
		r.check(r.stream.Download(s.ownHost[at:at+p.Size()], n.values.At(n.net.Offset(p))))
		at += p.Size()
	}
}

// fetch gives the loss the values of Own that have come.
func (s *stepping) fetch() {
	from := s.ownHost
	for _, p := range s.own {
		copy(p.Value, from)
		from = from[p.Size():]
	}
}

// send sets what is sent before the backward pass.
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
		r.check(r.stream.Copy(s.grads.At(n.net.Offset(p)), from, p.Size()))
		from = from.At(p.Size())
	}
	n.root.backward(r, 0, s.device.At(stepNumbers+own), n.out, x)
	s.move(r, n)
}

// args are what the kernels of optimizers take.
func (s *stepping) args(n *network) stepArgs {
	o := s.options
	return stepArgs{
		w: n.values, m: s.moments[0], v: s.moments[1], d: s.grads, numbers: s.device, squares: s.squares,
		count: int32(len(s.net.Values)), parts: squareBlocks,
		sgd: flag(o.Kind == "sgd"), decoupled: flag(o.Kind == "adamw"), nesterov: flag(o.Nesterov),
		beta1: float32(o.Beta1), beta2: float32(o.Beta2), epsilon: float32(o.Epsilon), decay: float32(o.WeightDecay),
		clip: float32(o.Clip), momentum: float32(o.Momentum),
	}
}

// move records the step of the optimizer.
func (s *stepping) move(r *recorder, n *network) {
	args := s.args(n)
	if args.clip > 0 {
		r.launch("sum_squares", [3]int{squareBlocks, 1, 1}, 256, unsafe.Pointer(&args))
	}
	r.each("optimize", len(s.net.Values), unsafe.Pointer(&args))
}

// pull and push copy the moments.
func (s *stepping) pull(stream *cuda.Stream) error {
	for i, m := range s.state.Moments {
		if err := stream.Download(m, s.moments[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *stepping) push(stream *cuda.Stream) error {
	for i, m := range s.state.Moments {
		if err := stream.Upload(s.moments[i], m); err != nil {
			return err
		}
	}
	return nil
}
