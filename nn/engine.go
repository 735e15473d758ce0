package nn

import "credence/internal/kernel"

// Engine runs networks: whole forward passes and whole training steps, given a
// network, which is layers and weights, and a batch. Nobody else asks what it runs
// on. [CPU] is the engine of this package; one for another device takes the tree
// from [Network.Ops] and the tensors from Params and States.
type Engine interface {
	// Name says what the last bits of results depend on, for the record and for
	// checkpoints, which go on only where they were begun: of the CPU, the
	// instruction set in use.
	Name() string

	// NewPredictor returns what runs a network forward in batches of up to so
	// many items. Changes of the weights after it need not be seen.
	NewPredictor(net *Network, batch int) (Predictor, error)

	// NewTrainer returns what trains a network in batches of up to so many items.
	// It begins with the network's weights.
	NewTrainer(net *Network, o OptimizerOptions, batch int) (Trainer, error)
}

// Predictor runs a network for one caller at a time.
type Predictor interface {
	// Forward returns the outputs [N, Out] for the inputs x [N, In]; p says how,
	// but for Items, which is N. The result is overwritten by the next call.
	Forward(x []float32, p Pass) ([]float32, error)
}

// Trainer moves the weights of a network, for one caller at a time. As a
// Predictor it uses the weights as they are now.
type Trainer interface {
	Predictor

	// Step makes one training step: forward, loss, backward, update. loss gets the
	// outputs [N, Out] and fills their gradients. The values of Network.Own are
	// up to date when it is called, and it may set their gradients, and the values of
	// those that are states, which nobody else changes.
	Step(x []float32, at Step, loss func(grad, out []float32)) error

	// Rate returns the learning rate of the next step.
	Rate() float64

	// State returns what the optimizer remembers, beside the weights all that a
	// checkpoint needs. It is one value for the trainer's life.
	State() *OptimizerState

	// Pull brings the network's values and states and State up to date with what
	// has been trained; Push tells that they have been set. An engine that works on
	// them in place has nothing to do.
	Pull() error
	Push() error
}

// Feeder is a Trainer that can take the inputs of a step ahead of it, while the step before runs.
type Feeder interface {
	Trainer

	// Ahead begins to take x, which is then given to a Step and stays as it is until
	// that returns. Any goroutine may call it, but not twice with the same memory before
	// the Step.
	Ahead(x []float32) error
}

// DeviceLoss describes the loss of a batch. What can be described is between heads, which define such
// types, and engines, which know some of them: this package passes it on.
type DeviceLoss any

// Scorer is a Trainer that computes some losses itself, so that a step never waits for the host in its
// middle.
type Scorer interface {
	Trainer

	// StepLoss is Step with the loss that l describes and in which its result is returned. It
	// reports whether it computes such a loss: if not, nothing was done.
	StepLoss(x []float32, at Step, l DeviceLoss) (computed bool, err error)
}

// Pinner is an Engine whose trainers copy some memory faster than other.
type Pinner interface {
	// Pin returns such memory for n values, which is free again once nothing refers to
	// the pointer.
	Pin(n int) (*Pinned, error)
}

// Pinned is memory that an engine copies faster than other.
type Pinned struct{ Values []float32 }

// OptimizerState is what an optimizer remembers.
type OptimizerState struct {
	Steps   uint64       // updates made so far
	Moments [2][]float32 // as long as Network.Values, as many as OptimizerKind.Moments
}

// CPU is the engine of this package. Results are the same bits on any number of
// cores.
type CPU struct{}

// Name implements [Engine].
func (CPU) Name() string { return kernel.Name() }

// NewPredictor implements [Engine].
func (CPU) NewPredictor(net *Network, batch int) (Predictor, error) { return net.NewSession(batch) }

// NewTrainer implements [Engine].
func (CPU) NewTrainer(net *Network, o OptimizerOptions, batch int) (Trainer, error) {
	opt, err := newOptimizer(net, o)
	if err != nil {
		return nil, err
	}
	s, err := net.NewSession(batch)
	if err != nil {
		return nil, err
	}
	return &trainer{Session: s, opt: opt, grad: make([]float32, batch*net.Out.Size())}, nil
}

// trainer is the Trainer of the CPU.
type trainer struct {
	*Session
	opt  *optimizer
	grad []float32 // of the outputs [batch, Out]
}

// Step implements [Trainer]. After the first step it allocates nothing.
func (t *trainer) Step(x []float32, at Step, loss func(grad, out []float32)) error {
	out, err := t.Forward(x, Pass{Train: true, At: at})
	if err != nil {
		return err
	}
	if len(t.grad) < len(out) {
		t.grad = make([]float32, len(out))
	}
	grad := t.grad[:len(out)]
	loss(grad, out)
	if err := t.Backward(nil, grad); err != nil {
		return err
	}
	t.opt.step()
	return nil
}

// Rate implements [Trainer].
func (t *trainer) Rate() float64 { return t.opt.options.RateAt(t.opt.Steps) }

// State implements [Trainer].
func (t *trainer) State() *OptimizerState { return &t.opt.OptimizerState }

// Pull implements [Trainer].
func (t *trainer) Pull() error { return nil }

// Push implements [Trainer].
func (t *trainer) Push() error { return nil }
