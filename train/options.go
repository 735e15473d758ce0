package train

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"credence/dataset"
	"credence/head"
	"credence/nn"
)

// Options says how a model is fitted. The zero value is meant for use: every
// field left zero is chosen from the data, and the choice is recorded in the
// model. Fields tagged json:"-" do not change the result.
type Options struct {
	// Head is how the networks learn, one of the methods of package head or one's own; nil means
	// [head.Mixture].
	Head head.Method `json:"-"` // in the record as "head"

	// Network is a name ("mlp", "lenet5", "cnn2d", "resnet", "cnn3d") or a list
	// of layers as [nn.Parse] reads it. Empty means mlp for tables, lenet5 for
	// small gray images, cnn2d for others and cnn3d for volumes.
	Network string `json:"network"`
	// Widths are those of the hidden layers of mlp or the stages of cnn2d and
	// resnet.
	Widths []int `json:"widths,omitempty"`
	// Dropout is the rate after each hidden layer of mlp, InputDropout that of
	// the numbers it takes; negative means none.
	Dropout      float64 `json:"dropout"`
	InputDropout float64 `json:"input_dropout"`
	// Init is the rule for initial weights.
	Init nn.Init `json:"init"`

	Optimizer   string  `json:"optimizer"`    // one of nn.Optimizers
	Rate        float64 `json:"rate"`         // learning rate
	Momentum    float64 `json:"momentum"`     // of sgd; negative means none
	WeightDecay float64 `json:"weight_decay"` // negative means none
	Clip        float64 `json:"clip"`         // largest norm of the gradient; negative means any
	Schedule    string  `json:"schedule"`     // "constant" or "cosine", over Epochs
	Batch       int     `json:"batch"`        // items per step
	Epochs      int     `json:"epochs"`       // at most
	// Patience is how many epochs may pass without a better held-out loss
	// before training stops; negative means all Epochs are run and the last
	// weights kept.
	Patience int `json:"patience"`

	// Ensemble is the number M of networks. With more than one, member i holds
	// out fold i of max(M, 5), at most 10; of a million items and more all hold
	// out the same share.
	Ensemble int `json:"ensemble"`
	// HeldOut is the share of the items held out for early stopping by a single
	// network, and of a million items and more by each: 0 means 1/10, and at most
	// 100,000 items. Below RefitItems items it is 1/5, in five folds that take turns
	// to choose the number of epochs, after which one network is trained on all.
	HeldOut float64 `json:"held_out"`
	// Held are the items held out by every network, by index, instead of folds.
	Held []int `json:"held,omitempty"`

	// Raters says whether the likelihood knows who cast a vote ([head.Mixture]): "on", "off", or "auto",
	// which compares both on held-out votes where raters are named and have voted often enough.
	Raters string `json:"raters"`

	// Calibrate says whether reported laws are scaled to the spread that pairs of held-out votes show:
	// "auto" or "off".
	Calibrate string `json:"calibrate"`
	// Resolution is how close to 0 or 1 reported intervals may end, at most 0.1; 0 means by the number
	// of votes, negative anywhere.
	Resolution float64 `json:"resolution"`

	// ClassWeights [d] makes items count by the mean weight of their votes'
	// classes, ItemWeights [N] by a weight of their own; nil means
	// those of the data. Class weights void the
	// calibration of intervals.
	ClassWeights []float64 `json:"class_weights,omitempty"`
	ItemWeights  []float64 `json:"item_weights,omitempty"`

	// Augment changes images and volumes at random when they are trained on. The
	// zero value means shifts for cnn2d and nothing for other networks; a
	// negative Shift alone means nothing.
	Augment Augment `json:"augment,omitzero"`

	// From, if not nil, is a model that training starts from: for further votes, and items
	// with the same features. What it has is taken over: classes, method, network, how
	// features become inputs, and where they are left zero all other options, with a smaller
	// Rate and fewer Epochs. FromModel is the SHA-256 of its file, for the record.
	From      *WarmStart `json:"-"`
	FromModel string     `json:"from,omitempty"`

	Seed uint64 `json:"seed"`
	// Force fits data without two votes on any item, whose intervals mean
	// nothing.
	Force bool `json:"force,omitempty"`
	// Transform says how features become inputs.
	Transform dataset.TransformOptions `json:"transform"`

	// NoReferences leaves out the reference models that an evaluation sets the
	// model beside: for studies, which fit many models and have rivals of their
	// own.
	NoReferences bool `json:"-"`
	// Layers are those of the networks, instead of what Network names; a dense
	// layer without Out gives what the head needs. Layers of one's own have to be
	// [nn.Typed].
	Layers nn.Layer `json:"-"` // in the record as the text of Network
	// Engine runs the networks; nil means the CPU.
	Engine nn.Engine `json:"-"`
	// Version of the program, for the record.
	Version string `json:"-"`
	// Memory is how many bytes the network inputs may take; beyond, they are
	// read again in each epoch. 0 means 2 GB.
	Memory int64 `json:"-"`
	// Progress, if not nil, is called after every epoch and at least every
	// second, one call at a time.
	Progress func(Event) `json:"-"`
	// AfterEpoch, if not nil, is shown each network after each of its epochs, by
	// several goroutines at once.
	AfterEpoch func(Snapshot) `json:"-"`
	// Checkpoint is a folder for the state of the run, written at least every
	// CheckpointEvery (0 means 30 seconds) and when the run is stopped. With
	// Resume, the run continues from what is there.
	Checkpoint      string        `json:"-"`
	CheckpointEvery time.Duration `json:"-"`
	Resume          bool          `json:"-"`
	// Parts are networks that other processes have trained with [FitMember]: they are taken
	// over, and only what is in none of them is trained.
	Parts []*MemberResult `json:"-"`
}

// RefitItems is the number of items below which a single network is chosen by
// folds and trained again on all items.
const RefitItems = 2000

// mostMembers bounds the networks of an ensemble.
const mostMembers = 1000

// Defaults returns the choices that do not depend on the data. Only where one network alone takes hours is an ensemble not five.
func Defaults() Options {
	return Options{
		Head: head.Complete(head.Mixture{}), Optimizer: "adamw", Clip: 5, Ensemble: 5,
		Calibrate: "auto", Raters: "auto",
		Transform: dataset.TransformOptions{}.Complete(),
	}
}

// complete fills in what was left zero, for n items with votes of the given
// input width and a head of the given traits.
func (o Options) complete(n int, traits head.Traits, t *dataset.Transform) (Options, error) {
	if err := o.suits(traits); err != nil {
		return o, err
	}
	if o.Engine == nil {
		o.Engine = nn.CPU{}
	}
	if o.Layers != nil { // as the record has them
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
	o.Network = cmp.Or(o.Network, defaultNetwork(t))
	if o.Widths == nil {
		o.Widths = defaultWidths(o.Network, n)
	}
	o.regularize(n, t, grid)
	if traits.Passes > 0 && !dropoutGiven {
		o.Dropout = max(o.Dropout, 0.1) // passes that hardly differ would tell nothing
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
		o.Rate = cmp.Or(o.Rate, 2e-3) // larger batches bear larger steps
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
		o.Augment = Augment{} // one spelling in the record
	}
	if err := o.Augment.fits(t); err != nil {
		return o, fmt.Errorf("training options: %w", err)
	}
	return o, o.check()
}

// defaultWidths is nil for a network that has none.
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

// defaultBatch makes at least some thirty steps per epoch for few items, and
// larger batches once there are many; volumes are heavy. Of a million rows of a
// table and more, batches of 1,024 at twice the rate come to the same loss in fewer
// steps, each of which uses the cores better (docs/performance.md).
func defaultBatch(n, grid int) int {
	if grid == 3 {
		return 16
	}
	if grid == 0 && n >= manyItems {
		return largeBatch
	}
	return min(256, max(16, 1<<bits.Len(uint(n/64))))
}

// heldItems is how many of very many items are held out: a loss per vote is then known to
// about 0.001.
const heldItems = 100_000

// largeBatch is the batch of very many rows.
const largeBatch = 1024

// defaultEnsemble is most, which repairs most of the under-coverage of one
// network; only where one alone takes hours is a single one the default.
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

// suits refuses options that a head of the given traits cannot be trained with.
func (o *Options) suits(traits head.Traits) error {
	switch {
	case o.Batch != 0 && o.Batch < traits.LeastBatch:
		return fmt.Errorf("training options: batch %d, want at least %d for method %s, which compares shares within a batch",
			o.Batch, traits.LeastBatch, o.Head.Name())
	case traits.Passes > 0 && o.Dropout < 0:
		return fmt.Errorf("training options: method %s without dropout", o.Head.Name())
	}
	return nil
}

// regularize chooses what keeps a network from learning its items by heart:
// little for images and volumes, where convolutions do much of it already; for
// tables the more, the fewer items there are for each input. Where there are
// about as many numbers as items, leaving out some of the numbers helps most.
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

// round keeps two digits after the point: choices need no more.
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
		{slices.Contains([]string{"auto", "off", "on"}, o.Raters), "raters", strconv.Quote(o.Raters), "one of [auto off on]"},
		{o.Resolution <= 0.1, "resolution", o.Resolution, "at most 0.1"},
		{o.Schedule == "constant" || o.Schedule == "cosine", "schedule",
			strconv.Quote(o.Schedule), "one of [constant cosine]"},
	} {
		if !c.fine {
			return fmt.Errorf("training options: %s %v, want %s", c.name, c.found, c.want)
		}
	}
	return nil
}

// optimizer returns the optimizer's options for a run of so many steps per
// epoch, at a share of the learning rate.
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

// record is Options as JSON: without the methods of Options, and with the head spelled out.
type record struct {
	Head json.RawMessage `json:"head,omitempty"`
	*plainOptions
}

type plainOptions Options

// MarshalJSON returns the record of the options.
func (o Options) MarshalJSON() ([]byte, error) {
	r := record{plainOptions: (*plainOptions)(&o)}
	if o.Head != nil {
		var err error
		if r.Head, err = head.Encode(o.Head); err != nil {
			return nil, err
		}
	}
	return json.Marshal(r)
}

// UnmarshalJSON reads a record whose head is one of [head.Methods].
func (o *Options) UnmarshalJSON(text []byte) error {
	r := record{plainOptions: (*plainOptions)(o)}
	err := json.Unmarshal(text, &r)
	if err == nil && r.Head != nil {
		o.Head, err = head.Parse(r.Head)
	}
	return err
}
