package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"credence/internal/rank"
	"credence/run"
	"credence/train"
)

// settleMember reads --member, which is one of the networks of --ensemble.
func (o *trainOptions) settleMember() error {
	if o.memberText == "" {
		return nil
	}
	r, err := rank.Parse(o.memberText, os.Getenv)
	if err != nil {
		return usagef("--member: %w", err)
	}
	if o.Fit.Ensemble != 0 && o.Fit.Ensemble != r.Count {
		return withHint(usagef("--member %v is one of %d, but --ensemble is %d", r, r.Count, o.Fit.Ensemble),
			"every member is one network: the numbers are the same")
	}
	o.Fit.Ensemble, o.member = r.Count, &r
	return nil
}

// runMember trains one member of the ensemble.
func (o *trainOptions) runMember(cmd *cobra.Command) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	return o.train(ctx, cmd, func(d *run.Division, show *trainDisplay) error {
		done, err := run.TrainMember(ctx, o.out, *o.member, d, o.options(show))
		show.erase()
		if err != nil {
			return o.adviseMember(err)
		}
		show.member(done)
		return nil
	})
}

// member tells where a member is and what comes next.
func (d *trainDisplay) member(done bool) {
	o := d.options
	folder := o.out.Member(o.member.Index)
	if o.json {
		d.event(struct {
			Event   string `json:"event"`
			Member  int    `json:"member"`
			Members int    `json:"members"`
			Folder  string `json:"folder"`
			Before  bool   `json:"trained_before"`
		}{"member", o.member.Index, o.member.Count, string(folder), done})
		return
	}
	if done {
		d.note("%s has ended before: there is nothing to do", folder)
		return
	}
	d.note("\nwritten to %s; once all %d are there:\n  credence join %s", folder, o.member.Count, shellQuote(string(o.out)))
}

// adviseMember adds to the error of a member what can be done about it.
func (o *trainOptions) adviseMember(err error) error {
	back := backTo(o.out.Member(o.member.Index))
	return withHintOn(err,
		hint{train.ErrStopped, "the same command continues"},
		hint{run.ErrInUse, "two processes have the same rank: wait until the other has ended, or give each its own --member"},
		hint{train.ErrResume, back},
		hint{train.ErrPart, back},
		hint{run.ErrParts, back},
		forceOneVote)
}

// join makes the run of the members in --out.
func (o *trainOptions) join(ctx context.Context, cmd *cobra.Command, parts []*train.Part) error {
	err := o.train(ctx, cmd, func(d *run.Division, show *trainDisplay) error {
		options := o.options(show)
		options.Mode, options.Fit.Parts = run.Join, parts
		if o.overwrite {
			options.Mode = run.Overwrite
		}
		return show.result(run.Train(ctx, o.out, d, options))
	})
	return withHintOn(err,
		hint{train.ErrPart, "call credence join in the folder in which the members were trained, with the data that they had and the same credence"},
		hint{train.ErrStopped, "continue with: credence join " + shellQuote(string(o.out))},
		hint{run.ErrInUse, "wait until it has ended"})
}
