package serve

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"credence/dataset"
	"credence/internal/fault"
	"credence/internal/table"
)

// frame is the items of a request: columns of equal length under names. It is a [table.Table], so
// that a request is understood as the same values in a file are.
type frame struct {
	columns []column
	rows    int

	header []string
	cells  []table.Cell
	at     int
}

// column is the values of a feature. A value is a number, a text or a list of numbers; a column
// has slices only for the kinds that it holds.
type column struct {
	name  string
	kinds []table.CellKind // nil if all are numbers
	nums  []float64
	texts []string
	lists [][]float32
}

func (c *column) len() int {
	if c.kinds != nil {
		return len(c.kinds)
	}
	return len(c.nums)
}

// kind notes that the next value is of some kind.
func (c *column) kind(k table.CellKind) {
	if c.kinds == nil {
		c.kinds = slices.Repeat([]table.CellKind{table.NumberCell}, len(c.nums))
	}
	c.kinds = append(c.kinds, k)
}

func (c *column) addNumber(x float64) {
	if c.kinds != nil {
		c.kinds = append(c.kinds, table.NumberCell)
	}
	c.nums = append(c.nums, x)
}

// pad fills slices that have not kept up, before a value of another kind is added.
func pad[T any](list []T, n int) []T {
	if missing := n - len(list); missing > 0 {
		return append(list, make([]T, missing)...)
	}
	return list
}

func (c *column) addText(s string) {
	n := c.len()
	c.kind(table.TextCell)
	c.nums = pad(c.nums, n+1)
	c.texts = append(pad(c.texts, n), s)
}

func (c *column) addList(v []float32) {
	n := c.len()
	c.kind(table.VectorCell)
	c.nums = pad(c.nums, n+1)
	c.lists = append(pad(c.lists, n), v)
}

func (c *column) addMissing() {
	n := c.len()
	c.kind(table.MissingCell)
	c.nums = pad(c.nums, n+1)
}

// cell returns value i.
func (c *column) cell(i int) table.Cell {
	if c.kinds == nil {
		return table.Cell{Kind: table.NumberCell, Num: c.nums[i]}
	}
	switch k := c.kinds[i]; k {
	case table.TextCell:
		return table.Cell{Kind: k, Text: c.texts[i]}
	case table.VectorCell:
		return table.Cell{Kind: k, Vec: c.lists[i]}
	case table.NumberCell:
		return table.Cell{Kind: k, Num: c.nums[i]}
	}
	return table.Cell{Kind: table.MissingCell}
}

// column returns the column of a name, which is added if need be: a feature that the rows before
// did not have is missing in them.
func (f *frame) column(name string) *column {
	for i := range f.columns {
		if f.columns[i].name == name {
			return &f.columns[i]
		}
	}
	f.columns = append(f.columns, column{name: name})
	return &f.columns[len(f.columns)-1]
}

// complete gives a column that ends before row n missing values.
func (c *column) complete(n int) {
	for c.len() < n {
		c.addMissing()
	}
}

// finish checks that all columns have as many rows, and begins the reading.
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
func (f *frame) Name() string { return "the request" }

// Header implements [table.Table].
func (f *frame) Header() []string { return f.header }

// Line implements [table.Table]: rows count from 1.
func (f *frame) Line() int { return f.at }

// Unread implements [table.Table].
func (f *frame) Unread(int) error { return nil }

// Keep implements [table.Table]: a request is bounded before it is read.
func (f *frame) Keep(int) error { return nil }

// Traits implements [table.Table].
func (f *frame) Traits() table.Traits { return table.Traits{Lists: true} }

// Close implements [table.Table].
func (f *frame) Close() error { return nil }

// Notes returns nothing: whatever is wrong is refused.
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

// reader fills a frame from JSON, within limits.
type reader struct {
	*scanner
	parts  []dataset.Part // of the model
	limits *Limits
	values int // numbers in lists
}

func (r *reader) row(n int) error {
	if n >= r.limits.Rows {
		return failf(413, "more than %d rows in a request", r.limits.Rows)
	}
	return nil
}

// part returns the model's feature of a name, or nil.
func (r *reader) part(name string) *dataset.Part {
	for i := range r.parts {
		if r.parts[i].Name == name {
			return &r.parts[i]
		}
	}
	return nil
}

// value takes a value and adds it to a column.
func (r *reader) value(c *column) error {
	switch r.peek() {
	case '"':
		text, err := r.str()
		if err != nil {
			return err
		}
		c.addText(string(text))
		return nil
	case 'n':
		if r.word("null") {
			c.addMissing()
			return nil
		}
	case 't', 'f':
		truth := r.word("true")
		if truth || r.word("false") {
			r.addBool(c, truth)
			return nil
		}
	case '[':
		list, err := r.list(nil, 0)
		if err != nil {
			return err
		}
		c.addList(list)
		return nil
	case '{':
		return r.errorf("column %q: found an object, expected a number, a text, a list of numbers or null", c.name)
	}
	x, err := r.number()
	if err != nil {
		return err
	}
	if math.IsNaN(x) {
		c.addMissing()
	} else {
		c.addNumber(x)
	}
	return nil
}

// addBool adds a truth value, as the model's feature spells it.
func (r *reader) addBool(c *column, truth bool) {
	p := r.part(c.name)
	if p == nil || p.Kind != dataset.Categorical {
		x := 0.0
		if truth {
			x = 1
		}
		c.addNumber(x)
		return
	}
	want := fmt.Sprint(truth)
	for _, l := range p.Levels {
		if strings.EqualFold(l, want) {
			want = l
			break
		}
	}
	c.addText(want)
}

// list takes numbers that may nest, in row-major order.
func (r *reader) list(dst []float32, depth int) ([]float32, error) {
	if depth > 4 {
		return nil, r.errorf("lists nest more than four deep")
	}
	err := r.array(func(int) error {
		var err error
		switch {
		case r.peek() == '[':
			dst, err = r.list(dst, depth+1)
			return err
		case r.word("null"):
			dst = append(dst, float32(math.NaN()))
		default:
			x, err := r.number()
			if err != nil {
				return err
			}
			dst = append(dst, float32(x))
		}
		if r.values++; r.values > r.limits.Values {
			return failf(413, "more than %d numbers in a request", r.limits.Values)
		}
		return nil
	})
	return dst, err
}

// records takes [{"age": 61, "sex": "f"}, …].
func (r *reader) records() (*frame, error) {
	f := &frame{}
	err := r.array(func(i int) error {
		if err := r.row(i); err != nil {
			return err
		}
		f.rows = i + 1
		return r.record(f, i)
	})
	for i := range f.columns {
		f.columns[i].complete(f.rows)
	}
	return f, err
}

// record takes row i.
func (r *reader) record(f *frame, i int) error {
	next := 0 // records mostly have the same keys in the same order
	return r.object(func(key []byte) error {
		var c *column
		if next < len(f.columns) && f.columns[next].name == string(key) {
			c = &f.columns[next]
		} else {
			if len(f.columns) >= r.limits.Columns {
				return failf(413, "more than %d columns in a request", r.limits.Columns)
			}
			c = f.column(string(key))
		}
		next++
		if c.len() > i {
			return r.errorf("row %d has %q twice", i+1, key)
		}
		c.complete(i)
		return r.value(c)
	})
}

// split takes {"columns": […], "data": [[…], …]}; an index is passed over.
func (r *reader) split() (*frame, error) {
	f := &frame{}
	var data []byte
	err := r.object(func(key []byte) error {
		switch string(key) {
		case "columns":
			return r.array(func(int) error {
				name, err := r.str()
				if err != nil {
					return err
				}
				return r.newColumn(f, string(name))
			})
		case "data":
			var err error
			data, err = r.raw()
			return err
		}
		return r.skip(0)
	})
	if err != nil {
		return nil, err
	}
	if f.columns == nil || data == nil {
		return nil, badRequest(`found %d columns and %d bytes of data, expected {"columns": […], "data": [[…], …]}`, len(f.columns), len(data))
	}
	body := reader{scanner: &scanner{text: data}, parts: r.parts, limits: r.limits}
	return f, body.matrix(f)
}

// newColumn adds a column.
func (r *reader) newColumn(f *frame, name string) error {
	if len(f.columns) >= r.limits.Columns {
		return failf(413, "more than %d columns in a request", r.limits.Columns)
	}
	if before := len(f.columns); f.column(name) != &f.columns[len(f.columns)-1] || len(f.columns) == before {
		return badRequest("column %q is there twice", name)
	}
	return nil
}

// matrix takes [[…], …], whose columns are there already.
func (r *reader) matrix(f *frame) error {
	return r.array(func(i int) error {
		if err := r.row(i); err != nil {
			return err
		}
		f.rows = i + 1
		n := 0
		err := r.array(func(k int) error {
			if k >= len(f.columns) {
				return badRequest("row %d has more than %d values", i+1, len(f.columns))
			}
			n++
			return r.value(&f.columns[k])
		})
		if err == nil && n < len(f.columns) {
			err = badRequest("row %d has %d values, expected %d", i+1, n, len(f.columns))
		}
		return err
	})
}

// byColumn takes {"age": [61, 48], "sex": ["f", "m"]}.
func (r *reader) byColumn() (*frame, error) {
	f := &frame{}
	err := r.object(func(key []byte) error {
		name := string(key)
		if err := r.newColumn(f, name); err != nil {
			return err
		}
		c := &f.columns[len(f.columns)-1]
		if err := r.array(func(i int) error {
			if err := r.row(i); err != nil {
				return err
			}
			return r.value(c)
		}); err != nil {
			return err
		}
		if len(f.columns) == 1 {
			f.rows = c.len()
		}
		return nil
	})
	return f, err
}

// rowsOf takes [[…], …] in the order of the model's features, or records.
func (r *reader) rowsOf() (*frame, error) {
	ahead := *r.scanner
	ahead.take('[')
	if c := ahead.peek(); c == '{' || c == ']' {
		return r.records()
	}
	f := &frame{}
	for _, p := range r.parts {
		f.column(p.Name)
	}
	if len(r.parts) == 1 && r.parts[0].Kind == dataset.Tensor {
		return f, r.array(func(i int) error {
			if err := r.row(i); err != nil {
				return err
			}
			f.rows = i + 1
			return r.value(&f.columns[0])
		})
	}
	return f, r.matrix(f)
}
