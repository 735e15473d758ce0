package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"credence/evaluate"
	"credence/head"
	"credence/internal/par"
	"credence/internal/words"
	"credence/model"
)

// result returns the model of the final runs, with out-of-fold predictions by all
// runs. After a cancellation it uses the runs that have finished an epoch.
func (f *fitting) result(ctx context.Context, runs, final []*run) (*Result, error) {
	stopped := ctx.Err() != nil
	unusable := func(r *run) bool { return !r.state.Done && r.state.Epoch == 0 }
	final, runs = slices.DeleteFunc(slices.Clone(final), unusable), slices.DeleteFunc(slices.Clone(runs), unusable)
	if len(final) == 0 {
		return nil, fmt.Errorf("%w: no network has finished an epoch", ErrStopped)
	}
	m := &model.Model{Classes: slices.Clone(f.ds.Classes), Ordered: f.ds.Ordered, Method: f.method, Transform: f.transform, Members: networksOf(final)}
	res := &Result{Model: m, Options: f.o, OutOfFold: make([]*head.Decoded, f.ds.Len())}
	if err := f.blend(m, runs, final); err != nil {
		return nil, err
	}
	if err := f.outOfFold(res, runs); err != nil {
		return nil, err
	}
	if f.ratersKnown {
		if err := f.fitRaterModel(res, runs, final); err != nil {
			return nil, err
		}
	}
	if err := f.changed(res, runs); err != nil {
		return nil, err
	}
	p := &m.Provenance
	p.Data, p.Config, p.Kernel = f.mark.Data, f.mark.Config, f.mark.Kernel
	p.Seed, p.Version = f.o.Seed, f.o.Version
	if votes := f.ds.Votes; votes.Items > 0 { // otherwise they were not read from a file
		votes.File = "" // models contain no paths
		p.Votes = votes.String()
	}
	p.Split = f.split()
	for _, r := range runs {
		p.Runs = append(p.Runs, r.record())
	}
	if final[0] != runs[0] {
		p.Runs = append(p.Runs, final[0].record())
	}
	if err := f.calibrate(ctx, res, runs, final); err != nil {
		return nil, err
	}
	if !stopped && ctx.Err() != nil {
		return nil, fmt.Errorf("%w: all networks are trained, but not calibrated", ErrStopped)
	}
	if f.ratersKnown {
		average := m.RaterModel.Average() // for whom probabilities are reported
		par.Limit(f.o.Threads).For(len(res.OutOfFold), func(j int) {
			if a := res.OutOfFold[j]; a != nil {
				a.ForAverageRater(average)
			}
		})
		p.Raters = &model.Raters{Known: true, Reason: message(RatersAsked), Left: f.raterSet.left}
	}
	if err := f.score(res); err != nil {
		return nil, err
	}
	f.advise(res, runs)
	if f.ratersKnown && f.raterSet.left != nil {
		f.warn(RatersLeft, f.raterSet.left)
	}
	if stopped {
		f.warn(StoppedEarly)
	}
	p.Warnings = f.warnings
	if stopped {
		return res, fmt.Errorf("%w: the model has %d networks, %s", ErrStopped, len(final), f.progress(final))
	}
	return res, nil
}

// progress describes the number of epochs that networks have finished.
func (f *fitting) progress(runs []*run) string {
	least, most := math.MaxInt, 0
	for _, r := range runs {
		least, most = min(least, r.state.Epoch), max(most, r.state.Epoch)
	}
	if least == most {
		return "after " + words.Plural(least, "epoch")
	}
	return fmt.Sprintf("after %d to %d epochs", least, most)
}

// record returns the record of the run for the provenance.
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

// outOfFold sets the predictions for held-out items, from the joint outputs of the networks that held them out.
func (f *fitting) outOfFold(res *Result, runs []*run) error {
	for _, same := range f.byFold(runs) {
		var heldOutputs []head.Output
		var held []int
		for _, r := range same {
			heldOutputs, held = append(heldOutputs, f.blended(r, r.heldOutputs, false)...), r.held
		}
		if len(heldOutputs) == 0 {
			continue
		}
		decoded, err := head.DecodeOptions{Threads: f.o.Threads}.Decode(f.reader, heldOutputs, len(held))
		if err != nil {
			return err
		}
		for k, j := range held {
			res.OutOfFold[j] = &decoded[k]
		}
	}
	return nil
}

// score computes the held-out scores.
func (f *fitting) score(res *Result) error {
	d := len(f.ds.Classes)
	held := head.Counts{Classes: d}
	s := &res.Model.Provenance.Scores
	votes := make([]float64, d)
	for at, j := range f.voted {
		a := res.OutOfFold[j]
		if a == nil {
			continue
		}
		held.Values = append(held.Values, f.ds.CountsOf(j)...)
		for i, c := range f.ds.CountsOf(j) {
			votes[i] = float64(c)
			if c > 0 {
				s.MarginalPerVote -= float64(c) * math.Log(a.Mean[i])
			}
			s.Votes += float64(c)
		}
		if f.traits.Joint {
			l, err := f.heldLoss(at, a)
			if err != nil {
				return err
			}
			s.NLLPerVote += l
		}
		s.Items++
		s.Accuracy += evaluate.MajorityCredit(a.Top(), votes)
	}
	if s.Items > 0 {
		s.NLLPerVote /= s.Votes
		s.MarginalPerVote /= s.Votes
		s.Accuracy /= float64(s.Items)
		s.ConstantPerVote = f.constant(held)
	}
	return nil
}

// constant returns the loss per vote of one prediction for all items: a distribution, or probabilities
// for methods without distributions.
func (f *fitting) constant(held head.Counts) float64 {
	if f.traits.Joint {
		_, nll := head.ConstantDirichlet(held)
		return nll
	}
	shares := make([]float64, held.Classes)
	for k, s := range held.Values {
		shares[k%held.Classes] += float64(s)
	}
	nll, votes := 0.0, held.Votes()
	for _, s := range shares {
		if p := s / votes; p > 0 {
			nll -= p * math.Log(p)
		}
	}
	return nll
}

// advise adds the warnings about the result.
func (f *fitting) advise(res *Result, runs []*run) {
	clamped, halved, late := 0.0, 0, 0
	for _, r := range runs {
		if n := len(r.state.History); n > 0 {
			clamped = max(clamped, r.state.History[n-1].Clamped)
		}
		halved += r.state.Halvings
		if len(r.held) > 0 && r.state.Done && f.o.Patience > 0 && r.state.Epoch >= r.epochs && r.state.Best > 0 && r.state.Epoch-r.state.Best < f.o.Patience/2 {
			late++
		}
	}
	if small := smallVolume(f.transform.Inputs()); small != nil && f.o.Network == "mlp" {
		f.warn(SmallVolumes, words.Shape(small), leastVolume, words.Thousands(res.Model.Size()))
	}
	if clamped > 0.01 {
		f.warn(Clamped, 100*clamped, head.SettingValue(f.method, "limit"))
	}
	if halved > 0 {
		f.warn(Diverged, halved)
	}
	// A network whose learning rate decays to zero is expected to be best at the end.
	if late > 0 && !(f.o.Network == "cnn2d" && f.o.Schedule == "cosine") {
		f.warn(StillImproving, late, words.Plural(len(runs), "network"), words.Plural(f.o.Epochs, "epoch"))
	}
	switch s := res.Model.Provenance.Scores; {
	case s.Items == 0:
	case f.traits.Joint && s.NLLPerVote >= s.ConstantPerVote:
		f.warn(NoHelp, "distribution")
	case !f.traits.Joint && !f.traits.Coarse && s.MarginalPerVote >= s.ConstantPerVote:
		f.warn(NoHelp, "probability")
	}
}

// references fits the reference models that the model contains, and scores them on the
// items that the model was scored on.
func (f *fitting) references(ctx context.Context, res *Result) (err error) {
	f.report(Event{Note: "fitting the references"})
	if res.Model.Provenance.References, err = evaluate.FitReferences(ctx, f.ds, f.transform, f.o.Seed); err == nil {
		scored := make([]bool, f.ds.Len())
		for j := range scored {
			scored[j] = res.OutOfFold[j] != nil
		}
		res.References, err = evaluate.ScoreReferences(ctx, f.ds, f.transform, scored, f.folds > 0, f.o.Seed)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: all networks are trained, but the reference models are not fitted", ErrStopped)
	}
	return err
}
