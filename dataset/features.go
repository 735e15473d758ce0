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

// FeatureOptions says how a file of features is read. The zero value takes
// every column but the item's as a feature: numeric if all its values are
// numbers, else categorical.
type FeatureOptions struct {
	// ItemColumn names the column of ids; "" finds it by its usual names (item,
	// id …), or takes the first column if its name ends in the word "id" or is
	// blank. Without one, rows are numbered from 0.
	ItemColumn string
	// ItemOptional makes ItemColumn one that a file may lack: it is then found as
	// if none were named.
	ItemOptional bool
	// GroupColumn, if set, names the column whose equal values keep items
	// together in a split. It is not a feature.
	GroupColumn string
	// SplitColumn, if set, names the column that says train, validation or test.
	SplitColumn string
	// WeightColumn, if set, names the column that says how much an item counts
	// in training: a number that is not negative. It is not a feature.
	WeightColumn string
	// Features, if set, are the columns to take; Ignore are columns not to take.
	Features, Ignore []string
	// Numeric and Categorical fix the kind of columns. A categorical column of
	// numbers ("race" coded 1 to 6) must be named here.
	Numeric, Categorical []string
	// Text names columns of documents. Columns of sentences are found without.
	Text []string
	// ImageColumn, if set, names a column of paths of images, or of volumes in
	// NIfTI files, relative to the folder of the file. They become one feature
	// of that name. "" takes a column whose values all have the extension of
	// images or volumes, if Features names it or no other is left.
	ImageColumn string
	// AnyPath lets ImageColumn name files anywhere. Otherwise a path that is
	// absolute or leads out of the folder of the table is refused: whoever wrote
	// the table could have any file of this machine read.
	AnyPath bool
	Image   ImageOptions
	Volume  VolumeOptions
	// Layout says what the axes of an array mean; see [Layout].
	Layout Layout
	// Array names the array of an NPZ file that holds the features; "" takes
	// the only one.
	Array string
	// Schema, if set, are the features of a trained model ([Transform.Parts]):
	// exactly these are read, and levels not among theirs are UnknownLevel.
	Schema []Part
	// Memory is how many bytes of features are held in memory; above it they
	// are kept in a file in CacheDir. It also bounds what reading takes, at 64 MB or
	// more: a record, a page, an image or a volume that asks for more is refused, and
	// so is a file of which more than that has to be kept, unless it is large itself.
	// 0 means 2 GB.
	Memory int64
	// CacheDir is where that file goes; "" means credence in the user's cache
	// folder.
	CacheDir string
	// Progress, if not nil, is told how many of how many volumes are prepared,
	// one call at a time.
	Progress func(done, total int)
	TableOptions
}

// reading is how a file of features is read: what the caller wants, and what follows from
// where the file stands among others.
type reading struct {
	FeatureOptions
	votes    []string     // columns of votes in the same file
	known    []string     // items of the votes, which may be those of the features
	lazy     bool         // images and volumes are decoded when they are read
	counted  bool         // the items of an array have no names: their numbers would take memory
	repeated bool         // items may come in several rows, as in the long form
	several  bool         // the file is one of several: it may hold ids alone
	shared   bool         // Ignore names columns of other files too
	pool     *budget.Pool // memory that images and volumes share which are decoded at the same time
}

// newReading returns how files are read with the given options.
func newReading(o FeatureOptions) reading {
	return reading{FeatureOptions: o, pool: budget.NewPool(budget.Of(o.Memory))}
}

// taken returns the columns that options give a use other than that of ids.
func (o *FeatureOptions) taken() []string {
	return slices.Concat(o.Ignore, o.Numeric, o.Categorical, o.Text, columnsOf(o.Schema), []string{o.GroupColumn, o.SplitColumn, o.WeightColumn})
}

// aside reports whether the format says that a column is no value of the item, and no
// option makes it a feature.
func (o *FeatureOptions) aside(t table.Table, col int) bool {
	roles, name := t.Traits().Roles, t.Header()[col]
	return roles != nil && roles[col] != table.DataRole && o.Schema == nil &&
		!slices.Contains(slices.Concat(o.Features, o.Numeric, o.Categorical), name)
}

// columnsOf returns the features of a model that are columns of values.
func columnsOf(schema []Part) []string {
	var names []string
	for _, p := range schema {
		if p.Kind != Tensor {
			names = append(names, p.Name)
		}
	}
	return names
}

// memory returns the limit in bytes.
func (o *FeatureOptions) memory() int64 { return cmp.Or(o.Memory, budget.Default) }

// features are the features of a file, before votes are joined to them.
type features struct {
	Dataset
	path     string         // of a file that is joined to others
	at       places         // rows of a file joined to a stream, also without extensions; nil: by position
	notes    []func() error // warnings about what was read so far, or nil
	numbered bool           // ids are row numbers, not read from the file
	files    bool           // ids are names of files
	lacks    lacking        // of FeatureOptions.Ignore, columns that are not there
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

// length returns how many items there are.
func (f *features) length() int {
	if f.Items == nil && f.numbered && f.Rows != nil {
		return f.Rows.Len()
	}
	return len(f.Items)
}

// checkNames refuses options that name columns the table lacks.
func (o *reading) checkNames(t table.Table) error {
	if lacks := lackingOf(t, o.Ignore); len(lacks) > 0 && !o.shared {
		return lacks[0]
	}
	single := nonEmpty(o.GroupColumn, o.SplitColumn, o.WeightColumn, o.ImageColumn)
	for _, name := range slices.Concat(o.Features, o.Numeric, o.Categorical, o.Text, single) {
		if _, err := column(t, name); err != nil {
			return err
		}
	}
	return nil
}

// readTableFeatures reads a table twice: once to learn the kinds of its
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
	if s.namesAlone() {
		named := *opts
		named.ItemColumn = t.Header()[0]
		return readTableFeatures(ctx, path, &named)
	}
	f := &features{Dataset: Dataset{Items: s.ids.names, Groups: s.groups, Given: s.given, Weights: s.weights},
		numbered: s.item < 0, lacks: lackingOf(t, opts.Ignore)}
	if slices.Equal(f.Items, opts.known) { // one of two equal lists can be forgotten
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
			f.Parts = append(f.Parts, c.Part)
		}
	}
	if len(f.Parts) > 0 {
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
	if opts.ImageColumn != "" {
		if err := f.addImages(ctx, path, s.paths, opts); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if len(f.Parts) == 0 {
		for i := range s.columns {
			if s.columns[i].unread != nil {
				return nil, readable(t, i)
			}
		}
		if opts.several && s.item >= 0 {
			return f, nil
		}
		msg := fmt.Sprintf("no column is a feature among [%s]", words.Few(t.Header()))
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
	dec, err := newDecoder(t, f.Parts, &opts.TableOptions)
	if err != nil {
		return err
	}
	files, err := opts.files(path)
	if err != nil {
		return err
	}
	sink, err := newSink(ctx, len(f.Items), f.Parts, files, opts)
	if err != nil {
		return err
	}
	rows := sink.ready
	if rows == nil || slices.ContainsFunc(f.Parts, func(p Part) bool { return p.Kind == Text }) {
		row := make([]float32, dec.width)
		n := 0
		err = table.Records(ctx, t, func(rec []table.Cell) error {
			n++
			if s.skip[n-1] {
				return nil
			}
			if err := dec.decode(rec, row); err != nil || rows != nil {
				return err
			}
			return sink.add(row)
		})
		dec.giveTexts(f.Parts)
		f.Warnings = append(f.Warnings, dec.warnings()...)
	}
	if err == nil && rows == nil {
		rows, err = sink.finish()
	}
	if err != nil {
		return errors.Join(err, sink.Close())
	}
	f.Rows, f.closers = rows, append(f.closers, sink)
	return nil
}
