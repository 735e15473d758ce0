package dataset

import (
	"fmt"
	"slices"

	"credence/internal/words"
)

// source is a file that was read, before it is joined to others.
type source struct {
	*features
	path string
}

// nameRows gives the ids of tables that hold nothing else to the rows of the file
// without ids that comes next or, if none does, before: an array, in most cases.
// A first file of ids alone says which items of the others are meant.
func nameRows(list []source) ([]source, error) {
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
			if err := list[to].named(ids, list[to].path); err != nil {
				return nil, err
			}
			list = slices.Delete(list, k, k+1)
			k--
		case k > 0:
			return nil, errIDsAlone(ids.path)
		}
	}
	return list, nil
}

func errIDsAlone(path string) error {
	return &ParseError{File: path, Msg: "nothing but ids: expected a file without ids, such as an array, before or after it, whose rows they name"}
}

// named gives the rows of f, at path, the ids of another file.
func (f *features) named(ids source, path string) error {
	if n := len(ids.Items); n != len(f.Items) {
		msg := fmt.Sprintf("%s, but %s has %s, which they name in turn", number(n, "id"), path, number(len(f.Items), "row"))
		if n+1 == len(f.Items) && len(ids.Columns) > 0 {
			msg += fmt.Sprintf("; is the first line, %q, an id and no header?", ids.Columns[0].Name)
		}
		return &ParseError{File: ids.path, Msg: msg}
	}
	f.Items, f.numbered, f.files = ids.Items, ids.numbered, ids.files
	f.Groups, f.Given, f.Weights = ids.Groups, ids.Given, ids.Weights
	f.Columns = slices.Concat(ids.Columns, f.Columns)
	f.Warnings = slices.Concat(ids.Warnings, f.Warnings)
	f.lacks = bothLack(ids.lacks, f.lacks)
	f.closers = append(f.closers, ids.closers...)
	return nil
}

// namesAlone reports whether a table has a single column without a known name
// whose texts all differ: beside another file they are ids.
func (s *scan) namesAlone() bool {
	if !s.opts.several || s.item >= 0 || len(s.columns) != 1 || s.opts.Schema != nil {
		return false
	}
	c := &s.columns[0]
	return c.use && !c.fixed && s.opts.Features == nil && c.texts == len(s.ids.names) && len(c.levels) == c.texts && c.texts > 1
}

// bareNames returns names of files without their extensions, or nil if two of them
// become one.
func bareNames(items []string) []string {
	bare := words.Each(items, bareName)
	if len(placesOf(bare)) < len(bare) {
		return nil
	}
	return bare
}

// dropExtensions takes names of files without their extensions for ids if, and only
// if, none of the ids of another file is the name of a file and all are without.
func (f *features) dropExtensions(ids []string) {
	if !f.files || len(ids) == 0 || slices.ContainsFunc(ids, placesOf(f.Items).has) {
		return
	}
	if bare := bareNames(f.Items); bare != nil && placesOf(bare).hasAll(ids) {
		f.Items, f.files = bare, false
	}
}

// alignNames drops the extensions of files in a folder where the items of the other
// features have none.
func alignNames(f, g *features) {
	if g.files {
		g.dropExtensions(f.Items)
	}
	if f.files && !g.files {
		// All files have to be items of g, which may have more.
		bare, at := bareNames(f.Items), placesOf(g.Items)
		if bare != nil && at.hasAll(bare) && !slices.ContainsFunc(f.Items, at.has) {
			f.Items, f.files = bare, false
		}
	}
}

// lackExtension asks whether ids lack the extension that others have, or have one
// that others lack: "; do they lack .png?". It is "" if neither would help.
func lackExtension(ids, others []string) string {
	for _, c := range []struct {
		short, long []string
		ask         string
	}{{ids, others, "; do they lack %s?"}, {others, ids, "; is %s too much?"}} {
		at := placesOf(c.short)
		for _, name := range c.long {
			if bare := bareName(name); bare != name && at.has(bare) {
				return fmt.Sprintf(c.ask, name[len(bare):])
			}
		}
	}
	return ""
}
