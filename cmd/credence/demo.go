package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"credence/calibrate"
	"credence/dataset"
	"credence/evaluate"
	"credence/internal/printout"
	"credence/internal/simulation"
	"credence/monitor"
	"credence/run"
	"credence/serve"
	"credence/train"
)

// demoOptions is the command line of credence demo.
type demoOptions struct {
	out       string
	design    string
	seed      uint64
	overwrite bool
	serve     bool
	noOpen    bool
	addr      string
}

// demoSizes are the numbers of training items, of votes on each, and of fresh items.
type demoSizes struct{ items, votes, fresh int }

// In the plane the sizes are those of the paper, with enough fresh items to estimate coverage to a percentage point.
// Reviews are as many as people look through.
var (
	planeSizes  = demoSizes{1000, 2, 4000}
	reviewSizes = demoSizes{800, 3, 400}
)

// reviewsDesign is the design of texts that people can judge; reviewsFolder is its default folder.
const (
	reviewsDesign = "reviews"
	reviewsFolder = "credence-demo-reviews"
)

// sample is data of a simulation.
type sample interface {
	Dataset() *dataset.Dataset
	Truth() []float64
	WriteFiles(folder, prefix string, truth bool) error
}

// sizes returns the sizes of the design.
func (o *demoOptions) sizes() demoSizes {
	if o.design == reviewsDesign {
		return reviewSizes
	}
	return planeSizes
}

// draw simulates items with votes.
func (o *demoOptions) draw(items int, seed uint64) (sample, error) {
	if o.design == reviewsDesign {
		return simulation.SimulateReviews(items, o.sizes().votes, seed)
	}
	return simulation.Simulate(simulation.Design(o.design), items, o.sizes().votes, seed)
}

func newDemo() *cobra.Command {
	o := demoOptions{}
	cmd := newVerb("demo", "Train on simulated votes and compare intervals with the truth", "", o.run)
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "credence-demo", "`folder` for data, model and scores")
	f.StringVar(&o.design, "design", string(simulation.Spread), "`name` of the simulation: spread, paper or reviews; with --serve it is reviews unless another is named")
	f.Uint64Var(&o.seed, "seed", 1, "`seed` of data and training")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace an earlier demonstration")
	f.BoolVar(&o.serve, "serve", false, "serve a page to browse the fresh items and vote on them, by default reviews; an existing demonstration is not trained again")
	f.BoolVar(&o.noOpen, "no-open", false, "with --serve, do not open a browser")
	f.StringVar(&o.addr, "addr", "127.0.0.1:8080", "with --serve, `address` to listen on; another port if it is in use")
	return cmd
}

// run trains the demonstration, and serves it if --serve is given.
func (o *demoOptions) run(cmd *cobra.Command, _ []string) error {
	if !o.serve {
		if name := firstChanged(cmd.Flags(), "no-open", "addr"); name != "" {
			return usagef("--%s requires --serve", name)
		}
		return o.train(cmd)
	}
	if !serve.Loopback(o.addr) {
		return withHint(usagef("--addr %s is reachable from other machines", o.addr), "use credence serve, which requires a token for them")
	}
	if !cmd.Flags().Changed("design") && !cmd.Flags().Changed("out") {
		o.out = reviewsFolder
	}
	if !cmd.Flags().Changed("design") {
		o.design = reviewsDesign
	} else if o.exists() && !o.overwrite && !o.isDesign() {
		return withHint(fmt.Errorf("%s has a demonstration of another design than %q", o.out, o.design), "choose another folder with --out, or give --overwrite")
	}
	if o.overwrite || !o.exists() {
		if err := o.train(cmd); err != nil {
			return err
		}
	}
	return o.show(cmd)
}

func (o *demoOptions) train(cmd *cobra.Command) error {
	if err := oneOf("design", o.design, string(simulation.Paper), string(simulation.Spread), reviewsDesign); err != nil {
		return err
	}
	folder, mode := run.Folder(o.out), run.New
	if o.overwrite {
		mode = run.Overwrite
	}
	if err := folder.Check(mode); err != nil {
		return withHintOn(err, hint{run.ErrExists, "choose another with --out, or give --overwrite"})
	}
	release, err := folder.Lock()
	if err != nil {
		return err
	}
	defer release()
	ctx, stop := interruptible(cmd)
	defer stop()
	// The two samples have different seeds, so that no item is in both.
	n := o.sizes()
	items, err := o.draw(n.items, 2*o.seed)
	if err != nil {
		return err
	}
	fresh, err := o.draw(n.fresh, 2*o.seed+1)
	if err != nil {
		return err
	}
	if err := o.archiveVotes(cmd.ErrOrStderr()); err != nil {
		return err
	}
	if err := errors.Join(items.WriteFiles(o.out, "", false), fresh.WriteFiles(o.out, "fresh-", true)); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "credence: %d items with %d votes each, design %q, seed %d; training five networks\n",
		n.items, n.votes, o.design, o.seed)

	start := time.Now()
	fit, err := train.Fit(ctx, items.Dataset(), train.Options{Seed: o.seed, Version: buildVersion()})
	if errors.Is(err, train.ErrStopped) {
		return withHint(errors.New("interrupted"), "the data written so far are in "+o.out)
	}
	if err != nil {
		return err
	}
	took := time.Since(start)
	m := fit.Model
	if err := m.Save(folder.Path(run.ModelFile)); err != nil {
		return err
	}
	in, err := run.Input(m, fresh.Dataset())
	if err != nil {
		return err
	}
	in.Truth = fresh.Truth()
	result, err := evaluate.Evaluate(*in, evaluate.Options{})
	if err != nil {
		return err
	}
	if err := folder.WriteMetrics(result); err != nil {
		return err
	}
	page := run.ReportInput(m, in, result)
	page.Subject, page.Evaluated = fmt.Sprintf("a simulation (design %q)", o.design), "fresh items of the simulation"
	page.Commands = []string{fmt.Sprintf("credence demo --design %s --seed %d --out FOLDER", o.design, o.seed)}
	if err := folder.WriteReport(page); err != nil {
		return err
	}
	o.print(cmd.OutOrStdout(), result, m.Calibration, m.Classes[0], took)
	return nil
}

func (o *demoOptions) print(out io.Writer, r *evaluate.Result, c *calibrate.Calibration, class string, took time.Duration) {
	w := &bytes.Buffer{}
	fmt.Fprintf(w, "Trained in %.1f s. How often the interval contains the true probability, on %d\nfresh items:\n\n", took.Seconds(), r.Items)
	t := printout.NewTable()
	t.Add("level", "coverage", "mean width")
	for _, x := range r.Coverage {
		if x.Class == class {
			t.Add(printout.Percent(x.Level), fmt.Sprintf("%.1f%% ± %.1f", 100*float64(x.Empirical), 100*float64(x.SE)),
				fmt.Sprintf("%.3f", float64(x.Width)))
		}
	}
	t.Print(w)
	fmt.Fprintf(w, `
The variance of the distributions was scaled by %.2f, as pairs of votes on held-out
items require. %d votes resolve a probability to about %.3f, so interval ends that are
closer to 0 or 1 were moved there.

The predicted class is the one most voted for in %.1f%% of the items. The loss is
%.3f nats per vote, that of a logistic regression with a fitted spread %.3f.

%s holds the data, the model, the scores (metrics.json) and the
report: open %s
`, c.Scale, o.sizes().items*o.sizes().votes, c.Resolution, 100*float64(r.Accuracy.Value),
		float64(r.NLL.Value), float64(r.LogisticDMNLL.Value), o.out, filepath.Join(o.out, run.ReportFile))
	// The output keeps write errors, which are reported at the end.
	_, _ = out.Write(w.Bytes())
}

// Files of the demonstration that the page shows and writes.
const (
	demoFreshItems = "fresh-items.csv"
	demoFreshVotes = "fresh-votes.csv"
	demoNewVotes   = "new-votes.csv"
	demoOldVotes   = "new-votes-old.csv"
)

// exists reports whether the folder contains a demonstration.
func (o *demoOptions) exists() bool {
	folder := run.Folder(o.out)
	return folder.Has(run.ModelFile) && folder.Has(demoFreshItems) && folder.Has(demoFreshVotes)
}

// isDesign reports whether the folder's demonstration is of the design: reviews, or items in the plane.
func (o *demoOptions) isDesign() bool {
	text, err := os.ReadFile(run.Folder(o.out).Path(demoFreshItems))
	return err == nil && bytes.HasPrefix(text, []byte("item,review\n")) == (o.design == reviewsDesign)
}

// archiveVotes renames the file of votes on the items of an earlier demonstration: new items may have
// the same names but are different.
func (o *demoOptions) archiveVotes(out io.Writer) error {
	folder := run.Folder(o.out)
	if !folder.Has(demoNewVotes) {
		return nil
	}
	if err := os.Rename(folder.Path(demoNewVotes), folder.Path(demoOldVotes)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "credence: votes on the earlier items are now in %s\n", folder.Path(demoOldVotes))
	return err
}

// show serves the page of the demonstration.
func (o *demoOptions) show(cmd *cobra.Command) error {
	folder := run.Folder(o.out)
	s := serveOptions{addr: o.addr, anyPort: true, logForm: "text", logLevel: "warn"}
	s.Options = serve.Options{Path: o.out, Votes: folder.Path(demoNewVotes),
		Queue:  serve.Queue{Items: []string{folder.Path(demoFreshItems)}, Earlier: []string{folder.Path(demoFreshVotes)}},
		Health: serve.Health{Options: monitor.Options{Tolerate: monitor.DefaultTolerance}}}
	if !o.noOpen {
		s.started = openBrowser
	}
	return s.serve(cmd)
}

// openBrowser opens an address in the user's browser, if there is one. Failures are ignored because
// the address is printed in any case.
func openBrowser(url string) {
	var cmd *exec.Cmd
	switch {
	case runtime.GOOS == "darwin":
		cmd = exec.Command("open", url)
	case runtime.GOOS == "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	case os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "":
		cmd = exec.Command("xdg-open", url)
	default:
		return
	}
	if cmd.Start() == nil {
		go cmd.Wait()
	}
}
