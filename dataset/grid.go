package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"credence/internal/table"
	"credence/internal/words"
	"credence/record"
)

// grid is a table of votes with one row per item. Cells are stored as codes of their
// text; cells without a value have code −1.
type grid struct {
	t     table.Table
	item  string // the id column, or "" if rows are numbered
	cols  []int  // the vote columns of the table
	names []string
	items []string
	lines []int32
	cells []int32 // [N×columns]
	text  idSet   // the distinct cells
	most  int     // rows that are read at most; 0 for all
}

// readGrid reads votes in a form with one row per item.
func readGrid(ctx context.Context, t table.Table, item int, opts VotesOptions) (*votes, error) {
	g := &grid{t: t}
	if err := g.columns(item, &opts); err != nil {
		return nil, err
	}
	if err := g.read(ctx, item, &opts); err != nil {
		return nil, err
	}
	if len(g.items) == 0 {
		return nil, &ParseError{File: t.Name(), Msg: "there are no rows below the header"}
	}
	g.dropBlank()
	if len(g.cols) == 0 {
		return nil, &ParseError{File: t.Name(), Msg: "there are no votes: every cell is blank"}
	}
	form := opts.Form
	if item < 0 && form == Auto && opts.Columns == nil {
		if err := g.checkIDs(); err != nil {
			return nil, err
		}
	}
	var v *votes
	var err error
	if form == Auto {
		if form, err = g.recognize(&opts); err != nil {
			return nil, err
		}
	}
	switch form {
	case Wide:
		v, err = g.wide(&opts)
	case Counted, Fractions:
		v, err = g.numbers(form, &opts)
	default:
		err = fmt.Errorf("expected a form with one row per item, found %v", form)
	}
	if err != nil {
		return nil, err
	}
	v.Votes.Form, v.Votes.ItemColumn = form, g.item
	return v.from(t), nil
}

// columns determines the vote columns.
func (g *grid) columns(item int, opts *VotesOptions) error {
	header := g.t.Header()
	if item >= 0 {
		g.item = header[item]
	}
	if err := opts.absent.check(g.t, opts.Ignore); err != nil {
		return err
	}
	for _, name := range opts.Columns {
		if _, err := column(g.t, name); err != nil {
			return err
		}
	}
	for i, name := range header {
		if err := readable(g.t, i); err != nil && !slices.Contains(opts.Ignore, name) && opts.Columns == nil {
			return err
		}
		switch {
		case i == item, slices.Contains(opts.Ignore, name):
		case opts.Columns == nil, slices.Contains(opts.Columns, name), name == opts.TotalColumn:
			g.cols = append(g.cols, i)
			g.names = append(g.names, name)
		}
	}
	if len(g.cols) == 0 {
		return &ParseError{File: g.t.Name(), Msg: fmt.Sprintf("no column of votes among [%s]", words.Few(header))}
	}
	return nil
}

// read reads the ids and the cells of the vote columns.
func (g *grid) read(ctx context.Context, item int, opts *VotesOptions) error {
	ids := newIDSet(g.t)
	g.cells = make([]int32, 0, min(cap(ids.names)*len(g.cols), 4*maxReserve))
	wanted := slices.Clone(g.cols)
	if item >= 0 {
		wanted = append(wanted, item)
	}
	table.Only(g.t, wanted...)
	err := table.Records(ctx, g.t, func(rec []table.Cell) error {
		earlier, err := ids.next(g.t, rec, item)
		if err != nil {
			return err
		}
		if earlier >= 0 {
			e := g.t.ErrorAt(item, "item %q is there already, on %s", rec[item].String(), table.Place(g.t, earlier))
			if opts.Form == Auto && opts.Columns == nil { // each row may be one vote
				return advise(e, "", SetLabel)
			}
			return e
		}
		if err := g.t.Keep(100 + len(ids.names[len(ids.names)-1]) + 16*len(g.cols)); err != nil {
			return err
		}
		for _, c := range g.cols {
			code := int32(-1)
			if !opts.missing(&rec[c], table.VoteNA) {
				n := len(g.text.names)
				code = g.text.code(opts.spelling(rec[c].String()), g.t.Line())
				if len(g.text.names) > n {
					if err := g.t.Keep(120 + len(rec[c].Text)); err != nil {
						return err
					}
				}
			}
			g.cells = append(g.cells, code)
		}
		if len(ids.names) == g.most {
			return io.EOF
		}
		return nil
	})
	g.items, g.lines = ids.names, ids.lines
	if err == io.EOF {
		return nil
	}
	return err
}

// row returns the cells of item i.
func (g *grid) row(i int) []int32 {
	return g.cells[i*len(g.cols) : (i+1)*len(g.cols)]
}

// wide reads one column per rater.
func (g *grid) wide(opts *VotesOptions) (*votes, error) {
	class, classes, err := g.text.classes(g.t, opts)
	if err != nil {
		return nil, err
	}
	v, err := newVotes(g.t, g.items, classes)
	if err != nil {
		return nil, err
	}
	votes := 0
	for _, code := range g.cells {
		if code >= 0 && class[code] >= 0 {
			votes++
		}
	}
	v.Raters, v.Ratings = g.names, make([]Rating, 0, votes)
	left := 0
	for i := range g.items {
		for r, code := range g.row(i) {
			switch {
			case code < 0:
			case class[code] < 0:
				left++
			default:
				v.add(i, int(class[code]), 1)
				v.Ratings = append(v.Ratings, Rating{int32(i), int32(r), class[code]})
			}
		}
	}
	v.warnVotes(left, g.text.names, class)
	if alone := g.isolated(class); len(alone) > 0 && opts.Columns == nil {
		if opts.Form == Auto && len(g.cols) > 1 {
			return nil, g.notVotes(alone)
		}
		v.Warnings = append(v.Warnings, advised(fmt.Sprintf("%s [%s] with labels that no other column has: do they contain votes?",
			words.Plural(len(alone), "column"), words.Few(alone)), "", SetIgnore))
	}
	return v, nil
}

// number returns the value of cell k of item i.
func (g *grid) number(i, k int, what string) (float64, error) {
	text := g.text.names[g.row(i)[k]]
	x, ok := record.ParseFormatted(text, g.t.Traits().Commas)
	return x, checkVotes(g.t, int(g.lines[i]), g.cols[k], text, x, ok, what)
}

// classColumns returns votes with counts of zero, and for each column of g its class, or −1.
func (g *grid) classColumns(skip int, opts *VotesOptions) (*votes, []int, error) {
	of := make([]int, len(g.names))
	classes := opts.Classes
	index := newLevelIndex(opts.Classes, false)
	for k, name := range g.names {
		switch {
		case k == skip:
			of[k] = -1
		case opts.Classes == nil:
			of[k] = len(classes)
			classes = append(classes, name)
		default:
			of[k] = int(index.code(name))
			if of[k] < 0 && !opts.LeaveOut {
				return nil, nil, &ParseError{File: g.t.Name(), Msg: fmt.Sprintf("expected a column for one of the classes %s, found %q", classList(classes), name),
					Err: errors.Join(ErrUnknownClass, &Advice{Settings: []Setting{SetIgnore}, Column: name})}
			}
		}
	}
	if slices.Max(of) < 0 {
		return nil, nil, noneOf(g.t, "columns", g.names, classes)
	}
	if len(classes) > maxClasses {
		return nil, nil, &ParseError{File: g.t.Name(), Msg: fmt.Sprintf("expected at most %s classes, found %s columns", words.Thousands(maxClasses), words.Thousands(len(classes)))}
	}
	v, err := newVotes(g.t, g.items, classes)
	return v, of, err
}

// numbers reads one column per class: counts, or fractions with an additional column for the number of votes.
func (g *grid) numbers(form Form, opts *VotesOptions) (*votes, error) {
	total, what, votes := -1, votesRange, 0.0 // votes is the number of votes of every item, if it is given
	if form == Fractions {
		if total, what = g.total(opts), "a share of the votes from 0 to 1"; total < 0 {
			var ok bool
			if votes, ok = totalOf(opts.TotalColumn); !ok {
				return nil, noColumn(g.t, "number of votes", SetTotal)
			}
		}
	}
	v, of, err := g.classColumns(total, opts)
	if err != nil {
		return nil, err
	}
	blank, left := 0, 0.0
	values := make([]float64, len(g.names))
	for i := range g.items {
		row, m, sum := g.row(i), 0.0, 0.0
		if total >= 0 {
			if row[total] < 0 {
				return nil, errorIn(g.t, int(g.lines[i]), g.cols[total], "expected the number of votes, found an empty cell")
			}
			if m, err = g.number(i, total, votesRange); err != nil {
				return nil, err
			}
		}
		for k, code := range row {
			values[k] = 0
			if code < 0 {
				blank++
			} else if k != total {
				if values[k], err = g.number(i, k, what); err != nil {
					return nil, err
				}
				sum += values[k]
			}
		}
		if form == Fractions {
			shares := len(row)
			if total >= 0 {
				shares--
			} else {
				m = votes
			}
			if m != 0 && math.Abs(sum-1) > roundingOf(shares) {
				return nil, errorIn(g.t, int(g.lines[i]), -1, "expected the fractions of item %q to sum to 1, found %.4g", g.items[i], sum)
			}
			whole(values, m)
		}
		for k, x := range values {
			if of[k] >= 0 {
				v.add(i, of[k], float32(x))
			} else if k != total {
				left += x
			}
		}
	}
	if blank > 0 && form == Counted {
		v.warn("%s without a count, treated as 0", words.Plural(blank, "cell"))
	}
	v.warnVotes(int(math.Ceil(left)), nil, nil)
	return v, nil
}

// totalOf returns the number of votes of every item, if an option gives it in place of a column.
func totalOf(option string) (float64, bool) {
	x, ok := record.ParseNumber(option, false)
	return x, ok && x > 0 && x <= maxVotes
}

// whole converts fractions of m votes into votes. Fractions that are whole numbers of
// votes up to rounding to two digits or more become whole numbers.
func whole(share []float64, m float64) {
	rounded, sum, ok := make([]float64, len(share)), 0.0, m == math.Trunc(m)
	for k, s := range share {
		rounded[k] = math.Round(s * m)
		sum += rounded[k]
		ok = ok && math.Abs(s-rounded[k]/m) <= 0.0051
	}
	for k, s := range share {
		if ok && sum == m {
			share[k] = rounded[k]
		} else {
			share[k] = s * m
		}
	}
}
