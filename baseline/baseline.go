// Package baseline holds the rivals of the mixture head: methods that learn
// from one label an example and attach an uncertainty to what they predict.
//
// Each is implemented from its own paper:
//
//	softmax     cross-entropy; several networks are a deep ensemble
//	            (Lakshminarayanan, Pritzel and Blundell 2017)
//	dropout     Monte Carlo dropout (Gal and Ghahramani 2016)
//	mve         mean-variance estimation (Nix and Weigend 1994)
//	qd          quality-driven intervals (Pearce et al. 2018)
//	confidence  the confidence network (DeVries and Taylor 2018)
//	evidential  evidential classification (Sensoy, Kaplan and Kandemir 2018)
//
// [New] makes a [Rival], which is a [head.Head]: package train fits networks
// with it. An item with S_i votes for class i counts as that many examples with
// one label each. The losses are sums weighted by the counts, equal to what the
// examples apart would give, and means over labels, not over items.
//
// None of the rivals gives the distribution of the class probabilities that the
// mixture head gives. What each gives instead is what [Rival.Meaning] says; of
// all of them only evidential has a distribution at all, and it is of another
// kind.
//
// Dimension letters of the package: N items, d classes, M members of an
// ensemble or passes through a network.
package baseline

import (
	"fmt"
	"slices"

	"credence/head"
	"credence/mixture"
)

// Method names a rival.
type Method string

// The methods.
const (
	Softmax    Method = "softmax"
	Dropout    Method = "dropout"
	MVE        Method = "mve"
	QD         Method = "qd"
	Confidence Method = "confidence"
	Evidential Method = "evidential"
)

// Methods are all rivals.
var Methods = []Method{Softmax, Dropout, MVE, QD, Confidence, Evidential}

// Known tells whether m is one of Methods.
func (m Method) Known() bool { return slices.Contains(Methods, m) }

// Rival is a method: the loss that its networks are trained with, and how their
// raw outputs are read. One value serves one goroutine at a time, except that
// Estimate and Meaning may be called from any.
type Rival interface {
	// Head gives Outputs and Loss. The loss is the mean over the labels of a
	// batch, fractional counts being fractions of a label.
	head.Head

	// Criterion is the method's own measure of held-out items, by which training
	// stops and settings are chosen; smaller is better. It takes all held-out
	// items at once: out [N, Outputs()], votes [N, d].
	Criterion(out []float32, votes head.Counts) float64

	// Estimate reads the raw outputs [M, Outputs()] for one item, those of each
	// member of an ensemble or of each pass through a network. They are finite.
	Estimate(outputs [][]float32) Estimate

	// Passes returns how often a network is sampled with dropout on, for Estimate;
	// 0 means that its outputs without dropout are wanted.
	Passes() int

	// Warmup returns for how many epochs the loss leaves out a part of what the
	// network learns. Weights from them are not kept if there are later ones.
	Warmup() int

	// Meaning says in a sentence or two what the uncertainty is.
	Meaning() string

	// Start fills the biases [Outputs()] of a last layer such that an untrained
	// network says of every item about what is true of all, whose labels are
	// spread over the classes by shares [d].
	Start(bias []float32, shares []float64)

	// State returns what the loss itself has adapted in training, for a
	// checkpoint, or nil; SetState puts it back.
	State() []float64
	SetState(state []float64) error
}

// Estimate is what a rival says of one item.
type Estimate struct {
	// Mean [d] is the probability of each class; it sums to one.
	Mean []float64
	// Variance [d] is what the method calls its variance: of a label for softmax
	// with one network, mve and qd; of the probability between networks or passes
	// for softmax with several and dropout; of its Dirichlet distribution for
	// evidential. It is nil for confidence.
	Variance []float64
	// Uncertainty is the method's one number for an item; larger means less
	// certain: the variance of the class of largest mean for softmax, dropout and
	// mve, the width of its interval for qd, 1 − c for confidence, d/α₀ for
	// evidential.
	Uncertainty float64
	// Lower and Upper [d] are the ends of an interval of the label (1 if the
	// item's label is the class, 0 if not), of qd alone.
	Lower, Upper []float64
	// Dirichlet is the distribution of evidential, nil for all others. It is the
	// optimum of a regularised squared error, not of the likelihood of votes, so
	// its spread is not that of the class probabilities between items alike.
	Dirichlet *mixture.Dirichlet
}

// Top returns the class of largest mean, the first of several.
func (e *Estimate) Top() int {
	top := 0
	for i, p := range e.Mean {
		if p > e.Mean[top] {
			top = i
		}
	}
	return top
}

// New returns a rival, or an error that says which option is out of range or is
// none of the method's.
func New(m Method, o Options) (Rival, error) {
	o, err := o.Complete(m)
	if err != nil {
		return nil, err
	}
	r := &rival{classes: o.Classes}
	pairs := o.Classes // one-versus-all
	if o.Classes == 2 {
		pairs = 1 // the second class is the first one's mirror image
	}
	switch m {
	case Softmax:
		r.method = &softmax{classes: o.Classes}
	case Dropout:
		r.method = &softmax{classes: o.Classes, samples: o.Passes}
	case MVE:
		r.method = &mve{classes: o.Classes, pairs: pairs, floor: o.Floor, meanOnly: max(0, o.Warmup)}
	case QD:
		r.method = &qd{classes: o.Classes, pairs: pairs, lambda: o.Lambda, soften: o.Soften, level: o.Level}
	case Confidence:
		r.method = &confidence{classes: o.Classes, lambda: o.Lambda, budget: o.Budget}
	case Evidential:
		r.method = &evidential{classes: o.Classes, anneal: o.Anneal, evidence: evidences[o.Evidence]}
	default:
		return nil, fmt.Errorf("method %q is not one of %q", m, Methods)
	}
	return r, nil
}
