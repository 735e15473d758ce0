package nn

import (
	"cmp"
	"fmt"

	"credence/internal/kernel"
	"credence/internal/par"
)

// Engine runs networks: whole forward passes and whole training steps, given a
// network, that is layers and weights, and a batch. No other code depends on the
// device. [CPU] is the engine of this package; an engine for another device gets the
// tree from [Network.Ops] and the tensors from Params and States.
type Engine interface {
	// Name identifies what the last bits of results depend on, for the record and for
	// checkpoints, which can be resumed only on the same engine: for the CPU, the
	// instruction set in use.
	Name() string

	// NewPredictor returns a Predictor for a network, for batches of at most the given
	// number of items. Later changes of the weights need not have an effect.
	NewPredictor(net *Network, batch int) (Predictor, error)

	// NewTrainer returns a Trainer for a network, for batches of at most the given number
	// of items. It starts from the network's weights.
	NewTrainer(net *Network, o OptimizerOptions, batch int) (Trainer, error)
}

// Predictor runs a network for one caller at a time.
type Predictor interface {
	// Forward returns the outputs [N, Out] for the inputs x [N, In]; p describes the
	// pass, except Items, which is N. The result is overwritten by the next call.
	Forward(x []float32, p Pass) ([]float32, error)
}

// Trainer trains the weights of a network, for one caller at a time. As a
// Predictor it uses the current weights.
type Trainer interface {
	Predictor

	// Step makes one training step: forward, loss, backward, update. loss gets the
	// outputs [N, Out] and fills their gradients. The values of Network.Own are
	// up to date when it is called. It may set their gradients, and the values of
	// those that are states, which nothing else changes.
	Step(x []float32, at Step, loss func(grad, out []float32)) error

	// Rate returns the learning rate of the next step.
	Rate() float64

	// State returns the state of the optimizer: with the weights, all that a
	// checkpoint needs. The pointer stays the same for the life of the trainer.
	State() *OptimizerState

	// Pull copies the trained weights and the optimizer's state into the network's
	// values and states and State; Push announces that the caller has set them. Both
	// are no-ops for an engine that works on them in place.
	Pull() error
	Push() error
}

// Feeder is a Trainer that can load the inputs of a step ahead, while the previous step runs.
type Feeder interface {
	Trainer

	// Ahead starts to load x, which must then be passed to a Step and stay unchanged until
	// that returns. Any goroutine may call it, but not twice with the same memory before
	// the Step.
	Ahead(x []float32) error
}

// DeviceLoss describes the loss of a batch. Heads define such types and engines support some of them; this
// package only passes them on.
type DeviceLoss any

// Scorer is a Trainer that computes some losses itself, so that a step does not have to wait for the
// host.
type Scorer interface {
	Trainer

	// StepLoss is Step with the loss that l describes; the result is stored in l. It
	// reports whether it supports such a loss: if not, it has done nothing.
	StepLoss(x []float32, at Step, l DeviceLoss) (computed bool, err error)
}

// Pinner is an Engine that can allocate host memory from which its trainers copy faster.
type Pinner interface {
	// Pin returns such memory for n values. It is freed when the pointer is no longer
	// reachable.
	Pin(n int) (*Pinned, error)
}

// Pinned is host memory that an engine copies faster than ordinary memory.
type Pinned struct{ Values []float32 }

// OptimizerState is the state of an optimizer between steps.
type OptimizerState struct {
	Steps   uint64       // updates made so far
	Moments [2][]float32 // as long as Network.Values, as many as OptimizerKind.Moments
}

// CPU is the engine of this package. Results are bit-identical on any number of
// cores.
type CPU struct {
	// Cores is the largest number of cores that one predictor or trainer uses; 0 means all.
	Cores int
}

// Name implements [Engine].
func (CPU) Name() string { return kernel.Name() }

// NewPredictor implements [Engine].
func (e CPU) NewPredictor(net *Network, batch int) (Predictor, error) { return e.session(net, batch) }

// session returns a session that uses at most e.Cores cores.
func (e CPU) session(net *Network, batch int) (*Session, error) {
	s, err := net.NewSession(batch)
	if err == nil {
		s.cores = e.Cores
	}
	return s, err
}

// NewTrainer implements [Engine].
func (e CPU) NewTrainer(net *Network, o OptimizerOptions, batch int) (Trainer, error) {
	opt, err := newOptimizer(net, o)
	if err != nil {
		return nil, err
	}
	opt.cores = par.Limit(e.Cores)
	s, err := e.session(net, batch)
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

// OpKind is the kind of an [Op].
type OpKind int

// The kinds of operations.
const (
	OpConv       OpKind = iota // Conv, Weight, Bias; with Pool.Window, a max-pool and Act follow
	OpDense                    // Weight, Bias, then Act
	OpActivation               // Act
	OpPool                     // Pool, of the largest or the mean
	OpGlobalPool               // of each channel, to the largest or the mean
	OpBatchNorm                // Weight, Bias, Mean, Variance, Epsilon, Momentum
	OpLayerNorm                // Weight, Bias, Epsilon
	OpDropout                  // Rate, Number
	OpEmbedding                // Weight, Sizes, Width
	OpResidual                 // Branches: the body, and the shortcut or nil
	OpConcat                   // Branches, Places
)

// Op is a step of a network as an engine runs it: the shapes are known, consecutive layers
// are fused where the CPU fuses them, and tensors are those of the network.
type Op struct {
	Kind           OpKind
	In, Out        int // values of an item
	Channels       int // of the input, where they matter
	Conv           ConvShape
	Pool           PoolShape
	Max            bool
	Act            Activation
	Weight, Bias   *Param // Bias may be nil
	Mean, Variance *Param
	Epsilon        float64
	Momentum       float64
	Rate           float64
	Number         uint64 // of a dropout, for its randomness
	Sizes          Ints
	Width          int
	Branches       [][]Op
	Places         []Place
}

// ConvShape is the geometry of a convolution in an [Op]. Dimensions are D, H, W; a missing
// dimension has size, kernel, stride and dilation 1 and no padding.
type ConvShape struct {
	In, Out  int    // channels
	Size     [3]int // input D, H, W
	Kernel   [3]int
	Stride   [3]int
	Pad      [3]int // zeros on both sides
	Dilation [3]int
}

// OutSize returns the output D, H, W.
func (s ConvShape) OutSize() [3]int { return kernel.ConvShape(s).OutSize() }

// PoolShape is the geometry of a pooling layer in an [Op]. Dimensions are D, H, W; a missing
// dimension has size, window and stride 1.
type PoolShape struct {
	Channels int
	Size     [3]int // input D, H, W
	Window   [3]int
	Stride   [3]int
	Pad      [3]int // on both sides, at most half the window
}

// OutSize returns the output D, H, W.
func (s PoolShape) OutSize() [3]int { return kernel.PoolShape(s).OutSize() }

// Activation is the elementwise function of an [Op].
type Activation uint8

// The activations, named after their layers.
const (
	ActIdentity = Activation(kernel.Identity)
	ActReLU     = Activation(kernel.ReLU)
	ActTanh     = Activation(kernel.Tanh)
	ActSigmoid  = Activation(kernel.Sigmoid)
	ActGELU     = Activation(kernel.GELU)
)

// Place is the range of a branch's inputs among those of an item, and that of its outputs.
type Place struct{ At, In, To, Out int }

// Ops returns the network as operations in order. It returns an error that names the layer if there is no
// operation for it.
func (n *Network) Ops() ([]Op, error) {
	s, err := n.NewSession(0)
	if err != nil {
		return nil, err
	}
	return ops(s.root, n.In.Size(), n.Out.Size())
}

// ops returns the operations of a built layer with the given numbers of inputs and outputs; none for nil.
func ops(l Layer, in, out int) (list []Op, err error) {
	op := Op{In: in, Out: out}
	switch l := l.(type) {
	case nil, *Flatten:
		return nil, nil
	case *Sequential:
		for _, s := range l.stages {
			inner, err := ops(s.layer, s.in, s.out)
			if err != nil {
				return nil, err
			}
			list = append(list, inner...)
		}
		return list, nil
	case *Conv:
		op.Kind, op.Channels, op.Conv, op.Weight, op.Bias = OpConv, l.shape.In, ConvShape(l.shape), l.weight, l.bias
		if l.pool != nil {
			op.Pool, op.Max, op.Act = PoolShape(l.pool.shape), true, Activation(l.act)
		}
	case *Dense:
		op.Kind, op.Weight, op.Bias = OpDense, l.weight, l.bias
		if l.relu != nil {
			op.Act = ActReLU
		}
	case elementwise:
		op.Kind, op.Act = OpActivation, Activation(l.function())
	case *MaxPool:
		op.Kind, op.Pool, op.Max = OpPool, PoolShape(l.shape), true
	case *AvgPool:
		op.Kind, op.Pool = OpPool, PoolShape(l.shape)
	case *GlobalPool:
		op.Kind, op.Channels, op.Max = OpGlobalPool, l.channels, l.Max
	case *BatchNorm:
		op.Kind, op.Channels, op.Weight, op.Bias = OpBatchNorm, l.channels, l.gamma, l.beta
		op.Mean, op.Variance, op.Epsilon, op.Momentum = l.runMean, l.runVariance, epsilon(l.Epsilon), l.momentum()
	case *LayerNorm:
		op.Kind, op.Weight, op.Bias, op.Epsilon = OpLayerNorm, l.gamma, l.beta, epsilon(l.Epsilon)
	case *Dropout:
		op.Kind, op.Rate, op.Number = OpDropout, l.Rate, l.number
	case *Embedding:
		op.Kind, op.Weight, op.Sizes, op.Width = OpEmbedding, l.table, l.Sizes, l.Width
	case *Residual:
		op.Kind = OpResidual
		err = cmp.Or(op.branch(l.body, in, out), op.branch(l.short, in, out))
	case *Concat:
		op.Kind = OpConcat
		for _, b := range l.branches {
			op.Places = append(op.Places, b.Place)
			err = cmp.Or(err, op.branch(b.layer, b.In, b.Out))
		}
	default:
		err = fmt.Errorf("no operation for layer %s", typeName(l))
	}
	if err != nil {
		return nil, err
	}
	return []Op{op}, nil
}

// branch adds the operations of an inner layer.
func (o *Op) branch(l Layer, in, out int) error {
	list, err := ops(l, in, out)
	o.Branches = append(o.Branches, list)
	return err
}
