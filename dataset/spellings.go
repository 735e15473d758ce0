package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"credence/internal/table"
	"credence/internal/words"
	"credence/record"
)

// missing reports whether a cell has no value; usual are the spellings that NA adds to.
func (o *TableOptions) missing(c *table.Cell, usual []string) bool {
	if len(o.NA) == 0 {
		return c.Missing(usual)
	}
	if c.Missing(nil) || c.Kind == table.VectorCell {
		return c.Missing(nil)
	}
	s := c.String()
	x, number := c.Number(false)
	for _, na := range o.NA {
		if na == s {
			return true
		}
		if y, ok := record.ParseNumber(na, false); ok && number && x == y { // -999 also as -999.0
			return true
		}
	}
	return slices.Contains(usual, s) && !slices.Contains(o.NA, keepNA+s)
}

// keepNA precedes the spellings in NA that are values.
const keepNA = "keep:"

// spelling returns the label or level that a cell is read as.
func (o *TableOptions) spelling(s string) string {
	if len(o.Merge) > 0 {
		for _, pair := range o.Merge {
			if from, to, _ := strings.Cut(pair, "="); strings.TrimSpace(from) == s {
				if o.merged != nil {
					o.merged[pair] = true
				}
				s = strings.TrimSpace(to)
				break
			}
		}
	}
	if o.FoldCase {
		s = strings.ToLower(s)
	}
	return s
}

// checkMerge returns an error unless all of Merge are pairs.
func (o *TableOptions) checkMerge() error {
	for _, pair := range o.Merge {
		from, to, ok := strings.Cut(pair, "=")
		if from, to = strings.TrimSpace(from), strings.TrimSpace(to); !ok || from == "" || to == "" || from == to {
			return fmt.Errorf("merging labels: expected OLD=NEW, such as Benign=benign, found %q", pair)
		}
	}
	return nil
}

// unmerged returns a warning if some of Merge did not apply to any cell.
func (o *TableOptions) unmerged() []error {
	var none []string
	for _, pair := range o.Merge {
		if from, _, _ := strings.Cut(pair, "="); !o.merged[pair] {
			none = append(none, strconv.Quote(strings.TrimSpace(from)))
		}
	}
	if none == nil {
		return nil
	}
	return []error{fmt.Errorf("nothing to merge: no label or category is %s", words.List(none, "or"))}
}
