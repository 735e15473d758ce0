package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"credence/internal/kernel"
	"credence/model"
	"credence/train"
)

// verifyOptions is the command line of credence verify.
type verifyOptions struct {
	threads int
	quiet   bool
}

func newVerify() *cobra.Command {
	o := &verifyOptions{}
	cmd := &cobra.Command{
		Use:   "verify RUN",
		Short: "Repeat a run and prove that the model is the same",
		Long: `Train again what the config.yaml of a run says, in a temporary folder, and
compare the two model files byte by byte. Both SHA-256 sums are printed. If they
differ, the first difference is named (the data, the instruction set, the
version of credence, the configuration, a weight), and the exit code is 1.

Call it in the folder in which the run was started, since the paths of its data
are relative to that. The configuration of the run goes before the environment.
The instruction set is that of the run where this machine has it, unless
--kernel or CREDENCE_KERNEL names another. The run itself is left alone.`,
		Example: `  credence verify runs/first
  credence verify runs/first --threads 1`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s takes the folder of a run, found %s", cmd.CommandPath(), plural(len(args), "argument"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, runFolder(args[0])) },
	}
	cmd.Flags().IntVar(&o.threads, "threads", 0, "how many `cores` to use (default all); the result is the same")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print no progress")
	return cmd
}

func (o *verifyOptions) run(cmd *cobra.Command, run runFolder) error {
	recorded, err := loadModel(string(run))
	if err != nil {
		return err
	}
	switch {
	case run.unfinished():
		return withHint(fmt.Errorf("the run in %s has not ended", run), "continue it with: "+run.resumeCommand())
	case !run.has(configFile):
		return withHint(fmt.Errorf("%s holds no %s to repeat", run, configFile), "give the folder that credence train wrote with --out")
	}
	if err := o.useKernel(cmd, recorded.Provenance.Kernel); err != nil {
		return err
	}
	if err := o.compareData(run, recorded); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "credence-verify-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	again := runFolder(filepath.Join(folder, "run"))
	if err := o.repeat(cmd, run, again); err != nil {
		return err
	}
	return compareModels(cmd.OutOrStdout(), run, again, recorded)
}

// useKernel takes the instruction set of the run, if nobody chose another.
func (o *verifyOptions) useKernel(cmd *cobra.Command, name string) error {
	if name == kernel.Name() || cmd.Flags().Changed("kernel") || os.Getenv(kernel.Env) != "" || !slices.Contains(kernel.Available(), name) {
		return nil
	}
	return kernel.Use(name)
}

// settings returns the options of a run as its configuration says.
func (o *verifyOptions) settings(run, out runFolder) (*trainOptions, *cobra.Command, error) {
	t := newTrainOptions()
	t.repeat = true
	c := t.command()
	args := []string{"--config", run.path(configFile), "--out", string(out), fmt.Sprintf("--threads=%d", o.threads), fmt.Sprintf("--quiet=%t", o.quiet)}
	return t, c, c.ParseFlags(args)
}

// compareData reads the data of a run, so that nothing is trained in vain.
func (o *verifyOptions) compareData(run runFolder, recorded *model.Model) error {
	t, _, err := o.settings(run, "")
	if err != nil {
		return err
	}
	if err := t.settle(); err != nil {
		return err
	}
	ds, err := t.load()
	if errors.Is(err, fs.ErrNotExist) {
		return withHint(err, "call credence verify in the folder in which the run was started: the paths of its data are relative to that")
	}
	if err != nil {
		return err
	}
	defer ds.Close()
	part, _, err := t.division(ds)
	if err != nil {
		return err
	}
	found, err := part.Hash()
	if err != nil {
		return err
	}
	if want := recorded.Provenance.Data; found != want {
		return withHint(differ(run, "data", "sha256 "+want, "sha256 "+found), "bring the data back to what they were, or train a run on these")
	}
	return nil
}

// repeat trains the run again.
func (o *verifyOptions) repeat(cmd *cobra.Command, run, again runFolder) error {
	t, c, err := o.settings(run, again)
	if err != nil {
		return err
	}
	c.SetContext(cmd.Context())
	c.SetOut(io.Discard)
	c.SetErr(cmd.ErrOrStderr())
	err = t.run(c)
	if errors.Is(err, train.ErrStopped) {
		return errors.New("stopped before the end of training: nothing is proved")
	}
	return err
}

// compareModels prints the sums of two model files and names the first
// difference.
func compareModels(w io.Writer, run, again runFolder, recorded *model.Model) error {
	var texts [2][]byte
	for i, folder := range []runFolder{run, again} {
		var err error
		if texts[i], err = os.ReadFile(folder.path(modelFile)); err != nil {
			return err
		}
		sum := sha256.Sum256(texts[i])
		fmt.Fprintf(w, "%s  sha256 %s\n", []string{"recorded", "repeated"}[i], hex.EncodeToString(sum[:]))
	}
	if bytes.Equal(texts[0], texts[1]) {
		_, err := fmt.Fprintln(w, "equal     the run repeats to the bit")
		return err
	}
	repeated, err := model.Load(again.path(modelFile))
	if err != nil {
		return err
	}
	return firstDifference(run, recorded, repeated)
}

// firstDifference returns an error that names it, and says whether the weights
// differ too if it is something else.
func firstDifference(run runFolder, a, b *model.Model) error {
	p, q := &a.Provenance, &b.Provenance
	weights := weightDifference(a, b)
	same := "; the weights are equal"
	if weights != nil {
		same = "; the weights differ too"
	}
	for _, c := range []struct{ what, recorded, repeated string }{
		{"data", p.Data, q.Data},
		{"kernel", p.Kernel, q.Kernel},
		{"version", p.Version, q.Version},
		{"configuration", string(p.Config), string(q.Config)},
	} {
		if c.recorded != c.repeated {
			return fmt.Errorf("%w%s", differ(run, c.what, c.recorded, c.repeated), same)
		}
	}
	if weights != nil {
		return fmt.Errorf("%s does not repeat: %w", run, weights)
	}
	return fmt.Errorf("%s does not repeat: the weights are equal, the record of training is not", run)
}

func differ(run runFolder, what, recorded, repeated string) error {
	return fmt.Errorf("%s does not repeat: %s: recorded %s, found %s", run, what, recorded, repeated)
}

// weightDifference describes the first weight in which models differ.
func weightDifference(a, b *model.Model) error {
	if len(a.Members) != len(b.Members) {
		return fmt.Errorf("networks: recorded %d, found %d", len(a.Members), len(b.Members))
	}
	for i := range a.Members {
		x := slices.Concat(a.Members[i].Net.Params, a.Members[i].Net.States)
		y := slices.Concat(b.Members[i].Net.Params, b.Members[i].Net.States)
		if len(x) != len(y) {
			return fmt.Errorf("network %d: recorded %d tensors, found %d", i, len(x), len(y))
		}
		for k := range x {
			if x[k].Name != y[k].Name || len(x[k].Value) != len(y[k].Value) {
				return fmt.Errorf("network %d: recorded tensor %s %v, found %s %v", i, x[k].Name, x[k].Shape, y[k].Name, y[k].Shape)
			}
			for at, v := range x[k].Value {
				if w := y[k].Value[at]; math.Float32bits(v) != math.Float32bits(w) {
					return fmt.Errorf("weights: network %d, %s[%d]: recorded %v, found %v", i, x[k].Name, at, v, w)
				}
			}
		}
	}
	return nil
}
