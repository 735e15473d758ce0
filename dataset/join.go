package dataset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"credence/internal/table"
	"credence/internal/words"
)

// readJoined reads the features of several files and joins them to those of the
// first file.
func readJoined(ctx context.Context, paths []string, opts reading) (*features, error) {
	matches := make([]match, len(paths))
	if opts.Schema != nil && len(paths) > 1 {
		var err error
		if matches, err = matchFiles(ctx, paths, nil, &opts.FeatureOptions); err != nil {
			return nil, err
		}
	}
	opts.several = len(paths) > 1
	list, err := readFiles(ctx, paths, matches, opts, true)
	if err != nil {
		return nil, err
	}
	f := list[0]
	for k, more := range list[1:] {
		if err := f.join(more); err != nil {
			return nil, errors.Join(closeAll(list[k+2:], err), f.Close()) // f closes the others
		}
	}
	if f.Rows == nil && !opts.judged {
		return nil, errors.Join(&ParseError{File: paths[0], Msg: "no feature columns, here or in the other files"}, f.Close())
	}
	if err := opts.unusedBackbone(f.Features); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if f.Items == nil { // an array
		f.Items = make([]string, f.Rows.Len())
		for i := range f.Items {
			f.Items[i] = strconv.Itoa(i)
		}
	}
	return f, nil
}

// readFiles reads the features of files to be joined. Files without ids get those of a file of ids only.
// With follow, all but the first are read with the options for files that are joined to it.
func readFiles(ctx context.Context, paths []string, matches []match, opts reading, follow bool) ([]*features, error) {
	var list []*features
	for k, path := range paths {
		f, err := matches[k].read(ctx, path, opts)
		if err != nil {
			return nil, closeAll(list, err)
		}
		list = append(list, f)
		if k == 0 && follow {
			opts.FeatureOptions = opts.forJoined(f.ItemColumn())
		}
	}
	named, err := nameRows(list)
	if err != nil {
		return nil, closeAll(list, err)
	}
	return named, nil
}

// closeAll closes files after an error and returns it, joined with those of closing.
func closeAll(list []*features, err error) error {
	for _, s := range list {
		err = errors.Join(err, s.Close())
	}
	return err
}

// absent maps the columns that none of several files has to the error about the first file,
// and those that a file has to nil. A nil map stands for a single file.
type absent map[string]error

// check adds a file, or returns an error if a named column has to be in this one and is not. t is
// nil for a file without columns, in which none is absent.
func (a absent) check(t table.Table, names []string) error {
	for _, name := range names {
		var err error
		if t != nil {
			_, err = column(t, name)
		}
		if !errors.Is(err, ErrNoColumn) {
			err = nil
		}
		if a == nil && err != nil {
			return err
		}
		if first, seen := a[name]; a != nil && (!seen || first != nil && err == nil) {
			a[name] = err
		}
	}
	return nil
}

// forJoined returns the options for files that are joined to a first one with the given
// id column, or "".
func (o FeatureOptions) forJoined(item string) FeatureOptions {
	o.GroupColumn, o.SplitColumn, o.WeightColumn = "", "", ""
	o.ItemColumn, o.ItemOptional = item, true
	o.SheetOptional = true
	return o
}

// join adds the features of another file to those of f: by id, or by position if
// the ids of either are row numbers.
func (f *features) join(g *features) error {
	f.closers, f.notes = append(f.closers, g.closers...), append(f.notes, g.notes...)
	rows := g.Rows
	if f.numbered || g.numbered {
		if f.length() != g.length() {
			return lengthError(g, words.Thousands(f.length()))
		}
		if f.numbered {
			f.Items, f.numbered = g.Items, g.numbered
		}
	} else {
		alignNames(f, g)
		at := placesOf(g.Items)
		order := make([]int, len(f.Items))
		var lost []string
		for i, id := range f.Items {
			j, ok := at[id]
			if !ok {
				lost = append(lost, strconv.Quote(id))
			}
			order[i] = j
		}
		if len(lost) > 0 {
			return &ParseError{File: g.path, Msg: fmt.Sprintf("no features for %s: %s%s", words.Plural(len(lost), "item"), words.Few(lost), lackExtension(f.Items, g.Items))}
		}
		if rows != nil {
			rows = picked(g.Rows, order)
		}
	}
	names := map[string]bool{}
	for _, p := range f.Features {
		names[p.Name] = true
	}
	for _, p := range slices.Clone(g.Features) {
		base := p.Name
		for k := 2; names[p.Name]; k++ {
			p.Name = fmt.Sprintf("%s %d", base, k)
		}
		names[p.Name] = true
		f.Features = append(f.Features, p)
		f.Columns = append(f.Columns, ColumnInfo{Name: p.Name, role: roleFeature, Feature: p})
	}
	f.Warnings = append(f.Warnings, g.Warnings...)
	f.Rows = sideBySide(f.Rows, rows)
	return nil
}

// rowsOf returns the row of f for each item with votes, or nil if the items of f and
// v are the same. Votes without ids belong to the rows in order, unless the ids of f
// are row numbers themselves.
func (f *features) rowsOf(v *votes) (places, error) {
	if slices.Equal(v.Items, f.Items) {
		return nil, nil
	}
	at := placesOf(f.Items)
	numbered := v.Votes.ItemColumn == "" && !v.named
	switch n := len(f.Items); {
	case numbered && !f.numbered && !at.hasAll(v.Items):
		if len(v.Items) != n {
			return nil, advise(&ParseError{File: v.Votes.File, Msg: fmt.Sprintf("votes on %s, but %s with features: without an id column, votes are joined by position",
				words.Plural(len(v.Items), "item"), words.Thousands(n))}, "", SetVotesItem)
		}
		return placesOf(v.Items), nil
	case f.numbered && !numbered && !slices.Contains(v.Items, "0") && slices.Contains(v.Items, strconv.Itoa(n)):
		return nil, &ParseError{File: v.Votes.File, Msg: fmt.Sprintf("its items are numbered from 1, up to %d, but features without ids from 0, up to %d: every vote would be assigned to the next item; add an id column to the features, or number the votes from 0", n, n-1)}
	}
	return at, nil
}

// readTruth reads true probabilities, one column per class, and joins them by id.
func (ds *Dataset) readTruth(ctx context.Context, path string, vo *VotesOptions) error {
	t, err := vo.open(ctx, path, table.Options{Memory: vo.Memory})
	if err != nil {
		return err
	}
	defer t.Close()
	item, err := findItem(t, vo.ItemColumn, vo.ItemOptional)
	if err != nil {
		return err
	}
	d := len(ds.Classes)
	cols := make([]int, d)
	for c, name := range ds.Classes {
		if cols[c], err = column(t, name); err != nil {
			return err
		}
	}
	at := placesOf(ds.Items)
	truth := make([]float32, len(ds.Items)*d)
	lines := slices.Repeat([]int{-1}, len(ds.Items)) // of the probabilities of each item
	row := 0
	err = table.Records(ctx, t, func(rec []table.Cell) error {
		id := strconv.Itoa(row)
		row++
		if item >= 0 {
			id = rec[item].String()
		}
		i, ok := at[id]
		if !ok {
			return nil
		}
		if lines[i] >= 0 {
			return duplicateItem(t, t.Line(), item, vo.ItemColumn, id, lines[i])
		}
		lines[i] = t.Line()
		var sum float64
		for c, col := range cols {
			p, ok := rec[col].Number(t.Traits().Commas)
			if !ok || !(p >= 0 && p <= 1) {
				return t.ErrorAt(col, "expected a probability, found %q", rec[col].String())
			}
			truth[i*d+c] = float32(p)
			sum += p
		}
		if math.Abs(sum-1) > 1e-3 {
			return t.ErrorAt(-1, "expected the probabilities of item %q to sum to 1, found %.4g", id, sum)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if i := slices.Index(lines, -1); i >= 0 {
		return &ParseError{File: path, Msg: fmt.Sprintf("no probabilities for item %q", ds.Items[i])}
	}
	ds.Truth = truth
	return nil
}

// nameRows assigns the ids of tables without features to the rows of the next file
// without ids or, if there is none, of the previous one: an array, in most cases.
// A first file of only ids selects the items of the other files.
func nameRows(list []*features) ([]*features, error) {
	list = slices.Clone(list)
	for k := 0; k < len(list); k++ {
		ids := list[k]
		if ids.Rows != nil {
			continue
		}
		to := k + 1
		if to == len(list) || !list[to].numbered || list[to].Rows == nil {
			to = k - 1
		}
		switch {
		case to >= 0 && list[to].numbered:
			if err := list[to].named(ids); err != nil {
				return nil, err
			}
			list = slices.Delete(list, k, k+1)
			k--
		case k > 0:
			return nil, errOnlyIDs(ids.path)
		}
	}
	return list, nil
}

func errOnlyIDs(path string) error {
	return &ParseError{File: path, Msg: "only ids: expected a file without ids, such as an array, before or after it, to which they belong"}
}

// named sets the ids of the rows of f to those of another file.
func (f *features) named(ids *features) error {
	if n := len(ids.Items); n != f.length() {
		msg := fmt.Sprintf("expected %s, one for each row of %s, found %s", words.Plural(f.length(), "id"), f.path, words.Thousands(n))
		if n+1 == f.length() && len(ids.Columns) > 0 {
			msg += fmt.Sprintf("; is the first line, %q, an id instead of a header?", ids.Columns[0].Name)
		}
		return &ParseError{File: ids.path, Msg: msg}
	}
	f.Items, f.numbered, f.files = ids.Items, ids.numbered, ids.files
	f.Groups, f.Given, f.Weights = ids.Groups, ids.Given, ids.Weights
	f.Columns = slices.Concat(ids.Columns, f.Columns)
	f.Warnings = slices.Concat(ids.Warnings, f.Warnings)
	f.closers = append(f.closers, ids.closers...)
	return nil
}

// onlyIDs reports whether a table has a single column without a known name
// whose texts are all different: next to another file these are ids.
func (s *scan) onlyIDs() bool {
	if !s.opts.several || s.item >= 0 || len(s.columns) != 1 || s.opts.Schema != nil {
		return false
	}
	c := &s.columns[0]
	return c.use && !c.fixed && s.opts.Features == nil && c.texts == len(s.ids.names) && len(c.levels) == c.texts && c.texts > 1
}

// bareNames returns file names without their extensions, or nil if two of them would
// become equal.
func bareNames(items []string) []string {
	bare := words.Each(items, bareName)
	if len(placesOf(bare)) < len(bare) {
		return nil
	}
	return bare
}

// dropExtensions removes the extensions from ids that are file names if, and only if,
// no id of another file has one and all of its ids are such names without extensions
// or, with extra, all such names are among its ids.
func (f *features) dropExtensions(ids []string, extra bool) {
	if !f.files || len(ids) == 0 || slices.ContainsFunc(ids, placesOf(f.Items).has) {
		return
	}
	bare := bareNames(f.Items)
	if bare != nil && (!extra && placesOf(bare).hasAll(ids) || extra && placesOf(ids).hasAll(bare)) {
		f.Items, f.files = bare, false
	}
}

// alignNames drops the extensions of files in a folder if the items of the other
// features have none. The items of g may be more than those of f.
func alignNames(f, g *features) {
	g.dropExtensions(f.Items, false)
	if !g.files {
		f.dropExtensions(g.Items, true)
	}
}

// lackExtension returns a question whether ids lack the extension that others have, or
// have one that others lack: "; do they lack .png?". It returns "" if neither would help.
func lackExtension(ids, others []string) string {
	for _, c := range []struct {
		short, long []string
		ask         string
	}{{ids, others, "; do they lack %s?"}, {others, ids, "; should %s be removed?"}} {
		at := placesOf(c.short)
		for _, name := range c.long {
			if bare := bareName(name); bare != name && at.has(bare) {
				return fmt.Sprintf(c.ask, name[len(bare):])
			}
		}
	}
	return ""
}
