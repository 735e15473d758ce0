package train

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"credence/dataset"
	"credence/evaluate"
	"credence/head"
	"credence/internal/par"
	"credence/model"
	"credence/nn"
)

// ErrStopped is the error when a fit was canceled. The result returned with it
// is the best so far.
var ErrStopped = errors.New("training was stopped before its end")

// Result is the result of a fit.
type Result struct {
	Model *model.Model
	// Options are the complete options of the fit.
	Options Options
	// OutOfFold [N] are the predictions for items by the networks that were not trained on them; nil for
	// items that all networks were trained on or that have no votes.
	OutOfFold []*head.Decoded
	// References are the scores of the reference models on the same items, each fitted
	// without the items it is scored on; nil if none were fitted.
	References *evaluate.ReferenceScores
}

// Fit trains a model on the items of ds that have votes.
//
// The networks of an ensemble (Options.Ensemble) hold out one fold each, a single
// network holds out a share of the items. On fewer than RefitItems items, five
// networks choose the number of epochs of a single network, which is trained on all
// items. Held-out votes decide when a network stops. The result does not depend on
// the number of cores.
//
// When ctx is canceled, Fit returns the best model so far, if any network has
// finished an epoch, and an error that is ErrStopped.
func Fit(ctx context.Context, ds *dataset.Dataset, o Options) (*Result, error) {
	f, err := begin(ctx, ds, o)
	if err != nil {
		return nil, err
	}
	return f.run(ctx)
}

// begin prepares a fit. If ctx is canceled, the error is ErrStopped.
func begin(ctx context.Context, ds *dataset.Dataset, o Options) (*fitting, error) {
	rows := &stoppable{Rows: ds.Rows, ctx: ctx}
	watched := *ds
	if ds.Rows != nil {
		watched.Rows = rows
	}
	f, err := newFitting(ctx, &watched, o)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%w: no network has finished an epoch", ErrStopped)
	}
	if err != nil {
		return nil, err
	}
	rows.ctx = context.Background() // a fit that is stopped still has to read rows, to save its state
	return f, nil
}

// stoppable are rows that can no longer be read once a context is done: all rows are read
// several times before the first epoch.
type stoppable struct {
	dataset.Rows
	ctx context.Context
}

func (s *stoppable) ReadRow(i int, dst []float32) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	return s.Rows.ReadRow(i, dst)
}

// Complete returns the options that [Fit] would use for these data: every field
// left zero is chosen. It returns the errors that Fit would return for the data, and does not train.
func Complete(ds *dataset.Dataset, o Options) (Options, error) {
	f, err := choose(ds, o)
	if err != nil {
		return Options{}, err
	}
	if _, err := f.network(); err != nil {
		return Options{}, err
	}
	return f.o, nil
}

// fitting is the state of a fit.
type fitting struct {
	*job
	ds           *dataset.Dataset
	voted        []int   // items with votes
	most         float64 // largest number of votes on an item
	fold         []int   // of each voted item; without folds, 0 if it is held out, else 1
	folds        int     // number of folds that take turns; 0 if one set is held out throughout
	fixedHoldOut bool    // whether that is because there are many items
	warnings     []evaluate.Message
	aboutData    int // the number of warnings that were known before training

	raterSet    raterSet                 // raters that the likelihood may model
	declined    evaluate.Message         // why raters are not modelled; if empty, held-out votes decide
	ratersKnown bool                     // whether the likelihood models raters
	prefix      string                   // of the names of runs
	raterModels map[int]*head.RaterModel // by fold, of the networks that hold it out

	trees         bool         // whether trees are grown
	treesDeclined *model.Trees // why not, if it is recorded
	share         float64      // of the trees in each member

	before map[string]int // folds of the items of the model to start from; nil if unknown
	turns  int            // its number of folds
}

// newFitting prepares a fit: it chooses options, reads documents and computes the state shared by all runs.
func newFitting(ctx context.Context, ds *dataset.Dataset, o Options) (*fitting, error) {
	f, err := choose(ds, o)
	if err != nil {
		return nil, err
	}
	if f.o.CheckpointEvery <= 0 {
		f.o.CheckpointEvery = 30 * time.Second
	}
	if err := f.readTexts(ctx); err != nil {
		return nil, err
	}
	var hash sync.WaitGroup
	var unread error
	hash.Go(func() { f.mark.Data, unread = ds.Hash() }) // concurrently with inputs: both read all data
	f.in, err = newInputs(f.ds, f.transform, f.o.Memory, f.o.Threads)
	hash.Wait()
	if err = cmp.Or(err, unread); err != nil {
		return nil, err
	}
	if f.traits.Raters {
		f.in.rate(f.raterSet.ratings)
	}
	if f.weights, err = itemWeights(f.ds, &f.o, f.voted); err != nil {
		return nil, err
	}
	d := len(f.ds.Classes)
	all := head.Batch{Counts: head.Counts{Classes: d, Values: make([]float32, 0, len(f.voted)*d)}}
	for _, j := range f.voted {
		all.Counts.Values = append(all.Counts.Values, f.ds.CountsOf(j)...)
		if f.weights != nil {
			all.Weights = append(all.Weights, f.weights[j])
		}
	}
	f.bias = f.reader.Start(all)
	f.shape = model.InputShape(f.transform)
	if f.layers, err = f.network(); err != nil {
		return nil, err
	}
	f.mark.Kernel = f.o.Engine.Name()
	if f.mark.Config, err = json.Marshal(f.o); err != nil {
		return nil, err
	}
	return f, f.takeMembers()
}

// network returns the layers of a network: those of the model to start from, even if its
// options would give others today, or those that the options specify.
func (f *fitting) network() (nn.Layer, error) {
	if f.o.From != nil {
		return f.o.From.Model.Members[0].Layers(), nil
	}
	return layers(&f.o, f.traits, f.transform, f.reader.Outputs())
}

// run trains all networks, decides whether raters matter, and fits the references.
func (f *fitting) run(ctx context.Context) (*Result, error) {
	if err := f.openCheckpoints(); err != nil {
		return nil, err
	}
	res, err := f.fit(ctx)
	if err == nil && f.o.Raters == "auto" {
		res, err = f.decide(ctx, res)
	}
	if err != nil || f.o.NoReferences {
		return res, err
	}
	if err := f.references(ctx, res); err != nil {
		return nil, err
	}
	return res, nil
}

// openCheckpoints removes the checkpoints of earlier fits or, to resume, only temporary files.
func (f *fitting) openCheckpoints() error {
	if f.o.Checkpoint == "" {
		return nil
	}
	clean, what := RemoveCheckpoint, "removing old checkpoints"
	if f.o.Resume {
		clean, what = CleanCheckpoint, "opening the checkpoints"
	}
	if err := clean(f.o.Checkpoint); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// fit trains all networks, with raters or without.
func (f *fitting) fit(ctx context.Context) (*Result, error) {
	runs := f.plan()
	final, err := f.networks(ctx, runs)
	if err != nil {
		return nil, err
	}
	return f.result(ctx, runs, final)
}

// refits reports whether folds choose the number of epochs of a single network.
func (f *fitting) refits() bool { return f.o.Ensemble == 1 && f.folds > 0 }

// plan returns the runs of all networks that hold items out.
func (f *fitting) plan() []*run {
	members, name := f.o.Ensemble, "member"
	if f.refits() {
		members, name = f.folds, "fold"
	}
	var runs []*run
	same := map[int]int{} // number of runs that hold out a fold
	for i := range members {
		held := 0
		if f.folds > 0 {
			held = i % f.folds
		}
		r := &run{job: f.job, name: fmt.Sprintf("%s%s %d", f.prefix, name, i), member: i, epochs: f.o.Epochs, fold: held, turn: same[held]}
		same[held]++
		for at, j := range f.voted {
			if f.fold[at] == held {
				r.held = append(r.held, j)
			} else {
				r.train = append(r.train, j)
			}
		}
		// A single network has seen all items, so folds start from random weights.
		if f.o.From != nil && !f.refits() {
			r.from = f.o.From.Model.Members[i]
		}
		runs = append(runs, r)
	}
	return runs
}

// networks trains the runs of a plan and returns the runs whose networks make up the model.
func (f *fitting) networks(ctx context.Context, runs []*run) (final []*run, err error) {
	if err := f.plant(); err != nil {
		return nil, err
	}
	if err := f.train(ctx, runs); err != nil {
		return nil, err
	}
	if !f.refits() || ctx.Err() != nil {
		return runs, nil
	}
	r := &run{job: f.job, name: f.prefix + "refit", member: len(runs), epochs: refitEpochs(runs), trees: refitTrees(runs), train: f.voted}
	if f.o.From != nil {
		r.from, r.epochs = f.o.From.Model.Members[0], max(1, r.epochs/warmEpochs)
	}
	if err := f.train(ctx, []*run{r}); err != nil {
		return nil, err
	}
	if r.state.Epoch == 0 && !r.state.Done {
		return runs, nil
	}
	return []*run{r}, nil
}

// byFold returns the runs that hold items out, by the fold that they hold out.
func (f *fitting) byFold(runs []*run) [][]*run {
	folds := make([][]*run, max(f.folds, 1))
	for _, r := range runs {
		if len(r.held) > 0 {
			folds[r.fold] = append(folds[r.fold], r)
		}
	}
	return folds
}

// refitEpochs returns the number of epochs to train on all items: the median of those
// that the folds chose, and at least one.
func refitEpochs(runs []*run) int {
	var best []int
	for _, r := range runs {
		best = append(best, r.state.Best)
	}
	slices.Sort(best)
	return max(1, best[len(best)/2])
}

// train trains networks, as many at a time as there are threads. The result of each
// does not depend on the others.
func (f *fitting) train(ctx context.Context, runs []*run) error {
	f.runs = len(runs)
	f.outlook = newOutlook(runs)
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	threads := par.Limit(f.o.Threads).Workers()
	if f.o.Threads > 0 {
		// Loops of networks run one at a time on several cores, so one of them may use all threads left.
		f.limit(1 + max(0, threads-len(runs)))
		defer f.limit(f.o.Threads)
	}
	slots, errs := make(chan bool, threads), make(chan error, len(runs))
	var workers sync.WaitGroup
	for _, r := range runs {
		slots <- true
		workers.Go(func() {
			if err := r.do(inner); err != nil {
				errs <- fmt.Errorf("%s: %w", r.name, err)
				cancel()
			}
			<-slots
		})
	}
	workers.Wait()
	close(errs)
	return <-errs
}

// limit sets the largest number of threads of a loop.
func (f *fitting) limit(threads int) {
	f.in.threads, f.task.Threads = par.Limit(threads), threads
	if _, ok := f.o.Engine.(nn.CPU); ok {
		f.o.Engine = nn.CPU{Cores: threads}
	}
}

// without returns the items of a that are not in b.
func without(a, b []int) []int {
	if len(b) == 0 {
		return a
	}
	drop := map[int]bool{}
	for _, j := range b {
		drop[j] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(j int) bool { return drop[j] })
}
