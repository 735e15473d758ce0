package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"credence/internal/par"
	"credence/nn"
	"credence/run"
	"credence/train"
)

// joinOptions is the command line of credence join.
type joinOptions struct {
	wait      time.Duration
	end       time.Time // of waiting
	threads   int
	overwrite bool
	quiet     bool
	json      bool
}

func newJoin() *cobra.Command {
	o := &joinOptions{}
	cmd := &cobra.Command{
		Use:   "join OUT",
		Short: "Put together members that were trained apart, or shards of a prediction",
		Long:  helpText("join"),
		Example: `  credence train --data items.csv --votes votes.csv --out runs/a --member 0/2
  credence train --data items.csv --votes votes.csv --out runs/a --member 1/2
  credence join runs/a

  credence predict runs/first new.csv -o predictions.csv --shard 0/2
  credence predict runs/first new.csv -o predictions.csv --shard 1/2
  credence join predictions.csv`,
		Args: arguments(1, false, "the folder or file that the parts were written for"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, run.Folder(args[0])) },
	}
	f := cmd.Flags()
	f.IntVar(&o.threads, "threads", 0, "how many `cores` to use (default all); the result is the same")
	f.DurationVar(&o.wait, "wait", 0, "wait so `long` for members or shards that have not ended, such as 2h")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace the run or the predictions if they exist")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but warnings and errors")
	f.BoolVar(&o.json, "json", false, "print events as JSON lines, as credence train does")
	return cmd
}

// members reads the members of a run, and waits for them where that is asked for.
func (o *joinOptions) members(ctx context.Context, out run.Folder) ([]*train.Part, error) {
	var parts []*train.Part
	err := o.waiting(ctx, func() (late bool, err error) {
		parts, err = run.ReadMembers(out)
		return errors.Is(err, run.ErrIncomplete) || errors.Is(err, run.ErrInUse) || errors.Is(err, fs.ErrNotExist), err
	})
	return parts, err
}

// waiting calls f until nothing is late any more or the time is over.
func (o *joinOptions) waiting(ctx context.Context, f func() (late bool, err error)) error {
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

// begun waits until there is something of a run or of a prediction, which shows what is to be joined.
func (o *joinOptions) begun(ctx context.Context, out string) error {
	return o.waiting(ctx, func() (late bool, err error) {
		if hasParts(out) {
			return false, nil
		}
		_, err = os.Stat(out)
		return errors.Is(err, fs.ErrNotExist), nil
	})
}

// run joins what is in a folder.
func (o *joinOptions) run(cmd *cobra.Command, out run.Folder) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	o.end = time.Now().Add(o.wait)
	if err := o.begun(ctx, string(out)); err != nil {
		return orStopped(ctx, err)
	}
	switch {
	case hasParts(string(out)):
		return o.joinParts(ctx, cmd, string(out))
	case isPrediction(string(out)):
		if !o.quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "credence: %s is there, and no parts of it: there is nothing to do\n", out)
		}
		return nil
	}
	parts, err := o.members(ctx, out)
	switch {
	case ctx.Err() != nil:
		return errors.New("stopped before all members had ended: nothing is joined")
	case errors.Is(err, run.ErrInUse):
		return withHint(err, "wait until all members have ended")
	case errors.Is(err, run.ErrParts):
		return withHint(err, "credence train --out "+shellQuote(string(out))+" --member I/M trains member I of M, with the flags of the others")
	case errors.Is(err, fs.ErrNotExist):
		return withHint(err, "give the --out of the members: credence join runs/first")
	case err != nil:
		return err
	}
	if !o.overwrite {
		done, err := run.Joined(out, parts)
		switch {
		case errors.Is(err, run.ErrTaken):
			return withHint(err, "replace it with --overwrite")
		case err != nil:
			return err
		case done:
			if !o.quiet {
				fmt.Fprintf(cmd.ErrOrStderr(), "credence: the members of %s are joined already: there is nothing to do\n", out)
			}
			return nil
		}
	}
	if err := useKernel(cmd, parts[0].Kernel); err != nil {
		return err
	}
	t := newTrainOptions()
	t.out, t.config, t.repeat = out, out.Member(parts[0].Member).Path(run.ConfigFile), true
	t.quiet, t.json, t.overwrite = o.quiet, o.json, o.overwrite
	t.Fit.Engine = nn.CPU{} // until the members' is found
	if err := t.check(); err != nil {
		return err
	}
	o.engine(cmd, t, parts[0].Kernel)
	par.SetThreads(o.threads)
	defer par.SetThreads(0)
	return t.join(ctx, cmd, parts)
}

// engine lets the joined networks run on what they were trained on. Without that GPU the processor
// computes what is left to do, which differs by rounding.
func (o *joinOptions) engine(cmd *cobra.Command, t *trainOptions, recorded string) {
	e, err := device(t.Device).like(recorded)
	switch {
	case err == nil:
		t.Fit.Engine = e
	case !o.quiet:
		fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: the processor joins what it has not trained (%v): the model differs by rounding from one that is joined there\n", err)
	}
}
