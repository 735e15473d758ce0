// Package head turns the raw outputs of a network into an answer about an
// item and scores that answer against the item's votes.
//
// A [Head] sees a whole batch at a time: the raw outputs of every item and
// [Counts], the votes. [Mixture] is the head this library is about: a mixture
// of Dirichlet distributions of the class probabilities, scored by the exact
// likelihood of the votes. [Softmax] is the plain classifier.
package head

import "credence/nn"

// Head maps raw outputs and votes to a loss and its gradient. A head may keep
// scratch memory, so one value serves one goroutine at a time.
type Head interface {
	// Outputs returns how many raw outputs the head takes for an item.
	Outputs() int

	// Loss returns the mean loss over the items of a batch that have votes and
	// fills grad with its derivative with respect to out. Items without votes
	// get a zero gradient; a batch without any votes has loss zero. With a nil
	// grad only the loss is computed. Shapes: grad, out [N, Outputs()], votes
	// [N, d].
	Loss(grad, out []float32, votes Counts, at Step) float64
}

// Step says where in a training run a loss is evaluated, for heads that draw
// random numbers or change over time.
type Step = nn.Step

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

// Slice returns the counts of items lo … hi−1, sharing memory.
func (c Counts) Slice(lo, hi int) Counts {
	return Counts{Classes: c.Classes, Values: c.Values[lo*c.Classes : hi*c.Classes]}
}
