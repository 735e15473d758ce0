package table

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/jsontext"
)

// jsonKind is the type of a JSON value.
type jsonKind uint8

const (
	jsonNull   jsonKind = iota
	jsonBool            // text is true or false
	jsonNumber          // text is the number as written
	jsonText
	jsonList
	jsonObject
)

// String returns a description of the kind for messages.
func (k jsonKind) String() string {
	return [...]string{"null", "true or false", "a number", "a text", "a list", "an object"}[k]
}

// jsonValue is a JSON value with everything nested in it.
type jsonValue struct {
	kind jsonKind
	text string
	keys []string // of an object, in the order of the text
	kids []jsonValue
	line int
}

// get returns the member of an object with the given key, or nil.
func (v *jsonValue) get(key string) *jsonValue {
	for i, k := range v.keys {
		if k == key {
			return &v.kids[i]
		}
	}
	return nil
}

const (
	// maxDepth limits the nesting of values.
	maxDepth = 100
	// jsonCost is the memory of a value in addition to its text: the struct, in lists that
	// grow by doubling, and its key.
	jsonCost = 256
)

// jsonScanner reads a JSON text value by value. The memory and depth of a value are limited,
// whatever the text contains.
type jsonScanner struct {
	*jsontext.Scanner
	file  string
	limit int64 // on the memory of a value
	used  int64 // by the present value
	keys  map[string]string
}

func newJSONScanner(r io.Reader, file string, limit int64) *jsonScanner {
	s := &jsonScanner{file: file, limit: limit, keys: map[string]string{}}
	s.Scanner = jsontext.NewReader(r, func(_ *jsontext.Scanner, p jsontext.Problem) error { return s.problem(p) })
	s.Most = int(limit / byteCost)
	return s
}

// errorf returns an error at the position of the next byte.
func (s *jsonScanner) errorf(format string, args ...any) error {
	line, column := s.Place()
	return s.errorAt(line, column, fmt.Sprintf(format, args...))
}

func (s *jsonScanner) errorAt(line, column int, msg string) error {
	return &fault.Error{File: s.file, Line: line, Column: column, Msg: msg, Err: fault.ErrFormat}
}

// end returns nil if a token follows, io.EOF at the end of the text, or the error of reading it.
func (s *jsonScanner) end() error {
	switch {
	case !s.Ended():
		return nil
	case s.Err == io.EOF:
		return io.EOF
	}
	return readError(s.file, s.Err)
}

// must is Peek where the end of the text is an error.
func (s *jsonScanner) must() (byte, error) {
	if c := s.Peek(); c != 0 {
		return c, nil
	}
	err := s.end()
	if err == io.EOF {
		err = s.errorf("unexpected end of the file within a value: it is truncated")
	}
	return 0, err
}

// expected returns an error about an unexpected next byte.
func (s *jsonScanner) expected(what string) error {
	if _, err := s.must(); err != nil {
		return err
	}
	return s.errorf("expected %s, found %s", what, s.found())
}

// problem converts a problem found by the scanner to an error.
func (s *jsonScanner) problem(p jsontext.Problem) error {
	switch p.Kind {
	case jsontext.Unfinished:
		if err := s.end(); err != io.EOF {
			return err
		}
		return s.errorAt(p.Line, p.Column, "unexpected end of the file within the text that begins here: it is truncated")
	case jsontext.TooLong:
		return budget.Check(s.limit, s.used+byteCost*int64(p.Size), s.file, "line %d: a text", p.Line)
	case jsontext.NotUTF8:
		return s.errorAt(p.Line, p.Column, "the text is not UTF-8: save the file as UTF-8")
	case jsontext.Control:
		return s.errorf(`control character within a text: expected \n, \t or \u%04x`, s.Text[s.At])
	case jsontext.BadEscape:
		s.At++
		return s.errorf("invalid escape: %q after a backslash", s.Text[s.At])
	case jsontext.BadHex:
		for s.At += 2; strings.IndexByte("0123456789abcdefABCDEF", s.Text[s.At]) >= 0; s.At++ {
		}
		return s.errorf(`expected four hexadecimal digits after \u`)
	case jsontext.NoString:
		return s.expected("a key in quotes")
	case jsontext.NoColon:
		return s.expected("a colon after a key")
	case jsontext.NoComma:
		return s.expected(fmt.Sprintf("a comma or %q", p.Closing))
	case jsontext.ExtraComma:
		return s.errorf("unexpected comma before %q", p.Closing)
	}
	_, err := s.must() // the text ends within an escape
	return err
}

// found quotes the text at the next byte, for messages.
func (s *jsonScanner) found() string {
	text := strings.ToValidUTF8(string(s.Ahead(12)), "")
	if end := strings.IndexAny(text, " \t\r\n,:]}"); end > 0 {
		text = text[:end]
	}
	return strconv.Quote(text)
}

// keep adds n to the memory of the present value, and limits the next text to what is left.
func (s *jsonScanner) keep(n int) error {
	s.used += int64(n)
	s.Most = int((s.limit - s.used) / byteCost)
	line, _ := s.Place()
	return budget.Check(s.limit, s.used, s.file, "line %d: a value", line)
}

// value reads a value, with memory counted from 0.
func (s *jsonScanner) value() (jsonValue, error) {
	s.used = 0
	return s.read(0)
}

func (s *jsonScanner) read(depth int) (jsonValue, error) {
	c, err := s.must()
	if err == nil {
		err = s.keep(jsonCost)
	}
	var v jsonValue
	v.line, _ = s.Place()
	switch {
	case err != nil:
	case depth > maxDepth:
		err = s.errorf("values nested deeper than %d levels", maxDepth)
	case c == '"':
		v.kind = jsonText
		var text []byte
		if text, err = s.String(); err == nil {
			err = s.keep(byteCost * len(text))
		}
		v.text = string(text)
	case c == '{':
		v.kind = jsonObject
		err = s.object(&v, depth)
	case c == '[':
		v.kind = jsonList
		err = s.list(&v, depth)
	default:
		err = s.word(&v)
	}
	return v, err
}

func (s *jsonScanner) object(v *jsonValue, depth int) error {
	var at map[string]bool // of many keys
	for {
		key, more, err := s.member(len(v.keys) == 0)
		if err != nil || !more {
			return err
		}
		if at == nil && len(v.keys) >= 20 {
			at = make(map[string]bool, 2*len(v.keys))
			for _, k := range v.keys {
				at[k] = true
			}
		}
		if at[key] || at == nil && slices.Contains(v.keys, key) {
			return s.errorf("duplicate key %q", key)
		}
		if at != nil {
			at[key] = true
		}
		kid, err := s.read(depth + 1)
		if err != nil {
			return err
		}
		v.keys, v.kids = append(v.keys, key), append(v.kids, kid)
	}
}

// member reads the opening of an object or the comma before a member of it, and the
// member's key with its colon; more is false at the end of the object.
func (s *jsonScanner) member(first bool) (key string, more bool, err error) {
	text, more, err := s.Key(first)
	if err == nil {
		err = s.keep(byteCost * len(text))
	}
	if err != nil || !more {
		return "", false, err
	}
	// Items share keys, so keys are interned.
	key, ok := s.keys[string(text)]
	if !ok {
		if key = string(text); len(s.keys) < 1000 && len(key) < 100 {
			s.keys[key] = key
		}
	}
	return key, true, nil
}

func (s *jsonScanner) list(v *jsonValue, depth int) error {
	return s.Array(func(int) error {
		kid, err := s.read(depth + 1)
		v.kids = append(v.kids, kid)
		return err
	})
}

// word reads a number, true, false or null.
func (s *jsonScanner) word(v *jsonValue) error {
	const most = 1000 // bytes of a word that are inspected
	word := s.Word(most)
	if s.At+len(word) == len(s.Text) && s.Err != nil && s.Err != io.EOF {
		return readError(s.file, s.Err)
	}
	n := min(len(word), most+1)
	v.kind, v.text = jsonNumber, string(word[:n])
	switch v.text {
	case "null":
		v.kind, v.text = jsonNull, ""
	case "true", "false":
		v.kind = jsonBool
	case "NaN", "Infinity", "-Infinity":
	case "":
		return s.errorf("expected a value, found %s", s.found())
	default:
		if !jsontext.IsNumber(v.text) {
			return s.errorf("expected a value, found %s", strconv.Quote(v.text))
		}
		s.used += int64(n)
	}
	s.At += n
	return s.keep(0)
}

// parseJSON parses a text that consists of one value.
func parseJSON(text string) (jsonValue, error) {
	s := newJSONScanner(strings.NewReader(text), "", budget.Least)
	v, err := s.value()
	if err == nil && !s.Ended() {
		err = s.errorf("expected the end")
	}
	return v, err
}
