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
// context is canceled, Fit returns the best model so far with [ErrStopped]; a
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

// Stepper is a network, the head that scores it and the engine's trainer that
// moves it.
type Stepper struct {
	Net     *nn.Network
	Head    head.Objective
	Trainer nn.Trainer

	scorer nn.Scorer // of an engine that computes some losses itself, and such a head
	device deviceHead
	score  func(grad, out []float32) // the batch in hand
	votes  head.Batch
	at     nn.Step
	loss   head.Loss
}

// NewStepper returns a stepper for batches of up to the given number of items,
// after checking that network and head fit together. A nil engine is the CPU.
func NewStepper(e nn.Engine, net *nn.Network, h head.Objective, o nn.OptimizerOptions, batch int) (*Stepper, error) {
	if net.Out.Size() != h.Outputs() {
		return nil, fmt.Errorf("network gives %v outputs, head takes %d", net.Out, h.Outputs())
	}
	if e == nil {
		e = nn.CPU{}
	}
	t, err := e.NewTrainer(net, o, batch)
	if err != nil {
		return nil, err
	}
	s := &Stepper{Net: net, Head: h, Trainer: t}
	if d, ok := h.(deviceHead); ok {
		if scorer, ok := t.(nn.Scorer); ok {
			s.device, s.scorer = d, scorer
		}
	}
	s.score = func(grad, out []float32) { s.loss = s.Head.Loss(grad, out, s.votes, s.at) }
	return s, nil
}

// deviceHead is a head whose loss an engine may compute itself.
type deviceHead interface {
	OnDevice(b head.Batch) head.DeviceLoss // nil if none can
}

// Step trains on one batch x [N, in] with its votes and returns the loss before
// the update. On the CPU it allocates nothing.
func (s *Stepper) Step(x []float32, votes head.Batch, at nn.Step) (head.Loss, error) {
	s.votes, s.at = votes, at
	if s.scorer != nil {
		if l := s.device.OnDevice(votes); l != nil {
			if computed, err := s.scorer.StepLoss(x, at, l); computed {
				return l.Loss(), err
			}
		}
	}
	err := s.Trainer.Step(x, at, s.score)
	return s.loss, err
}
