package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"credence/dataset"
)

// dataFlags is how the command line says where the data are and how they are
// read.
type dataFlags struct {
	data                                          []string
	votes                                         string
	form                                          string
	classes                                       []string
	item, votesItem, label, rater, count, total   string
	voteColumns                                   []string
	duplicates                                    string
	features, ignore, numeric, categorical        []string
	group, split, array, layout, image, imageSize string
	grey                                          bool
	na                                            []string
	memory                                        byteSize
	cache                                         string
	weights                                       string
	validation, test                              float64
	volume                                        volumeFlags
	progress                                      func(done, total int) // of volumes
	stop                                          func() error          // ends the reading
}

// The treatments of a second vote by one rater, by name.
var duplicateRules = map[string]dataset.Duplicates{
	"last": dataset.LastVote, "first": dataset.FirstVote, "every": dataset.EveryVote, "refuse": dataset.RefuseSecond,
}

// declare adds the flags of a verb that reads items and votes.
func (d *dataFlags) declare(f *pflag.FlagSet) {
	f.StringSliceVar(&d.data, "data", nil, "`file` of features: .csv, .tsv, .parquet, .npy, .npz, IDX, or a folder\nof images or NIfTI volumes; further ones are joined to the first by\nitem")
	f.StringVar(&d.votes, "votes", "", "`file` of votes (default: they are in the data file)")
	d.declareVotes(f)
	f.StringSliceVar(&d.classes, "classes", nil, "all `labels`, in order (default: those found)")
	f.StringSliceVar(&d.voteColumns, "vote-columns", nil, "`columns` of the data file that hold the votes")
	d.declareFeatures(f)
	f.StringSliceVar(&d.features, "features", nil, "the only `columns` to take as features")
	f.StringSliceVar(&d.ignore, "ignore", nil, "`columns` to leave out")
	f.StringSliceVar(&d.numeric, "numeric", nil, "`columns` to read as numbers")
	f.StringSliceVar(&d.categorical, "categorical", nil, "`columns` to read as categories, though they may be numbers")
	f.StringVar(&d.group, "group", "", "`column` whose equal values keep items together, such as patient")
	f.StringVar(&d.split, "split", "", "`column` that says train, validation or test")
	f.Float64Var(&d.test, "test", 0, "`share` of the items left alone, for credence evaluate --part test")
	f.Float64Var(&d.validation, "validation", 0, "`share` of the items that every network holds out to stop in time")
	f.StringVar(&d.weights, "item-weights", "", "`column` that says how much an item counts, not negative")
	f.StringVar(&d.imageSize, "image-size", "", "`HEIGHTxWIDTH` that images are brought to (default: the first's)")
	f.BoolVar(&d.grey, "grey", false, "read images in shades of grey")
	d.volume.declare(f)
	f.Var(&d.memory, "memory", "`bytes` of features held in memory, such as 500MB; beyond, they are\nread from a file (default 2GB)")
	f.StringVar(&d.cache, "cache", "", "`folder` of that file (default: the user's cache folder)")
}

// declareVotes adds the flags that say how a file of votes is read.
func (d *dataFlags) declareVotes(f *pflag.FlagSet) {
	f.StringVar(&d.form, "votes-form", "auto", "`form` of the votes: auto, long, wide, counts or fractions")
	f.StringVar(&d.votesItem, "votes-item", "", "item `column` of the votes, if not that of --item")
	f.StringVar(&d.label, "label", "", "`column` of labels (default: found by its name)")
	f.StringVar(&d.rater, "rater", "", "`column` of raters (default: found by its name)")
	f.StringVar(&d.count, "count", "", "`column` with the number of votes that a row stands for")
	f.StringVar(&d.total, "total", "", "`column` with an item's number of votes, for fractions")
	f.StringVar(&d.duplicates, "duplicates", "last", "which `vote` counts if a rater gives two: last, first, every or\nrefuse")
}

// declareFeatures adds the flags that training and prediction need to read a
// file of features.
func (d *dataFlags) declareFeatures(f *pflag.FlagSet) {
	f.StringVar(&d.item, "item", "", "`column` of item ids (default: found by its name)")
	f.StringVar(&d.array, "array", "", "`name` of the array to read in an NPZ file")
	f.StringVar(&d.layout, "layout", "", "`axes` of an item in an array: vector, HW, CHW, HWC, DHW, CDHW, DHWC")
	f.StringVar(&d.image, "image-column", "", "`column` of paths of images or volumes (default: a column of such\npaths that --features names, or that is the only one)")
	d.volume.declareCache(f)
	f.StringSliceVar(&d.na, "na", nil, "`spellings` of a missing value (default: NA, NaN, null and others)")
}

func (d *dataFlags) tableOptions() dataset.TableOptions { return dataset.TableOptions{NA: d.na} }

// featureOptions returns what the flags say about features.
func (d *dataFlags) featureOptions() (dataset.FeatureOptions, error) {
	o := dataset.FeatureOptions{
		ItemColumn: d.item, GroupColumn: d.group, SplitColumn: d.split, WeightColumn: d.weights,
		Features: d.features, Ignore: d.ignore, Numeric: d.numeric, Categorical: d.categorical,
		ImageColumn: d.image, Image: dataset.ImageOptions{Grey: d.grey},
		Layout: dataset.Layout(d.layout), Array: d.array,
		Memory: int64(d.memory), CacheDir: d.cache, Progress: d.progress, Stop: d.stop, TableOptions: d.tableOptions(),
	}
	layouts := []dataset.Layout{dataset.Vector, dataset.HW, dataset.CHW, dataset.HWC, dataset.DHW, dataset.CDHW, dataset.DHWC}
	if d.layout != "" && !slices.Contains(layouts, o.Layout) {
		return o, usagef("--layout %q: expected one of %v", d.layout, layouts)
	}
	var err error
	if o.Volume, err = d.volume.options(); err != nil {
		return o, err
	}
	if d.imageSize != "" {
		h, w, ok := strings.Cut(d.imageSize, "x")
		var err1, err2 error
		o.Image.Height, err1 = strconv.Atoi(h)
		o.Image.Width, err2 = strconv.Atoi(w)
		if !ok || err1 != nil || err2 != nil || o.Image.Height < 1 || o.Image.Width < 1 {
			return o, usagef("--image-size %q: expected HEIGHTxWIDTH, such as 64x64", d.imageSize)
		}
	}
	return o, nil
}

// votesOptions returns what the flags say about votes.
func (d *dataFlags) votesOptions() (dataset.VotesOptions, error) {
	o := dataset.VotesOptions{
		Classes: d.classes, ItemColumn: d.votesItem, LabelColumn: d.label, RaterColumn: d.rater,
		CountColumn: d.count, TotalColumn: d.total, Columns: d.voteColumns, TableOptions: d.tableOptions(),
	}
	// An array has no columns of ids: its rows are those of the items in turn.
	if o.ItemColumn == "" && !strings.EqualFold(filepath.Ext(d.votes), ".npy") {
		o.ItemColumn = d.item
	}
	if err := o.Form.UnmarshalText([]byte(d.form)); err != nil {
		return o, usagef("--votes-form %q: expected one of auto, long, wide, counts, fractions", d.form)
	}
	var ok bool
	if o.Duplicates, ok = duplicateRules[d.duplicates]; !ok {
		return o, usagef("--duplicates %q: expected one of last, first, every, refuse", d.duplicates)
	}
	return o, nil
}

// load reads the data set.
func (d *dataFlags) load() (*dataset.Dataset, error) {
	if slices.Contains(d.data, "-") || d.votes == "-" {
		return nil, usagef("standard input (-) can be read only once, and data are read more often: give the name of a file")
	}
	o := dataset.LoadOptions{Data: d.data, Votes: d.votes}
	err := d.checkShares()
	if err != nil {
		return nil, err
	}
	if o.FeatureOptions, err = d.featureOptions(); err != nil {
		return nil, err
	}
	if o.VotesOptions, err = d.votesOptions(); err != nil {
		return nil, err
	}
	if d.votes == "" {
		return dataset.Load(o)
	}
	// --ignore names columns of either file. Each reader refuses names that it
	// does not find, so that those of the other are taken from it one by one.
	o.VotesOptions.Ignore = slices.Clone(d.ignore)
	o.FeatureOptions.Ignore = slices.Clone(d.ignore)
	var lost error // a column that the features lack
	for range 2*len(d.ignore) + 1 {
		ds, err := dataset.Load(o)
		if err == nil && lost != nil && ds.Votes.Form == dataset.Long {
			// The reader of long votes takes only the columns that it needs.
			return nil, errors.Join(lost, ds.Close())
		}
		file, name := missingColumn(err)
		here, there := &o.FeatureOptions.Ignore, o.VotesOptions.Ignore
		if file == d.votes {
			here, there = &o.VotesOptions.Ignore, o.FeatureOptions.Ignore
		}
		if file == d.votes && name == d.item && d.votesItem == "" {
			err = withHint(err, "--item names a column of both files; --votes-item names that of the votes where it is another")
		}
		if err == nil || !slices.Contains(*here, name) || !slices.Contains(there, name) {
			return ds, err
		}
		if file != d.votes {
			lost = err
		}
		*here = slices.DeleteFunc(*here, func(s string) bool { return s == name })
	}
	return dataset.Load(o)
}

// missingColumn returns the column that a file was said to lack.
func missingColumn(err error) (file, name string) {
	if p, ok := errors.AsType[*dataset.ParseError](err); ok && errors.Is(p, dataset.ErrNoColumn) {
		return p.File, p.Name
	}
	return "", ""
}

// byteSize is a flag like 500MB or 2GB; 0 leaves the choice to the library.
type byteSize int64

var byteUnits = []struct {
	name  string
	bytes int64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1}}

func (b *byteSize) Set(s string) error {
	number, unit := strings.TrimSpace(s), int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0 && v*float64(unit) < 1e18) {
		return fmt.Errorf("%q is not a size: expected a number of bytes such as 500MB or 2GB", s)
	}
	*b = byteSize(v * float64(unit))
	return nil
}

func (b *byteSize) String() string {
	for _, u := range byteUnits {
		if v := int64(*b); v >= u.bytes && v%u.bytes == 0 {
			return strconv.FormatInt(v/u.bytes, 10) + u.name
		}
	}
	return ""
}

func (b *byteSize) Type() string { return "bytes" }
