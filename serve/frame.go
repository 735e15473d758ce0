package serve

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"credence/dataset"
	"credence/internal/fault"
	"credence/internal/table"
	"credence/predict"
)

// frame holds the items of a request as named columns of equal length. It implements [table.Table], so
// that values in a request are interpreted like the same values in a file.
type frame struct {
	name    string // for error messages
	columns []column
	rows    int

	header []string
	cells  []table.Cell
	at     int
}

// column holds the values of a feature: numbers, texts or lists of numbers. A missing value is NaN.
type column struct {
	name  string
	nums  []float64   // NaN for values that are not numbers
	texts []string    // "" for values that are not texts; may be shorter than nums, or nil
	lists [][]float32 // nil for values that are not lists; may be shorter than nums, or nil
}

func (c *column) len() int { return len(c.nums) }

// addNumber appends a number; NaN is a missing value.
func (c *column) addNumber(x float64) { c.nums = append(c.nums, x) }

// addMissing appends a missing value.
func (c *column) addMissing() { c.addNumber(math.NaN()) }

// addText appends a text; "" is a missing value.
func (c *column) addText(s string) {
	c.texts = append(pad(c.texts, c.len()), s)
	c.addMissing()
}

// addList appends a list, which must not be nil.
func (c *column) addList(list []float32) {
	c.lists = append(pad(c.lists, c.len()), list)
	c.addMissing()
}

// pad extends a slice to length n with zero values, before a value of its kind is appended.
func pad[T any](list []T, n int) []T {
	return append(list, make([]T, n-len(list))...)
}

// addBool adds a boolean, as a level of a categorical feature, otherwise as 0 or 1. p is the model's feature, or nil.
func (c *column) addBool(b bool, p *dataset.Feature) {
	if p != nil && p.Kind == dataset.Categorical {
		c.addText(strconv.FormatBool(b))
	} else {
		c.addNumber(oneIf(b))
	}
}

// cell returns value i.
func (c *column) cell(i int) table.Cell {
	switch {
	case i < len(c.texts) && c.texts[i] != "":
		return table.Cell{Kind: table.TextCell, Text: c.texts[i]}
	case i < len(c.lists) && c.lists[i] != nil:
		return table.Cell{Kind: table.VectorCell, Vec: c.lists[i]}
	}
	return table.Cell{Kind: table.NumberCell, Num: c.nums[i]}
}

// column returns the index of the named column and adds it if necessary. Earlier rows then have a missing value
// for that feature.
func (f *frame) column(name string) int {
	for i := range f.columns {
		if f.columns[i].name == name {
			return i
		}
	}
	f.columns = append(f.columns, column{name: name})
	return len(f.columns) - 1
}

// complete pads a column with missing values to n rows.
func (c *column) complete(n int) {
	for c.len() < n {
		c.addMissing()
	}
}

// complete pads all columns with missing values to the same length.
func (f *frame) complete() {
	for i := range f.columns {
		f.columns[i].complete(f.rows)
	}
}

// finish checks that all columns have the same length and prepares the frame for reading.
func (f *frame) finish() error {
	for i := range f.columns {
		c := &f.columns[i]
		if c.len() != f.rows {
			return badRequest("column %q has %d values, but column %q has %d", c.name, c.len(), f.columns[0].name, f.columns[0].len())
		}
		f.header = append(f.header, c.name)
	}
	f.cells = make([]table.Cell, len(f.columns))
	return nil
}

// Name implements [table.Table].
func (f *frame) Name() string { return cmp.Or(f.name, "the request") }

// Header implements [table.Table].
func (f *frame) Header() []string { return f.header }

// Line implements [table.Table]. Rows are numbered from 1.
func (f *frame) Line() int { return f.at }

// Unread implements [table.Table].
func (f *frame) Unread(int) error { return nil }

// Keep implements [table.Table]. The size of a request is limited elsewhere.
func (f *frame) Keep(int) error { return nil }

// Traits implements [table.Table].
func (f *frame) Traits() table.Traits { return table.Traits{Lists: true} }

// Close implements [table.Table].
func (f *frame) Close() error { return nil }

// Notes implements [table.Table]. There are none, since invalid input is an error.
func (f *frame) Notes() []error { return nil }

// Next implements [table.Table].
func (f *frame) Next() ([]table.Cell, error) {
	if f.at == f.rows {
		return nil, io.EOF
	}
	for i := range f.columns {
		f.cells[i] = f.columns[i].cell(f.at)
	}
	f.at++
	return f.cells, nil
}

// ErrorAt implements [table.Table].
func (f *frame) ErrorAt(col int, format string, args ...any) *fault.Error {
	place := fmt.Sprintf("row %d", f.at)
	if col >= 0 {
		place += fmt.Sprintf(", column %q", f.header[col])
	}
	return &fault.Error{File: f.Name(), Msg: place + ": " + fmt.Sprintf(format, args...)}
}

// votesSchema returns the schema of the votes in a request.
func votesSchema() *huma.Schema {
	text := &huma.Schema{Type: "string"}
	counts := &huma.Schema{Type: "object", AdditionalProperties: &huma.Schema{Type: "number"},
		Description: "class → number of votes, of unnamed raters"}
	named := &huma.Schema{Type: "array", Items: &huma.Schema{Type: "object", Required: []string{"label"},
		Properties: map[string]*huma.Schema{"label": {OneOf: []*huma.Schema{text, {Type: "boolean"}}}, "rater": text}}, Description: "single votes with their raters"}
	return &huma.Schema{Type: "object", AdditionalProperties: &huma.Schema{AnyOf: []*huma.Schema{counts, named}},
		Description: "votes on the items to condition on, by item; votes of raters known to the model are weighted by rater"}
}

// votes reads item → class → number, or item → [{"rater": …, "label": …}, …], into a frame with one row per vote count.
func (r *reader) votes() (*frame, error) {
	f := &frame{name: "the votes of the request", columns: []column{{name: "item"}, {name: "rater"}, {name: "label"}, {name: "count"}}}
	err := r.Object(func(key []byte) error {
		item := string(key)
		if r.Peek() == '[' {
			return r.Array(func(int) error { return r.namedVote(f, item) })
		}
		return r.Object(func(key []byte) error {
			label := string(key)
			n, err := r.number()
			if err == nil {
				err = r.addVote(f, item, "", label, n)
			}
			return err
		})
	})
	return f, err
}

// namedVote reads {"rater": …, "label": …}.
func (r *reader) namedVote(f *frame, item string) error {
	var rater, label string
	err := r.Object(func(key []byte) error {
		name, to := string(key), &rater
		if name == "label" {
			to = &label
		} else if name != "rater" {
			return badRequest("votes on item %q: expected rater and label, found %q", item, name)
		}
		for _, word := range []string{"true", "false"} {
			if to == &label && r.word(word) {
				label = word
				return nil
			}
		}
		text, err := r.String()
		*to = string(text)
		return err
	})
	if err == nil && label == "" {
		err = badRequest("votes on item %q: expected a label in every vote", item)
	}
	if err != nil {
		return err
	}
	return r.addVote(f, item, rater, label, 1)
}

// addVote adds a row of votes. The limit is ten rows per item that a request may have.
func (r *reader) addVote(f *frame, item, rater, label string, n float64) error {
	if most := 10 * r.limits.Rows; f.rows >= most {
		return failf(http.StatusRequestEntityTooLarge, "too many votes: expected at most %d", most)
	}
	f.columns[0].addText(item)
	f.columns[1].addText(rater) // "" is a missing value
	f.columns[2].addText(label)
	f.columns[3].addNumber(n)
	f.rows++
	return nil
}

// matchVotes interprets votes as credence predict interprets a vote file, and matches them with the
// model's classes and raters. It returns nil if there are none.
func (s *served) matchVotes(ctx context.Context, f *frame) (*predict.Votes, error) {
	if f == nil || f.rows == 0 {
		return nil, nil
	}
	if !s.dists {
		return nil, badRequest("votes on items: expected a model that predicts distributions, found method %s", s.model.Method.Name())
	}
	if err := f.finish(); err != nil {
		return nil, err
	}
	ds, err := dataset.VotesOf(ctx, f, dataset.VotesOptions{Form: dataset.Long, Classes: s.model.Classes, Schema: s.features,
		Duplicates: s.read.VotesOptions.Duplicates})
	if err != nil {
		return nil, err
	}
	v, err := predict.MatchVotes(s.model, ds)
	if err != nil {
		return nil, badRequest("%w", err)
	}
	return v, nil
}
