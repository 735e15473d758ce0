package dataset

import (
	"fmt"
	"slices"
	"strings"

	"credence/internal/words"
)

// badCell is a cell that is not a number.
type badCell struct {
	line int
	text string
}

// maxBad is the number of such cells that an error lists.
const maxBad = 20

// notNumbers reports whether a column of numbers contains a few texts.
func (c *columnScan) notNumbers() bool {
	n := c.numbers + c.texts
	switch {
	case c.texts == 0 || c.kind == Text || c.vector > 0 || c.isIDs():
		return false
	case c.fixed:
		return c.kind == Numeric
	case c.infinite == c.texts:
		return false
	}
	return c.levels == nil || c.numbers*10 >= n*9 && len(c.levels) > fewLevels
}

// badCells returns the error that lists the texts in the given columns of numbers, by line.
func (s *scan) badCells(columns []int) error {
	type cell struct {
		badCell
		col int
	}
	var cells []cell
	total, fixed := 0, true
	for _, i := range columns {
		c := &s.columns[i]
		total += c.texts
		fixed = fixed && c.fixed
		for _, b := range c.bad {
			cells = append(cells, cell{b, i})
		}
	}
	slices.SortStableFunc(cells, func(a, b cell) int { return a.line - b.line })
	first := cells[0]
	if s.secondHeader(columns) {
		return errorIn(s.t, first.line, -1, "the first row below the header has texts in all %s of numbers (%s): is it a second header row, such as units? Join the two rows into one, or remove one",
			words.Plural(len(columns), "column"), words.Few(s.names(columns)))
	}
	expected := "expected a number, as in most rows of the column, found %q"
	if fixed {
		expected = "expected a number, found %q"
	}
	e := errorIn(s.t, first.line, first.col, expected, first.text)
	if total > 1 {
		shown := cells[:min(len(cells), maxBad)]
		msg := fmt.Sprintf("expected numbers, found %s that are not", words.Plural(total, "cell"))
		if total > len(shown) {
			msg += fmt.Sprintf("; the first %d", len(shown))
		}
		var b strings.Builder
		for _, x := range shown {
			place := errorIn(s.t, x.line, x.col, "%q", x.text).Error()
			b.WriteString("\n  " + strings.TrimPrefix(place, "reading "+s.t.Name()+": "))
		}
		e = &ParseError{File: s.t.Name(), Msg: msg + ":" + b.String()}
	}
	a := &Advice{Settings: []Setting{SetMissing}, Column: s.t.Header()[first.col]}
	if len(columns) == 1 {
		a.Settings = append(a.Settings, SetCategorical)
	}
	a.Value = first.text
	e.Err = a
	return e
}

// secondHeader reports whether the texts in columns of numbers are all in the first row: units or descriptions of the columns.
func (s *scan) secondHeader(columns []int) bool {
	numeric := 0
	for i := range s.columns {
		if c := &s.columns[i]; c.use && c.numbers > 0 {
			numeric++
		}
	}
	return len(columns) > 1 && len(columns) == numeric && !slices.ContainsFunc(columns, func(i int) bool {
		c := &s.columns[i]
		return c.texts != 1 || c.bad[0].line != s.columns[columns[0]].bad[0].line || c.bad[0].line != s.first
	})
}

// names returns the names of columns.
func (s *scan) names(columns []int) []string {
	return words.Each(columns, func(i int) string { return s.t.Header()[i] })
}
