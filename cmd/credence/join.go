package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"credence/internal/rank"
	"credence/internal/words"
	"credence/nn"
	"credence/run"
	"credence/train"
)

// joinOptions is the command line of credence join.
type joinOptions struct {
	wait      time.Duration
	end       time.Time // when waiting ends
	overwrite bool
	quiet     bool
	json      bool
}

func newJoin() *cobra.Command {
	o := &joinOptions{}
	cmd := newVerb("join OUT", "Combine separately trained members, or shards of a prediction",
		"the output of the members or shards", o.run)
	f := cmd.Flags()
	declareThreads(f, 0)
	f.DurationVar(&o.wait, "wait", 0, "maximum `time` to wait for unfinished members or shards, such as 2h")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace an existing run or existing predictions")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only warnings and errors")
	f.BoolVar(&o.json, "json", false, "print events as JSON lines, as credence train does")
	return cmd
}

// poll calls f once a second until nothing is late any more or the time of --wait is over.
func (o *joinOptions) poll(ctx context.Context, f func() (late bool, err error)) error {
	const every = time.Second
	for {
		late, err := f()
		if !late || time.Now().Add(every).After(o.end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

// run joins the members of a run or the shards of a prediction.
func (o *joinOptions) run(cmd *cobra.Command, args []string) error {
	out := run.Folder(args[0])
	ctx, stop := interruptible(cmd)
	defer stop()
	o.end = time.Now().Add(o.wait)
	// Wait until there is a folder of a run or of a prediction, which determines what is joined.
	err := o.poll(ctx, func() (late bool, err error) {
		_, err = os.Stat(string(out))
		return errors.Is(err, fs.ErrNotExist) && !hasShards(string(out)), nil
	})
	switch {
	case err != nil:
		return orStopped(ctx, err)
	case hasShards(string(out)):
		return o.joinShards(ctx, cmd, string(out))
	case isPrediction(string(out)):
		o.note(cmd, "%s exists and has no shards to join: nothing to do", out)
		return nil
	}
	var members []*train.MemberResult
	err = o.poll(ctx, func() (late bool, err error) {
		members, err = run.ReadMembers(out)
		return errors.Is(err, run.ErrIncomplete) || errors.Is(err, run.ErrInUse) || errors.Is(err, fs.ErrNotExist), err
	})
	if ctx.Err() != nil {
		return errors.New("stopped before all members had finished: nothing was joined")
	}
	if err != nil {
		return withHintOn(err,
			hint{run.ErrInUse, "wait until all members have ended"},
			hint{run.ErrJoin, "credence train --out " + words.Quote(string(out)) + " --member I/M trains member I of M, with the flags of the others"},
			hint{fs.ErrNotExist, "give the --out of the members: credence join runs/first"})
	}
	if !o.overwrite {
		done, err := run.Joined(out, members)
		if err != nil {
			return withHintOn(err, hint{run.ErrExists, "replace it with --overwrite"})
		}
		if done {
			o.note(cmd, "the members of %s are already joined: nothing to do", out)
			return nil
		}
	}
	if err := useKernel(cmd, members[0].Kernel); err != nil {
		return err
	}
	t := newTrainOptions()
	t.out, t.config, t.repeat = out, out.Member(members[0].Member).Path(run.ConfigFile), true
	t.quiet, t.json, t.overwrite = o.quiet, o.json, o.overwrite
	t.Fit.Engine = nn.CPU{} // until the engine of the members is found
	if err := t.check(); err != nil {
		return err
	}
	// Without the GPU that the members were trained on, the CPU does the remaining work, and results differ by rounding.
	if e, err := device(t.Device).matching(members[0].Kernel); err == nil {
		t.Fit.Engine = e
	} else {
		o.note(cmd, "warning: the CPU joins these members (%v): the model differs by rounding from one joined on the same device", err)
	}
	return t.join(ctx, cmd, members)
}

// note prints a line to standard error.
func (o *joinOptions) note(cmd *cobra.Command, format string, args ...any) {
	if !o.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "credence: "+format+"\n", args...)
	}
}

// parseMember parses --member, the index of one of the networks of --ensemble.
func (o *trainOptions) parseMember() error {
	if o.memberText == "" {
		return nil
	}
	r, err := rank.Parse(o.memberText, os.Getenv)
	if err != nil {
		return usagef("--member: %w", err)
	}
	if o.Fit.Ensemble != 0 && o.Fit.Ensemble != r.Count {
		return withHint(usagef("--member %v is one of %d, but --ensemble is %d", r, r.Count, o.Fit.Ensemble),
			"each member is one network: the numbers must match")
	}
	o.Fit.Ensemble, o.member = r.Count, &r
	return nil
}

// runMember trains one member of the ensemble.
func (o *trainOptions) runMember(cmd *cobra.Command) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	return o.train(ctx, cmd, func(d *run.Partition, show *trainDisplay) error {
		done, err := run.TrainMember(ctx, o.out, o.member.Index, d, o.options(show))
		show.erase()
		if err != nil {
			return o.adviseMember(err)
		}
		show.member(done)
		return nil
	})
}

// member prints the folder of a member and the next step.
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
		d.note("%s is already trained: nothing to do", folder)
		return
	}
	d.note("\nwritten to %s; once all %d are there:\n  credence join %s", folder, o.member.Count, words.Quote(string(o.out)))
}

// adviseMember adds a hint to the error of a member.
func (o *trainOptions) adviseMember(err error) error {
	back := backTo(o.out.Member(o.member.Index))
	return withHintOn(err,
		hint{train.ErrStopped, "the same command continues"},
		hint{run.ErrInUse, "two processes have the same rank: wait until the other has ended, or give each its own --member"},
		hint{train.ErrResume, back},
		hint{train.ErrOtherRun, back},
		hint{run.ErrJoin, back},
		forceOneVote)
}

// join makes a run of the members in --out.
func (o *trainOptions) join(ctx context.Context, cmd *cobra.Command, members []*train.MemberResult) error {
	err := o.train(ctx, cmd, func(d *run.Partition, show *trainDisplay) error {
		options := o.options(show)
		options.Mode, options.Fit.Members = run.Join, members
		if o.overwrite {
			options.Mode = run.Overwrite
		}
		return show.result(run.Train(ctx, o.out, d, options))
	})
	return withHintOn(err,
		hint{train.ErrOtherRun, "run credence join in the folder where the members were trained, with the same data and the same version of credence"},
		hint{train.ErrStopped, "continue with: credence join " + words.Quote(string(o.out))},
		hint{run.ErrInUse, "wait until it has ended"})
}
