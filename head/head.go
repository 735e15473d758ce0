// Package head implements the methods: how a network's raw outputs are scored against votes, and how
// they are decoded into the prediction for an item.
//
// A [Method] is a name with settings, such as [Mixture] or [Evidential]; its New method returns a
// [Head], one for each network in training. A head processes a whole [Batch] at a time and owns
// everything that depends on the method: the number of outputs, the initial biases of the network,
// the loss, the criterion that stops training, additional tensors, and decoding into a [Decoded]. No
// other package branches on the method.
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
// These treat an item with S_i votes for class i as that many examples with one label each. None of
// them returns a distribution of the class probabilities, as the mixture does; [Traits].Meaning
// describes what each returns instead.
//
// To add a method, implement [Method]; its heads can embed [DefaultHead] for the methods that they do
// not need.
//
// Dimension letters in this package: N items, d classes, M members of an ensemble or passes through
// a network.
package head

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"

	"credence/internal/words"
	"credence/nn"
)

// Task describes what a method has to learn.
type Task struct {
	Classes int  // d ≥ 2
	Raters  int  // number of raters named in the votes
	Ordered bool // classes are the points of a scale: raters may have biases along it

	// RaterVotes [R] and ClassVotes [d] count the votes by rater and by class; nil means equal counts.
	RaterVotes, ClassVotes []float64
	// RaterGroups [R] is the group of raters connected by shared items that each rater belongs to, from 0;
	// nil if all belong to one. Biases are comparable within a group only: their mean over the votes of each
	// group is 0.
	RaterGroups []int

	// Threads is the largest number of goroutines that compute a loss; 0 means all cores. Results do not depend on it.
	Threads int
}

// Objective scores raw outputs against votes.
type Objective interface {
	// Outputs returns the number of raw outputs per item.
	Outputs() int

	// Loss returns the loss of a batch and fills grad with the derivative of its mean with respect
	// to out, and the gradients of the head's own tensors. Items without votes get a zero gradient;
	// a batch without any votes has loss zero. With a nil grad only the loss is computed. Shapes:
	// grad, out [N, Outputs()].
	Loss(grad, out []float32, b Batch, at Step) Loss
}

// Head is an instance of a method for one network. It may keep scratch memory, so only one goroutine may
// use it at a time, except that Outputs, Own, Traits and Decode are safe for concurrent use.
type Head interface {
	Objective

	// Traits returns the requirements of the method for training and the meaning of its uncertainty.
	Traits() Traits

	// Start returns biases [Outputs()] of the last layer such that an untrained network predicts
	// roughly the average of all items for every item; b holds the votes of all items.
	Start(b Batch) []float32

	// Criterion returns a new accumulator of the method's score on held-out items, which decides when
	// training stops and which settings are chosen; smaller is better.
	Criterion() Criterion

	// Own describes the tensors that the head trains in addition to the network's, for a network that is
	// being built: they are saved with it, and Loss fills in their gradients. Bind passes the head the
	// allocated tensors, with their values and gradients.
	Own() []nn.HeadParam
	Bind(own []*nn.Param)

	// Decode fills dst [N] with the predictions for N items, given the outputs of each member of an
	// ensemble or of each pass through a network.
	Decode(dst []Decoded, outputs []Output)

	// State returns the parameters that the loss itself has adapted in training, for a checkpoint, or
	// nil; SetState restores them.
	State() []float64
	SetState(state []float64) error
}

// Criterion accumulates a score over held-out items, batch by batch.
type Criterion interface {
	Add(out []float32, b Batch)
	Value() float64
}

// Output holds the outputs of one network, or of one pass through it, for N items.
type Output struct {
	Raw []float32   // [N, Outputs()]
	Own [][]float32 // the values of the head's own tensors, in the order of Own
	// Trees [N, d] is log α of one further component of the mixture, with weight Share; nil if there is none. With
	// Share 1 it is the only one, and Raw is not read.
	Trees []float32
	Share float64
}

// Traits describes what a method requires of training and what its uncertainty means. The zero value
// suits a method that learns from single votes and has no special requirements.
type Traits struct {
	// Joint is set if the method learns from all votes of an item together: its predictions have a
	// Dist, its loss is their negative log-likelihood in nats, and without two votes on some items it
	// learns nothing about spread.
	Joint bool
	// Passes is the number of passes with dropout per prediction; 0 means a single pass without
	// dropout.
	Passes int
	// Warmup is the number of initial epochs in which the loss leaves some of its terms out. Weights
	// from these epochs are not kept if there are later ones.
	Warmup int
	// Raters is set if the loss reads Batch.Ratings.
	Raters bool
	// LeastBatch is the minimum number of items in a batch.
	LeastBatch int
	// Coarse is set if the means are not fitted probabilities and should not be scored by a likelihood.
	Coarse bool
	// Meaning explains in a sentence or two what the uncertainty is; empty for a Joint method, whose
	// intervals need no explanation.
	Meaning string
	// Columns returns the columns of a table of predictions in addition to the means, given the number of members.
	Columns func(members int) []Column
}

// Column is a column of a table of predictions.
type Column struct {
	Name string
	Of   func(a *Decoded, class int) float64
}

// DefaultHead can be embedded by heads without additional tensors, state or special traits.
type DefaultHead struct{}

// Traits returns the zero value.
func (DefaultHead) Traits() Traits { return Traits{} }

// Own returns nil.
func (DefaultHead) Own() []nn.HeadParam { return nil }

// Bind does nothing.
func (DefaultHead) Bind([]*nn.Param) {}

// State returns nil.
func (DefaultHead) State() []float64 { return nil }

// SetState accepts an empty state.
func (DefaultHead) SetState(state []float64) error {
	if len(state) != 0 {
		return noState(state)
	}
	return nil
}

// noState returns the error for an invalid state of a loss.
func noState(state []float64) error { return fmt.Errorf("invalid state of the loss: %v", state) }

// Step is the position in a training run at which a loss is evaluated, for heads that draw random
// numbers or change over time.
type Step = nn.Step

// Batch holds the votes on a number of items.
type Batch struct {
	Counts Counts
	// Weights [N] are the weights of items; nil if all are equal.
	Weights []float64
	// Ratings are the individual votes of known raters.
	Ratings []Rating
}

// Rating is one vote on item Item of a batch.
type Rating struct {
	Item, Rater, Class int32
}

// Items returns the number of items N.
func (b Batch) Items() int { return b.Counts.Items() }

// weight returns the weight of item j.
func (b *Batch) weight(j int) float64 {
	if b.Weights == nil {
		return 1
	}
	return b.Weights[j]
}

// Loss is the mean loss of a batch and the amount of data behind it.
type Loss struct {
	Mean  float64
	Over  float64 // number of items or votes that the mean is over
	Votes float64 // with the weights that the method gives them
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

// Method is a name with settings, from which heads are made. Its settings are the exported fields
// of a struct: numbers or strings with a JSON name, and the tags default and help. A zero field means
// the default; a field with the tag setting:"-" is saved, but users cannot set it.
type Method interface {
	// Name returns the name of the method in files and on the command line.
	Name() string
	// New returns a head, or an error that names the setting that is out of range.
	New(t Task) (Head, error)
}

// Methods lists the methods of this package, the default first.
var Methods = []Method{Mixture{}, Softmax{}, Dropout{}, MVE{}, QD{}, Confidence{}, Evidential{}}

// Names returns the names of Methods.
func Names() []string { return words.Each(Methods, Method.Name) }

// MethodByName returns the method with the given name and default settings. It searches own first, then Methods.
func MethodByName(name string, own ...Method) (Method, error) {
	known := slices.Concat(own, Methods)
	for _, m := range known {
		if m.Name() == name {
			return Complete(m), nil
		}
	}
	return nil, fmt.Errorf("method %q is not one of %q", name, words.Each(known, Method.Name))
}

// Encode returns a method as JSON: an object with its name as "kind", and its settings.
func Encode(m Method) (json.RawMessage, error) {
	settings, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("method %s: %w", m.Name(), err)
	}
	kind, _ := json.Marshal(m.Name()) // every string has a JSON form
	if string(settings) == "{}" {
		return fmt.Appendf(nil, `{"kind":%s}`, kind), nil
	}
	return fmt.Appendf(nil, `{"kind":%s,%s`, kind, settings[1:]), nil
}

// Parse decodes the output of [Encode]. The method is looked up as in [MethodByName].
func Parse(text []byte, own ...Method) (Method, error) {
	var kind struct{ Kind string }
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, fmt.Errorf("method: %w", err)
	}
	m, err := MethodByName(kind.Kind, own...)
	if err != nil {
		return nil, err
	}
	v, _ := settings(m)
	if err := json.Unmarshal(text, v.Addr().Interface()); err != nil {
		return nil, fmt.Errorf("method %s: %w", m.Name(), err)
	}
	return v.Interface().(Method), nil
}

// checked returns an error unless there are at least two classes and every setting is finite and positive.
// Settings named in negative may also be -1.
func checked(m Method, t Task, negative ...string) error {
	if t.Classes < 2 {
		return outOfRange(m, "classes", "at least 2", t.Classes)
	}
	for _, s := range Settings(m) {
		switch f := s.value; {
		case f.Kind() == reflect.Float64 && !(f.Float() > 0 && !math.IsInf(f.Float(), 0)):
			return outOfRange(m, s.Name, "a number above 0", f.Float())
		case f.Kind() == reflect.Int && f.Int() < 1 && !slices.Contains(negative, s.Name):
			return outOfRange(m, s.Name, "at least 1", f.Int())
		}
	}
	return nil
}

// outOfRange returns the error for a setting of a method with an invalid value.
func outOfRange(m Method, name, expected string, found any) error {
	return fmt.Errorf("method %s: %s: expected %s, found %v", m.Name(), name, expected, found)
}
