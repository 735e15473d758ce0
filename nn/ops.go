package nn

import (
	"cmp"
	"fmt"

	"credence/internal/kernel"
)

// OpKind says what an [Op] does.
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

// Op is a step of a network as an engine runs it: the shapes are known, layers that follow each
// other are fused where the CPU fuses them, and tensors are the network's own.
type Op struct {
	Kind           OpKind
	In, Out        int // values of an item
	Channels       int // of the input, where they matter
	Conv           kernel.ConvShape
	Pool           kernel.PoolShape
	Max            bool
	Act            kernel.Activation
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

// Place is where a branch finds its inputs among those of an item, and where its outputs go.
type Place struct{ At, In, To, Out int }

// Ops returns the network as operations in order. It fails for a layer that none of them is, and
// names it.
func (n *Network) Ops() ([]Op, error) {
	s, err := n.NewSession(0)
	if err != nil {
		return nil, err
	}
	return ops(s.root, n.In.Size(), n.Out.Size())
}

// ops returns what a layer that was built does, with so many inputs and outputs; nothing for none.
func ops(l Layer, in, out int) (list []Op, err error) {
	op := Op{In: in, Out: out}
	switch l := l.(type) {
	case nil, *Flatten:
		return nil, nil
	case *Sequential:
		for _, s := range l.stages {
			part, err := ops(s.layer, s.in, s.out)
			if err != nil {
				return nil, err
			}
			list = append(list, part...)
		}
		return list, nil
	case *Conv:
		op.Kind, op.Channels, op.Conv, op.Weight, op.Bias = OpConv, l.shape.In, l.shape, l.weight, l.bias
		if l.pool != nil {
			op.Pool, op.Max, op.Act = l.pool.shape, true, l.act
		}
	case *Dense:
		op.Kind, op.Weight, op.Bias = OpDense, l.weight, l.bias
		if l.relu != nil {
			op.Act = kernel.ReLU
		}
	case elementwise:
		op.Kind, op.Act = OpActivation, l.function()
	case *MaxPool:
		op.Kind, op.Pool, op.Max = OpPool, l.shape, true
	case *AvgPool:
		op.Kind, op.Pool = OpPool, l.shape
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
			op.Places = append(op.Places, Place{At: b.at, In: b.in, To: b.to, Out: b.out})
			err = cmp.Or(err, op.branch(b.layer, b.in, b.out))
		}
	default:
		err = fmt.Errorf("no layer %s on this device", typeName(l))
	}
	if err != nil {
		return nil, err
	}
	return []Op{op}, nil
}

// branch adds what a layer inside does.
func (o *Op) branch(l Layer, in, out int) error {
	list, err := ops(l, in, out)
	o.Branches = append(o.Branches, list)
	return err
}
