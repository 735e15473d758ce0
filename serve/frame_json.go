package serve

import (
	"math"
	"net/http"

	"credence/dataset"
	"credence/internal/table"
)

// reader fills a frame from JSON, within limits.
type reader struct {
	scanner
	parts  parts // of the model
	limits *Limits
	values int // numbers in lists
}

// reader reads the body of a request for a model.
func (s *Server) reader(w http.ResponseWriter, r *http.Request, m *served) (*reader, error) {
	body, err := s.body(w, r)
	return &reader{scanner: newScanner(body), parts: m.parts, limits: &s.options.Limits}, err
}

// row begins row i of a frame.
func (r *reader) row(f *frame, i int) error {
	if i >= r.limits.Rows {
		return tooManyRows(r.limits.Rows)
	}
	f.rows = i + 1
	return nil
}

// parts are the features of a model.
type parts []dataset.Part

// find returns the feature of a name, or nil.
func (p parts) find(name string) *dataset.Part {
	for i := range p {
		if p[i].Name == name {
			return &p[i]
		}
	}
	return nil
}

// value takes a value and adds it to a column.
func (r *reader) value(c *column) error {
	switch r.Peek() {
	case '"':
		text, err := r.String()
		c.addText(string(text))
		return err
	case 'n':
		if r.word("null") {
			c.addMissing()
			return nil
		}
	case 't', 'f':
		truth := r.word("true")
		if truth || r.word("false") {
			c.addBool(truth, r.parts.find(c.name))
			return nil
		}
	case '[':
		list, err := r.list(nil, 0)
		c.add(table.Cell{Kind: table.VectorCell, Vec: list})
		return err
	case '{':
		return r.errorf("column %q: found an object, expected a number, a text, a list of numbers or null", c.name)
	}
	x, err := r.number()
	c.addFound(x)
	return err
}

// list takes numbers that may nest, in row-major order.
func (r *reader) list(dst []float32, depth int) ([]float32, error) {
	if depth > 4 {
		return nil, r.errorf("lists nest more than four deep")
	}
	err := r.Array(func(int) error {
		var err error
		switch {
		case r.Peek() == '[':
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
	err := r.Array(func(i int) error {
		return r.record(f, i)
	})
	f.complete()
	return f, err
}

// record takes row i.
func (r *reader) record(f *frame, i int) error {
	if err := r.row(f, i); err != nil {
		return err
	}
	next := 0 // records mostly have the same keys in the same order
	return r.Object(func(key []byte) error {
		if next >= len(f.columns) || f.columns[next].name != string(key) {
			if err := r.room(f); err != nil {
				return err
			}
			next = f.column(string(key))
		}
		c := &f.columns[next]
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
	err := r.Object(func(key []byte) error {
		switch string(key) {
		case "columns":
			return r.Array(func(int) error {
				name, err := r.String()
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
	body := reader{scanner: newScanner(data), parts: r.parts, limits: r.limits}
	return f, body.matrix(f)
}

// room refuses a frame that cannot have another column.
func (r *reader) room(f *frame) error {
	if len(f.columns) >= r.limits.Columns {
		return failf(413, "more than %d columns in a request", r.limits.Columns)
	}
	return nil
}

// newColumn adds a column.
func (r *reader) newColumn(f *frame, name string) error {
	if err := r.room(f); err != nil {
		return err
	}
	if n := len(f.columns); f.column(name) < n {
		return badRequest("column %q is there twice", name)
	}
	return nil
}

// matrix takes [[…], …], whose columns are there already.
func (r *reader) matrix(f *frame) error {
	return r.Array(func(i int) error {
		if err := r.row(f, i); err != nil {
			return err
		}
		n := 0
		err := r.Array(func(k int) error {
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
	err := r.Object(func(key []byte) error {
		name := string(key)
		if err := r.newColumn(f, name); err != nil {
			return err
		}
		return r.columnValues(f)
	})
	return f, err
}

// columnValues takes […], the values of the last column.
func (r *reader) columnValues(f *frame) error {
	c, rows := &f.columns[len(f.columns)-1], f.rows
	err := r.Array(func(i int) error {
		if err := r.row(f, i); err != nil {
			return err
		}
		return r.value(c)
	})
	if len(f.columns) > 1 {
		f.rows = rows // that of the first, which all are compared with
	}
	return err
}

// rowsOf takes [[…], …] in the order of the model's features, or records.
func (r *reader) rowsOf() (*frame, error) {
	ahead := *r.Scanner
	if ahead.Peek() == '[' {
		ahead.At++
	}
	if c := ahead.Peek(); c == '{' || c == ']' {
		return r.records()
	}
	f := &frame{}
	for _, p := range r.parts {
		f.column(p.Name)
	}
	if len(r.parts) == 1 && r.parts[0].Kind == dataset.Tensor {
		return f, r.columnValues(f)
	}
	return f, r.matrix(f)
}
