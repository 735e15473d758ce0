package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"credence/baseline"
	"credence/nn"
	"credence/train"
)

// fitFlags is how the command line says how a model is fitted. What is not
// given is chosen from the data by package train.
type fitFlags struct {
	flags *pflag.FlagSet

	method                            string
	settings                          []string
	rival                             baseline.Options // of method, as settings say
	network                           string
	widths                            []int
	components                        int
	limit                             float64
	dropout, inputDropout             float64
	init                              string
	optimizer, schedule               string
	rate, momentum, weightDecay, clip float64
	batch, epochs, patience, ensemble int
	heldOut                           float64
	classWeights                      numberList
	oneHotLevels, rareLevel           int
	oneHot, embed                     []string
	augment                           augmentFlag
	seed                              uint64
	force                             bool
}

func (o *fitFlags) declare(f *pflag.FlagSet) {
	o.flags = f
	f.StringVar(&o.method, "method", "", "`name` of the method: ddmn, or a rival of it, which gives no\ndistributions: "+strings.Join(methodChoices()[1:], ", ")+"\n(default ddmn)")
	f.StringSliceVar(&o.settings, "setting", nil, "a setting of the method, `name=value`; may be repeated")
	f.StringVar(&o.network, "network", "", "`name` of the network: mlp, lenet5, cnn2d, resnet or cnn3d, or a list of\nlayers, or a .yaml file with one (default: by the features' shape)")
	f.IntSliceVar(&o.widths, "widths", nil, "`widths` of the hidden layers of mlp, or of the stages of cnn2d or\nresnet")
	f.IntVar(&o.components, "components", 0, "`number` of Dirichlet components of a network (default 3)")
	f.IntVar(&o.ensemble, "ensemble", 0, "`number` of networks that predict together (default 5)")
	f.IntVar(&o.epochs, "epochs", 0, "at most this many `passes` over the items")
	f.IntVar(&o.patience, "patience", 0, "`epochs` without a better held-out loss before training stops; 0 for\nnever")
	f.IntVar(&o.batch, "batch", 0, "`items` a step")
	f.Float64Var(&o.heldOut, "held-out", 0, "`share` of the items that a single network holds out")
	f.StringVar(&o.optimizer, "optimizer", "", "`name` of the optimiser: adamw, adam or sgd (default adamw)")
	f.Float64Var(&o.rate, "rate", 0, "learning `rate`")
	f.StringVar(&o.schedule, "schedule", "", "how the learning rate `changes`: constant or cosine (default:\ncosine for cnn2d, else constant)")
	f.Float64Var(&o.momentum, "momentum", 0, "`momentum` of sgd")
	f.Float64Var(&o.weightDecay, "weight-decay", 0, "weight `decay`; 0 for none")
	f.Float64Var(&o.clip, "clip", 0, "largest `norm` of the gradient; 0 for any (default 5)")
	f.Float64Var(&o.dropout, "dropout", 0, "dropout `rate` after each hidden layer of mlp; 0 for none")
	f.Float64Var(&o.inputDropout, "input-dropout", 0, "dropout `rate` of the inputs of mlp; 0 for none")
	f.StringVar(&o.init, "init", "", "`rule` for initial weights: he or glorot")
	f.Float64Var(&o.limit, "limit", 0, "`clamp` on |log α| (default 20)")
	f.Var(&o.classWeights, "class-weights", "a weight for each class, in order; voids the calibration of\nintervals")
	f.IntVar(&o.oneHotLevels, "one-hot-levels", 0, "most `levels` of a category that is one-hot; above, it is embedded\n(default 4)")
	f.StringSliceVar(&o.oneHot, "one-hot", nil, "categorical `columns` to make one-hot")
	f.StringSliceVar(&o.embed, "embed", nil, "categorical `columns` to embed")
	f.IntVar(&o.rareLevel, "rare-level", 0, "`items` below which an embedded level counts as unknown (default 2)")
	f.Var(&o.augment, "augment", "random `changes` of images and volumes in training, such as\nshift=2,flip,intensity=0.1,noise=0.02, or none (default: shifts by a\nsixteenth of the side for cnn2d, else none)")
	f.Uint64Var(&o.seed, "seed", 1, "`seed` of all randomness")
	f.BoolVar(&o.force, "force", false, "train though no item has two votes: intervals then mean nothing")
}

// options returns what package train takes. There, zero leaves the choice to
// the data and a negative number means none; on the command line, 0 is none.
func (o *fitFlags) options() train.Options {
	t := train.Options{
		Method: baseline.Method(o.method), Rival: o.rival,
		Network: o.network, Widths: o.widths, Components: o.components, Limit: o.limit,
		Dropout: none(o.flags, "dropout", o.dropout), InputDropout: none(o.flags, "input-dropout", o.inputDropout),
		Init: nn.Init(o.init), Optimizer: o.optimizer, Schedule: o.schedule, Rate: o.rate, Momentum: o.momentum,
		WeightDecay: none(o.flags, "weight-decay", o.weightDecay), Clip: none(o.flags, "clip", o.clip),
		Batch: o.batch, Epochs: o.epochs, Patience: none(o.flags, "patience", o.patience),
		Ensemble: o.ensemble, HeldOut: o.heldOut, ClassWeights: o.classWeights.values,
		Augment: o.augment.Augment, Seed: o.seed, Force: o.force,
	}
	t.Transform.OneHotLevels, t.Transform.RareLevel = o.oneHotLevels, o.rareLevel
	t.Transform.OneHot, t.Transform.Embed = o.oneHot, o.embed
	return t
}

func none[T int | float64](f *pflag.FlagSet, name string, x T) T {
	if x == 0 && f.Changed(name) {
		return -1
	}
	return x
}

// readLayers replaces the name of a file of layers by its content, so that the
// record of the run holds it.
func (o *fitFlags) readLayers() error {
	if ext := filepath.Ext(o.network); ext != ".yaml" && ext != ".yml" {
		return nil
	}
	text, err := os.ReadFile(o.network)
	if err != nil {
		if pe, ok := errors.AsType[*os.PathError](err); ok {
			err = pe.Err
		}
		return fmt.Errorf("reading %s: %w", o.network, err)
	}
	o.network = strings.TrimSpace(string(text))
	return nil
}

// chosenByFit are the flags that a fit completes.
var chosenByFit = []string{"network", "widths", "components", "ensemble", "epochs", "patience", "batch", "held-out",
	"optimizer", "rate", "schedule", "weight-decay", "clip", "dropout", "input-dropout", "init", "limit", "one-hot-levels",
	"rare-level", "augment", "seed"}

// complete sets the flags to the options that a fit has chosen, for the record.
func (o *fitFlags) complete(t train.Options) {
	o.network, o.widths, o.components, o.limit = t.Network, t.Widths, t.Components, t.Limit
	o.dropout, o.inputDropout = max(0, t.Dropout), max(0, t.InputDropout)
	o.init, o.optimizer, o.schedule = string(t.Init), t.Optimizer, t.Schedule
	o.rate, o.momentum, o.weightDecay, o.clip = t.Rate, t.Momentum, max(0, t.WeightDecay), max(0, t.Clip)
	o.batch, o.epochs, o.patience = t.Batch, t.Epochs, max(0, t.Patience)
	o.ensemble, o.heldOut = t.Ensemble, t.HeldOut
	o.oneHotLevels, o.rareLevel = t.Transform.OneHotLevels, t.Transform.RareLevel
	o.method, o.settings = string(t.Method), o.settings[:0]
	for _, s := range t.Method.Settings() {
		o.settings = append(o.settings, s.Name+"="+t.Rival.Get(s.Name))
	}
	augmented := o.flags.Lookup("augment").Changed || t.Augment != train.Augment{}
	o.augment.Augment = t.Augment
	for _, name := range chosenByFit {
		o.flags.Lookup(name).Changed = true
	}
	o.flags.Lookup("augment").Changed = augmented
	o.flags.Lookup("method").Changed = t.Method != ""
	o.flags.Lookup("setting").Changed = len(o.settings) > 0
	o.flags.Lookup("components").Changed = t.Method == ""
	o.flags.Lookup("limit").Changed = t.Method == ""
	o.flags.Lookup("widths").Changed = t.Widths != nil
	o.flags.Lookup("momentum").Changed = t.Momentum != 0
}

// augmentFlag is a flag like shift=2,flip, or none.
type augmentFlag struct {
	train.Augment
	given bool // by name, so that nothing is told from no answer
}

func (a *augmentFlag) Set(s string) (err error) {
	a.given = true
	a.Augment, err = train.ParseAugment(s)
	return err
}

func (a *augmentFlag) String() string {
	if a.given && a.Augment == (train.Augment{}) {
		return "none"
	}
	return a.Augment.String()
}

func (a *augmentFlag) Type() string { return "list of changes" }
