// Command reproduce repeats the studies of Wu, Li, Li and Yu (ICML 2019) and further ones, from raw data to figures, tables and a page:
//
//	go run ./studies/reproduce comparison --quick --out comparison
//	go run ./studies/reproduce --help
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/mnist"
	"credence/studies/study"
)

//go:embed help/*.txt
var help embed.FS

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program
	code := reproduce(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// usageError is an error in the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// reproduce runs a command line and returns the exit code: 1 after an error, 2 if the command line is wrong.
func reproduce(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:   "reproduce STUDY",
		Short: "Repeat a study of the paper or a further one",
		Long: `Repeat a study of Wu, Li, Li and Yu (ICML 2019), or a further one, from raw data to
figures, tables and a page (README.md) with the paper's numbers next to those
measured.

A study that was stopped continues with the missing pieces when the same command
is given again. Equal seeds give equal numbers.`,
		Example: `  go run ./studies/reproduce comparison --quick --out comparison
  go run ./studies/reproduce coverage --out coverage`,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("unknown study %q", args[0])
		}
		return nil
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.CompletionOptions.DisableDefaultCmd = true
	began := false
	for _, c := range commands {
		root.AddCommand(c.command(&began))
	}
	root.SetArgs(append([]string{}, args...))
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "reproduce: error: %v\n", err)
	switch {
	case !began || errors.As(err, new(usageError)):
		fmt.Fprintf(stderr, "reproduce: hint: %q shows what it takes\n", "go run ./studies/"+cmd.CommandPath()+" --help")
		return 2
	case errors.Is(err, study.ErrOtherStudy), errors.Is(err, study.ErrTaken):
		fmt.Fprintln(stderr, "reproduce: hint: choose another --out, or replace it with --overwrite")
	case errors.Is(err, mnist.ErrNowhere):
		fmt.Fprintln(stderr, "reproduce: hint: fetch the four files train-images-idx3-ubyte.gz … by hand and name their folder with --mnist")
	}
	return 1
}

// common are the flags of every study.
type common struct {
	out       string
	quick     bool
	seed      uint64
	threads   int
	overwrite bool
	quiet     bool
}

func (o *common) declare(f *pflag.FlagSet, name string) {
	f.StringVar(&o.out, "out", name, "`folder` for figures, numbers and the page")
	f.BoolVar(&o.quick, "quick", false, "a small version of the study, to see what it does")
	f.Uint64Var(&o.seed, "seed", 1, "the first of the `seeds` of data and training")
	f.IntVar(&o.threads, "threads", 0, "number of `cores` to use (default all); the numbers are the same")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace an earlier study in the folder")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print nothing but warnings and errors")
}

// studyCommand is the command of a study.
type studyCommand struct {
	name, short, example string
	// declare declares the flags of the study and returns the function that builds the study from them.
	declare func(f *pflag.FlagSet) func(cmd *cobra.Command, o common) (study.Study, error)
}

func (c studyCommand) command(began *bool) *cobra.Command {
	var o common
	text, err := help.ReadFile("help/" + c.name + ".txt")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	cmd := &cobra.Command{Use: c.name, Short: c.short, Long: strings.TrimSpace(string(text)), Args: cobra.NoArgs}
	for line := range strings.Lines(c.example) {
		cmd.Example += "  go run ./studies/reproduce " + line
	}
	cmd.Flags().SortFlags = false
	o.declare(cmd.Flags(), c.name)
	newStudy := c.declare(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		*began = true
		if o.threads < 0 {
			return usagef("--threads %d: expected at least 1, or 0 for all cores", o.threads)
		}
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(o.threads))
		s, err := newStudy(cmd, o)
		if err != nil {
			return err
		}
		return o.run(cmd, s)
	}
	return cmd
}

// run opens the folder of a study and works on it until it is done or stopped.
func (o *common) run(cmd *cobra.Command, s study.Study) error {
	folder, err := study.OpenFolder(o.out, s, o.overwrite)
	if err != nil {
		return err
	}
	folder.Command = again(cmd)
	start := time.Now()
	if !o.quiet {
		folder.Progress = func(done, total int, what string) {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s  %d of %d  %s\n", time.Since(start).Round(time.Second), done, total, what)
		}
	}
	err = study.Reproduce(cmd.Context(), s, folder)
	if err != nil && cmd.Context().Err() != nil {
		return fmt.Errorf("stopped; finished pieces are kept; continue with: %s", folder.Command)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n", folder.Path("README.md"))
	return nil
}

// again returns the command line of this run, which continues a study.
func again(cmd *cobra.Command) string {
	line := []string{"go run ./studies/" + cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch value := f.Value.String(); {
		case f.Name == "overwrite": // would start over
		case f.Value.Type() == "bool":
			line = append(line, "--"+f.Name)
		case strings.ContainsAny(value, " '\"$\\*?<>|&;()"):
			line = append(line, "--"+f.Name, "'"+strings.ReplaceAll(value, "'", `'\''`)+"'")
		default:
			line = append(line, "--"+f.Name, value)
		}
	})
	return strings.Join(line, " ")
}
