// Package train fits networks to votes.
//
// A [Stepper] makes one training step: forward, loss, backward, update. It is
// what a training run repeats and what a benchmark times; [NewWorkload] sets up
// the benchmarks' networks and batches.
package train

import (
	"fmt"

	"credence/head"
	"credence/nn"
)

// Stepper is a network, the head that scores it and the optimiser that moves
// it.
type Stepper struct {
	Net       *nn.Network
	Head      head.Head
	Optimizer *nn.Optimizer

	grad []float32 // of the outputs [N, out]
}

// NewStepper returns a stepper for batches of up to the given number of items,
// after checking that network and head fit together.
func NewStepper(net *nn.Network, h head.Head, o nn.OptimizerOptions, batch int) (*Stepper, error) {
	if net.Out.Size() != h.Outputs() {
		return nil, fmt.Errorf("network gives %v outputs, head takes %d", net.Out, h.Outputs())
	}
	opt, err := nn.NewOptimizer(net, o)
	if err != nil {
		return nil, err
	}
	net.Bind(batch)
	return &Stepper{Net: net, Head: h, Optimizer: opt, grad: make([]float32, batch*h.Outputs())}, nil
}

// Step trains on one batch x [N, in] with its votes and returns the loss before
// the update. It allocates nothing.
func (s *Stepper) Step(x []float32, votes head.Counts, at nn.Step) float64 {
	out := s.Net.Forward(x, true, at)
	if len(s.grad) < len(out) {
		s.grad = make([]float32, len(out))
	}
	grad := s.grad[:len(out)]
	loss := s.Head.Loss(grad, out, votes, at)
	s.Net.Backward(nil, grad)
	s.Optimizer.Update()
	return loss
}

// Loss returns the loss on a batch without training on it.
func (s *Stepper) Loss(x []float32, votes head.Counts, at nn.Step) float64 {
	return s.Head.Loss(nil, s.Net.Forward(x, false, at), votes, at)
}
