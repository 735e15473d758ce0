package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"credence/internal/table"
	"credence/internal/words"
	"credence/record"
)

// decoder converts the records of a table into raw rows.
type decoder struct {
	t       table.Table
	opts    *TableOptions
	commas  bool // numbers may have a decimal comma
	columns []featureDecoder
	width   int  // of a raw row
	size    int  // bytes of texts
	keep    bool // texts are stored for longer than a batch
}

// featureDecoder is the column of a feature, with its texts or levels and counters for warnings.
type featureDecoder struct {
	Feature
	col    int // in the table
	width  int
	levels *levelIndex
	texts  []string

	values       int // categorical values, or rows of lists
	unknown      int // values whose level is not in the model
	firstUnknown string
	vanished     int // nonzero numbers that become 0 in float32
	firstGone    float64
	noList, gaps int // rows without a list, and missing values within lists
	firstGap     int // row, or line
}

// newDecoder returns a decoder for the columns named like the given features.
func newDecoder(t table.Table, schema []Feature, opts *TableOptions) (*decoder, error) {
	d := &decoder{t: t, keep: true, commas: t.Traits().Commas, opts: opts, width: totalWidth(schema)}
	if err := checkJudgeColumns(t, schema); err != nil {
		return nil, err
	}
	for _, p := range schema {
		col, err := featureColumn(t, p.Name)
		if p.Judge && errors.Is(err, ErrMissingFeature) {
			col, err = -1, nil // some judges may be missing
		}
		if err != nil {
			return nil, err
		}
		c := featureDecoder{Feature: p, col: col, width: p.Width()}
		if p.Kind == Categorical {
			c.levels = newLevelIndex(p.Levels, true)
		}
		d.columns = append(d.columns, c)
	}
	return d, nil
}

// featureColumn returns the column of a feature that a model was trained with.
func featureColumn(t table.Table, name string) (int, error) {
	col, err := column(t, name)
	if !errors.Is(err, ErrNoColumn) {
		return col, err
	}
	msg := fmt.Sprintf("no column %q: the model was trained with it", name)
	if i := known(t.Header(), []string{table.Plain(name)}); i >= 0 {
		msg += fmt.Sprintf("; is it column %q under another name?", t.Header()[i])
	}
	return -1, &ParseError{File: t.Name(), Msg: msg, Err: ErrMissingFeature}
}

// decode fills row with the values of a record.
func (d *decoder) decode(rec []table.Cell, row []float32) error {
	for k := range d.columns {
		c := &d.columns[k]
		if c.col < 0 {
			row[0] = float32(math.NaN())
		} else if err := d.value(c, &rec[c.col], row[:c.width]); err != nil {
			return err
		}
		row = row[c.width:]
	}
	return nil
}

// value fills to with the raw values of a cell.
func (d *decoder) value(c *featureDecoder, cell *table.Cell, to []float32) error {
	usual := table.FeatureNA
	if c.Kind == Text {
		usual = table.VoteNA // "?", "-" and "none" are documents
	}
	missing := d.opts.missing(cell, usual)
	if c.Kind == Tensor {
		c.countGaps(cell, missing, d.t.Line())
	}
	if missing {
		for i := range to {
			to[i] = float32(math.NaN())
		}
		return nil
	}
	switch c.Kind {
	case Categorical:
		code := c.levels.code(d.opts.spelling(cell.String()))
		c.values++
		if code == UnknownLevel {
			if c.unknown++; c.unknown == 1 {
				c.firstUnknown = strings.Clone(cell.String())
			}
		}
		to[0] = float32(code)
	case Numeric:
		x, ok := cell.Number(d.commas || c.Comma)
		if !ok && cell.Kind == table.TextCell { // a decimal comma
			x, ok = record.ParseFormatted(cell.String(), true)
		}
		if !ok && c.binary {
			var b int
			b, ok = boolOf(cell.String(), false)
			x = float64(b)
		}
		if !ok {
			return d.t.ErrorAt(c.col, "expected a number, found %q", cell.String())
		}
		if math.Abs(x) > math.MaxFloat32 {
			return d.t.ErrorAt(c.col, "expected a number within ±3.4e38, found %s", cell.String())
		}
		to[0] = float32(x)
		if to[0] == 0 && x != 0 {
			if c.vanished++; c.vanished == 1 {
				c.firstGone = x
			}
		}
	case Tensor:
		if cell.Kind != table.VectorCell || len(cell.Vec) != len(to) {
			return d.t.ErrorAt(c.col, "expected a list of %d numbers, found %s", len(to), cell.String())
		}
		copy(to, cell.Vec)
	case Text:
		return d.text(c, cell.String(), to)
	}
	return nil
}

// countGaps counts missing lists and missing values in lists.
func (c *featureDecoder) countGaps(cell *table.Cell, missing bool, line int) {
	c.values++
	before := c.noList + c.gaps
	if missing {
		c.noList++
	}
	for _, x := range cell.Vec {
		if x != x {
			c.gaps++
		}
	}
	if before == 0 && c.noList+c.gaps > 0 {
		c.firstGap = line
	}
}

// text stores the text of a cell and sets to[0] to its index.
func (d *decoder) text(c *featureDecoder, cell string, to []float32) error {
	if len(c.texts) == maxTexts {
		return d.t.ErrorAt(c.col, "more than %s texts", words.Thousands(maxTexts))
	}
	if d.keep {
		if err := d.t.Keep(16 + len(cell)); err != nil {
			return err
		}
	}
	to[0] = float32(len(c.texts))
	clear(to[1:]) // a vector is filled in later
	c.texts = append(c.texts, strings.Clone(cell))
	d.size += len(cell)
	return nil
}

// moveTexts moves the texts decoded so far into the Texts of their features and
// resets the decoder.
func (d *decoder) moveTexts(schema []Feature) {
	for k := range d.columns {
		if c := &d.columns[k]; c.Kind == Text {
			schema[k].Texts, c.texts = c.texts, nil
		}
	}
	d.size = 0
}

// warnings returns warnings about levels that are not in the model, and about values that are lost.
func (d *decoder) warnings() []error {
	var gone, gaps, unknown []error
	for k := range d.columns {
		c := &d.columns[k]
		if c.vanished > 0 {
			gone = append(gone, fmt.Errorf("column %q: %s closer to 0 than 1e-45, such as %g, treated as 0", c.Name, words.Plural(c.vanished, "value"), c.firstGone))
		}
		var lack []string
		if c.noList > 0 {
			lack = append(lack, fmt.Sprintf("%s of %s have no list", words.Thousands(c.noList), words.Plural(c.values, "row")))
		}
		if c.gaps > 0 {
			lack = append(lack, words.Plural(c.gaps, "value")+" within lists missing")
		}
		if lack != nil {
			gaps = append(gaps, fmt.Errorf("column %q: %s (first in row %d): treated as the training mean", c.Name, strings.Join(lack, ", "), c.firstGap))
		}
		if c.unknown == 0 {
			continue
		}
		msg := fmt.Sprintf("column %q: %s of %s have a level that is not in the training data, such as %q, and are treated as unknown", c.Name, words.Thousands(c.unknown), words.Plural(c.values, "value"), c.firstUnknown)
		if i := known(c.Levels, []string{table.Plain(c.firstUnknown)}); i >= 0 {
			msg += fmt.Sprintf("; is it %q in another spelling?", c.Levels[i])
		}
		unknown = append(unknown, errors.New(msg))
	}
	return slices.Concat(gone, gaps, unknown)
}
