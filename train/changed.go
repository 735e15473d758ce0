package train

import (
	"fmt"
	"math"

	"credence/dataset"
	"credence/head"
	"credence/model"
	"credence/nn"
	"credence/predict"
)

// changed records what changed since the model that training started from: which items and votes
// are new, and how well held-out votes were predicted before and are now. It uses items that
// the networks of neither model were trained on.
func (f *fitting) changed(res *Result, runs []*run) error {
	s, refit := f.o.From, f.refits()
	if s == nil {
		return nil
	}
	c := &model.Origin{Model: f.o.FromModel, Data: s.Model.Provenance.Data}
	res.Model.Provenance.From = c
	if s.Data == nil {
		return nil
	}
	c.Known = true
	countChanges(c, s.Data, f.ds)
	if f.before == nil {
		return nil // which items the networks have seen is unknown
	}
	h, err := s.Model.Head()
	if err != nil {
		return err
	}
	before := make(map[int]*head.Decoded)
	raterModels := make(map[int]*head.RaterModel) // by fold, of the networks that predicted it; nil without raters
	for fold, same := range f.byFold(runs) {
		var by []*nn.Network
		var members, held []int
		for _, r := range same {
			if held = r.held; refit {
				by, members = s.Model.Members, []int{0}
			} else {
				by, members = append(by, s.Model.Members[r.member]), append(members, r.member)
			}
		}
		var items []int
		for _, j := range held {
			then, seen := f.before[f.ds.Items[j]]
			if !seen || !refit && then == fold && f.turns == f.folds {
				items = append(items, j)
			}
		}
		if len(by) == 0 || len(items) == 0 {
			continue
		}
		if raterModels[fold], err = raterModelOf(s.Model, by); err != nil {
			return err
		}
		outputs, err := f.outputs(h, by, s.Model.Trees.Member(members...), 0, items)
		if err != nil {
			return err
		}
		decoded, err := head.DecodeOptions{Threads: f.o.Threads}.Decode(h, outputs, len(items))
		if err != nil {
			return err
		}
		for k, j := range items {
			before[j] = &decoded[k]
		}
	}
	return f.compareLosses(c, res, before, raterModels)
}

// compareLosses computes the losses of held-out votes before and after, each with the rater model of
// the respective model.
func (f *fitting) compareLosses(c *model.Origin, res *Result, before map[int]*head.Decoded, raterModels map[int]*head.RaterModel) error {
	var places, items []int
	for at, j := range f.voted {
		if before[j] != nil && res.OutOfFold[j] != nil {
			places, items = append(places, at), append(items, j)
		}
	}
	m := f.o.From.Model
	cast, err := predict.Ratings(m, f.ds.Select(items))
	if err != nil {
		f.warn(NotCompared, err)
		return nil
	}
	c.RatersBefore, c.RatersNow = m.RaterModel != nil, f.ratersKnown
	for k, at := range places {
		j := f.voted[at]
		var by []head.Rating
		if c.RatersBefore {
			by = cast[k]
		}
		was, err := f.loss(j, before[j], raterModels[f.heldBy(at)], by)
		if err != nil {
			return err
		}
		is, err := f.heldLoss(at, res.OutOfFold[j])
		if err != nil {
			return err
		}
		c.Items++
		c.Votes += f.ds.VotesOf(j)
		c.Before += was
		c.After += is
	}
	if c.Votes > 0 {
		c.Before /= c.Votes
		c.After /= c.Votes
	}
	return nil
}

// raterModelOf returns the rater model of some networks of a model, nil if it has none.
func raterModelOf(m *model.Model, by []*nn.Network) (*head.RaterModel, error) {
	if m.RaterModel == nil {
		return nil, nil
	}
	return head.RaterModelOf(head.Task{Classes: len(m.Classes), Ordered: m.Ordered, Raters: len(m.Raters), RaterVotes: m.RaterModel.Votes}, owns(by)...)
}

// loss returns the negative log-likelihood of the votes on item j: marginal for methods without joint
// distributions, otherwise joint, by the raters who cast them if a rater model is given.
func (f *fitting) loss(j int, a *head.Decoded, raterModel *head.RaterModel, cast []head.Rating) (float64, error) {
	votes := make([]float64, len(f.ds.Classes))
	sum := 0.0
	for i, c := range f.ds.CountsOf(j) {
		votes[i] = float64(c)
		if c > 0 && !f.traits.Joint {
			sum -= float64(c) * math.Log(a.Mean[i])
		}
	}
	if !f.traits.Joint {
		return sum, nil
	}
	var l float64
	var err error
	if raterModel != nil {
		l, err = raterModel.LogVotes(a.Dist, cast)
	} else {
		l, err = a.Dist.LogVotes(votes)
	}
	if err != nil {
		return 0, fmt.Errorf("item %q: %w", f.ds.Items[j], err)
	}
	return -l, nil
}

// heldLoss returns the loss of the voted item at an index, given its held-out prediction.
func (f *fitting) heldLoss(at int, a *head.Decoded) (float64, error) {
	j, raterModel := f.voted[at], f.raterModels[f.heldBy(at)]
	if raterModel == nil {
		return f.loss(j, a, nil, nil)
	}
	return f.loss(j, a, raterModel, f.votesOf(j))
}

// countChanges counts the items and votes that were added and removed between two data sets.
func countChanges(c *model.Origin, then, now *dataset.Dataset) {
	at := map[string]int{}
	for j, id := range then.Items {
		at[id] = j
	}
	class := map[string]int{}
	for i, name := range then.Classes {
		class[name] = i
	}
	c.GoneItems = then.Len()
	left := make([]bool, then.Len())
	for j, id := range now.Items {
		k, ok := at[id]
		if !ok {
			c.NewItems++
			c.AddedVotes += now.VotesOf(j)
			continue
		}
		c.GoneItems--
		left[k] = true
		for i, name := range now.Classes {
			was := float32(0)
			if o, ok := class[name]; ok {
				was = then.CountsOf(k)[o]
			}
			diff := float64(now.CountsOf(j)[i] - was)
			c.AddedVotes += max(0, diff)
			c.RemovedVotes += max(0, -diff)
		}
	}
	for k := range then.Items {
		if !left[k] {
			c.RemovedVotes += then.VotesOf(k)
		}
	}
}
