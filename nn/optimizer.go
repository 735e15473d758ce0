package nn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"credence/internal/kernel"
	"credence/internal/par"
	"credence/internal/words"
)

// OptimizerOptions configures how a [Trainer] updates weights.
type OptimizerOptions struct {
	Kind        string   // the name of one of [Optimizers]; empty means adam
	Rate        float64  // learning rate; zero means that of the kind
	Momentum    float64  // of sgd
	Nesterov    bool     // of sgd
	Beta1       float64  // of adam; zero means 0.9
	Beta2       float64  // of adam; zero means 0.999
	Epsilon     float64  // of adam; zero means 1e-8
	WeightDecay float64  // λ on all parameters; adamw decays weights, the others add to the gradient
	Clip        float64  // largest norm of the whole gradient; zero means any
	Schedule    Schedule // how the rate changes; zero means not at all
}

// OptimizerKind has the properties of an optimizer that depend on its name.
type OptimizerKind struct {
	Name     string
	Rate     float64 // learning rate, if none is given
	Momentum float64 // default in training; 0 for a kind without momentum
	Moments  int     // number of OptimizerState.Moments in use
	updater  func(o OptimizerOptions) updater
}

// Optimizers are all kinds, in the order in which they are listed for users.
var Optimizers = []OptimizerKind{
	{"adamw", 1e-3, 0, 2, newAdam},
	{"adam", 1e-3, 0, 2, newAdam},
	{"sgd", 1e-2, 0.9, 1, newSGD},
}

// OptimizerNames returns the names of Optimizers.
func OptimizerNames() []string {
	return words.Each(Optimizers, func(k OptimizerKind) string { return k.Name })
}

// OptimizersWithMomentum returns the names of the optimizers that have momentum.
func OptimizersWithMomentum() (names []string) {
	for _, k := range Optimizers {
		if k.Momentum > 0 {
			names = append(names, k.Name)
		}
	}
	return names
}

// OptimizerNamed returns the kind with a name, the zero value if there is none.
func OptimizerNamed(name string) OptimizerKind {
	if i := slices.Index(OptimizerNames(), name); i >= 0 {
		return Optimizers[i]
	}
	return OptimizerKind{}
}

// updater updates weights with their gradients.
type updater struct {
	// begin sets the factors of step t, from 1; scale multiplies gradients.
	begin func(t uint64, rate, scale float32)
	// update updates the weights from lo to hi.
	update func(net *Network, s *OptimizerState, lo, hi int)
}

func newSGD(o OptimizerOptions) updater {
	p := &kernel.SGD{Momentum: float32(o.Momentum), WeightDecay: float32(o.WeightDecay), Nesterov: o.Nesterov}
	return updater{
		begin: func(_ uint64, rate, scale float32) { p.Rate, p.GradScale = rate, scale },
		update: func(net *Network, s *OptimizerState, lo, hi int) {
			p.Update(net.Values[lo:hi], s.Moments[0][lo:hi], net.Grads[lo:hi])
		},
	}
}

func newAdam(o OptimizerOptions) updater {
	p := &kernel.Adam{
		Beta1: float32(o.Beta1), Beta2: float32(o.Beta2), Epsilon: float32(o.Epsilon),
		WeightDecay: float32(o.WeightDecay), Decoupled: o.Kind == "adamw",
	}
	return updater{
		begin: func(t uint64, rate, scale float32) {
			p.Rate, p.GradScale = rate, scale
			// With the betas rounded as in the kernel: 1 − 0.999 in float32 is off by
			// 5e-5, which cancels only against itself.
			p.Correction1, p.Correction2 = correction(p.Beta1, t), correction(p.Beta2, t)
		},
		update: func(net *Network, s *OptimizerState, lo, hi int) {
			p.Update(net.Values[lo:hi], s.Moments[0][lo:hi], s.Moments[1][lo:hi], net.Grads[lo:hi])
		},
	}
}

// correction returns 1 − beta^t.
func correction(beta float32, t uint64) float32 {
	if float64(t)*(1-float64(beta)) > 20 {
		return 1 // beta^t < e⁻²⁰ is less than half a last place
	}
	return float32(1 - math.Pow(float64(beta), float64(t)))
}

// claimed is the number of weights that are claimed while as many are updated, if several cores train.
const claimed = 512

// optimizer updates the parameters of a network.
type optimizer struct {
	OptimizerState
	updater
	options OptimizerOptions // complete
	net     *Network
	piece   func(i int) // updates one
	squares func(i int)
	sums    []float64 // squared gradients of each piece
	cores   par.Limit
}

// Complete returns o with defaults for zero fields, or an error that names the field
// that is out of range.
func (o OptimizerOptions) Complete() (OptimizerOptions, error) {
	o.Kind = cmp.Or(o.Kind, "adam")
	o.Rate = cmp.Or(o.Rate, OptimizerNamed(o.Kind).Rate)
	o.Beta1, o.Beta2, o.Epsilon = cmp.Or(o.Beta1, 0.9), cmp.Or(o.Beta2, 0.999), cmp.Or(o.Epsilon, 1e-8)
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
	net.MakeGrads()
	n := len(net.Values)
	kind := OptimizerNamed(o.Kind)
	p := &optimizer{options: o, net: net, updater: kind.updater(o), sums: make([]float64, pieces(n, grain))}
	for i := range kind.Moments {
		p.Moments[i] = make([]float32, n)
	}
	p.piece = func(i int) {
		lo, hi := i*grain, min((i+1)*grain, n)
		each := hi - lo
		if n > grain && p.cores.Workers() > 1 {
			each = claimed
		}
		// Where all cores have read the weights, the one that writes them has to wait until the others drop their copies: not for one
		// line after the other.
		for ; lo < hi; lo += each {
			next := min(lo+each, hi)
			kernel.Claim(net.Values[next:min(next+each, hi)])
			p.update(net, &p.OptimizerState, lo, next)
		}
	}
	p.squares = func(i int) { p.sums[i] = kernel.SumSq(net.Grads[i*grain : min((i+1)*grain, n)]) }
	return p, nil
}

func (o *OptimizerOptions) check() error {
	switch {
	case OptimizerNamed(o.Kind).Name == "":
		return fmt.Errorf("optimizer %q is not one of %v", o.Kind, slices.Sorted(slices.Values(OptimizerNames())))
	case !(o.Rate > 0):
		return fmt.Errorf("optimizer: learning rate %v: expected more than 0", o.Rate)
	case !(o.Momentum >= 0 && o.Momentum < 1):
		return fmt.Errorf("optimizer: momentum %v: expected at least 0 and less than 1", o.Momentum)
	case !(o.Beta1 > 0 && o.Beta1 < 1 && o.Beta2 > 0 && o.Beta2 < 1):
		return fmt.Errorf("optimizer: betas %v and %v: expected between 0 and 1", o.Beta1, o.Beta2)
	case !(o.Epsilon > 0), !(o.WeightDecay >= 0), !(o.Clip >= 0):
		return fmt.Errorf("optimizer: epsilon %v, weight decay %v, clip %v: want none below 0", o.Epsilon, o.WeightDecay, o.Clip)
	}
	return o.Schedule.check()
}

// step updates the parameters once. It returns the norm of the gradient before
// clipping, or 0 if there is no clipping.
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
	p.begin(p.Steps, rate, float32(scale))
	p.cores.For(len(p.sums), p.piece)
	return norm
}

// norm returns the Euclidean norm of the gradient, summed in float64 in an
// order that depends on its length alone.
func (p *optimizer) norm() float64 {
	p.cores.For(len(p.sums), p.squares)
	sum := 0.0
	for _, s := range p.sums {
		sum += s
	}
	return math.Sqrt(sum)
}

// Schedule describes how the learning rate changes over the steps of a run: a linear
// warm-up from zero, then constant or along a half cosine down to Final:
//
//	rate(t)/rate = (t+1)/WarmUp                                    t < WarmUp
//	             = Final + (1−Final)·½(1 + cos(π(t−WarmUp)/(Total−WarmUp)))
type Schedule struct {
	Kind   string  // "constant" or "cosine"; empty means constant
	WarmUp uint64  // steps of the warm-up
	Total  uint64  // steps of the run, for cosine
	Final  float64 // share of the rate that is left at the end, for cosine
}

func (s *Schedule) check() error {
	switch s.Kind {
	case "", "constant":
		return nil
	case "cosine":
		if s.Total <= s.WarmUp {
			return fmt.Errorf("schedule: cosine over %d steps with a warm-up of %d: expected more steps", s.Total, s.WarmUp)
		}
		if !(s.Final >= 0 && s.Final <= 1) {
			return fmt.Errorf("schedule: final share %v: expected between 0 and 1", s.Final)
		}
		return nil
	}
	return fmt.Errorf("schedule %q is not one of [constant cosine]", s.Kind)
}

// factor returns the multiplier of the rate at step t, from 0.
func (s *Schedule) factor(t uint64) float64 {
	switch {
	case t < s.WarmUp:
		return float64(t+1) / float64(s.WarmUp)
	case s.Kind != "cosine":
		return 1
	}
	x := min(float64(t-s.WarmUp)/float64(s.Total-s.WarmUp), 1)
	return s.Final + (1-s.Final)*0.5*(1+math.Cos(math.Pi*x))
}
