package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"credence/baseline"
	"credence/evaluate"
	"credence/head"
	"credence/internal/kernel"
	"credence/mixture"
	"credence/model"
	"credence/nn"
)

// result makes the model of the final runs, with out-of-fold predictions by all
// runs. After a cancellation it does so with what there is.
func (f *fitting) result(ctx context.Context, runs, final []*run) (*Result, error) {
	stopped := ctx.Err() != nil
	usable := func(r *run) bool { return r.state.Done || r.state.Epoch > 0 }
	final = slices.DeleteFunc(slices.Clone(final), func(r *run) bool { return !usable(r) })
	runs = slices.DeleteFunc(slices.Clone(runs), func(r *run) bool { return !usable(r) })
	if len(final) == 0 {
		return nil, fmt.Errorf("%w: no network has finished an epoch", ErrStopped)
	}
	m := &model.Model{
		Classes:   slices.Clone(f.ds.Classes),
		Head:      f.head(),
		Transform: f.transform,
	}
	for _, r := range final {
		m.Members = append(m.Members, r.network)
	}
	res := &Result{Model: m, Options: f.o, OutOfFold: make([]*mixture.Dirichlet, f.ds.Len())}
	predict := f.outOfFold
	if f.o.Method != "" {
		predict = f.estimates
	}
	if err := predict(res, runs); err != nil {
		return nil, err
	}
	p := &m.Provenance
	p.Data, p.Config, p.Kernel = f.mark.Data, f.mark.Config, kernel.Name()
	p.Seed, p.Version = f.o.Seed, f.o.Version
	if votes := f.ds.Votes; votes.Items > 0 { // else they were not read from a file
		votes.File = "" // a model holds no paths
		p.Votes = votes.String()
	}
	p.Split = f.split()
	for _, r := range runs {
		p.Runs = append(p.Runs, r.record())
	}
	if final[0] != runs[0] {
		p.Runs = append(p.Runs, final[0].record())
	}
	if f.o.Method != "" {
		f.scoreEstimates(res)
	} else if err := f.score(res); err != nil {
		return nil, err
	}
	p.Warnings = append(f.warnings, f.advice(res, runs)...)
	if stopped {
		p.Warnings = append(p.Warnings, "training was stopped before its end")
		return res, fmt.Errorf("%w: the model is that of %d networks, %s", ErrStopped, len(final), f.progress(final))
	}
	return res, nil
}

// head is how the model's outputs are read.
func (f *fitting) head() model.Head {
	if f.o.Method == "" {
		return model.Head{Kind: "mixture", Components: f.o.Components, Limit: f.o.Limit}
	}
	settings := f.o.Rival
	settings.Classes = 0 // the model has the classes
	return model.Head{Kind: string(f.o.Method), Rival: settings}
}

// progress says how far networks came.
func (f *fitting) progress(runs []*run) string {
	least, most := math.MaxInt, 0
	for _, r := range runs {
		least, most = min(least, r.state.Epoch), max(most, r.state.Epoch)
	}
	switch {
	case least == most && least == 1:
		return "after 1 epoch"
	case least == most:
		return fmt.Sprintf("after %d epochs", least)
	}
	return fmt.Sprintf("after %d to %d epochs", least, most)
}

// record is the run's part of the provenance.
func (r *run) record() model.Run {
	reason := r.state.Reason
	if !r.state.Done {
		reason = "smallest held-out loss when training was stopped"
	}
	return model.Run{Name: r.name, Items: len(r.train), Held: len(r.held), Epoch: r.state.Best, Reason: reason, History: r.state.History}
}

func (f *fitting) split() model.Split {
	s := model.Split{Items: f.ds.Len(), Unvoted: f.ds.Len() - len(f.voted), Folds: f.folds}
	for at, j := range f.voted {
		s.Votes += f.ds.VotesOf(j)
		if f.folds == 0 && f.fold[at] == 0 {
			s.HeldOut++
		}
	}
	return s
}

// outOfFold predicts each held-out item by the networks that held it out.
func (f *fitting) outOfFold(res *Result, runs []*run) error {
	return f.eachFold(runs, func(by []*run) error {
		return f.predict(by, by[0].held, res.Model.Head, func(j int, p *mixture.Dirichlet) { res.OutOfFold[j] = p })
	})
}

// eachFold calls do with the runs that held out the same items, for each fold.
func (f *fitting) eachFold(runs []*run, do func(by []*run) error) error {
	for fold := range max(f.folds, 1) {
		var by []*run
		for _, r := range runs {
			if r.fold == fold && len(r.held) > 0 {
				by = append(by, r)
			}
		}
		if len(by) == 0 {
			continue
		}
		if err := do(by); err != nil {
			return err
		}
	}
	return nil
}

// eachBatch calls do with the inputs of items, a batch at a time.
func (f *fitting) eachBatch(items []int, do func(x []float32, some []int) error) error {
	buffers := f.in.buffers(f.o.Batch, false)
	return f.in.each(buffers, f.o.Batch, items, func(x []float32, _ head.Counts, some []int) error { return do(x, some) })
}

// predict calls set with what the mixture of the given networks says of items.
func (f *fitting) predict(by []*run, items []int, h model.Head, set func(j int, p *mixture.Dirichlet)) error {
	return f.eachBatch(items, func(x []float32, some []int) error {
		outputs := make([][]float32, len(by))
		for i, r := range by {
			outputs[i] = slices.Clone(r.network.Net.Forward(x, false, nn.Step{}))
		}
		got, err := model.Mixtures(outputs, len(some), h, len(f.ds.Classes))
		if err != nil {
			return err
		}
		for i, p := range got {
			set(some[i], p)
		}
		return nil
	})
}

// score computes the held-out scores and the limits of resolution.
func (f *fitting) score(res *Result) error {
	d := len(f.ds.Classes)
	var means []float64
	var counts, held []float32
	var rest []int
	s := &res.Model.Provenance.Scores
	votes := make([]float64, d)
	for _, j := range f.voted {
		p := res.OutOfFold[j]
		if p == nil {
			rest = append(rest, j)
			continue
		}
		means = p.Mean(means)
		mean := means[len(means)-d:]
		counts = append(counts, f.ds.CountsOf(j)...)
		held = append(held, f.ds.CountsOf(j)...)
		for i, c := range f.ds.CountsOf(j) {
			votes[i] = float64(c)
			if c > 0 {
				s.MarginalPerVote -= float64(c) * math.Log(mean[i])
			}
			s.Votes += float64(c)
		}
		l, err := p.LogVotes(votes)
		if err != nil {
			return fmt.Errorf("item %q: %w", f.ds.Items[j], err)
		}
		s.NLLPerVote -= l
		s.Items++
		s.Accuracy += credit(mean, votes)
	}
	if s.Items > 0 {
		s.NLLPerVote /= s.Votes
		s.MarginalPerVote /= s.Votes
		s.Accuracy /= float64(s.Items)
		_, s.ConstantPerVote = constantDirichlet(held, d)
	}
	var final []*run
	for _, m := range res.Model.Members {
		final = append(final, &run{network: m})
	}
	if err := f.predict(final, rest, res.Model.Head, func(j int, p *mixture.Dirichlet) {
		means = p.Mean(means)
		counts = append(counts, f.ds.CountsOf(j)...)
	}); err != nil {
		return err
	}
	seen := evaluate.Votes{Classes: d, Counts: make([]float64, len(counts))}
	for k, c := range counts {
		seen.Counts[k] = float64(c)
	}
	var err error
	if res.Model.Resolution, err = evaluate.NewResolution(means, seen); err != nil {
		return err
	}
	f.warnings = append(f.warnings, res.Model.Resolution.Warnings(f.ds.Classes)...)
	return nil
}

// credit is 1 if the class of largest mean is the most voted one, 1/t if it is
// one of t, else 0.
func credit(mean, votes []float64) float64 {
	top, most, ties := 0, 0.0, 0
	for i := range mean {
		if mean[i] > mean[top] {
			top = i
		}
		switch {
		case votes[i] > most:
			most, ties = votes[i], 1
		case votes[i] == most:
			ties++
		}
	}
	if votes[top] < most {
		return 0
	}
	return 1 / float64(ties)
}

// advice are the warnings that the outcome gives rise to.
func (f *fitting) advice(res *Result, runs []*run) []string {
	var list []string
	clamped, halved, late := 0.0, 0, 0
	for _, r := range runs {
		if n := len(r.state.History); n > 0 {
			clamped = max(clamped, r.state.History[n-1].Clamped)
		}
		halved += r.state.Halvings
		if len(r.held) > 0 && r.state.Done && f.o.Patience > 0 && r.state.Epoch >= r.epochs && r.state.Epoch-r.state.Best < f.o.Patience/2 {
			late++
		}
	}
	if clamped > 0.01 {
		list = append(list, fmt.Sprintf("%.0f%% of the parameters log α reached the limit ±%g: the votes may be unanimous where the features differ", 100*clamped, f.o.Limit))
	}
	if halved > 0 {
		list = append(list, fmt.Sprintf("training diverged %d times and went on with a smaller learning rate", halved))
	}
	// A network whose rate falls to nothing is at its best in the end.
	if late > 0 && !(f.o.Network == "cnn2d" && f.o.Schedule == "cosine") {
		list = append(list, fmt.Sprintf("%d of %d networks were still improving after %d epochs: more epochs may help", late, len(runs), f.o.Epochs))
	}
	switch s := res.Model.Provenance.Scores; {
	case s.Items == 0:
	case f.o.Method == "" && s.NLLPerVote >= s.ConstantPerVote:
		list = append(list, "the features do not help: on held-out items one distribution for all is as good")
	case f.o.Method != "" && f.o.Method != baseline.QD && s.MarginalPerVote >= s.ConstantPerVote:
		list = append(list, "the features do not help: on held-out items one probability for all is as good")
	}
	return list
}
