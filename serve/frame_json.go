package serve

import (
	"fmt"
	"math"
	"net/http"
	"strconv"

	"credence/dataset"
	"credence/internal/jsontext"
	"credence/internal/table"
)

// scanner reads the JSON of a request token by token without building a tree of values: requests are mostly
// numbers, and a tree would cost more than the prediction.
type scanner struct{ *jsontext.Scanner }

func newScanner(text []byte) scanner {
	return scanner{jsontext.NewScanner(text, func(s *jsontext.Scanner, p jsontext.Problem) error { return scanner{s}.problem(p) })}
}

// maxDepth limits the nesting of skipped values.
const maxDepth = 64

// errorf returns a bad-request error with the current line and column.
func (s scanner) errorf(format string, args ...any) error {
	line, column := s.Place()
	return badRequest("JSON, line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
}

// found describes the next token for an error message.
func (s scanner) found() string {
	if c := s.Peek(); c != 0 {
		return strconv.QuoteRune(rune(c))
	}
	return "the end"
}

// expected returns an error that names the next token and what was expected instead.
func (s scanner) expected(what string) error {
	return s.errorf("expected %s, found %s", what, s.found())
}

// missing describes the expected token for each kind of problem.
var missing = map[jsontext.Kind]string{jsontext.NoString: "a string", jsontext.NoObject: "an object", jsontext.NoArray: "an array",
	jsontext.NoColon: "':'"}

// problem returns the error for a problem in the text.
func (s scanner) problem(p jsontext.Problem) error {
	switch p.Kind {
	case jsontext.NoComma:
		return s.expected("',' or " + strconv.QuoteRune(rune(p.Closing)))
	case jsontext.ExtraComma:
		return nil // reading the next value returns a better error
	case jsontext.NotUTF8:
		return s.errorf("invalid UTF-8 in a string")
	case jsontext.Control:
		return s.errorf("a control character in a string")
	case jsontext.BadEscape:
		s.At += 2
		return s.errorf("invalid escape \\%c in a string", s.Text[s.At-1])
	case jsontext.BadHex:
		s.At += 2
		return s.errorf("expected four hexadecimal digits after \\u, found %s", s.Ahead(4))
	case jsontext.Unfinished, jsontext.UnfinishedEscape:
		return s.errorf("unterminated string")
	}
	return s.expected(missing[p.Kind])
}

// end returns an error if anything follows the value.
func (s scanner) end() error {
	if s.Ended() {
		return nil
	}
	return s.errorf("expected the end, found %s", s.found())
}

// whole reads a text that consists of a single object.
func (s scanner) whole(f func(key []byte) error) error {
	if err := s.Object(f); err != nil {
		return err
	}
	return s.end()
}

// number reads a number. It accepts NaN, Infinity and -Infinity, as Python writes them.
func (s scanner) number() (float64, error) {
	word := s.Word(len(s.Text))
	text := string(word)
	if !jsontext.IsNumber(text) && text != "NaN" && text != "Infinity" && text != "-Infinity" {
		return 0, s.expected("a number")
	}
	s.At += len(word)
	x, _ := strconv.ParseFloat(text, 64) // ±Inf if out of range
	return x, nil
}

// word consumes a word (true, false or null) if it is next, and reports whether it was.
func (s scanner) word(want string) bool {
	s.Peek()
	if string(s.Ahead(len(want))) != want {
		return false
	}
	s.At += len(want)
	return true
}

// skip reads and discards any value.
func (s scanner) skip(depth int) error {
	if depth > maxDepth {
		return s.errorf("values are nested more than %d deep", maxDepth)
	}
	switch s.Peek() {
	case '{':
		return s.Object(func([]byte) error { return s.skip(depth + 1) })
	case '[':
		return s.Array(func(int) error { return s.skip(depth + 1) })
	case '"':
		_, err := s.String()
		return err
	case 't', 'f', 'n':
		if s.word("true") || s.word("false") || s.word("null") {
			return nil
		}
		return s.expected("a value")
	}
	_, err := s.number()
	return err
}

// raw reads any value and returns its text.
func (s scanner) raw() ([]byte, error) {
	s.Peek()
	from := s.At
	err := s.skip(0)
	return s.Text[from:s.At], err
}

// reader fills a frame from JSON and enforces the limits.
type reader struct {
	scanner
	features features // of the model
	limits   *Limits
	values   int // numbers in lists so far
}

// reader returns a reader of a request's body for a model.
func (s *Server) reader(w http.ResponseWriter, r *http.Request, m *served) (*reader, error) {
	body, err := s.body(w, r)
	return &reader{scanner: newScanner(body), features: m.features, limits: &s.options.Limits}, err
}

// row starts row i of a frame.
func (r *reader) row(f *frame, i int) error {
	if i >= r.limits.Rows {
		return tooManyRows(r.limits.Rows)
	}
	f.rows = i + 1
	return nil
}

// features are the features of a model.
type features []dataset.Feature

// find returns the named feature, or nil.
func (p features) find(name string) *dataset.Feature {
	for i := range p {
		if p[i].Name == name {
			return &p[i]
		}
	}
	return nil
}

// value reads a value and adds it to a column.
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
			c.addBool(truth, r.features.find(c.name))
			return nil
		}
	case '[':
		list, err := r.list(nil, 0)
		c.add(table.Cell{Kind: table.VectorCell, Vec: list})
		return err
	case '{':
		return r.errorf("column %q: expected a number, a string, a list of numbers or null, found an object", c.name)
	}
	x, err := r.number()
	c.addFound(x)
	return err
}

// list reads an array of numbers, possibly nested, and appends them in row-major order.
func (r *reader) list(dst []float32, depth int) ([]float32, error) {
	if depth > 4 {
		return nil, r.errorf("lists are nested more than four deep")
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
			return failf(413, "too many numbers in lists: expected at most %d", r.limits.Values)
		}
		return nil
	})
	return dst, err
}

// records reads [{"age": 61, "sex": "f"}, …].
func (r *reader) records() (*frame, error) {
	f := &frame{}
	err := r.Array(func(i int) error { return r.record(f, i) })
	f.complete()
	return f, err
}

// record reads row i, an object.
func (r *reader) record(f *frame, i int) error {
	if err := r.row(f, i); err != nil {
		return err
	}
	next := 0 // usually all records have the same keys in the same order
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
			return r.errorf("row %d: duplicate key %q", i+1, key)
		}
		c.complete(i)
		return r.value(c)
	})
}

// split reads {"columns": […], "data": [[…], …]}; other keys, such as index, are skipped.
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
		return nil, badRequest(`expected {"columns": […], "data": [[…], …]}, found %d columns and %d bytes of data`, len(f.columns), len(data))
	}
	body := reader{scanner: newScanner(data), features: r.features, limits: r.limits}
	return f, body.matrix(f)
}

// room returns an error if a frame cannot have another column.
func (r *reader) room(f *frame) error {
	if len(f.columns) >= r.limits.Columns {
		return failf(413, "too many columns: expected at most %d", r.limits.Columns)
	}
	return nil
}

// newColumn adds a column with a new name.
func (r *reader) newColumn(f *frame, name string) error {
	if err := r.room(f); err != nil {
		return err
	}
	if n := len(f.columns); f.column(name) < n {
		return badRequest("duplicate column %q", name)
	}
	return nil
}

// matrix reads [[…], …] into the existing columns.
func (r *reader) matrix(f *frame) error {
	return r.Array(func(i int) error {
		if err := r.row(f, i); err != nil {
			return err
		}
		n := 0
		err := r.Array(func(k int) error {
			if k >= len(f.columns) {
				return badRequest("row %d: expected %d values, found more", i+1, len(f.columns))
			}
			n++
			return r.value(&f.columns[k])
		})
		if err == nil && n < len(f.columns) {
			err = badRequest("row %d: expected %d values, found %d", i+1, len(f.columns), n)
		}
		return err
	})
}

// inputs reads {"age": [61, 48], "sex": ["f", "m"]}, or rows.
func (r *reader) inputs() (*frame, error) {
	if r.Peek() != '{' {
		return r.rowsOf()
	}
	f := &frame{}
	err := r.Object(func(key []byte) error {
		if err := r.newColumn(f, string(key)); err != nil {
			return err
		}
		return r.columnValues(f)
	})
	return f, err
}

// columnValues reads […], the values of the last column.
func (r *reader) columnValues(f *frame) error {
	c, rows := &f.columns[len(f.columns)-1], f.rows
	err := r.Array(func(i int) error {
		if err := r.row(f, i); err != nil {
			return err
		}
		return r.value(c)
	})
	if len(f.columns) > 1 {
		f.rows = rows // the length of the first column, which finish compares all others with
	}
	return err
}

// rowsOf reads [[…], …] in the order of the model's features, or records.
func (r *reader) rowsOf() (*frame, error) {
	ahead := *r.Scanner
	if ahead.Peek() == '[' {
		ahead.At++
	}
	if c := ahead.Peek(); c == '{' || c == ']' {
		return r.records()
	}
	f := &frame{}
	for _, p := range r.features {
		f.column(p.Name)
	}
	if len(r.features) == 1 && r.features[0].Kind == dataset.Tensor {
		return f, r.columnValues(f)
	}
	return f, r.matrix(f)
}
