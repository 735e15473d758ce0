package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"credence/internal/array"
	"credence/internal/budget"
	"credence/internal/words"
)

// arrays returns the options for arrays that cannot be read in place.
func (o *FeatureOptions) arrays() array.Options {
	return array.Options{Memory: o.memory(), Dir: o.cacheDir}
}

// arrayFeature is the name of a feature that is read from an array.
const arrayFeature = "x"

// openArray reads the array of a file, or the one with the given name, as a feature. Its items
// are numbered from 0; these ids are not stored, to save memory.
func openArray(ctx context.Context, path, name string, opts *reading) (*features, error) {
	a, err := array.FormatOf(path).Open(ctx, path, name, opts.arrays())
	if e, ok := errors.AsType[*ParseError](err); ok && errors.Is(err, array.ErrWhich) {
		err = advise(e, "", SetArray)
	}
	if err != nil {
		return nil, err
	}
	if opts.GroupColumn != "" || opts.SplitColumn != "" || opts.WeightColumn != "" {
		return nil, errors.Join(&ParseError{File: a.File(), Msg: "an array has no columns for groups, splits or weights: provide them in an additional table"}, a.Close())
	}
	// Rows are read into a buffer, then converted, by several goroutines.
	if err := budget.Check(budget.Of(opts.Memory), 3*4*int64(a.Width()), a.File(), "an item of %s values", words.Shape(a.Shape[1:])); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	b, err := a.RowMajor(ctx, opts.arrays())
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	shape, rows, err := opts.Layout.arrange(b.Shape[1:], b)
	if err != nil {
		return nil, errors.Join(&ParseError{File: a.File(), Msg: err.Error()}, b.Close())
	}
	feature := Feature{Name: arrayFeature, Kind: Tensor, Shape: shape}
	var notes []error
	if len(opts.Schema) == 1 && (opts.Schema[0].Kind == Tensor || opts.Schema[0].Embedding != nil) {
		if feature.Name = opts.Schema[0].Name; opts.Schema[0].Embedding != nil {
			notes = append(notes, vectorsOf(&opts.Schema[0], a.File()))
		}
	}
	columns := []ColumnInfo{{Name: feature.Name, role: roleFeature, Feature: feature}}
	f := &features{Dataset: Dataset{Features: []Feature{feature}, Rows: rows, Columns: columns, Warnings: notes, closers: []io.Closer{b}}, numbered: true}
	f.notes = append(f.notes, b.Lost)
	if b.Loses() && !opts.lazy {
		// Lost precision is known only for rows that were read.
		if err := eachRow(b, nil, func(int, []float32) error { return ctx.Err() }); err != nil {
			return nil, errors.Join(err, b.Close())
		}
		f.Warnings = append(f.Warnings, f.noted()...)
	}
	return f, nil
}

// noted returns warnings about what was read so far.
func (f *features) noted() []error {
	var list []error
	for _, note := range f.notes {
		if err := note(); err != nil {
			list = append(list, err)
		}
	}
	return list
}

// Layout is the meaning of the axes of an item in an array: C channels, D depth,
// H height, W width. Images and volumes become features with channels first.
type Layout string

const (
	// autoLayout reads one axis as a vector, two as HW, three as CHW if the
	// first is at most 4, as HWC if the last is, else as DHW, and four as DHWC
	// if only the last is at most 4, else as CDHW.
	autoLayout Layout = ""
	Vector     Layout = "vector" // all values in one vector
	HW         Layout = "HW"
	CHW        Layout = "CHW"
	HWC        Layout = "HWC"
	DHW        Layout = "DHW"
	CDHW       Layout = "CDHW"
	DHWC       Layout = "DHWC"
)

// resolve returns the layout of items of the given shape.
func (l Layout) resolve(item []int) (Layout, error) {
	named := slices.Contains([]Layout{HW, CHW, HWC, DHW, CDHW, DHWC}, l)
	switch n := len(item); {
	case named && len(l) != n:
		return "", fmt.Errorf("layout %s: expected items with %d axes, found %d: shape %s", l, len(l), n, words.Shape(item))
	case named:
		return l, nil
	case l != autoLayout && l != Vector:
		return "", fmt.Errorf("expected layout vector, HW, CHW, HWC, DHW, CDHW or DHWC, found %q", string(l))
	case n <= 1 || l == Vector:
		return Vector, nil
	case n == 2:
		return HW, nil
	case n == 3 && item[0] <= 4:
		return CHW, nil
	case n == 3 && item[2] <= 4:
		return HWC, nil
	case n == 3:
		return DHW, nil
	case n == 4 && item[0] > 4 && item[3] <= 4:
		return DHWC, nil
	case n == 4:
		return CDHW, nil
	}
	return "", fmt.Errorf("expected items with at most 4 axes, found %d: use the layout \"vector\"", len(item))
}

// arrange returns the shape of a feature with channels first, and its rows.
func (l Layout) arrange(item []int, rows Rows) ([]int, Rows, error) {
	l, err := l.resolve(item)
	if err != nil {
		return nil, nil, err
	}
	switch l {
	case HW, DHW:
		return append([]int{1}, item...), rows, nil
	case CHW, CDHW:
		return slices.Clone(item), rows, nil
	case HWC, DHWC:
		last := len(item) - 1
		shape := append([]int{item[last]}, item[:last]...)
		if item[last] == 1 {
			return shape, rows, nil
		}
		return shape, channelsFirst(rows, item[last]), nil
	}
	return []int{rows.Width()}, rows, nil
}

// channelsFirst moves the last axis of rows, of c channels, to the front.
func channelsFirst(rows Rows, c int) Rows {
	return rowsBy{rows.Len(), rows.Width(), func(i int, dst []float32) error {
		row := make([]float32, len(dst))
		if err := rows.ReadRow(i, row); err != nil {
			return err
		}
		n := len(row) / c
		for k := range c {
			for p := range n {
				dst[k*n+p] = row[p*c+k]
			}
		}
		return nil
	}}
}

// The names of arrays of an NPZ file that contain ids, and of those that contain
// labels, which are not features.
var (
	idArrays    = []string{"ids", "id", "items", "item"}
	labelArrays = []string{"y", "Y", "label", "labels", "target", "targets", "votes", "truth"}
)

// npzArrays are the arrays of an NPZ file that are read.
type npzArrays struct {
	names []string // "" stands for the only array
	ids   string   // the array of ids, or ""
	left  []string // a message for each array that is left out
}

// arraysOf selects the arrays to read from an NPZ file: without an array of ids, one
// array; with ids, the named array, or those with two axes or more; with a schema,
// those with the names of its features.
func arraysOf(path, named string, schema []Feature) (*npzArrays, error) {
	entries, err := array.EntriesNPZ(path)
	if err != nil {
		return nil, err
	}
	out := &npzArrays{}
	for _, name := range idArrays {
		i := slices.IndexFunc(entries, func(e array.Entry) bool { return e.Name == name && len(e.Shape) == 1 })
		if i >= 0 && name != named {
			out.ids = name
			entries = slices.Delete(entries, i, i+1)
			break
		}
	}
	if out.ids == "" || named != "" || len(entries) == 1 {
		out.names = []string{named}
		if out.ids != "" && named == "" {
			out.names[0] = entries[0].Name
		}
		return out, nil
	}
	known := func(name string) bool { return featureNamed(schema, name) >= 0 }
	any := slices.ContainsFunc(entries, func(e array.Entry) bool { return known(e.Name) })
	for _, e := range entries {
		switch {
		case any && !known(e.Name):
		case any:
			out.names = append(out.names, e.Name)
		case slices.Contains(labelArrays, e.Name):
			out.left = append(out.left, fmt.Sprintf("array %q is left out: its name indicates labels", e.Name))
		case len(e.Shape) < 2:
			out.left = append(out.left, fmt.Sprintf("array %q is left out: it has one value per item", e.Name))
		default:
			out.names = append(out.names, e.Name)
		}
	}
	if len(out.names) == 0 {
		return nil, advise(&ParseError{File: path, Msg: "expected an array with two or more axes next to the ids, found none"}, "", SetArray)
	}
	return out, nil
}

// readArrays reads the array of a file as a feature named "x" or, from an NPZ file with ids
// and several arrays, each array as a feature of its own name.
func readArrays(ctx context.Context, path string, opts *reading) (*features, error) {
	if !array.FormatOf(path).Several {
		return openArray(ctx, path, "", opts)
	}
	arrays, err := arraysOf(path, opts.Array, opts.Schema)
	if err != nil {
		return nil, err
	}
	var f *features
	first := ""
	for _, name := range arrays.names {
		o := *opts
		if len(arrays.names) > 1 {
			o.Schema = []Feature{{Name: name, Kind: Tensor}}
		}
		g, err := openArray(ctx, path, name, &o)
		switch {
		case err != nil:
		case f == nil:
			f, first = g, name
		case g.length() != f.length():
			err = errors.Join(&ParseError{File: path, Msg: fmt.Sprintf("array %q has %s, but %q has %s", name, words.Plural(g.length(), "row"), first, words.Thousands(f.length()))}, g.Close())
		default:
			err = f.join(g)
		}
		if err != nil {
			if f != nil {
				err = errors.Join(err, f.Close())
			}
			return nil, err
		}
	}
	if arrays.ids != "" {
		if err := f.nameItems(ctx, path, arrays.ids, first, opts); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	for _, text := range arrays.left {
		f.Warnings = append(f.Warnings, advised(path+": "+text, "", SetArray))
	}
	return f, nil
}

// nameItems sets the ids of the items to those in an array.
func (f *features) nameItems(ctx context.Context, path, ids, first string, opts *reading) error {
	texts, err := array.ReadTexts(ctx, path, ids, opts.arrays())
	if err != nil {
		return err
	}
	if len(texts) != f.length() {
		what := "the array"
		if first != "" {
			what = fmt.Sprintf("array %q", first)
		}
		return &ParseError{File: path, Msg: fmt.Sprintf("%s in array %q, but %s has %s", words.Plural(len(texts), "id"), ids, what, words.Plural(f.length(), "row"))}
	}
	seen := make(map[string]int, len(texts))
	for i, id := range texts {
		if id == "" {
			return &ParseError{File: path, Msg: fmt.Sprintf("array %q, row %d: the item has no id", ids, i)}
		}
		if at, ok := seen[id]; ok {
			return &ParseError{File: path, Msg: fmt.Sprintf("array %q, row %d: item %q is there already, in row %d", ids, i, id, at)}
		}
		seen[id] = i
	}
	f.Items, f.numbered = texts, false
	return nil
}
