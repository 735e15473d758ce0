package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"credence/internal/array"
	"credence/internal/words"
)

// The names of arrays of an NPZ file that hold ids, and of those that hold labels,
// which are not to be taken for features.
var (
	idArrays    = []string{"ids", "id", "items", "item"}
	labelArrays = []string{"y", "Y", "label", "labels", "target", "targets", "votes", "truth"}
)

// npzArrays are the arrays of an NPZ file that are read.
type npzArrays struct {
	names []string // "" is the only one
	ids   string   // the array of ids; "" without one
	left  []string // arrays that are not read, as a text for each
}

// arraysOf finds what to read of an NPZ file. Without ids it is one array. Beside
// ids it is one that is named, or those with two axes or more; with a schema, those
// that the model knows.
func arraysOf(path, named string, schema []Part) (*npzArrays, error) {
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
	known := func(name string) bool { return partNamed(schema, name) >= 0 }
	any := slices.ContainsFunc(entries, func(e array.Entry) bool { return known(e.Name) })
	for _, e := range entries {
		switch {
		case any && !known(e.Name):
		case any:
			out.names = append(out.names, e.Name)
		case slices.Contains(labelArrays, e.Name):
			out.left = append(out.left, fmt.Sprintf("array %q is left out: its name is that of labels", e.Name))
		case len(e.Shape) < 2:
			out.left = append(out.left, fmt.Sprintf("array %q is left out: it has one value per item", e.Name))
		default:
			out.names = append(out.names, e.Name)
		}
	}
	if len(out.names) == 0 {
		return nil, advise(&ParseError{File: path, Msg: "beside ids no array has two axes or more, one row per item"}, "", SetArray)
	}
	return out, nil
}

// readArrays takes the array of a file as a feature named "x" or, if it is an NPZ file that
// holds ids and several arrays, each under its own name.
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
			o.Schema = []Part{{Name: name, Kind: Tensor}}
		}
		g, err := openArray(ctx, path, name, &o)
		switch {
		case err != nil:
		case f == nil:
			f, first = g, name
		case g.length() != f.length():
			err = errors.Join(&ParseError{File: path, Msg: fmt.Sprintf("array %q has %s, but %q has %s", name, number(g.length(), "row"), first, words.Thousands(f.length()))}, g.Close())
		default:
			err = f.join(g, path)
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

// nameItems gives items the ids of an array.
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
		return &ParseError{File: path, Msg: fmt.Sprintf("%s in array %q, but %s has %s", number(len(texts), "id"), ids, what, number(f.length(), "row"))}
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
