package nn

import (
	"cmp"
	"fmt"
	"math"

	"credence/internal/kernel"
	"credence/internal/par"
)

// OptimizerOptions configures how a [Trainer] moves weights.
type OptimizerOptions struct {
	Kind        string   // "adam", "adamw" or "sgd"; empty means adam
	Rate        float64  // learning rate; zero means 1e-3 (sgd: 1e-2)
	Momentum    float64  // of sgd
	Nesterov    bool     // of sgd
	Beta1       float64  // of adam; zero means 0.9
	Beta2       float64  // of adam; zero means 0.999
	Epsilon     float64  // of adam; zero means 1e-8
	WeightDecay float64  // λ on all parameters; adamw decays weights, the others add to the gradient
	Clip        float64  // largest norm of the whole gradient; zero means any
	Schedule    Schedule // how the rate changes; zero means not at all
}

// optimizer moves the parameters of a network against their gradients.
type optimizer struct {
	OptimizerState
	options OptimizerOptions // complete
	net     *Network
	adam    kernel.Adam
	sgd     kernel.SGD
	update  func(i int)
	squares func(i int)
	sums    []float64 // squared gradients of each piece
}

// Complete returns o with defaults for what is zero, or an error that says what
// is out of range.
func (o OptimizerOptions) Complete() (OptimizerOptions, error) {
	o.Kind = cmp.Or(o.Kind, "adam")
	if o.Rate == 0 {
		o.Rate = 1e-3
		if o.Kind == "sgd" {
			o.Rate = 1e-2
		}
	}
	set(&o.Beta1, 0.9)
	set(&o.Beta2, 0.999)
	set(&o.Epsilon, 1e-8)
	return o, o.check()
}

// RateAt returns the learning rate of step t, from 0, of complete options.
func (o OptimizerOptions) RateAt(t uint64) float64 { return o.Rate * o.Schedule.factor(t) }

// newOptimizer returns an optimizer for net.
func newOptimizer(net *Network, o OptimizerOptions) (*optimizer, error) {
	o, err := o.Complete()
	if err != nil {
		return nil, err
	}
	net.needGrads()
	n := len(net.Values)
	p := &optimizer{options: o, net: net, sums: make([]float64, pieces(n, grain))}
	p.Moments[0] = make([]float32, n)
	if o.Kind == "sgd" {
		p.sgd = kernel.SGD{Momentum: float32(o.Momentum), WeightDecay: float32(o.WeightDecay), Nesterov: o.Nesterov}
		p.update = func(i int) {
			lo, hi := i*grain, min((i+1)*grain, n)
			p.sgd.Update(net.Values[lo:hi], p.Moments[0][lo:hi], net.Grads[lo:hi])
		}
	} else {
		p.Moments[1] = make([]float32, n)
		p.adam = kernel.Adam{
			Beta1: float32(o.Beta1), Beta2: float32(o.Beta2), Epsilon: float32(o.Epsilon),
			WeightDecay: float32(o.WeightDecay), Decoupled: o.Kind == "adamw",
		}
		p.update = func(i int) {
			lo, hi := i*grain, min((i+1)*grain, n)
			p.adam.Update(net.Values[lo:hi], p.Moments[0][lo:hi], p.Moments[1][lo:hi], net.Grads[lo:hi])
		}
	}
	p.squares = func(i int) { p.sums[i] = kernel.SumSq(net.Grads[i*grain : min((i+1)*grain, n)]) }
	return p, nil
}

func set(x *float64, def float64) {
	if *x == 0 {
		*x = def
	}
}

func (o *OptimizerOptions) check() error {
	switch {
	case o.Kind != "adam" && o.Kind != "adamw" && o.Kind != "sgd":
		return fmt.Errorf("optimizer %q is not one of [adam adamw sgd]", o.Kind)
	case !(o.Rate > 0):
		return fmt.Errorf("optimizer: learning rate %v, want more than 0", o.Rate)
	case !(o.Momentum >= 0 && o.Momentum < 1):
		return fmt.Errorf("optimizer: momentum %v, want at least 0 and less than 1", o.Momentum)
	case !(o.Beta1 > 0 && o.Beta1 < 1 && o.Beta2 > 0 && o.Beta2 < 1):
		return fmt.Errorf("optimizer: betas %v and %v, want between 0 and 1", o.Beta1, o.Beta2)
	case !(o.Epsilon > 0), !(o.WeightDecay >= 0), !(o.Clip >= 0):
		return fmt.Errorf("optimizer: epsilon %v, weight decay %v, clip %v: want none below 0", o.Epsilon, o.WeightDecay, o.Clip)
	}
	return o.Schedule.check()
}

// step moves the parameters once. It returns the norm of the gradient before
// clipping, or 0 if there is no clipping to need it.
func (p *optimizer) step() (norm float64) {
	scale := 1.0
	if clip := p.options.Clip; clip > 0 {
		norm = p.norm()
		if norm > clip {
			scale = clip / norm
		}
	}
	rate := float32(p.options.RateAt(p.Steps))
	p.Steps++
	p.sgd.Rate, p.sgd.GradScale = rate, float32(scale)
	p.adam.Rate, p.adam.GradScale = rate, float32(scale)
	t := float64(p.Steps)
	// With the betas as the kernel rounds them: 1 − 0.999 in float32 is off by
	// 5e-5, which cancels only against itself.
	p.adam.Correction1 = float32(1 - math.Pow(float64(p.adam.Beta1), t))
	p.adam.Correction2 = float32(1 - math.Pow(float64(p.adam.Beta2), t))
	par.For(len(p.sums), p.update)
	return norm
}

// norm returns the Euclidean norm of the gradient, summed in float64 in an
// order that depends on its length alone.
func (p *optimizer) norm() float64 {
	par.For(len(p.sums), p.squares)
	sum := 0.0
	for _, s := range p.sums {
		sum += s
	}
	return math.Sqrt(sum)
}
