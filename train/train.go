// Package train fits networks to votes.
//
// [Fit] takes a data set and gives a trained [credence/model.Model], with the
// predictions that networks made of items they held out: an ensemble, each
// network of which stops by the votes of its fold. The zero value of [Options]
// is meant for use: what is left zero (the network, its size, the number of
// components, networks and epochs, the regularization) is chosen from the
// number of items and the shape of the features, and a negative number means
// none where that makes sense. Seed 0 is a seed like any other. [Complete] tells
// what would be chosen, and refuses what Fit refuses, without training.
//
// A fit of hours writes its state to the folder Options.Checkpoint. When its
// context is cancelled, Fit returns the best model so far with [ErrStopped]; a
// call with the same data and options and Resume set goes on from the folder and
// ends with the same model as one that was never stopped. With other data or
// options it fails with [ErrResume]. [RemoveCheckpoint] clears the folder.
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

// Stepper is a network, the head that scores it and the optimizer that moves
// it.
type Stepper struct {
	Net       *nn.Network
	Head      head.Objective
	Optimizer *nn.Optimizer

	grad []float32 // of the outputs [N, out]
}

// NewStepper returns a stepper for batches of up to the given number of items,
// after checking that network and head fit together.
func NewStepper(net *nn.Network, h head.Objective, o nn.OptimizerOptions, batch int) (*Stepper, error) {
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
func (s *Stepper) Step(x []float32, votes head.Batch, at nn.Step) head.Loss {
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
