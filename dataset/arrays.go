package dataset

import (
	"context"
	"errors"
	"io"
	"strconv"

	"credence/internal/array"
	"credence/internal/budget"
	"credence/internal/words"
)

// arrays says where arrays go that cannot be read in place.
func (o *FeatureOptions) arrays() array.Options {
	return array.Options{Memory: o.memory(), Dir: func() (string, error) { return o.cacheDir() }}
}

// openArray takes the array of a file, or the one of this name, as a feature.
func openArray(ctx context.Context, path, name string, opts *reading) (*features, error) {
	a, err := array.FormatOf(path).Open(ctx, path, name, opts.arrays())
	if e, ok := errors.AsType[*ParseError](err); ok && errors.Is(err, array.ErrWhich) {
		err = advise(e, "", SetArray)
	}
	if err != nil {
		return nil, err
	}
	return arrayFeatures(ctx, a, opts)
}

// arrayPart is the name of a feature that comes from an array.
const arrayPart = "x"

// arrayFeatures makes features of an array, whose items are numbered from 0.
func arrayFeatures(ctx context.Context, a *array.Array, opts *reading) (*features, error) {
	if opts.GroupColumn != "" || opts.SplitColumn != "" || opts.WeightColumn != "" {
		return nil, errors.Join(&ParseError{File: a.File(), Msg: "an array has no columns for groups, splits or weights: give them in a table beside it"}, a.Close())
	}
	// Rows are read into a buffer, then converted, by several readers at a time.
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
	part := Part{Name: arrayPart, Kind: Tensor, Shape: shape}
	if len(opts.Schema) == 1 && opts.Schema[0].Kind == Tensor {
		part.Name = opts.Schema[0].Name
	}
	columns := []ColumnInfo{{Name: part.Name, role: roleFeature, Part: part}}
	f := &features{Dataset: Dataset{Parts: []Part{part}, Rows: rows, Columns: columns, closers: []io.Closer{b}}, numbered: true, notes: []func() error{b.Lost}}
	if b.Loses() && !opts.lazy {
		// Only rows that were read show what they lose.
		if err := eachRow(b, nil, func(int, []float32) error { return ctx.Err() }); err != nil {
			return nil, errors.Join(err, b.Close())
		}
		f.Warnings = append(f.Warnings, f.noted()...)
	}
	if opts.counted {
		return f, nil
	}
	f.Items = make([]string, rows.Len())
	for i := range f.Items {
		f.Items[i] = strconv.Itoa(i)
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
