package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"credence/internal/budget"
	"credence/internal/table"
	"credence/internal/words"
)

// FeatureOptions specifies how a feature file is read. With the zero value,
// every column except the item column is a feature: numeric if all its values
// are numbers, else categorical.
type FeatureOptions struct {
	// ItemColumn names the id column; "" finds it by its usual names (item, id …),
	// or uses the first column if its name ends in the word "id" or is blank.
	// Without an id column, rows are numbered from 0.
	ItemColumn string
	// ItemOptional allows a file without ItemColumn: the column is then found as
	// if none were named.
	ItemOptional bool
	// GroupColumn, if set, names the column of groups: a split keeps items with
	// the same value together. It is not a feature.
	GroupColumn string
	// SplitColumn, if set, names the column with the values train, validation or test.
	SplitColumn string
	// WeightColumn, if set, names the column with the training weights of the
	// items, which are not negative. It is not a feature.
	WeightColumn string
	// Features, if set, are the columns to use; Ignore are columns to leave out.
	Features, Ignore []string
	// Numeric and Categorical set the kind of columns. A categorical column of
	// numbers ("race" coded 1 to 6) must be named here.
	Numeric, Categorical []string
	// Text names columns of documents. Columns of sentences are detected.
	Text []string
	// ImageColumn, if set, names a column with the paths of images or of volumes
	// in NIfTI files, relative to the folder of the table. They become one feature
	// of that name. "" uses a column whose values all have an extension of images
	// or volumes, if Features names it or there is no other column.
	ImageColumn string
	// AnyPath allows paths of ImageColumn anywhere. Otherwise a path that is
	// absolute or outside of the folder of the table is an error, because a table
	// from an untrusted source could name any file of this machine.
	AnyPath bool
	Image   ImageOptions
	Volume  VolumeOptions
	// Backbone, if its Path is set, makes vectors of images or of columns of text.
	Backbone BackboneOptions
	// Layout is the meaning of the axes of an array; see [Layout].
	Layout Layout
	// Array names the array of an NPZ file that contains the features; "" uses
	// the only one.
	Array string
	// Schema, if set, are the features of a trained model ([Transform.Schema]):
	// only these are read, and a level that is not in Levels is UnknownLevel.
	Schema []Feature
	// Memory is the number of bytes of features held in memory; above it they are
	// kept in a file in CacheDir. It also limits the memory used for reading, to at
	// least 64 MB: a record, page, image or volume that needs more is an error, and so
	// is a file of which more must be kept, unless the file itself is that large.
	// 0 means 2 GB.
	Memory int64
	// CacheDir is the folder of that file; "" means credence in the user's cache
	// folder.
	CacheDir string
	// Progress, if not nil, is called with the number of volumes prepared so far
	// and their total; calls are not concurrent.
	Progress func(done, total int)
	TableOptions
}

// reading combines the caller's options with settings that depend on the role of the
// file among others.
type reading struct {
	FeatureOptions
	votes    []string       // vote columns of the same file
	known    []string       // items of the votes, shared with the features if equal
	lazy     bool           // images and volumes are decoded when they are read
	repeated bool           // an item may have several rows, as in the long form
	several  bool           // the file is one of several: it may contain only ids
	judged   bool           // there are votes of judges: other features are optional
	absent   absent         // of the columns of Ignore, if they may be in other files
	embed    *Backbone      // of the options
	decoding *budget.Shared // memory shared by images and volumes that are decoded concurrently
}

// newReading returns a reading with the given options and a new limit of shared memory.
func newReading(o FeatureOptions) reading {
	return reading{FeatureOptions: o, embed: o.backbone(), decoding: budget.NewShared(budget.Of(o.Memory))}
}

// taken returns the columns that the options use for anything but ids.
func (o *FeatureOptions) taken() []string {
	return slices.Concat(o.Ignore, o.Numeric, o.Categorical, o.Text, columnsOf(o.Schema), []string{o.GroupColumn, o.SplitColumn, o.WeightColumn})
}

// notData reports whether the file format marks a column as something other than data of
// the item, and no option makes it a feature.
func (o *FeatureOptions) notData(t table.Table, col int) bool {
	roles, name := t.Traits().Roles, t.Header()[col]
	return roles != nil && roles[col] != table.DataRole && roles[col] != table.TextRole && o.Schema == nil &&
		!slices.Contains(slices.Concat(o.Features, o.Numeric, o.Categorical), name)
}

// columnsOf returns the names of the features that are not tensors.
func columnsOf(schema []Feature) []string {
	var names []string
	for _, p := range schema {
		if p.Kind != Tensor {
			names = append(names, p.Name)
		}
	}
	return names
}

// memory returns the limit of features in memory, in bytes.
func (o *FeatureOptions) memory() int64 { return cmp.Or(o.Memory, budget.Default) }

// features are the features of a file, before votes are joined to them.
type features struct {
	Dataset
	path     string         // of a file that is joined to others
	at       places         // rows by id, of a file joined to a stream, with and without extensions; nil: by position
	notes    []func() error // return warnings about what was read so far, or nil
	numbered bool           // ids are row numbers, not read from the file
	files    bool           // ids are file names
	pictures *imageVectors  // of images that a backbone reads in batches; nil if there are none
	partial  bool           // votes of judges, joined to a stream: other items miss them
}

// features reads the features in a file or folder: .csv, .tsv, .parquet,
// .npy, .npz, IDX (.idx, or a name with "-ubyte"), a volume (.nii, .nii.gz, .hdr
// with .img), or a folder of images, of volumes or of Parquet files. A text file may be
// compressed with gzip.
func (o reading) features(ctx context.Context, path string) (*features, error) {
	if path == "-" && o.Stdin != nil {
		return readTableFeatures(ctx, path, &o)
	}
	read, err := readerOf(path)
	if err != nil {
		return nil, err
	}
	if read == nil {
		read = readTableFeatures
	} else if err := cmp.Or(o.noSheets(path), o.absent.check(nil, o.Ignore)); err != nil {
		return nil, err
	}
	f, err := read(ctx, path, &o)
	if err != nil {
		return nil, err
	}
	if f.length() == 0 {
		return nil, errors.Join(&ParseError{File: path, Msg: "there are no items"}, f.Close())
	}
	return f, nil
}

// length returns the number of items.
func (f *features) length() int {
	if f.Items == nil && f.Rows != nil { // an array
		return f.Rows.Len()
	}
	return len(f.Items)
}

// checkNames returns an error if the options name a column that the table does not have.
func (o *reading) checkNames(t table.Table) error {
	if err := o.absent.check(t, o.Ignore); err != nil {
		return err
	}
	single := nonEmpty(o.GroupColumn, o.SplitColumn, o.WeightColumn, o.ImageColumn)
	for _, name := range slices.Concat(o.Features, o.Numeric, o.Categorical, o.Text, single) {
		if _, err := column(t, name); err != nil {
			return err
		}
	}
	return nil
}

// readTableFeatures reads a table twice: once to determine the kinds of its
// columns, and once for the values.
func readTableFeatures(ctx context.Context, path string, opts *reading) (*features, error) {
	t, err := opts.open(ctx, path, table.Options{Memory: opts.Memory, Items: true})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if opts.ImageColumn == "" {
		opts.ImageColumn = schemaImage(opts.Schema, t)
	}
	if err := opts.checkNames(t); err != nil {
		return nil, err
	}
	s, err := newScan(t, opts)
	if err != nil {
		return nil, err
	}
	if err := table.Records(ctx, t, s.add); err != nil {
		return nil, err
	}
	if s.onlyIDs() {
		named := *opts
		named.ItemColumn = t.Header()[0]
		return readTableFeatures(ctx, path, &named)
	}
	f := &features{Dataset: Dataset{Items: s.ids.names, Groups: s.groups, Given: s.given, Weights: s.weights},
		numbered: s.item < 0}
	if slices.Equal(f.Items, opts.known) { // keep only one of two equal lists
		f.Items = opts.known
	}
	if len(f.Items) == 0 {
		return nil, &ParseError{File: t.Name(), Msg: "there are no rows below the header"}
	}
	f.Warnings = append(f.Warnings, t.Notes()...)
	if err := s.decide(f); err != nil {
		return nil, err
	}
	for _, c := range f.Columns {
		if c.role == roleFeature {
			f.Features = append(f.Features, c.Feature.withoutVector())
		}
	}
	if len(f.Features) > 0 {
		again, ok := table.Again(t)
		if !ok {
			if again, err = opts.open(ctx, path, table.Options{Memory: opts.Memory, Items: true}); err != nil {
				return nil, err
			}
		}
		defer again.Close()
		if err := fill(ctx, f, path, again, s, opts); err != nil {
			return nil, err
		}
	}
	if err := f.embedTexts(ctx, opts); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if opts.ImageColumn != "" {
		if err := f.addImages(ctx, path, s.paths, opts); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if len(f.Features) == 0 {
		for i := range s.columns {
			if s.columns[i].unread != nil {
				return nil, readable(t, i)
			}
		}
		if opts.several && s.item >= 0 {
			return f, nil
		}
		msg := fmt.Sprintf("none of the columns [%s] is a feature", words.Few(t.Header()))
		if t.Traits().Plain && strings.ContainsAny(t.Header()[0], " :") {
			msg += table.NoSeparator
		}
		return nil, &ParseError{File: t.Name(), Msg: msg}
	}
	return f, nil
}

// fill reads the values of f's features from t, the table at path, into memory or
// into a cache.
func fill(ctx context.Context, f *features, path string, t table.Table, s *scan, opts *reading) error {
	dec, err := newDecoder(t, f.Features, &opts.TableOptions)
	if err != nil {
		return err
	}
	files, err := opts.files(path)
	if err != nil {
		return err
	}
	sink, err := newSink(ctx, len(f.Items), f.Features, files, opts)
	if err != nil {
		return err
	}
	if sink.array == nil || slices.ContainsFunc(f.Features, func(p Feature) bool { return p.Kind == Text }) {
		row := make([]float32, dec.width)
		n := 0
		err = table.Records(ctx, t, func(rec []table.Cell) error {
			n++
			if s.skip[n-1] {
				return nil
			}
			if err := dec.decode(rec, row); err != nil || sink.array != nil {
				return err
			}
			return sink.add(row)
		})
		dec.moveTexts(f.Features)
		f.Warnings = append(f.Warnings, dec.warnings()...)
	}
	if err == nil {
		f.Rows, err = sink.finish()
	}
	if err != nil {
		return errors.Join(err, sink.Close())
	}
	f.closers = append(f.closers, sink)
	return nil
}
