package config

import (
	"strings"

	"credence/head"
	"credence/internal/words"
	"credence/nn"
	"credence/train"
)

const (
	everywhere = Train | Predict | Evaluate | Check
	features   = Train | Predict | Evaluate // verbs that read features
)

// firstOfTraining is the first option that is not about data.
const firstOfTraining = "method"

// Options is the table of options, in display order.
var Options = derive([]*Option{
	{Name: "data", verbs: Train, at: func(s *Settings) any { return &s.Load.Data },
		Help: "`file` of features: .csv, .tsv, .xlsx, .json, .parquet, .npy, .npz, IDX, or a folder of images, " +
			"NIfTI volumes or Parquet files; further ones are joined to the first by item, or add items with their votes " +
			"(credence help formats)"},
	{Name: "votes", verbs: features, at: func(s *Settings) any { return &s.Load.Votes },
		Help: "`file` of votes (default: they are in the data file); the votes of further ones are added"},
	{Name: "votes-form", verbs: everywhere, at: func(s *Settings) any { return &s.votes().Form },
		Choices: []string{"auto", "long", "wide", "counts", "fractions"},
		Help:    "`form` of the votes: auto, long, wide, counts or fractions"},
	{Name: "votes-item", verbs: everywhere, at: func(s *Settings) any { return &s.votes().ItemColumn },
		Help: "item `column` of the votes, if not that of --item"},
	{Name: "label", verbs: everywhere, at: func(s *Settings) any { return &s.votes().LabelColumn },
		Help: "`column` of labels (default: found by its name)"},
	{Name: "rater", verbs: everywhere, at: func(s *Settings) any { return &s.votes().RaterColumn },
		Help: "`column` of raters (default: found by its name)"},
	{Name: "count", verbs: everywhere, at: func(s *Settings) any { return &s.votes().CountColumn },
		Help: "`column` with the number of votes that a row stands for"},
	{Name: "total", verbs: everywhere, at: func(s *Settings) any { return &s.votes().TotalColumn },
		Help: "`column` with an item's number of votes, for fractions"},
	{Name: "duplicates", verbs: everywhere, at: func(s *Settings) any { return &s.votes().Duplicates },
		Choices: []string{"last", "first", "every", "refuse"},
		Help:    "which `vote` counts if a rater gives two: last, first, every or refuse"},
	{Name: "classes", verbs: Train | Check, at: func(s *Settings) any { return &s.votes().Classes },
		Help: "all `labels`, in order (default: those found)"},
	{Name: "vote-columns", verbs: everywhere, at: func(s *Settings) any { return &s.votes().Columns },
		Help: "`columns` that hold the votes, if they are not in the long form"},
	{Name: "item", verbs: everywhere, at: func(s *Settings) any { return &s.features().ItemColumn },
		Help: "`column` of item ids (default: found by its name)"},
	{Name: "array", verbs: features, at: func(s *Settings) any { return &s.features().Array },
		Help: "`name` of the array to read in an NPZ file"},
	{Name: "layout", verbs: features, at: func(s *Settings) any { return &s.features().Layout },
		Choices: []string{"vector", "HW", "CHW", "HWC", "DHW", "CDHW", "DHWC"},
		Help:    "`axes` of an item in an array: vector, HW, CHW, HWC, DHW, CDHW, DHWC"},
	{Name: "image-column", verbs: features, at: func(s *Settings) any { return &s.features().ImageColumn },
		Help: "`column` of paths of images or volumes (default: a column of such paths that " +
			"--features names, or that is the only one)"},
	{Name: "images-inside", verbs: features, at: func(s *Settings) any { return &s.Inside },
		Help: "refuse paths of images or volumes that lead out of the folder of their table"},
	{Name: "volume-cache", verbs: features, at: func(s *Settings) any { return &s.features().Volume.CacheDir },
		Help: "`folder` to keep prepared volumes in, for this run and others"},
	{Name: "sheet", verbs: everywhere, at: func(s *Settings) any { return &s.features().Sheet },
		Help: "`name` of the sheet to read in a workbook (.xlsx), or its number (default: the first)"},
	{Name: "votes-sheet", verbs: features, at: func(s *Settings) any { return &s.votes().Sheet },
		Help: "`name` of the sheet of the votes, if not that of --sheet"},
	{Name: "na", verbs: everywhere, at: func(s *Settings) any { return &s.features().NA },
		Help: "`spellings` of a missing value (default: NA, NaN, null and others)"},
	{Name: "features", verbs: Train, at: func(s *Settings) any { return &s.features().Features },
		Help: "the only `columns` to take as features"},
	{Name: "ignore", verbs: everywhere, at: func(s *Settings) any { return &s.features().Ignore },
		Help: "`columns` to leave out"},
	{Name: "numeric", verbs: Train, at: func(s *Settings) any { return &s.features().Numeric },
		Help: "`columns` to read as numbers"},
	{Name: "categorical", verbs: Train, at: func(s *Settings) any { return &s.features().Categorical },
		Help: "`columns` to read as categories, though they may be numbers"},
	{Name: "text", verbs: Train, at: func(s *Settings) any { return &s.features().Text },
		Help: "`columns` of text to learn from word by word (columns of sentences are found; " +
			"--ignore or --categorical says otherwise)"},
	{Name: "group", verbs: Train | Evaluate, at: func(s *Settings) any { return &s.features().GroupColumn },
		Help: "`column` whose equal values keep items together, such as patient"},
	{Name: "split", verbs: Train, at: func(s *Settings) any { return &s.features().SplitColumn },
		Help: "`column` that says train, validation or test"},
	{Name: "test", verbs: Train, at: func(s *Settings) any { return &s.Test },
		valid: share, want: "a share of the items, from 0 to below 1, such as 0.2",
		Help: "`share` of the items left alone, for credence evaluate --part test"},
	{Name: "validation", verbs: Train, at: func(s *Settings) any { return &s.Validation },
		valid: share, want: "a share of the items, from 0 to below 1, such as 0.2",
		Help: "`share` of the items that every network holds out to stop in time"},
	{Name: "item-weights", verbs: Train, at: func(s *Settings) any { return &s.features().WeightColumn },
		Help: "`column` that says how much an item counts, not negative"},
	{Name: "image-size", verbs: Train, want: "HEIGHTxWIDTH, such as 64x64",
		at: func(s *Settings) any {
			return extent{&s.features().Image.Height, &s.features().Image.Width}
		},
		Help: "`HEIGHTxWIDTH` that images are brought to (default: the first's)"},
	{Name: "gray", verbs: Train, at: func(s *Settings) any { return &s.features().Image.Gray },
		Help: "read images in shades of gray"},
	{Name: "volume-size", verbs: Train, want: "XxYxZ voxels, such as 96x96x80",
		at: func(s *Settings) any {
			size := &s.features().Volume.Size
			return extent{&size[0], &size[1], &size[2]}
		},
		Help: "`XxYxZ` voxels that volumes are resampled to: left to right, back to front, foot to head"},
	{Name: "volume-fit", verbs: Train, at: func(s *Settings) any { return &s.volumes().Fit },
		Choices: []string{"stretch", "proportions"},
		Help:    "`how` a volume is laid over them: stretch or proportions"},
	{Name: "volume-scale", verbs: Train, at: func(s *Settings) any { return &s.volumes().Scale },
		Choices: []string{"zscore", "range", "none"},
		Help: "`what` intensities are brought to: zscore (of what is brighter than the mean), " +
			"range (0 to 1) or none"},
	{Name: "volume-percentiles", verbs: Train, want: "two numbers from 0 to 100, such as 0.5,99.5",
		at:   func(s *Settings) any { return percentiles{&s.volumes().Low, &s.volumes().High} },
		Help: "`low,high` percentiles at which intensities are cut off first"},
	{Name: "volume-store", verbs: Train, at: func(s *Settings) any { return &s.volumes().Store },
		Choices: []string{"float16", "uint8", "float32"},
		Help:    "`precision` that voxels are kept in: float16, uint8 or float32"},
	{Name: "memory", verbs: everywhere, at: func(s *Settings) any { return (*byteSize)(&s.features().Memory) },
		Help: "`bytes` of features held in memory, such as 500MB; beyond, they are read from a file. " +
			"A file that needs more to be read at all is refused"},
	{Name: "cache", verbs: Train, at: func(s *Settings) any { return &s.features().CacheDir },
		Help: "`folder` of that file (default: the user's cache folder)"},
	{Name: "from", verbs: Train, at: func(s *Settings) any { return &s.From },
		Help: "`run` to start from: its networks continue with further votes on the same features, and what " +
			"changed is printed. Settings that are not given are those of that run"},

	{Name: "method", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Method },
		Choices: head.Names(),
		Help: "`name` of the method: mixture, or one without distributions: " +
			strings.Join(head.Names()[1:], ", ")},
	{Name: "setting", verbs: Train, fit: true, at: func(s *Settings) any { return &s.MethodSettings },
		Help: "a setting of the method, `name=value`; may be repeated"},
	{Name: "network", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Network },
		Help: "`name` of the network: mlp, lenet5, cnn2d, resnet or cnn3d, or a list of layers, " +
			"or a .yaml file with one (default: by the features' shape)"},
	{Name: "widths", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Widths },
		valid: atLeastOne, want: "whole numbers of at least 1",
		Help: "`widths` of the hidden layers of mlp, or of the stages of cnn2d or resnet"},
	{Name: "components", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Components },
		valid: atLeastOne, want: "a whole number of at least 1",
		Help: "`number` of Dirichlet components of a network"},
	{Name: "ensemble", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Ensemble },
		valid: func(x float64) bool { return x >= 1 && x <= 1000 }, want: "a whole number from 1 to 1000",
		Help: "`number` of networks that predict together"},
	{Name: "epochs", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Epochs },
		valid: atLeastOne, want: "a whole number of at least 1",
		Help: "at most this many `passes` over the items"},
	{Name: "patience", verbs: Train, fit: true, open: true, none: true,
		at:    func(s *Settings) any { return &s.Fit.Patience },
		valid: notNegative, want: "a whole number of at least 1, or 0 for never",
		Help: "`epochs` without a better held-out loss before training stops; 0 for never"},
	{Name: "batch", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Batch },
		valid: atLeastOne, want: "a whole number of at least 1",
		Help: "`items` per step"},
	{Name: "held-out", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.HeldOut },
		valid: func(x float64) bool { return x > 0 && x <= 0.5 }, want: "a share above 0, at most 0.5",
		Help: "`share` of the items that a single network holds out"},
	{Name: "raters", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Raters },
		Choices: []string{"auto", "off", "on"},
		Help:    "model bias and guess rate of raters: `auto` (if it predicts held-out votes better), off or on"},
	{Name: "calibrate", verbs: features, fit: true, at: func(s *Settings) any { return &s.Fit.Calibrate },
		Choices: []string{"auto", "off"},
		Help:    "scale distributions to the spread that held-out votes show in training: `auto` or off"},
	{Name: "resolution", verbs: features, fit: true,
		at:   func(s *Settings) any { return (*resolution)(&s.Fit.Resolution) },
		want: "auto, off or a number above 0, at most 0.1",
		Help: "`distance` from 0 and 1 within which intervals do not end: auto (by the number of votes), " +
			"off, or a number up to 0.1 (default auto)"},
	{Name: "optimizer", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Optimizer },
		Choices: nn.OptimizerNames(),
		Help:    "`name` of the optimizer: " + words.List(nn.OptimizerNames(), "or")},
	{Name: "rate", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Rate },
		valid: func(x float64) bool { return x > 0 && x < 1e6 }, want: "a learning rate above 0",
		Help: "learning `rate`"},
	{Name: "schedule", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Schedule },
		Choices: []string{"constant", "cosine"},
		Help: "how the learning rate `changes`: constant or cosine (default: cosine for cnn2d, " +
			"else constant)"},
	{Name: "momentum", verbs: Train, fit: true, none: true, at: func(s *Settings) any { return &s.Fit.Momentum },
		valid: share, want: "a number from 0 to below 1",
		Help: "`momentum` of sgd; 0 for none (default 0.9)"},
	{Name: "weight-decay", verbs: Train, fit: true, open: true, none: true,
		at:    func(s *Settings) any { return &s.Fit.WeightDecay },
		valid: func(x float64) bool { return x >= 0 && x < 1e6 }, want: "a number of at least 0",
		Help: "weight `decay`; 0 for none"},
	{Name: "clip", verbs: Train, fit: true, open: true, none: true, at: func(s *Settings) any { return &s.Fit.Clip },
		valid: notNegative, want: "a norm above 0, or 0 for any",
		Help: "largest `norm` of the gradient; 0 for any"},
	{Name: "dropout", verbs: Train, fit: true, open: true, none: true,
		at:    func(s *Settings) any { return &s.Fit.Dropout },
		valid: share, want: "a rate from 0 to below 1",
		Help: "dropout `rate` after each hidden layer of mlp; 0 for none"},
	{Name: "input-dropout", verbs: Train, fit: true, open: true, none: true,
		at:    func(s *Settings) any { return &s.Fit.InputDropout },
		valid: share, want: "a rate from 0 to below 1",
		Help: "dropout `rate` of the inputs of mlp; 0 for none"},
	{Name: "init", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Init },
		Choices: []string{"he", "glorot"},
		Help:    "`rule` for initial weights: he or glorot"},
	{Name: "limit", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Limit },
		valid: func(x float64) bool { return x > 0 && x <= 20 },
		want:  "a number above 0, at most 20",
		Help:  "`clamp` on |log α|"},
	{Name: "class-weights", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.ClassWeights },
		valid: notNegative, want: "weights that are not negative",
		Help: "a weight for each class, in order; voids the calibration of intervals"},
	{Name: "one-hot-levels", verbs: Train, fit: true, open: true,
		at:    func(s *Settings) any { return &s.Fit.Transform.OneHotLevels },
		valid: atLeastOne, want: "a whole number of at least 1",
		Help: "most `levels` of a category that is one-hot; above, it is embedded"},
	{Name: "one-hot", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Transform.OneHot },
		Help: "categorical `columns` to make one-hot"},
	{Name: "embed", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Transform.Embed },
		Help: "categorical `columns` to embed"},
	{Name: "rare-level", verbs: Train, fit: true, open: true,
		at:    func(s *Settings) any { return &s.Fit.Transform.RareLevel },
		valid: atLeastOne, want: "a whole number of at least 1",
		Help: "`items` below which an embedded level counts as unknown"},
	{Name: "augment", verbs: Train, fit: true, open: true,
		at: func(s *Settings) any { return (*augment)(&s.Fit.Augment) },
		Help: "random `changes` of images and volumes in training, such as " +
			"shift=2,flip,intensity=0.1,noise=0.02, or none (default: shifts by a sixteenth of the " +
			"side for cnn2d, else none)"},
	{Name: "seed", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Seed },
		Help: "`seed` of all randomness"},
	{Name: "force", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Force },
		Help: "train though no item has two votes: intervals then mean nothing"},
	{Name: "threads", verbs: Train, at: func(s *Settings) any { return &s.Threads },
		valid: notNegative, want: "a whole number of at least 1, or 0 for all cores",
		Help: "how many `cores` to use (default all); the result is the same"},
	{Name: "device", verbs: Train, open: true, at: func(s *Settings) any { return &s.Device },
		Help: "what networks run `on`: cpu, gpu, gpu:N for the GPU of that number, or auto, which is a GPU " +
			"for images and volumes where there is one; GPUs need the program credence-gpu (default auto)"},
})

func atLeastOne(x float64) bool  { return x >= 1 }
func notNegative(x float64) bool { return x >= 0 }
func share(x float64) bool       { return x >= 0 && x < 1 }

// names lists the names of the options, in order.
var names = words.Each(Options, func(o *Option) string { return o.Name })

// derive completes the rows: types come from the fields, and defaults from new
// settings or from the defaults of a fit that do not depend on the data.
func derive(rows []*Option) []*Option {
	fresh, chosen := New(), &Settings{}
	chosen.Complete(train.Defaults())
	for _, o := range rows {
		o.typ, o.list = kind(o.at(fresh))
		for _, s := range []*Settings{chosen, fresh} {
			if o.typ == boolType || !o.zero(s) {
				o.fallback = o.texts(s)
			}
		}
	}
	return rows
}
