package dataset

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"credence/internal/table"
	"credence/internal/words"
)

// decoder turns records of a table into raw rows.
type decoder struct {
	t      table.Table
	opts   *TableOptions
	commas bool // numbers may have a decimal comma
	cols   []int
	parts  []Part
	levels []*levelIndex // of categorical parts
	seen   []unseen      // of categorical parts
	gone   []vanished    // of numeric parts
	gaps   []gaps        // of lists
	texts  [][]string    // of text parts; nil if there are none
	size   int           // bytes of these
	keep   bool          // texts are kept beyond a batch
}

// unseen counts the levels of a column that a model does not know.
type unseen struct {
	values, unknown int
	first           string // that is unknown
}

// vanished counts the values of a column that become 0 in float32.
type vanished struct {
	values int
	first  float64
}

// gaps counts what lists lack.
type gaps struct {
	lists, values int // without a list, and without a value within one
	rows          int
	first         int // row, or line, of the first
}

// newDecoder finds the columns of parts by their names.
func newDecoder(t table.Table, parts []Part, opts *TableOptions) (*decoder, error) {
	d := &decoder{t: t, keep: true, commas: t.Traits().Commas, opts: opts, parts: parts}
	for _, p := range parts {
		col, err := featureColumn(t, p.Name)
		if err != nil {
			return nil, err
		}
		var levels *levelIndex
		if p.Kind == Categorical {
			levels = newLevelIndex(p.Levels, true)
		}
		if p.Kind == Text && d.texts == nil {
			d.texts = make([][]string, len(parts))
		}
		d.seen, d.gone, d.gaps = append(d.seen, unseen{}), append(d.gone, vanished{}), append(d.gaps, gaps{})
		d.cols = append(d.cols, col)
		d.levels = append(d.levels, levels)
	}
	return d, nil
}

// featureColumn returns the column of a feature that a model was trained with.
func featureColumn(t table.Table, name string) (int, error) {
	col, err := column(t, name)
	if err != nil && !errors.Is(err, ErrNoColumn) {
		return -1, err
	}
	if err != nil {
		msg := fmt.Sprintf("no column %q: the model was trained with it", name)
		if i := known(t.Header(), []string{table.Plain(name)}); i >= 0 {
			msg += fmt.Sprintf("; is it column %q under another name?", t.Header()[i])
		}
		return -1, &ParseError{File: t.Name(), Msg: msg, Err: ErrMissingFeature}
	}
	return col, nil
}

// decode fills row with the values of a record.
func (d *decoder) decode(rec []table.Cell, row []float32) error {
	at := 0
	for k, p := range d.parts {
		c := &rec[d.cols[k]]
		w := p.Width()
		if err := d.value(k, c, row[at:at+w]); err != nil {
			return err
		}
		at += w
	}
	return nil
}

func (d *decoder) value(k int, c *table.Cell, to []float32) error {
	p, col := &d.parts[k], d.cols[k]
	if p.Kind == Tensor {
		d.gaps[k].see(d.t, c, d.opts)
	}
	if d.opts.missing(c, table.FeatureNA) {
		for i := range to {
			to[i] = float32(math.NaN())
		}
		return nil
	}
	switch p.Kind {
	case Categorical:
		code := d.levels[k].code(c.String())
		d.seen[k].values++
		if code == UnknownLevel {
			if d.seen[k].unknown == 0 {
				d.seen[k].first = strings.Clone(c.String())
			}
			d.seen[k].unknown++
		}
		to[0] = float32(code)
	case Numeric:
		x, ok := c.Number(d.commas)
		if !ok && p.binary {
			var b int
			b, ok = boolOf(c.String(), false)
			x = float64(b)
		}
		if !ok {
			return d.t.ErrorAt(col, "%q is not a number", c.String())
		}
		if math.Abs(x) > math.MaxFloat32 {
			return d.t.ErrorAt(col, "%s is too large: values lie within ±3.4e38", c.String())
		}
		to[0] = float32(x)
		if to[0] == 0 && x != 0 {
			if d.gone[k].values++; d.gone[k].values == 1 {
				d.gone[k].first = x
			}
		}
	case Tensor:
		if c.Kind != table.VectorCell || len(c.Vec) != len(to) {
			return d.t.ErrorAt(col, "%s, but %d numbers were expected", c.String(), len(to))
		}
		copy(to, c.Vec)
	case Text:
		return d.text(k, c.String(), to)
	}
	return nil
}

// see counts what a list lacks.
func (g *gaps) see(t table.Table, c *table.Cell, opts *TableOptions) {
	g.rows++
	before := g.lists + g.values
	if opts.missing(c, table.FeatureNA) {
		g.lists++
	}
	for _, x := range c.Vec {
		if x != x {
			g.values++
		}
	}
	if before == 0 && g.lists+g.values > 0 {
		g.first = t.Line()
	}
}

// warnings tells of levels that a model was not trained with, and of values that are lost.
func (d *decoder) warnings() []error {
	var list []error
	for k, g := range d.gone {
		if g.values > 0 {
			list = append(list, fmt.Errorf("column %q: %s closer to 0 than 1e-45, such as %g: taken as 0", d.parts[k].Name, number(g.values, "value"), g.first))
		}
	}
	for k, g := range d.gaps {
		var what []string
		if g.lists > 0 {
			what = append(what, fmt.Sprintf("%s of %s have no list", words.Thousands(g.lists), number(g.rows, "row")))
		}
		if g.values > 0 {
			what = append(what, number(g.values, "value")+" within lists missing")
		}
		if what != nil {
			list = append(list, fmt.Errorf("column %q: %s (first in row %d): taken as the mean of training", d.parts[k].Name, strings.Join(what, ", "), g.first))
		}
	}
	for k, u := range d.seen {
		if u.unknown == 0 {
			continue
		}
		p := &d.parts[k]
		msg := fmt.Sprintf("column %q: %s of %s have a level that training did not have, such as %q, and count as unknown", p.Name, words.Thousands(u.unknown), number(u.values, "value"), u.first)
		if i := known(p.Levels, []string{table.Plain(u.first)}); i >= 0 {
			msg += fmt.Sprintf("; is it %q in another spelling?", p.Levels[i])
		}
		list = append(list, errors.New(msg))
	}
	return list
}
