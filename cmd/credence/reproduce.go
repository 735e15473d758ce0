package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/mnist"
	"credence/internal/printout"
	"credence/internal/study"
	"credence/nn"
	"credence/train"
)

// studyFlags are those of every study.
type studyFlags struct {
	out       string
	quick     bool
	seed      uint64
	overwrite bool
	quiet     bool
}

// newStudy returns the verb of a study.
func newStudy(name, short string, work func(cmd *cobra.Command, o *studyFlags) error) *cobra.Command {
	o := &studyFlags{}
	cmd := newVerb(name, short, "", func(cmd *cobra.Command, _ []string) error { return work(cmd, o) })
	f := cmd.Flags()
	f.StringVar(&o.out, "out", name, "`folder` for figures, numbers and the page")
	f.BoolVar(&o.quick, "quick", false, "a small version of the study, to see what it does")
	f.Uint64Var(&o.seed, "seed", 1, "the first of the `seeds` of data and training")
	declareThreads(f, 0, "how many `cores` to use (default all); the numbers are the same")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace an earlier study in the folder")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but warnings and errors")
	return cmd
}

// run opens the folder of a study and works on it until it is done or stopped.
func (o *studyFlags) run(cmd *cobra.Command, settings any, work func(context.Context, *study.Folder) error) error {
	folder, err := study.OpenFolder(o.out, cmd.Name(), settings, o.overwrite)
	if err != nil {
		taken := "choose another --out, or replace it with --overwrite"
		return withHintOn(err, hint{study.ErrOtherStudy, taken}, hint{study.ErrTaken, taken})
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	start, show := time.Now(), newStatusLine(cmd.ErrOrStderr())
	if !o.quiet {
		folder.Progress = func(done, total int, what string) {
			line := fmt.Sprintf("%s  %d of %d  %s", time.Since(start).Round(time.Second), done, total, what)
			if show.live {
				line = printout.Ellipsis(line, 78)
			}
			show.show("", line)
		}
	}
	err = work(ctx, folder)
	show.erase()
	if err != nil && ctx.Err() != nil {
		return withHint(errors.New("stopped; the pieces that are done are kept"), "continue with: "+sameCommand(cmd))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n", folder.Path("README.md"))
	return nil
}

// sameCommand is the command that was given, which continues a study.
func sameCommand(cmd *cobra.Command) string {
	line := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "overwrite": // would begin anew
		case f.Value.Type() == "bool":
			line = append(line, "--"+f.Name)
		default:
			line = append(line, "--"+f.Name, shellQuote(f.Value.String()))
		}
	})
	return strings.Join(line, " ")
}

func newReproduceCoverage() *cobra.Command {
	var images string
	work := func(cmd *cobra.Command, o *studyFlags) error {
		c := study.NewCoverage(o.quick, o.seed)
		return o.run(cmd, c, func(ctx context.Context, f *study.Folder) error {
			dir, err := findMNIST(ctx, cmd, images, o.quiet)
			if err != nil {
				return err
			}
			return c.Run(ctx, f, dir)
		})
	}
	cmd := newStudy("coverage", "How often intervals hold the true probability, on MNIST", work)
	cmd.Flags().StringVar(&images, "mnist", "", "`folder` with the four IDX files of MNIST, plain or compressed with gzip")
	return cmd
}

// findMNIST returns a folder with MNIST, fetched if need be and no folder is
// given.
func findMNIST(ctx context.Context, cmd *cobra.Command, folder string, quiet bool) (string, error) {
	src := mnist.Source{Folder: folder}
	if !quiet {
		src.Note = func(s string) { fmt.Fprintf(cmd.ErrOrStderr(), "credence: %s\n", s) }
	}
	dir, err := src.Find(ctx)
	return dir, withHintOn(err,
		hint{mnist.ErrNowhere,
			"fetch the four files train-images-idx3-ubyte.gz … by hand and name their folder with --mnist"})
}

func newReproduceComparison() *cobra.Command {
	remedies := false
	work := func(cmd *cobra.Command, o *studyFlags) error {
		c := study.NewComparison(o.quick, o.seed)
		c.Remedies, c.Command = remedies, sameCommand(cmd)
		return o.run(cmd, c, c.Run)
	}
	cmd := newStudy("comparison", "Who finds the spread of the probability? The 2-D simulation, with rivals", work)
	cmd.Flags().BoolVar(&remedies, "remedies", false, "also compare numbers of items and configurations of the mixture")
	return cmd
}

func newReproduceRaters() *cobra.Command {
	work := func(cmd *cobra.Command, o *studyFlags) error {
		s := study.NewRaters(o.quick, o.seed)
		s.Command = sameCommand(cmd)
		return o.run(cmd, s, s.Run)
	}
	return newStudy("raters", "What is gained by modelling raters who lean or guess? A simulation", work)
}

func newReproduceVotes() *cobra.Command {
	data := ""
	work := func(cmd *cobra.Command, o *studyFlags) error {
		if data == "" {
			return usagef("--data is missing: a folder with cifar10h or recidivism in it is expected")
		}
		v, err := study.NewVotes(data, o.quick, o.seed)
		if err != nil {
			return err
		}
		v.Command = sameCommand(cmd)
		return o.run(cmd, v, v.Run)
	}
	cmd := newStudy("votes", "Do intervals hold what people's held-back votes show?", work)
	cmd.Flags().StringVar(&data, "data", "", "`folder` with the sets cifar10h and recidivism, or one of them")
	return cmd
}

func newReproduceADNI() *cobra.Command {
	var a study.ADNI // what the flags give
	var size string
	var on device
	work := func(cmd *cobra.Command, o *studyFlags) error {
		s := study.NewADNI(o.quick, o.seed)
		s.Clinical, s.Rules, s.Scratch, s.Keep = a.Clinical, a.Rules, a.Scratch, a.Keep
		s.Item, s.Subject, s.Path, s.Augment = a.Item, a.Subject, a.Path, a.Augment
		s.Epochs, s.Ensemble, s.Rate = cmp.Or(a.Epochs, s.Epochs), cmp.Or(a.Ensemble, s.Ensemble), cmp.Or(a.Rate, s.Rate)
		switch {
		case cmd.Flags().Changed("seeds"):
			s.Seeds = a.Seeds
		case s.Clinical != "":
			s.Seeds = 1
		}
		if _, err := train.ParseAugment(a.Augment); err != nil {
			return usagef("--augment %q: %w", a.Augment, err)
		}
		if size != "" {
			if n, err := fmt.Sscanf(size, "%dx%dx%d", &s.Size[0], &s.Size[1], &s.Size[2]); n != 3 || err != nil {
				return usagef("--size %q: expected three numbers such as 96x96x80", size)
			}
		}
		if s.Seeds < 1 || s.Epochs < 1 || s.Ensemble < 1 || !(s.Rate > 0) {
			return usagef("--seeds %d, --epochs %d, --ensemble %d, --rate %v: expected positive numbers", s.Seeds, s.Epochs, s.Ensemble, s.Rate)
		}
		engine, err := on.engine()
		if err != nil {
			return err
		}
		if _, cpu := engine.(nn.CPU); !cpu {
			s.Engine, s.Device = engine, engine.Name()
		}
		return o.run(cmd, s, func(ctx context.Context, f *study.Folder) error { return s.Run(ctx, f, sameCommand(cmd)) })
	}
	cmd := newStudy("adni", "MRI scans with three imperfect labels a patient", work)
	f := cmd.Flags()
	on.declare(f)
	f.StringVar(&a.Clinical, "clinical", "", "`table` of a cohort of your own, .csv (default: a synthetic cohort)")
	f.StringVar(&a.Rules, "rules", "", "`file` of rules that make votes of scores, .yaml")
	f.StringVar(&a.Item, "item", "scan", "`column` of the scan's name")
	f.StringVar(&a.Subject, "subject", "subject", "`column` of the subject, who is never on both sides of a split")
	f.StringVar(&a.Path, "path", "path", "`column` of the path of the volume")
	f.StringVar(&size, "size", "", "`voxels` that volumes are resampled to (default 96x96x80)")
	f.IntVar(&a.Seeds, "seeds", 3, "how many `times` everything is drawn and trained anew")
	f.IntVar(&a.Epochs, "epochs", 0, "`epochs` at most (default: as the study has them)")
	f.IntVar(&a.Ensemble, "ensemble", 0, "`networks` (default: as the study has them)")
	f.Float64Var(&a.Rate, "rate", 0, "learning `rate` (default: as the study has it)")
	notZero(f, "epochs", "ensemble", "rate")
	f.StringVar(&a.Augment, "augment", "", "augmentation, such as `shift=2,flip`")
	f.StringVar(&a.Scratch, "scratch", "", "`folder` for the volumes (default: scans in --out)")
	f.BoolVar(&a.Keep, "keep-scans", false, "keep the volumes of the synthetic cohort")
	return cmd
}
