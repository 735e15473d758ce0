package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/internal/array"
	"credence/internal/table"
	"credence/internal/words"
)

// match lists the features of a trained model that are in a file. With the zero value,
// the file is read as the options specify.
type match struct {
	schema []Feature // the features to read, with their names in the file; may be empty
	names  []string  // their names in the model
	image  string    // the column of paths of images
}

// matchFiles assigns the features of opts.Schema to files that are joined, with the
// names that features.join makes: a second column "age" is "age 2" in the model, a
// second array "x 2". Arrays and folders are matched first, because they have no
// column names that could also match a table. The first file may already be open as
// a table.
func matchFiles(ctx context.Context, paths []string, first table.Table, opts *FeatureOptions) ([]match, error) {
	m := &matcher{features: opts.Schema, taken: make([]bool, len(opts.Schema))}
	matches := make([]match, len(paths))
	tables := map[int]table.Table{}
	defer func() {
		for k, t := range tables {
			if k > 0 || first == nil {
				t.Close()
			}
		}
	}()
	for k, path := range paths {
		t, err := first, error(nil)
		if k > 0 || first == nil {
			if t, err = tableOf(ctx, path, opts); err != nil {
				return nil, err
			}
		}
		if t != nil {
			tables[k] = t
		} else if matches[k], err = m.arrays(path, opts); err != nil {
			return nil, err
		}
	}
	for k := range paths {
		if t := tables[k]; t != nil {
			matches[k] = m.table(t, opts.ImageColumn)
		}
	}
	for i, p := range m.features {
		if !m.taken[i] {
			return nil, &caused{fmt.Sprintf("no feature %q (%s) in %s: the model was trained with it", p.Name, kindOf(p), strings.Join(paths, ", ")), ErrMissingFeature}
		}
	}
	for k := 1; k < len(paths); k++ {
		// A table without a column of the model can contain the ids for an array next to it. One with further
		// columns is more likely a mistake.
		t, array := tables[k], tables[k-1] == nil || k+1 < len(paths) && tables[k+1] == nil
		if t != nil && len(matches[k].schema) == 0 && !(array && len(t.Header()) == 1) {
			return nil, &ParseError{File: t.Name(), Msg: fmt.Sprintf("none of the columns [%s] is a feature of the model", words.Few(t.Header()))}
		}
	}
	return matches, nil
}

// tableOf opens a table; it returns nil for an array or a folder.
func tableOf(ctx context.Context, path string, opts *FeatureOptions) (table.Table, error) {
	if path != "-" || opts.Stdin == nil {
		if read, err := readerOf(path); read != nil || err != nil {
			return nil, err
		}
	}
	return opts.open(ctx, path, table.Options{Memory: opts.Memory, Items: true})
}

// matcher assigns every feature of a model to one file.
type matcher struct {
	features []Feature
	taken    []bool
}

// array returns the feature of an array or of a folder of images: the next one with
// a default name, or else the only remaining tensor.
func (m *matcher) array(path string) (match, error) {
	var named, others []int
	for i, p := range m.features {
		if m.taken[i] || p.Kind != Tensor && p.Embedding == nil {
			continue
		}
		others = append(others, i)
		base := p.Name
		if at := strings.LastIndexByte(base, ' '); at > 0 {
			if _, err := strconv.Atoi(base[at+1:]); err == nil {
				base = base[:at]
			}
		}
		if base == arrayFeature || base == imageFeature || base == volumesFeature {
			named = append(named, i)
		}
	}
	if len(named) == 0 && len(others) == 1 {
		named = others
	}
	if len(named) == 0 {
		return match{}, &ParseError{File: path, Msg: "the model has no further array or image feature, which this file could contain"}
	}
	out := match{}
	m.take(&out, named[0], m.features[named[0]].Name)
	return out, nil
}

// arrays returns the features of an array or a folder, or those of several arrays of an
// NPZ file, which have names like columns.
func (m *matcher) arrays(path string, opts *FeatureOptions) (match, error) {
	if f := array.FormatOf(path); f == nil || !f.Several {
		return m.array(path)
	}
	arrays, err := arraysOf(path, opts.Array, nil)
	if err != nil {
		return match{}, err
	}
	out := match{}
	for _, name := range arrays.names {
		if i := m.next(name); i >= 0 && (m.features[i].Kind == Tensor || m.features[i].Embedding != nil) && len(arrays.names) > 1 {
			m.take(&out, i, name)
		}
	}
	if len(out.schema) == 0 {
		return m.array(path)
	}
	return out, nil
}

// next returns the feature of the model for the next column or array of this name
// that is not assigned yet, or −1.
func (m *matcher) next(column string) int {
	name := column
	i := featureNamed(m.features, name)
	for k := 2; i >= 0 && m.taken[i]; k++ {
		name = fmt.Sprintf("%s %d", column, k)
		i = featureNamed(m.features, name)
	}
	return i
}

// take assigns feature i to a file, in which it is called name.
func (m *matcher) take(out *match, i int, name string) {
	p := m.features[i]
	m.taken[i] = true
	out.names = append(out.names, p.Name)
	p.Name = name
	out.schema = append(out.schema, p)
}

// table returns the features that are columns of a table.
func (m *matcher) table(t table.Table, image string) match {
	lists := t.Traits().Lists
	out := match{schema: []Feature{}}
	for _, column := range t.Header() {
		i := m.next(column)
		if i < 0 {
			continue
		}
		p := m.features[i]
		if p.Kind == Tensor {
			// A column of lists, or one of paths of images or volumes.
			if p.picture() && (image == "" || image == p.Name) && out.image == "" {
				out.image = column
			} else if !lists || len(p.Shape) != 1 {
				continue
			}
		}
		m.take(&out, i, column)
	}
	return out
}

// apply sets the schema and the image column of opts to those of the match.
func (m *match) apply(opts *FeatureOptions) {
	if m.schema != nil {
		opts.Schema, opts.ImageColumn = m.schema, m.image
	}
}

// modelName returns the name in the model of a feature of the file.
func (m *match) modelName(name string) string {
	if i := featureNamed(m.schema, name); i >= 0 {
		return m.names[i]
	}
	return name
}

// read reads the features of a file, with the names of the model.
func (m *match) read(ctx context.Context, path string, opts reading) (*features, error) {
	m.apply(&opts.FeatureOptions)
	f, err := opts.features(ctx, path)
	if err != nil {
		return nil, err
	}
	f.path = path
	for i := range f.Features {
		p := &f.Features[i]
		at := featureNamed(m.schema, p.Name)
		if at < 0 {
			continue
		}
		if want := m.schema[at]; p.Kind == Tensor && !slices.Equal(p.Shape, want.Shape) {
			f.Close()
			return nil, &ParseError{File: path, Msg: fmt.Sprintf("feature %q: expected items of shape %s as in training, found %s",
				m.names[at], words.Shape(want.Shape), words.Shape(p.Shape))}
		}
		p.Name = m.names[at]
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		if c.role == roleFeature {
			c.Name = m.modelName(c.Name)
			c.Feature.Name = c.Name
		}
	}
	return f, nil
}

// openJoined opens a stream of the items in path, or in t if that is not nil,
// with the files of opts.Beside joined to them.
func openJoined(ctx context.Context, path string, t table.Table, schema []Feature, opts StreamOptions) (*Stream, error) {
	fo := opts.FeatureOptions
	fo.Schema = schema
	matches, err := matchFiles(ctx, slices.Concat([]string{path}, opts.Beside), t, &fo)
	if err != nil {
		if t != nil {
			err = errors.Join(err, t.Close())
		}
		return nil, err
	}
	first := opts
	first.FeatureOptions = fo
	matches[0].apply(&first.FeatureOptions)
	s, err := newStream(ctx, path, t, matches[0].schema, first)
	if err != nil {
		return nil, err
	}
	s.features = slices.Clone(s.features)
	for i := range s.features {
		s.features[i].Name = matches[0].modelName(s.features[i].Name)
	}
	item, numbered := "", s.item < 0
	if s.f != nil {
		numbered = s.f.numbered
	} else if s.item >= 0 {
		item = t.Header()[s.item]
	}
	joined := newReading(fo.forJoined(item))
	joined.lazy, joined.several = true, true
	list, err := readFiles(ctx, opts.Beside, matches[1:], joined, false)
	err = errors.Join(err, joined.embed.release())
	if err == nil && len(list) > 0 && list[0].Rows == nil && !numbered {
		err = closeAll(list, errOnlyIDs(list[0].path))
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for _, b := range list {
		if !numbered && !b.numbered {
			if s.f != nil {
				alignNames(s.f, b)
			}
			b.at = placesOf(b.Items)
			if b.files {
				for i, name := range bareNames(b.Items) {
					if !b.at.has(name) {
						b.at[name] = i
					}
				}
			}
		}
		s.beside = append(s.beside, b)
		numbered = numbered && b.numbered
	}
	return s, nil
}

// allFeatures returns the features of the stream and of the files joined to it,
// with the names of the model.
func (s *Stream) allFeatures() []Feature {
	all := slices.Clone(s.features)
	for _, b := range s.beside {
		all = append(all, b.Features...)
	}
	return all
}

// readJoinedRow reads the features of the current item from the joined files; bad is
// the error of its own features, or nil. Items without ids get those of the first
// file that has ids.
func (s *Stream) readJoinedRow(id string, bad error, row []float32) (string, error) {
	n := s.row - 1
	for _, b := range s.beside {
		at, ok := n, n < b.length()
		if b.at != nil {
			at, ok = b.at[id]
		}
		switch {
		case !ok && b.partial:
			w := b.Rows.Width()
			for k := range row[:w] {
				row[k] = float32(math.NaN())
			}
			row = row[w:]
			continue
		case !ok && b.at == nil:
			return "", lengthError(b, "more")
		case !ok:
			if bad == nil {
				bad = &ParseError{File: b.path, Msg: fmt.Sprintf("no features for item %q%s", id, lackExtension([]string{id}, b.Items))}
			}
			continue
		case b.at == nil && !b.numbered:
			id = b.Items[at]
		}
		if b.Rows == nil {
			continue
		}
		w := b.Rows.Width()
		if err := b.Rows.ReadRow(at, row[:w]); err != nil && bad == nil {
			bad = err
		}
		row = row[w:]
	}
	return id, bad
}

// checkLengths is called after the last item: it returns an error if a file that is
// joined by position has more items.
func (s *Stream) checkLengths() error {
	for _, b := range s.beside {
		if b.at == nil && b.length() != s.row {
			return lengthError(b, words.Thousands(s.row))
		}
	}
	return nil
}

// lengthError returns the error for a file without ids whose length differs from that of the first.
func lengthError(f *features, first string) error {
	return &ParseError{File: f.path, Msg: fmt.Sprintf("%s, but the first file has %s, and without ids they are joined by position",
		words.Plural(f.length(), "item"), first)}
}

// Cut makes batches end at multiples of the given number of items, counted from the first, in addition to the limit
// of their size. It must be called before the first batch is read.
func (s *Stream) Cut(items int) { s.block = items }

// Pass makes the stream skip, without decoding, blocks of the size set by [Stream.Cut] for which over returns true,
// given the index of their first item. It must be called before the first batch is read.
func (s *Stream) Pass(over func(first int) bool) { s.pass = over }

// Read returns the number of items read or skipped so far.
func (s *Stream) Read() int { return s.row }

// skipBlocks skips the blocks selected by [Stream.Pass].
func (s *Stream) skipBlocks() error {
	for s.pass != nil && s.block > 0 && s.row%s.block == 0 && s.pass(s.row) {
		n := s.block
		if s.f != nil {
			n = min(n, s.f.length()-s.row)
		} else {
			var err error
			if n, err = table.Skip(s.t, n); err != nil {
				return err
			}
		}
		s.row += n
		if n < s.block {
			return nil
		}
	}
	return nil
}
