package train

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"credence/calibrate"
	"credence/dataset"
	"credence/head"
	"credence/nn"
)

// Options controls how a model is fitted. The zero value is useful: every
// field left zero is chosen from the data, and the choice is recorded in the
// model. Fields tagged json:"-" do not change the result.
type Options struct {
	// Head is the method by which the networks learn, from package head or another package; nil means
	// [head.Mixture].
	Head head.Method `json:"-"` // recorded as "head"

	// Network is a name ("mlp", "lenet5", "cnn2d", "resnet", "cnn3d") or a list
	// of layers in the format of [nn.Parse]. Empty means mlp for tables, lenet5 for
	// small gray images, cnn2d for others and cnn3d for volumes.
	Network string `json:"network"`
	// Widths are the widths of the hidden layers of mlp or of the stages of cnn2d
	// and resnet.
	Widths []int `json:"widths,omitempty"`
	// Dropout is the dropout rate after each hidden layer of mlp, InputDropout the
	// rate of its inputs; negative means none.
	Dropout      float64 `json:"dropout"`
	InputDropout float64 `json:"input_dropout"`
	// Init is the rule for initial weights.
	Init nn.Init `json:"init"`

	Optimizer   string  `json:"optimizer"`    // one of nn.Optimizers
	Rate        float64 `json:"rate"`         // learning rate
	Momentum    float64 `json:"momentum"`     // of sgd; negative means none
	WeightDecay float64 `json:"weight_decay"` // negative means none
	Clip        float64 `json:"clip"`         // largest norm of the gradient; negative means no limit
	Schedule    string  `json:"schedule"`     // "constant" or "cosine", over Epochs
	Batch       int     `json:"batch"`        // items per step
	Epochs      int     `json:"epochs"`       // at most
	// Patience is the number of epochs without a better held-out loss after which
	// training stops; negative means that all Epochs are run and the last weights
	// kept.
	Patience int `json:"patience"`

	// Ensemble is the number M of networks. With more than one, member i holds
	// out fold i of max(M, 5), at most 10; with a million items or more, all hold
	// out the same items.
	Ensemble int `json:"ensemble"`
	// HeldOut is the share of the items held out for early stopping by a single
	// network or, with a million items or more, by each: 0 means 1/10, and at most
	// 100,000 items. Below RefitItems items it is 1/5, in five folds that take turns
	// to choose the number of epochs, after which one network is trained on all.
	HeldOut float64 `json:"held_out"`
	// Held are the indexes of items that every network holds out, instead of folds.
	Held []int `json:"held,omitempty"`

	// Raters specifies whether the likelihood depends on who cast a vote ([head.Mixture]): "on", "off", or
	// "auto", which compares both on held-out votes if raters are named and have voted often enough.
	Raters string `json:"raters"`

	// Trees specifies whether a forest of boosted trees is blended with each network, for tables and [head.Mixture]:
	// "auto", by as much as held-out votes show, "off", or "only", with no weight on networks, which are not trained
	// then. Trees do not model raters.
	Trees string `json:"trees,omitempty"`

	// Calibrate specifies whether reported distributions are scaled to the spread estimated from pairs of
	// held-out votes: "auto" or "off".
	Calibrate string `json:"calibrate"`
	// Population specifies whose mean intervals are for: "these" raters, by their shares of the votes, or the population that
	// they were drawn from, "like-these", which differs where raters are named, few and differ; "" means these.
	Population string `json:"population,omitempty"`
	// GroupCalibration is a categorical feature whose levels may have intervals of different scale, such as the site; ""
	// means one scale for all.
	GroupCalibration string `json:"group_calibration,omitempty"`
	// Resolution is the smallest distance from 0 or 1 at which reported intervals may end, at most 0.1; 0
	// means that it depends on the number of votes, negative that there is none.
	Resolution float64 `json:"resolution"`

	// ClassWeights [d] weighs items by the mean weight of their votes'
	// classes, ItemWeights [N] by a weight per item; nil means
	// the weights of the data. Class weights invalidate the
	// calibration of intervals.
	ClassWeights []float64 `json:"class_weights,omitempty"`
	ItemWeights  []float64 `json:"item_weights,omitempty"`

	// Augment changes images and volumes at random in training. The zero value
	// means shifts for cnn2d and no changes for other networks; a negative
	// Shift alone means no changes.
	Augment Augment `json:"augment,omitzero"`

	// From, if not nil, is a model that training starts from: for further votes, and items
	// with the same features. Its classes, method, network and preprocessing of
	// features are used, and for options left zero its own, with a smaller Rate and fewer
	// Epochs. FromModel is the SHA-256 of its file, for the record.
	From      *WarmStart `json:"-"`
	FromModel string     `json:"from,omitempty"`

	Seed uint64 `json:"seed"`
	// Force fits data without two votes on any item, although the intervals are
	// meaningless then.
	Force bool `json:"force,omitempty"`
	// Transform specifies how features become inputs.
	Transform dataset.TransformOptions `json:"transform"`

	// NoReferences omits the reference models that an evaluation compares the model
	// with: for studies, which fit many models and have their own models to compare
	// with.
	NoReferences bool `json:"-"`

	leakSearch bool // the fit looks for a leak of another one
	// Layers are the layers of the networks, instead of Network; a dense layer
	// without Out has the number of outputs that the head needs. Layers of other
	// packages must be [nn.Typed].
	Layers nn.Layer `json:"-"` // recorded as the text of Network
	// Engine runs the networks; nil means the CPU.
	Engine nn.Engine `json:"-"`
	// Threads is the largest number of goroutines that train networks, read inputs and predict held-out items; 0 means
	// all cores (GOMAXPROCS). As many may read batches ahead, if inputs are not in memory. Preprocessing, calibration
	// and the reference models use all cores.
	Threads int `json:"-"`
	// Version of the program, for the record.
	Version string `json:"-"`
	// Memory is the largest size of the network inputs in bytes; if they are larger, they
	// are read again in each epoch. 0 means 2 GB.
	Memory int64 `json:"-"`
	// Progress, if not nil, is called after every epoch and at least every
	// second, one call at a time.
	Progress func(Event) `json:"-"`
	// AfterEpoch, if not nil, is called with each network after each of its epochs, by
	// several goroutines at once.
	AfterEpoch func(Snapshot) `json:"-"`
	// Checkpoint is a folder for the state of the run, written at least every
	// CheckpointEvery (0 means 30 seconds) and when the run is stopped. With
	// Resume, the run continues from the checkpoints in it.
	Checkpoint      string        `json:"-"`
	CheckpointEvery time.Duration `json:"-"`
	Resume          bool          `json:"-"`
	// Members are the results of members that other processes have trained with [FitMember]. They
	// are used, and only networks that are in none of them are trained.
	Members []*MemberResult `json:"-"`
}

// RefitItems is the number of items below which folds choose the number of epochs of
// a single network, which is then trained on all items.
const RefitItems = 2000

// mostMembers is the largest number of networks of an ensemble.
const mostMembers = 1000

// Defaults returns the default options that do not depend on the data. An ensemble has five networks unless a single
// one takes hours.
func Defaults() Options {
	return Options{
		Head: head.Complete(head.Mixture{}), Optimizer: "adamw", Clip: 5, Ensemble: 5,
		Calibrate: "auto", Raters: "auto", Trees: "auto",
		Transform: dataset.TransformOptions{}.Complete(),
	}
}

// complete fills in the fields that were left zero, for n items with votes, the
// inputs of t and a head of the given traits.
func (o Options) complete(n int, traits head.Traits, t *dataset.Transform) (Options, error) {
	if err := o.suits(traits); err != nil {
		return o, err
	}
	if o.Engine == nil {
		o.Engine = nn.CPU{Cores: o.Threads}
	}
	if o.Layers != nil { // the form in which they are recorded
		text, err := nn.Describe(o.Layers)
		if err != nil {
			return o, fmt.Errorf("layers: %w", err)
		}
		o.Network = string(text)
	}
	def, dropoutGiven := Defaults(), o.Dropout != 0
	grid := 0 // dimensions of the largest image or volume
	for _, in := range gridInputs(t) {
		grid = max(grid, len(in.Shape)-1)
	}
	o.Trees = cmp.Or(o.Trees, def.Trees)
	if o.Trees == "only" {
		o.Network = cmp.Or(o.Network, onlyTrees)
	}
	o.Network = cmp.Or(o.Network, defaultNetwork(t))
	if o.Widths == nil {
		o.Widths = defaultWidths(o.Network, n)
	}
	o.regularize(n, t, grid)
	if traits.Passes > 0 && !dropoutGiven {
		o.Dropout = max(o.Dropout, 0.1) // passes that hardly differ would show no uncertainty
	}
	o.Optimizer = cmp.Or(o.Optimizer, def.Optimizer)
	if k := nn.OptimizerNamed(o.Optimizer); k.Momentum > 0 {
		o.Rate, o.Momentum = cmp.Or(o.Rate, k.Rate), cmp.Or(o.Momentum, k.Momentum)
	}
	o.Clip = cmp.Or(o.Clip, def.Clip)
	o.Batch = cmp.Or(o.Batch, max(defaultBatch(n, grid), traits.LeastBatch))
	steps := (n + o.Batch - 1) / o.Batch
	if o.Network == "cnn2d" {
		o.paceImages(n, t)
	}
	if n >= manyItems && o.Batch >= largeBatch && o.Network == "mlp" {
		o.Rate = cmp.Or(o.Rate, 2e-3) // larger batches allow larger steps
	}
	o.Rate = cmp.Or(o.Rate, 1e-3)
	o.Schedule = cmp.Or(o.Schedule, "constant")
	o.Calibrate = cmp.Or(o.Calibrate, def.Calibrate)
	o.Raters = cmp.Or(o.Raters, def.Raters)
	o.Epochs = cmp.Or(o.Epochs, min(500, max(30, 40000/max(steps, 1))))
	o.Patience = cmp.Or(o.Patience, min(20, max(5, 4000/max(steps, 1))))
	numbers := float64(n) * float64(t.Width())
	o.Ensemble = cmp.Or(o.Ensemble, defaultEnsemble(def.Ensemble, o.Network, numbers))
	if o.HeldOut == 0 {
		o.HeldOut = 0.2
		if n >= 10000 {
			o.HeldOut = min(0.1, heldItems/float64(n))
		}
	}
	o.Transform = o.Transform.Complete()
	if o.Augment.none() && o.Network != "cnn2d" {
		o.Augment = Augment{} // the same record for all ways to choose none
	}
	if err := o.Augment.fits(t); err != nil {
		return o, fmt.Errorf("training options: %w", err)
	}
	return o, o.check()
}

// defaultWidths returns the default widths of a network, nil if it has none.
func defaultWidths(network string, n int) []int {
	switch {
	case network == "mlp" && n >= 5000:
		return []int{128, 128}
	case network == "mlp":
		return []int{64, 64}
	case network == "cnn2d" && n >= 5000:
		return []int{16, 48, 96}
	case network == "cnn2d":
		return []int{16, 32, 64}
	}
	return nil
}

// defaultBatch returns a batch size that gives at least about thirty steps per epoch
// for few items, and larger batches for many; volumes need much memory. For tables of
// a million rows or more, batches of 1,024 at twice the rate reach the same loss in
// fewer steps, each of which uses the cores better (docs/performance.md).
func defaultBatch(n, grid int) int {
	if grid == 3 {
		return 16
	}
	if grid == 0 && n >= manyItems {
		return largeBatch
	}
	return min(256, max(16, 1<<bits.Len(uint(n/64))))
}

// heldItems is the largest number of items held out by default: it determines the loss per
// vote to about 0.001.
const heldItems = 100_000

// largeBatch is the batch size for tables with very many rows.
const largeBatch = 1024

// defaultEnsemble returns most, which corrects most of the under-coverage of one
// network; a single network is the default only where one takes hours.
func defaultEnsemble(most int, network string, numbers float64) int {
	limit := 2e8
	if network == "cnn2d" {
		limit = 1e9
	}
	if numbers > limit {
		return 1
	}
	return most
}

// suits returns an error if a head of the given traits cannot be trained with the options.
func (o *Options) suits(traits head.Traits) error {
	switch {
	case o.Batch != 0 && o.Batch < traits.LeastBatch:
		return fmt.Errorf("training options: batch %d: expected at least %d for method %s, which compares shares within a batch",
			o.Batch, traits.LeastBatch, o.Head.Name())
	case traits.Passes > 0 && o.Dropout < 0:
		return fmt.Errorf("training options: method %s expects dropout, found none", o.Head.Name())
	}
	return nil
}

// regularize chooses the regularization against overfitting: little for images and
// volumes, where convolutions regularize already; for tables the more, the fewer
// items there are per input. Where there are about as many inputs as items, dropout
// of inputs helps most.
func (o *Options) regularize(n int, t *dataset.Transform, grid int) {
	if grid > 0 {
		o.Dropout = cmp.Or(o.Dropout, 0.1)
		o.InputDropout = cmp.Or(o.InputDropout, -1)
		o.WeightDecay = cmp.Or(o.WeightDecay, 0.05)
		o.Init = cmp.Or(o.Init, nn.He)
		return
	}
	perInput := float64(n) / float64(t.Width())
	strength := min(1, math.Sqrt(60/perInput))
	o.Dropout = cmp.Or(o.Dropout, round(0.3*strength))
	o.WeightDecay = cmp.Or(o.WeightDecay, round(0.3*strength))
	if o.InputDropout == 0 {
		o.InputDropout = -1
		if share := min(1, 2/perInput); share > 0.1 {
			o.InputDropout = round(0.4 * share)
		}
	}
	o.Init = cmp.Or(o.Init, nn.Glorot)
}

// round rounds to two decimal places: chosen options need no more.
func round(x float64) float64 { return math.Round(100*x) / 100 }

func (o *Options) check() error {
	for _, c := range []struct {
		fine  bool
		name  string
		found any
		want  string
	}{
		{o.Dropout < 1, "dropout", o.Dropout, "less than 1"},
		{o.InputDropout < 1, "input dropout", o.InputDropout, "less than 1"},
		{o.Batch >= 1, "batch", o.Batch, "at least 1"},
		{o.Epochs >= 1, "epochs", o.Epochs, "at least 1"},
		{o.Ensemble >= 1 && o.Ensemble <= mostMembers, "ensemble", o.Ensemble, fmt.Sprintf("between 1 and %d", mostMembers)},
		{o.HeldOut > 0 && o.HeldOut <= 0.5, "held-out share", o.HeldOut, "more than 0 and at most 0.5"},
		{o.Calibrate == "auto" || o.Calibrate == "off", "calibrate", strconv.Quote(o.Calibrate), "one of [auto off]"},
		{slices.Contains([]string{"", calibrate.These, calibrate.LikeThese}, o.Population), "population", strconv.Quote(o.Population),
			fmt.Sprintf("one of [%s %s]", calibrate.These, calibrate.LikeThese)},
		{slices.Contains([]string{"auto", "off", "on"}, o.Raters), "raters", strconv.Quote(o.Raters), "one of [auto off on]"},
		{slices.Contains([]string{"auto", "off", "only"}, o.Trees), "trees", strconv.Quote(o.Trees), "one of [auto off only]"},
		{o.Trees != "only" || o.Network == onlyTrees || o.From != nil, "network", strconv.Quote(o.Network), "none with trees alone"},
		{o.Resolution <= 0.1, "resolution", o.Resolution, "at most 0.1"},
		{o.Schedule == "constant" || o.Schedule == "cosine", "schedule",
			strconv.Quote(o.Schedule), "one of [constant cosine]"},
	} {
		if !c.fine {
			return fmt.Errorf("training options: %s %v: expected %s", c.name, c.found, c.want)
		}
	}
	return nil
}

// optimizer returns the options of the optimizer for a run with the given number of
// steps per epoch, at a share of the learning rate.
func (o *Options) optimizer(steps int, share float64) nn.OptimizerOptions {
	opt := nn.OptimizerOptions{
		Kind: o.Optimizer, Rate: o.Rate * share, Momentum: max(0, o.Momentum),
		WeightDecay: max(0, o.WeightDecay), Clip: max(0, o.Clip),
	}
	if o.Schedule == "cosine" {
		opt.Schedule = nn.Schedule{Kind: "cosine", Total: uint64(o.Epochs * steps), Final: 0.01}
	}
	return opt
}
