package config

import (
	"strings"

	"credence/head"
	"credence/internal/backbone"
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
			"NIfTI volumes or Parquet files; repeat to join features by item, or to add items with their votes " +
			"(see credence help formats)"},
	{Name: "votes", verbs: features, at: func(s *Settings) any { return &s.Load.Votes },
		Help: "`file` of votes, if they are not in the data file; repeat to add votes"},
	{Name: "votes-form", verbs: everywhere, at: func(s *Settings) any { return &s.votes().Form },
		Choices: []string{"auto", "long", "wide", "counts", "fractions"}, Help: "`form` of the votes: {choices}"},
	{Name: "votes-item", verbs: everywhere, at: func(s *Settings) any { return &s.votes().ItemColumn },
		Help: "item `column` of the votes, if different from --item"},
	{Name: "label", verbs: everywhere, at: func(s *Settings) any { return &s.votes().LabelColumn },
		Help: "`column` of labels (default: detected by name)"},
	{Name: "rater", verbs: everywhere, at: func(s *Settings) any { return &s.votes().RaterColumn },
		Help: "`column` of raters (default: detected by name)"},
	{Name: "count", verbs: everywhere, at: func(s *Settings) any { return &s.votes().CountColumn },
		Help: "`column` with the number of votes that each row represents"},
	{Name: "total", verbs: everywhere, at: func(s *Settings) any { return &s.votes().TotalColumn },
		Help: "`column` with the number of votes per item, or the number itself, for fractions"},
	{Name: "duplicates", verbs: everywhere, at: func(s *Settings) any { return &s.votes().Duplicates },
		Choices: []string{"last", "first", "every", "refuse"},
		Help:    "`vote` to count if a rater voted twice on an item: {choices}"},
	{Name: "classes", verbs: Train | Check, at: func(s *Settings) any { return &s.votes().Classes },
		Help: "all `labels`, in order (default: those in the votes)"},
	{Name: "ordered", verbs: Train | Check, at: func(s *Settings) any { return &s.votes().Ordered },
		Help: "classes are the points of a scale, in the order of --classes, or of their values if all are numbers; " +
			"raters may then be biased along it"},
	{Name: "vote-columns", verbs: everywhere, at: func(s *Settings) any { return &s.votes().Columns },
		Help: "`columns` of votes, for forms other than long"},
	{Name: "judges", verbs: Train | Check, at: func(s *Settings) any { return &s.votes().Judges },
		Help: "`raters` that are machines, such as language models: their votes become features, not votes (see credence help judges)"},
	{Name: "item", verbs: everywhere | Embed, at: func(s *Settings) any { return &s.features().ItemColumn },
		Help: "`column` of item ids (default: detected by name)"},
	{Name: "array", verbs: features, at: func(s *Settings) any { return &s.features().Array },
		Help: "`name` of the array to read from an NPZ file"},
	{Name: "layout", verbs: features, at: func(s *Settings) any { return &s.features().Layout },
		Choices: []string{"vector", "HW", "CHW", "HWC", "DHW", "CDHW", "DHWC"},
		Help:    "`axes` of each item in an array: {choices}"},
	{Name: "image-column", verbs: features | Embed, at: func(s *Settings) any { return &s.features().ImageColumn },
		Help: "`column` of image or volume paths (default: the only such column, or the one that --features names)"},
	{Name: "images-inside", verbs: features | Embed, at: func(s *Settings) any { return &s.Inside },
		Help: "reject image or volume paths outside the folder of their table"},
	{Name: "volume-cache", verbs: features, at: func(s *Settings) any { return &s.features().Volume.CacheDir },
		Help: "`folder` for preprocessed volumes, shared between runs"},
	{Name: "backbone", verbs: features | Embed, at: func(s *Settings) any { return &s.backbone().Path },
		Help: "ONNX `file` of a pretrained network, or a folder with model.onnx: it makes vectors of images or of text, which " +
			"are then the features (see credence help embed)"},
	{Name: "onnxruntime", verbs: features | Embed, at: func(s *Settings) any { return &s.backbone().Library },
		Help: "`file` of the library of ONNX Runtime, which runs backbones (default: that of the Python package onnxruntime)"},
	{Name: "sheet", verbs: everywhere | Embed, at: func(s *Settings) any { return &s.features().Sheet },
		Help: "`name` or number of the sheet to read from a workbook, .xlsx (default: the first)"},
	{Name: "votes-sheet", verbs: features, at: func(s *Settings) any { return &s.votes().Sheet },
		Help: "`name` of the sheet of votes, if different from --sheet"},
	{Name: "na", verbs: everywhere | Embed, at: func(s *Settings) any { return &s.features().NA },
		Help: "further `spellings` of a missing value, next to NA, NaN, null and others; keep:none makes none a value"},
	{Name: "merge", verbs: everywhere, at: func(s *Settings) any { return &s.features().Merge }, want: "OLD=NEW, such as Benign=benign",
		Help: "`OLD=NEW` pairs of labels or categories to read as one, such as Benign=benign"},
	{Name: "fold-case", verbs: everywhere, at: func(s *Settings) any { return &s.features().FoldCase },
		Help: "read labels and categories in lower case"},
	{Name: "features", verbs: Train, at: func(s *Settings) any { return &s.features().Features },
		Help: "`columns` to use as features, and no others"},
	{Name: "ignore", verbs: everywhere | Embed, at: func(s *Settings) any { return &s.features().Ignore },
		Help: "`columns` to ignore"},
	{Name: "numeric", verbs: Train, at: func(s *Settings) any { return &s.features().Numeric },
		Help: "`columns` to read as numbers"},
	{Name: "categorical", verbs: Train, at: func(s *Settings) any { return &s.features().Categorical },
		Help: "`columns` to read as categories, even if they are numbers"},
	{Name: "text", verbs: Train | Embed, at: func(s *Settings) any { return &s.features().Text },
		Help: "`columns` of text to learn from word by word (default: columns of sentences, unless named by " +
			"--ignore or --categorical)"},
	{Name: "group", verbs: Train | Evaluate, at: func(s *Settings) any { return &s.features().GroupColumn },
		Help: "`column` of groups whose items stay together, such as patient"},
	{Name: "split", verbs: Train, at: func(s *Settings) any { return &s.features().SplitColumn },
		Help: "`column` that assigns items to train, validation or test"},
	{Name: "test", verbs: Train, at: func(s *Settings) any { return &s.Test }, valid: share,
		Help: "`share` of the items to hold out for credence evaluate --part test"},
	{Name: "validation", verbs: Train, at: func(s *Settings) any { return &s.Validation }, valid: share,
		Help: "`share` of the items to hold out from every network, for early stopping"},
	{Name: "item-weights", verbs: Train, at: func(s *Settings) any { return &s.features().WeightColumn },
		Help: "`column` of item weights, at least 0"},
	{Name: "image-size", verbs: Train, want: "HEIGHTxWIDTH, such as 64x64",
		at:   func(s *Settings) any { return extent{&s.features().Image.Height, &s.features().Image.Width} },
		Help: "`HEIGHTxWIDTH` to resize images to (default: the size of the first)"},
	{Name: "gray", verbs: Train, at: func(s *Settings) any { return &s.features().Image.Gray },
		Help: "convert images to grayscale"},
	{Name: "volume-size", verbs: Train, want: "XxYxZ voxels, such as 96x96x80",
		at: func(s *Settings) any {
			size := &s.features().Volume.Size
			return extent{&size[0], &size[1], &size[2]}
		},
		Help: "`XxYxZ` voxels to resample volumes to: left to right, back to front, foot to head"},
	{Name: "volume-fit", verbs: Train, at: func(s *Settings) any { return &s.volumes().Fit },
		Choices: []string{"stretch", "proportions"}, Help: "`how` to fit a volume to --volume-size: {choices}"},
	{Name: "volume-scale", verbs: Train, at: func(s *Settings) any { return &s.volumes().Scale },
		Choices: []string{"zscore", "range", "none"},
		Help:    "`scale` of intensities: zscore (over voxels brighter than the mean), range (0 to 1) or none"},
	{Name: "volume-percentiles", verbs: Train, want: "two numbers from 0 to 100, such as 0.5,99.5",
		at:   func(s *Settings) any { return percentiles{&s.volumes().Low, &s.volumes().High} },
		Help: "`low,high` percentiles to clip intensities to before scaling"},
	{Name: "volume-store", verbs: Train, at: func(s *Settings) any { return &s.volumes().Store },
		Choices: []string{"float16", "uint8", "float32"}, Help: "`precision` of stored voxels: {choices}"},
	{Name: "backbone-output", verbs: Train | Embed, at: func(s *Settings) any { return &s.backbone().Output },
		Help: "`name` of the output of the backbone to use (default: sentence_embedding, image_embeds, pooler_output, " +
			"last_hidden_state or the first)"},
	{Name: "backbone-pool", verbs: Train | Embed, at: func(s *Settings) any { return &s.backbone().Pool }, Choices: backbone.Pools,
		Help: "`how` an output with several positions becomes a vector: {choices} (default: mean for text and feature maps, " +
			"first for the tokens of images)"},
	{Name: "backbone-resize", verbs: Train | Embed, at: func(s *Settings) any { return &s.backbone().Resize },
		Help: "`pixels` of the shorter side to resize images to for the backbone, or HEIGHTxWIDTH (default: as " +
			"preprocessor_config.json next to it says, else 256)"},
	{Name: "backbone-crop", verbs: Train | Embed, at: func(s *Settings) any { return &s.backbone().Crop },
		Help: "`HEIGHTxWIDTH` of the center of the image to use (default: likewise, else 224x224)"},
	{Name: "backbone-filter", verbs: Train | Embed, at: func(s *Settings) any { return &s.backbone().Filter }, Choices: backbone.Filters,
		Help: "`filter` of resizing: {choices} (default: likewise, else bilinear)"},
	{Name: "backbone-mean", verbs: Train | Embed, at: func(s *Settings) any { return &s.backbone().Mean },
		Help: "`numbers` to subtract from red, green and blue, from 0 to 1 (default: likewise, else those of ImageNet)"},
	{Name: "backbone-sd", verbs: Train | Embed, at: func(s *Settings) any { return &s.backbone().SD },
		Help: "`numbers` to divide red, green and blue by after that (default: likewise, else those of ImageNet)"},
	{Name: "backbone-layout", verbs: Train | Embed, at: func(s *Settings) any { return &s.backbone().Layout }, Choices: backbone.Layouts,
		Help: "`axes` of the pixels that the backbone reads: {choices} (default: from its input)"},
	{Name: "backbone-tokens", verbs: Train | Embed, at: func(s *Settings) any { return &s.backbone().Tokens },
		Help: "largest `number` of tokens of a text; the rest is cut off (default: as tokenizer.json says, else 512)"},
	{Name: "memory", verbs: everywhere | Embed, at: func(s *Settings) any { return (*byteSize)(&s.features().Memory) },
		Help: "`bytes` of features to keep in memory, such as 500MB; more are read from a temporary file, and a " +
			"file that cannot be read within the limit is rejected"},
	{Name: "cache", verbs: features | Embed, at: func(s *Settings) any { return &s.features().CacheDir },
		Help: "`folder` for features beyond --memory, and for vectors of a backbone (default: the user's cache folder)"},
	{Name: "from", verbs: Train, at: func(s *Settings) any { return &s.From },
		Help: "`run` to start from: its networks continue with further votes on the same features, and the " +
			"changes are printed; unset options are those of that run"},

	{Name: "method", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Method },
		Choices: head.Names(),
		Help:    "`name` of the method: mixture, or without distributions: " + words.List(head.Names()[1:], "or")},
	{Name: "setting", verbs: Train, fit: true, at: func(s *Settings) any { return &s.MethodSettings },
		Help: "setting of the method, `name=value`; may be repeated"},
	{Name: "network", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Network },
		Help: "`name` of the network: mlp, lenet5, cnn2d, resnet or cnn3d, or a list of layers, " +
			"or a .yaml file with one (default: by the shape of the features)"},
	{Name: "widths", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Widths },
		valid: atLeastOne, Help: "`widths` of the hidden layers of mlp, or of the stages of cnn2d or resnet"},
	{Name: "components", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Components },
		valid: atLeastOne, Help: "`number` of Dirichlet components per network"},
	{Name: "ensemble", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Ensemble },
		valid: domain{func(x float64) bool { return x >= 1 && x <= 1000 }, "a whole number from 1 to 1000"},
		Help:  "`number` of networks in the ensemble"},
	{Name: "epochs", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Epochs },
		valid: atLeastOne, Help: "maximum `number` of passes over the items"},
	{Name: "patience", verbs: Train, fit: true, open: true, none: true,
		at:    func(s *Settings) any { return &s.Fit.Patience },
		valid: notNegative, Help: "`epochs` without a better held-out loss before training stops; 0 for no limit"},
	{Name: "batch", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Batch },
		valid: atLeastOne, Help: "`items` per training step"},
	{Name: "held-out", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.HeldOut },
		valid: domain{func(x float64) bool { return x > 0 && x <= 0.5 }, "a share above 0, at most 0.5"},
		Help:  "`share` of the items that a single network holds out"},
	{Name: "raters", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Raters },
		Choices: []string{"auto", "off", "on"},
		Help:    "model bias and guess rate of raters: `auto` (if it predicts held-out votes better), off or on"},
	{Name: "trees", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Trees },
		Choices: []string{"auto", "off", "only"},
		Help:    "blend boosted trees with the networks of a table: `auto` (as far as they predict held-out votes better), off, or only, without networks"},
	{Name: "calibrate", verbs: features, fit: true, at: func(s *Settings) any { return &s.Fit.Calibrate },
		Choices: []string{"auto", "off"}, Help: "scale distributions to the spread of held-out votes: `auto` or off"},
	{Name: "population", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Population },
		Choices: []string{"these", "like-these"},
		Help:    "raters whose mean intervals are for: `these`, who voted, or the population of raters like-these (default these)"},
	{Name: "group-calibration", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.GroupCalibration },
		Help: "categorical `column` whose values may need intervals of different scale, such as site"},
	{Name: "resolution", verbs: features, fit: true,
		at:   func(s *Settings) any { return (*resolution)(&s.Fit.Resolution) },
		want: "auto, off or a number above 0, at most 0.1",
		Help: "`distance` from 0 and 1 within which interval ends are moved there: auto (by the number of votes), " +
			"off, or a number up to 0.1 (default auto)"},
	{Name: "optimizer", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Optimizer },
		Choices: nn.OptimizerNames(), Help: "`name` of the optimizer: {choices}"},
	{Name: "rate", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Rate },
		valid: domain{func(x float64) bool { return x > 0 && x < 1e6 }, "a learning rate above 0"}, Help: "learning `rate`"},
	{Name: "schedule", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Schedule },
		Choices: []string{"constant", "cosine"},
		Help:    "learning rate `schedule`: {choices} (default: cosine for cnn2d, else constant)"},
	{Name: "momentum", verbs: Train, fit: true, none: true, at: func(s *Settings) any { return &s.Fit.Momentum },
		valid: share, Help: "`momentum` of sgd; 0 for none (default 0.9)"},
	{Name: "weight-decay", verbs: Train, fit: true, open: true, none: true,
		at:    func(s *Settings) any { return &s.Fit.WeightDecay },
		valid: domain{func(x float64) bool { return x >= 0 && x < 1e6 }, "a number of at least 0"},
		Help:  "weight `decay`; 0 for none"},
	{Name: "clip", verbs: Train, fit: true, open: true, none: true, at: func(s *Settings) any { return &s.Fit.Clip },
		valid: notNegative, Help: "maximum `norm` of the gradient; 0 for no limit"},
	{Name: "dropout", verbs: Train, fit: true, open: true, none: true,
		at:    func(s *Settings) any { return &s.Fit.Dropout },
		valid: share, Help: "dropout `rate` after each hidden layer of mlp; 0 for none"},
	{Name: "input-dropout", verbs: Train, fit: true, open: true, none: true,
		at:    func(s *Settings) any { return &s.Fit.InputDropout },
		valid: share, Help: "dropout `rate` of the inputs of mlp; 0 for none"},
	{Name: "init", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Fit.Init },
		Choices: []string{"he", "glorot"}, Help: "`rule` for initial weights: {choices}"},
	{Name: "limit", verbs: Train, fit: true, open: true, at: func(s *Settings) any { return &s.Limit },
		valid: domain{func(x float64) bool { return x > 0 && x <= 20 }, "a number above 0, at most 20"},
		Help:  "`bound` on |log α|"},
	{Name: "class-weights", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.ClassWeights },
		valid: notNegative, Help: "a weight for each class, in order; invalidates the calibration of intervals"},
	{Name: "one-hot-levels", verbs: Train, fit: true, open: true,
		at:    func(s *Settings) any { return &s.Fit.Transform.OneHotLevels },
		valid: atLeastOne, Help: "maximum `levels` of a one-hot category; categories with more are embedded"},
	{Name: "normal-scores", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Transform.Scores },
		Choices: []string{"auto", "off"}, Help: "ranks of numeric columns as further inputs, on the scale of a normal distribution: `auto` or off"},
	{Name: "one-hot", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Transform.OneHot },
		Help: "categorical `columns` to encode as one-hot"},
	{Name: "embed", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Transform.Embed },
		Help: "categorical `columns` to embed"},
	{Name: "rare-level", verbs: Train, fit: true, open: true,
		at:    func(s *Settings) any { return &s.Fit.Transform.RareLevel },
		valid: atLeastOne, Help: "`items` below which an embedded level counts as unknown"},
	{Name: "augment", verbs: Train, fit: true, open: true,
		at: func(s *Settings) any { return (*augment)(&s.Fit.Augment) },
		Help: "random `changes` of images and volumes in training, such as shift=2,flip,intensity=0.1,noise=0.02, " +
			"or none (default: shifts by a sixteenth of the side for cnn2d, else none)"},
	{Name: "seed", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Seed }, Help: "random `seed`"},
	{Name: "force", verbs: Train, fit: true, at: func(s *Settings) any { return &s.Fit.Force },
		Help: "train even if no item has two votes; intervals are then meaningless"},
	{Name: "threads", verbs: Train, at: func(s *Settings) any { return &s.Threads },
		valid: notNegative, Help: "number of `cores` to use (default all); does not affect the result"},
	{Name: "device", verbs: Train, open: true, at: func(s *Settings) any { return &s.Device },
		Help: "`device` for networks: cpu, gpu, gpu:N for the GPU of that number, or auto, which is a GPU " +
			"for images and volumes if there is one; GPUs require the program credence-full (default auto)"},
})

// domain is the range of a number and its description for error messages. The zero value accepts all.
type domain struct {
	contains func(float64) bool
	want     string
}

var (
	atLeastOne  = domain{func(x float64) bool { return x >= 1 }, "a whole number of at least 1"}
	notNegative = domain{func(x float64) bool { return x >= 0 }, "a number of at least 0"}
	share       = domain{func(x float64) bool { return x >= 0 && x < 1 }, "a number from 0 to below 1, such as 0.2"}
)

// names lists the names of the options, in order.
var names = words.Each(Options, func(o *Option) string { return o.Name })

// derive completes the rows: types come from the fields, and defaults from new
// settings or from the defaults of a fit that do not depend on the data.
func derive(rows []*Option) []*Option {
	fresh, chosen := New(), &Settings{}
	chosen.Complete(train.Defaults())
	for _, o := range rows {
		o.Help = strings.Replace(o.Help, "{choices}", words.List(o.Choices, "or"), 1)
		o.typ, o.list = kind(o.at(fresh))
		for _, s := range []*Settings{chosen, fresh} {
			if o.typ == boolType || !o.zero(s) {
				o.fallback = o.texts(s)
			}
		}
	}
	return rows
}
