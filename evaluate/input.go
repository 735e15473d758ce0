package evaluate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"credence/dataset"
	"credence/head"
	"credence/mixture"
)

// Input is a set of predictions and what is known about the items: N items of d
// classes. Answers and Votes are needed, the rest may be left nil.
type Input struct {
	// Answers [N] are the predictions. Where they have no law, what judges a distribution is
	// unknown.
	Answers []head.Answer
	Votes   Votes    // [N × d]
	Classes []string // names, [d]; "0", "1", … if nil
	// Groups are drawn as wholes by the bootstrap, [N]; nil makes every item its
	// own group.
	Groups []string
	// Crowd is what the model knows of raters, nil if nothing, and Ratings [N] who cast which votes on
	// an item, in the crowd's numbers: votes are then judged by the chances of those who cast them.
	Crowd   *head.Crowd
	Ratings [][]head.Rating
	// References are the losses of the references on the same items.
	References *ReferenceScores
	// Columns are those whose levels are judged apart, besides the predicted spread.
	Columns []Column
	// Truth are the true probabilities, known in simulations, [N × d]. A
	// probability close to one is taken to be one less the sum of the others.
	Truth []float64
}

// NewInput returns all that ds says of its items: votes, classes, groups and,
// where they are known, true probabilities. The predictions are still to be set.
func NewInput(ds *dataset.Dataset) *Input {
	in := &Input{Votes: NewVotes(ds), Classes: ds.Classes, Groups: ds.Groups}
	if ds.Truth != nil {
		// A file may be rounded to three digits; the judgment is finer.
		in.Truth = float64s(ds.Truth)
		for row := range slices.Chunk(in.Truth, len(ds.Classes)) {
			total := sum(row)
			for i := range row {
				row[i] /= total
			}
		}
	}
	return in
}

// laws returns the distributions of the answers, nil if they have none, and refuses answers that do
// not fit the votes.
func (in *Input) laws() ([]*mixture.Dirichlet, error) {
	var list []*mixture.Dirichlet
	for j := range in.Answers {
		if law := in.Answers[j].Told(); law != nil {
			list = append(list, law)
		}
	}
	switch {
	case list == nil && len(in.Answers) > 0:
		return nil, in.checkMeans()
	case len(list) != len(in.Answers):
		return nil, fmt.Errorf("%d of %d answers have a distribution: expected all or none", len(list), len(in.Answers))
	}
	if err := in.Votes.check(); err != nil {
		return nil, err
	}
	if len(list) != in.Votes.Len() {
		return nil, fmt.Errorf("%d mixtures, but votes on %d items", len(list), in.Votes.Len())
	}
	for j, m := range list {
		if m.Classes() != in.Votes.Classes {
			return nil, fmt.Errorf("item %d: a mixture of %d classes, but votes on %d", j, m.Classes(), in.Votes.Classes)
		}
	}
	return list, nil
}

// checkMeans refuses means that are no probabilities, and what only
// distributions can be judged by.
func (in *Input) checkMeans() error {
	if err := in.Votes.check(); err != nil {
		return err
	}
	d := in.Votes.Classes
	switch {
	case in.Truth != nil:
		return errors.New("coverage of true probabilities needs distributions, but only means are given")
	case len(in.Answers) != in.Votes.Len():
		return fmt.Errorf("%d answers, but votes on %d items", len(in.Answers), in.Votes.Len())
	}
	for j := range in.Answers {
		p := in.Answers[j].Mean
		if len(p) != d {
			return fmt.Errorf("item %d: %d probabilities for %d classes", j, len(p), d)
		}
		for i, x := range p {
			if !(x >= 0 && x <= 1) {
				return fmt.Errorf("item %d: class %d has probability %v", j, i, x)
			}
		}
		if total := sum(p); math.Abs(total-1) > 1e-6 {
			return fmt.Errorf("item %d: probabilities sum to %v", j, total)
		}
	}
	return nil
}
