package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/printout"
	"credence/internal/study"
)

// studyFlags are those of every study.
type studyFlags struct {
	out       string
	quick     bool
	seed      uint64
	threads   int
	overwrite bool
	quiet     bool
}

func newReproduce() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reproduce",
		Short: "Repeat the studies of the paper, and set its numbers beside ours",
		Long: `Repeat a study of Wu, Li, Li and Yu (ICML 2019) from raw data to figures, tables
and a page (README.md) that sets the paper's numbers beside those that came out.

A study that was stopped goes on where it was when the same command is given
again. Equal seeds give equal numbers.`,
		Example: `  credence reproduce comparison --quick --out comparison
  credence reproduce coverage --out coverage`,
	}
	cmd.AddCommand(
		newReproduceCoverage(),
		newReproduceComparison(),
		newReproduceADNI(),
		newReproduceVotes(),
		newReproduceRaters(),
	)
	return cmd
}

func (o *studyFlags) declare(f *pflag.FlagSet, name string) {
	f.StringVar(&o.out, "out", name, "`folder` for figures, numbers and the page")
	f.BoolVar(&o.quick, "quick", false, "a small version of the study, to see what it does")
	f.Uint64Var(&o.seed, "seed", 1, "the first of the `seeds` of data and training")
	f.IntVar(&o.threads, "threads", 0, "how many `cores` to use (default all); the numbers are the same")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace an earlier study in the folder")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but warnings and errors")
}

// run opens the folder of a study and works on it until it is done or stopped.
func (o *studyFlags) run(cmd *cobra.Command, name string, settings any, work func(context.Context, *study.Folder) error) error {
	restore, err := useThreads(o.threads)
	if err != nil {
		return err
	}
	defer restore()
	folder, err := study.OpenFolder(o.out, name, settings, o.overwrite)
	switch {
	case errors.Is(err, study.ErrOtherStudy), errors.Is(err, study.ErrTaken):
		return withHint(err, "choose another --out, or replace it with --overwrite")
	case err != nil:
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	start, show := time.Now(), newStatusLine(cmd.ErrOrStderr())
	if !o.quiet {
		folder.Progress = func(done, total int, what string) {
			line := fmt.Sprintf("%s  %d of %d  %s", time.Since(start).Round(time.Second), done, total, what)
			if !show.live {
				fmt.Fprintln(show.w, line)
				return
			}
			show.draw(printout.Ellipsis(line, 78))
		}
	}
	err = work(ctx, folder)
	show.erase()
	if err != nil && ctx.Err() != nil {
		return withHint(errors.New("stopped; the pieces that are done are kept"), "continue with: "+o.again(cmd))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n", folder.Path("README.md"))
	return nil
}

// again is the command that was given, which continues a study.
func (o *studyFlags) again(cmd *cobra.Command) string {
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
