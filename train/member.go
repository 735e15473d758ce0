package train

import (
	"context"
	"fmt"

	"credence/dataset"
	"credence/head"
)

// FitMember trains the networks of one member of the ensemble that [Fit] would train, from 0, for a
// fit with Options.Parts that makes the ensemble of all of them: the same as if one process had
// trained them. If Options.Parts has the member already, it is checked and returned. The options are
// those of the fit, complete.
//
// Whether raters matter is decided with all members at hand. Where the votes that this one holds out
// suggest it, its network with raters is trained as well; otherwise that is left to whoever joins.
//
// When ctx is canceled, the error is ErrStopped, and checkpoints are left to resume from.
func FitMember(ctx context.Context, ds *dataset.Dataset, o Options, member int) (*Part, Options, error) {
	f, err := begin(ctx, ds, o)
	if err != nil {
		return nil, o, err
	}
	if member < 0 || member >= f.o.Ensemble {
		return nil, o, fmt.Errorf("training options: member %d of %d", member, f.o.Ensemble)
	}
	for _, p := range f.o.Parts {
		if p.Member == member {
			return p, f.o, nil
		}
	}
	if err := f.openCheckpoints(); err != nil {
		return nil, o, err
	}
	part, err := f.member(ctx, member)
	return part, f.o, err
}

// member trains one member, without raters and perhaps with them.
func (f *fitting) member(ctx context.Context, member int) (*Part, error) {
	runs, err := f.alone(ctx, member)
	if err != nil {
		return nil, err
	}
	if f.o.Raters == "auto" && f.tryRaters {
		likely, err := f.suggestRaters(ctx, runs)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: raters were still being compared", ErrStopped)
		}
		if err != nil {
			return nil, err
		}
		if likely {
			g, err := f.withRaters()
			if err != nil {
				return nil, err
			}
			rated, err := g.alone(ctx, member)
			if err != nil {
				return nil, err
			}
			runs = append(runs, rated...)
		}
	}
	return f.newPart(member, runs), nil
}

// alone trains the runs of one member. A single network is chosen by folds, which belong to it.
func (f *fitting) alone(ctx context.Context, member int) ([]*run, error) {
	runs := f.plan()
	if !f.refits() {
		runs = runs[member : member+1]
	}
	final, err := f.networks(ctx, runs)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %s", ErrStopped, f.progress(runs))
	}
	if f.refits() {
		runs = append(runs, final...)
	}
	return runs, nil
}

// suggestRaters reports whether the votes that some networks hold out speak for raters at all: one
// half of them as judged by the other. It only saves time: [fitting.decide] has the last word.
func (f *fitting) suggestRaters(ctx context.Context, runs []*run) (bool, error) {
	res := &Result{OutOfFold: make([]*head.Answer, f.ds.Len())}
	if err := f.outOfFold(res, runs); err != nil {
		return false, err
	}
	before, err := f.losses(res)
	if err != nil {
		return false, err
	}
	half, turn := make([]int, len(f.voted)), 0
	for at, j := range f.voted {
		if res.OutOfFold[j] != nil {
			half[at] = turn % 2
			turn++
		}
	}
	if turn < 4 {
		return false, nil
	}
	gain, _, err := f.screen(ctx, res, before, 2, func(at int) int { return half[at] })
	return gain > 0, err
}
