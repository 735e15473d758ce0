package dataset

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/internal/budget"
	"credence/internal/par"
	"credence/internal/table"
)

// StreamOptions specifies how items are read for prediction.
type StreamOptions struct {
	// Batch is the largest number of items per batch; 0 means 1024. Batches of
	// large items are smaller: at most 64 MB of values, or one item.
	Batch int
	// KeepBad marks rows that cannot be read in [Batch.Bad] and continues;
	// otherwise the first such row ends the stream.
	KeepBad bool
	// Beside are further feature files, joined to the items as they are read: by
	// id or, if there are no ids, by position. They are read in place or held in
	// memory.
	Beside []string
	// Known are the ids in other data, such as votes: if all of them are names of
	// files in a folder without their extensions, the items get these names.
	Known []string
	// Judges, if set, has the votes of the judges of the model on some of the items, read by [Load] or [VotesOf] with
	// its schema; otherwise judges are columns of the items. Without a path, [OpenStream] reads the items of Judges.
	Judges *Dataset
	// Inline requires that images and volumes are lists of numbers in their columns, never paths:
	// for items from untrusted clients.
	Inline bool
	// Repeats allows duplicate ids. Otherwise a duplicate ends the stream, even with KeepBad.
	// Beyond some millions of ids not all are compared, which [Stream.Warnings] reports.
	Repeats bool
	// ItemColumn, ImageColumn, Layout, Array, the cache of volumes and the table
	// options apply as for training data.
	FeatureOptions
}

// Batch is a sequence of consecutive items in input order.
type Batch struct {
	*Dataset
	// First is the number of items of the stream before this batch.
	First int
	// Bad is nil, or has for each item nil or the reason why its row cannot be
	// used; the features of such an item are missing.
	Bad []error
}

// Stream reads items batch by batch, in memory bounded by the batch.
type Stream struct {
	ctx      context.Context
	features []Feature
	opts     StreamOptions
	t        table.Table
	dec      *decoder
	item     int
	ids      seenIDs
	image    int       // column of paths, or −1
	grid     Feature   // the feature made of the images or volumes at these paths
	folder   string    // base of relative paths
	f        *features // arrays and folders
	row      int
	block    int                  // see Cut
	pass     func(first int) bool // see Pass
	beside   []*features          // joined to the items
	vectors  *streamVectors       // of a table; nil if no feature is made by a backbone

	decoding *budget.Shared // memory for images and volumes that are decoded concurrently
}

// OpenStream opens a file or folder of items with the features of a trained
// model ([Transform.Schema]); other columns are skipped.
func OpenStream(ctx context.Context, path string, schema []Feature, opts StreamOptions) (*Stream, error) {
	if opts.Judges != nil {
		return opts.judged(ctx, path == "", schema, func(schema []Feature, o StreamOptions) (*Stream, error) { return OpenStream(ctx, path, schema, o) })
	}
	paths := append([]string{path}, opts.Beside...)
	if err := checkDuplicateFiles(paths, "features"); err != nil {
		return nil, err
	}
	rest, err := opts.stack(ctx, paths, opts.Memory)
	if err != nil {
		return nil, err
	}
	opts.Beside = rest[1:]
	t, err := tableOf(ctx, path, &opts.FeatureOptions)
	if err != nil {
		return nil, err
	}
	if len(opts.Beside) > 0 || t == nil && len(schema) > 1 {
		return openJoined(ctx, path, t, schema, opts)
	}
	return newStream(ctx, path, t, schema, opts)
}

// NewStream reads items from CSV or JSON text or an Arrow stream, such as standard input;
// name is used in messages.
func NewStream(ctx context.Context, r io.Reader, name string, schema []Feature, opts StreamOptions) (*Stream, error) {
	if opts.Judges != nil {
		return opts.judged(ctx, false, schema, func(schema []Feature, o StreamOptions) (*Stream, error) { return NewStream(ctx, r, name, schema, o) })
	}
	if err := opts.noSheets(name); err != nil {
		return nil, err
	}
	t, err := table.NewPiped(ctx, io.NopCloser(r), name, table.Options{Comma: opts.Comma, Memory: opts.Memory, Items: true})
	if err != nil {
		return nil, err
	}
	if err := checkDuplicateFiles(opts.Beside, "features"); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	if len(opts.Beside) > 0 {
		return openJoined(ctx, name, t, schema, opts)
	}
	return newStream(ctx, name, t, schema, opts)
}

// newStream reads the items of a table or, if that is nil, of the array or folder at path.
func newStream(ctx context.Context, path string, t table.Table, schema []Feature, opts StreamOptions) (*Stream, error) {
	if t == nil {
		return newArrayStream(ctx, path, schema, opts)
	}
	if opts.Inline {
		opts.ImageColumn = ""
	} else if opts.ImageColumn == "" {
		opts.ImageColumn = schemaImage(schema, t)
	}
	s := &Stream{ctx: ctx, features: schema, opts: opts, t: t, image: -1, decoding: budget.NewShared(budget.Of(opts.Memory))}
	var err error
	s.item, err = findItem(t, opts.ItemColumn, opts.ItemOptional, slices.Concat(opts.taken(), columnsOf(schema))...)
	if err == nil && s.item < 0 && len(schema) == 0 && len(t.Header()) == 1 {
		s.item = 0 // the model needs nothing of it but ids
	}
	plain := schema
	if i := featureNamed(schema, opts.ImageColumn); i >= 0 && schema[i].Kind == Tensor && err == nil {
		s.image, err = featureColumn(t, opts.ImageColumn)
		s.grid, s.folder = schema[i], folderOf(t.Name())
		plain = slices.Delete(slices.Clone(schema), i, i+1)
		s.features = append(slices.Clone(plain), s.grid)
	}
	if err == nil {
		s.dec, err = newDecoder(t, plain, &s.opts.TableOptions)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	s.dec.keep = false
	if slices.ContainsFunc(schema, func(p Feature) bool { return p.Embedding != nil }) {
		s.newVectors()
	}
	return s, nil
}

// newArrayStream reads an array or a folder of images.
func newArrayStream(ctx context.Context, path string, schema []Feature, opts StreamOptions) (*Stream, error) {
	o := newReading(opts.FeatureOptions)
	o.Schema, o.lazy = schema, true
	f, err := o.features(ctx, path)
	if err != nil {
		return nil, err
	}
	f.dropExtensions(opts.Known, false)
	return &Stream{ctx: ctx, features: f.Features, opts: opts, f: f}, nil
}

// Warnings returns warnings about the items read so far, such as levels of
// categories that the model was not trained with.
func (s *Stream) Warnings() []error {
	var list []error
	if s.dec != nil {
		list = append(s.dec.warnings(), s.t.Notes()...)
		list = append(list, s.ids.warnings()...)
	}
	for _, f := range s.files() {
		list = slices.Concat(list, f.Warnings, f.noted())
	}
	return list
}

// files returns the features that are read in place or held in memory.
func (s *Stream) files() []*features {
	if s.f == nil {
		return s.beside
	}
	return append([]*features{s.f}, s.beside...)
}

// Total returns the number of items, or 0 if it is known only at the end.
func (s *Stream) Total() int {
	if s.f != nil {
		return s.f.length()
	}
	if t, ok := s.t.(interface{ Rows() int }); ok {
		return t.Rows()
	}
	return 0
}

// Close closes the files.
func (s *Stream) Close() error {
	var errs []error
	for _, f := range s.files() {
		errs = append(errs, f.Close())
	}
	if s.t != nil {
		errs = append(errs, s.t.Close())
	}
	return errors.Join(append(errs, s.vectors.Close())...)
}

// Next returns the next batch, and io.EOF after the last.
func (s *Stream) Next() (*Batch, error) {
	size := cmp.Or(max(0, s.opts.Batch), 1024)
	if err := s.skipBlocks(); err != nil {
		return nil, err
	}
	schema := s.allFeatures()
	own, w := totalWidth(s.features), totalWidth(schema)
	size = min(size, max(1, batchValues/max(1, w)))
	room := s.room(size)
	m := &Memory{W: w, Values: make([]float32, 0, room*w)}
	b := &Batch{Dataset: &Dataset{Features: schema, Rows: m, Items: make([]string, 0, room)}, First: s.row}
	row := make([]float32, w)
	errs, later := make([]error, 0, room), make([]func(row []float32) error, 0, room)
	if s.block > 0 {
		size = min(size, s.block-s.row%s.block)
	}
	for m.N < size && (s.dec == nil || s.dec.size < batchText) {
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
		id, rest, err := s.read(row[:own])
		if err == nil || id != "" {
			id, err = s.readJoinedRow(id, err, row[own:])
		}
		if err == io.EOF {
			if err := s.checkLengths(); err != nil {
				return nil, err
			}
			break
		}
		if err != nil && (!s.opts.KeepBad || id == "") {
			return nil, err
		}
		b.Items = append(b.Items, id)
		m.Values = append(m.Values, row...)
		errs, later = append(errs, err), append(later, rest)
		m.N++
	}
	if m.N == 0 {
		return nil, io.EOF
	}
	if err := s.compareIDs(); err != nil {
		return nil, err
	}
	if s.dec != nil {
		s.dec.moveTexts(schema)
	}
	if err := s.embed(schema, m); err != nil {
		return nil, err
	}
	par.For(m.N, func(i int) {
		if errs[i] == nil && later[i] != nil && s.ctx.Err() == nil {
			errs[i] = later[i](m.Values[i*w : i*w+own])
		}
	})
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	for i, err := range errs {
		if err == nil {
			continue
		}
		if !s.opts.KeepBad {
			return nil, err
		}
		b.Bad = errs
		for j := range w {
			m.Values[i*w+j] = float32(math.NaN())
		}
	}
	return b, nil
}

// room returns the number of items to allocate memory for, of at most size: the number of remaining items if that is
// known, and no more than a few thousand.
func (s *Stream) room(size int) int {
	size = min(size, 4096)
	if total := s.Total(); total > 0 {
		size = min(size, max(0, total-s.row))
	}
	return size
}

// batchValues limits the number of values of a batch, batchText the bytes of its texts.
const (
	batchValues = 1 << 24
	batchText   = 64 << 20
)

// read reads one item. If it returns an id together with an error, reading can
// continue. If later is not nil, it completes the row: it does the slow work that
// can be done for several items concurrently.
func (s *Stream) read(row []float32) (id string, later func(row []float32) error, err error) {
	n := s.row
	if s.f != nil {
		if n == s.f.length() {
			return "", nil, io.EOF
		}
		s.row++
		if id = strconv.Itoa(n); s.f.Items != nil {
			id = s.f.Items[n]
		}
		return id, func(row []float32) error { return s.f.Rows.ReadRow(n, row) }, nil
	}
	rec, err := s.t.Next()
	if err != nil && !errors.Is(err, table.ErrRagged) {
		return "", nil, err
	}
	s.row++
	id = strconv.Itoa(n)
	if s.item >= 0 {
		if id = strings.Clone(rec[s.item].String()); id == "" {
			id = "line " + strconv.Itoa(s.t.Line())
			if err == nil {
				err = s.t.ErrorAt(s.item, "the item has no id")
			}
		} else if !s.opts.Repeats {
			s.ids.waiting = append(s.ids.waiting, waitingID{id, s.t.Line()})
			if len(s.opts.under) > 0 { // later line numbers may refer to another file
				if err := s.compareIDs(); err != nil {
					return "", nil, err
				}
			}
		}
	}
	if err != nil {
		return id, nil, err
	}
	w := s.dec.width
	if err := s.dec.decode(rec, row[:w]); err != nil {
		return id, nil, err
	}
	if s.image < 0 {
		return id, nil, nil
	}
	path := ""
	if s.grid.Embedding == nil || rec[s.image].Kind != table.VectorCell {
		if path = strings.Clone(rec[s.image].String()); path == "" {
			return id, nil, s.t.ErrorAt(s.image, "expected a path, found an empty cell")
		}
		if path, err = s.opts.imagePath(s.folder, path); err != nil {
			return id, nil, s.t.ErrorAt(s.image, "%v", err)
		}
	}
	if s.grid.Embedding != nil {
		fill, err := s.pictureOf(&rec[s.image], path)
		return id, func(row []float32) error { return fill(row[w:]) }, err
	}
	return id, func(row []float32) error { return s.picture(path, row[w:]) }, nil
}

// picture reads the image or volume at path.
func (s *Stream) picture(path string, dst []float32) error {
	if s.grid.Volume == nil {
		return decodeImage(path, s.grid.Shape, s.decoding, dst)
	}
	r, err := newVolumeRows(s.ctx, []string{path}, s.grid, &reading{FeatureOptions: FeatureOptions{Volume: s.opts.Volume}, lazy: true, decoding: s.decoding})
	if err != nil {
		return err
	}
	return r.ReadRow(0, dst)
}

// All returns an iterator over the batches, which ends after the first error.
func (s *Stream) All() iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		for {
			b, err := s.Next()
			if err == io.EOF || !yield(b, err) || err != nil {
				return
			}
		}
	}
}
