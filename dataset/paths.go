package dataset

import (
	"fmt"
	"slices"
	"strings"

	"credence/internal/table"
)

// seePath remembers the values of a column for as long as all are paths of
// images or volumes.
func (s *scan) seePath(c *columnScan, x *table.Cell) error {
	if c.other {
		return nil
	}
	missing := s.opts.missing(x, table.FeatureNA)
	if !missing && (x.Kind == table.VectorCell || !isPicture(x.String())) {
		c.other, c.paths = true, nil
		return nil
	}
	if missing && c.paths == nil { // most columns that begin so hold no paths
		return nil
	}
	path := ""
	if !missing {
		path = strings.Clone(x.String())
	}
	if c.paths == nil {
		before := len(s.ids.names) - 1 // all of them missing
		if err := s.t.Keep(16 * before); err != nil {
			return err
		}
		c.paths = make([]string, before, before+1)
	}
	c.paths = append(c.paths, path)
	return s.t.Keep(16 + len(path))
}

// choosePaths takes a column of paths as the images, if the options name none:
// the one that they name among the features, or the only column there is, which
// may be that of the ids.
func (s *scan) choosePaths(f *features) error {
	if s.image >= 0 || s.opts.Schema != nil {
		return nil
	}
	header := s.t.Header()
	used, found := 0, -1
	for i := range s.columns {
		c := &s.columns[i]
		if !c.use {
			continue
		}
		used++
		if c.other || c.fixed || c.missing == len(s.ids.names) {
			continue
		}
		if found >= 0 && slices.Contains(s.opts.Features, header[i]) {
			return advise(&ParseError{File: s.t.Name(), Msg: fmt.Sprintf("columns %q and %q both hold paths of images or volumes, and one is read", header[found], header[i])}, "", SetImages)
		}
		found = i
	}
	if found < 0 && s.item >= 0 && !s.columns[s.item].other {
		if used == 0 || slices.Contains(s.opts.Features, header[s.item]) {
			found = s.item
		} else {
			f.Warnings = append(f.Warnings, advised(fmt.Sprintf("column %q holds paths of files, which serve as ids alone", header[s.item]), header[s.item], SetImages))
		}
	}
	if found < 0 || found != s.item && used > 1 && !slices.Contains(s.opts.Features, header[found]) {
		return nil
	}
	c := &s.columns[found]
	s.image, s.paths, s.opts.ImageColumn = found, c.paths, header[found]
	c.use = false
	return nil
}

// picture reports whether a part in a table can only be a column of paths.
func (p *Part) picture() bool {
	return p.Kind == Tensor && (len(p.Shape) == 3 || p.Volume != nil)
}

// schemaImage returns the column of a table that holds the paths of a model's
// images or volumes.
func schemaImage(schema []Part, t table.Table) string {
	for _, p := range schema {
		if p.picture() && slices.Contains(t.Header(), p.Name) {
			return p.Name
		}
	}
	return ""
}
