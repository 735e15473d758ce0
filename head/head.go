// Package head holds the methods: what a network's raw outputs mean, how they are scored against
// votes, and what they say of an item.
//
// A [Method] is a name with settings, such as [Mixture] or [Evidential]; its New makes a [Head], of
// which each network in training has its own. A head sees a whole [Batch] at a time and owns
// everything that depends on the method: the number of outputs, where a network starts, the loss,
// the criterion that stops training, tensors of its own, and decoding into an [Answer]. Nobody else
// asks which method it is.
//
// [Mixture] is the method this library is about: a mixture of Dirichlet distributions of the class
// probabilities, scored by the exact likelihood of an item's votes. The others, each from its own
// paper, learn from one label at a time and attach an uncertainty to what they predict:
//
//	softmax     cross-entropy; several networks are a deep ensemble
//	            (Lakshminarayanan, Pritzel and Blundell 2017)
//	dropout     Monte Carlo dropout (Gal and Ghahramani 2016)
//	mve         mean-variance estimation (Nix and Weigend 1994)
//	qd          quality-driven intervals (Pearce et al. 2018)
//	confidence  confidence network (DeVries and Taylor 2018)
//	evidential  evidential classification (Sensoy, Kaplan and Kandemir 2018)
//
// An item with S_i votes for class i counts for these as that many examples with one label each.
// None of them gives the distribution of the class probabilities that the mixture gives; what each
// gives instead is what [Traits].Meaning says.
//
// A method of one's own is a type with the two methods of [Method], whose heads embed [Base] for
// what they do not need.
//
// Dimension letters of the package: N items, d classes, M members of an ensemble or passes through
// a network.
package head

import (
	"fmt"

	"credence/nn"
)

// Task is what a method is asked to learn.
type Task struct {
	Classes int // d ≥ 2
	Raters  int // how many raters the votes name

	// RaterVotes [R] and ClassVotes [d] count the votes by rater and by class; nil means alike.
	RaterVotes, ClassVotes []float64
	// RaterGroups [R] is the group of raters connected by shared items that each rater belongs to, from 0;
	// nil if all belong to one. Leans are compared within a group only: their mean over the votes of each
	// group is 0.
	RaterGroups []int
}

// Objective scores raw outputs against votes.
type Objective interface {
	// Outputs returns how many raw outputs the head takes for an item.
	Outputs() int

	// Loss returns the loss of a batch and fills grad with the derivative of its mean with respect
	// to out, and the gradients of the head's own tensors. Items without votes get a zero gradient;
	// a batch without any votes has loss zero. With a nil grad only the loss is computed. Shapes:
	// grad, out [N, Outputs()].
	Loss(grad, out []float32, b Batch, at Step) Loss
}

// Head is a method at work. It may keep scratch memory, so one value serves one goroutine at a time,
// except that Outputs, Own, Traits and Decode may be called from any.
type Head interface {
	Objective

	// Traits says what the method needs of training and what its uncertainty is.
	Traits() Traits

	// Start returns biases [Outputs()] of a last layer such that an untrained network says of every
	// item about what is true of all, whose votes are b.
	Start(b Batch) []float32

	// Criterion returns an empty sum of the method's measure of held-out items, by which training
	// stops and settings are chosen; smaller is better.
	Criterion() Criterion

	// Own returns the tensors that the head trains beside the network's, for a network that is being
	// built: they are saved with it, and their gradients are filled by Loss. Bind tells where the
	// values and gradients of each lie.
	Own() []nn.Own
	Bind(own []*nn.Param)

	// Decode fills dst [N] with what outputs, those of each member of an ensemble or of each pass
	// through a network, say of N items.
	Decode(dst []Answer, outputs []Output)

	// State returns what the loss itself has adapted in training, for a checkpoint, or nil; SetState
	// puts it back.
	State() []float64
	SetState(state []float64) error
}

// Criterion adds up a measure over held-out items, batch by batch.
type Criterion interface {
	Add(out []float32, b Batch)
	Value() float64
}

// Output is what one network, or one pass through it, says of N items.
type Output struct {
	Raw []float32   // [N, Outputs()]
	Own [][]float32 // the values of the head's own tensors, in the order of Own
}

// Traits is what a method needs of training and what its uncertainty is. The zero value suits a
// method that learns from single votes and needs nothing special.
type Traits struct {
	// Joint says that the method learns from all votes of an item together: its answers have a Law,
	// its loss is their negative log-likelihood in nats, and without two votes on some items it
	// learns nothing about spread.
	Joint bool
	// Passes is how often a network with dropout is sampled for an answer; 0 means that its outputs
	// without dropout are wanted.
	Passes int
	// Warmup is for how many epochs the loss leaves out a part of what the network learns. Weights
	// from them are not kept if there are later ones.
	Warmup int
	// Raters says that the loss reads Batch.Ratings.
	Raters bool
	// LeastBatch is the least number of items in a batch.
	LeastBatch int
	// Coarse says that the means are no fitted probabilities, so that no likelihood judges them.
	Coarse bool
	// Meaning says in a sentence or two what the uncertainty is; empty for a Joint method, whose
	// intervals speak for themselves.
	Meaning string
	// Columns are what a table of answers has beside the means, for so many networks.
	Columns func(members int) []Column
}

// Column is a column of a table of answers.
type Column struct {
	Name string
	Of   func(a *Answer, class int) float64
}

// Base gives a head that embeds it no tensors of its own, no state and no special traits.
type Base struct{}

// Traits returns the zero value.
func (Base) Traits() Traits { return Traits{} }

// Own returns nil.
func (Base) Own() []nn.Own { return nil }

// Bind does nothing.
func (Base) Bind([]*nn.Param) {}

// State returns nil.
func (Base) State() []float64 { return nil }

// SetState accepts an empty state.
func (Base) SetState(state []float64) error {
	if len(state) != 0 {
		return noState(state)
	}
	return nil
}

// noState is the error for a state that a loss cannot be in.
func noState(state []float64) error { return fmt.Errorf("the loss has no state like %v", state) }

// Step says where in a training run a loss is evaluated, for heads that draw random numbers or
// change over time.
type Step = nn.Step

// Batch is the votes on some items.
type Batch struct {
	Counts Counts
	// Weights [N] say how much items count; nil if all count alike.
	Weights []float64
	// Ratings are the single votes, where it is known who cast them.
	Ratings []Rating
}

// Rating is one vote on item Item of a batch.
type Rating struct {
	Item, Rater, Class int32
}

// Items returns the number of items N.
func (b Batch) Items() int { return b.Counts.Items() }

// Loss is the mean loss of a batch and what it is the mean of.
type Loss struct {
	Mean  float64
	Over  float64 // items or votes that the mean is taken over
	Votes float64 // by the weights that the method gives them
}

// Counts holds the votes of N items on d classes, row by row:
// Values[j*Classes+i] is the number of votes of item j for class i. It is a
// float32, exact for whole counts up to 2²⁴; fractional counts (weighted
// votes) are allowed, negative ones are not.
type Counts struct {
	Classes int
	Values  []float32 // [N, Classes]
}

// Items returns the number of items N.
func (c Counts) Items() int { return len(c.Values) / c.Classes }

// Item returns the counts of item j.
func (c Counts) Item(j int) []float32 { return c.Values[j*c.Classes : (j+1)*c.Classes] }

// Votes returns the number of votes on all items.
func (c Counts) Votes() float64 {
	sum := 0.0
	for _, s := range c.Values {
		sum += float64(s)
	}
	return sum
}
