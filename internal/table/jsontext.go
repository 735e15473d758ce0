package table

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"credence/internal/budget"
	"credence/internal/fault"
	"credence/internal/jsontext"
)

// jsonKind says what a value of a JSON text is.
type jsonKind uint8

const (
	jsonNull   jsonKind = iota
	jsonBool            // text is true or false
	jsonNumber          // text is as it is written
	jsonText
	jsonList
	jsonObject
)

// String describes a value of the kind in messages.
func (k jsonKind) String() string {
	return [...]string{"null", "true or false", "a number", "a text", "a list", "an object"}[k]
}

// jsonValue is a value of a JSON text with all that is in it.
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
	// maxDepth bounds how deep values lie in one another.
	maxDepth = 100
	// jsonCost is the memory of a value besides its text: itself, in lists that grow by
	// doubling, and its key.
	jsonCost = 256
)

// jsonScanner reads a JSON text value by value. A value is bounded in memory and depth, whatever
// the text says. A part of the text is in memory: tokens that it ends within are read on.
type jsonScanner struct {
	r     io.Reader
	file  string
	limit int64 // of the memory of a value
	used  int64
	text  []byte // what was read and not dropped
	at    int    // the next byte
	// line and column, from 1, are those of the byte at counted, which [jsonScanner.place] moves on.
	line, column, counted int

	buf  []byte // the last text in quotes
	keys map[string]string
}

func newJSONScanner(r io.Reader, file string, limit int64) *jsonScanner {
	return &jsonScanner{r: r, file: file, limit: limit, line: 1, column: 1, keys: map[string]string{}}
}

// errorf reports something wrong at the next byte.
func (s *jsonScanner) errorf(format string, args ...any) error {
	s.place()
	return &fault.Error{File: s.file, Line: s.line, Column: s.column, Msg: fmt.Sprintf(format, args...), Err: fault.ErrFormat}
}

// place counts lines and columns up to the next byte.
func (s *jsonScanner) place() {
	passed := s.text[s.counted:s.at]
	s.counted = s.at
	s.column += len(passed)
	if last := bytes.LastIndexByte(passed, '\n'); last >= 0 {
		s.line += bytes.Count(passed, []byte{'\n'})
		s.column = len(passed) - last
	}
}

// more reads on, and drops what lies before the next byte. It returns io.EOF at the end.
func (s *jsonScanner) more() error {
	s.place()
	s.text = append(s.text[:0], s.text[s.at:]...)
	s.at, s.counted = 0, 0
	s.text = slices.Grow(s.text, peekSize)
	for {
		n, err := s.r.Read(s.text[len(s.text):cap(s.text)])
		switch s.text = s.text[:len(s.text)+n]; {
		case n > 0: // an error comes again
			return nil
		case err == io.EOF:
			return err
		case err != nil:
			return readError(s.file, err)
		}
	}
}

// peek returns the first byte that is not a blank and leaves it to be read.
func (s *jsonScanner) peek() (byte, error) {
	for {
		for ; s.at < len(s.text); s.at++ {
			if c := s.text[s.at]; !jsontext.Blank(c) {
				s.place()
				return c, nil
			}
		}
		if err := s.more(); err != nil {
			return 0, err
		}
	}
}

// must is peek in a place where the text may not end.
func (s *jsonScanner) must() (byte, error) {
	c, err := s.peek()
	if err == io.EOF {
		return 0, s.cutShort()
	}
	return c, err
}

// cutShort reports a text that ends too early.
func (s *jsonScanner) cutShort() error {
	return s.errorf("the file ends in the middle of a value: it is cut short")
}

// expect reads the byte c, which is wanted as what says.
func (s *jsonScanner) expect(c byte, what string) error {
	found, err := s.must()
	if err != nil {
		return err
	}
	if found != c {
		return s.errorf("expected %s, found %s", what, s.found())
	}
	s.at++
	return nil
}

// found describes what stands at the next byte.
func (s *jsonScanner) found() string {
	for len(s.text)-s.at < 12 && s.more() == nil {
	}
	text := strings.ToValidUTF8(string(s.text[s.at:min(s.at+12, len(s.text))]), "")
	if end := strings.IndexAny(text, " \t\r\n,:]}"); end > 0 {
		text = text[:end]
	}
	return strconv.Quote(text)
}

// keep counts the memory of the value that is read.
func (s *jsonScanner) keep(n int) error {
	s.used += int64(n)
	return budget.Check(s.limit, s.used, s.file, "line %d: a value", s.line)
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
	v := jsonValue{line: s.line}
	switch {
	case err != nil:
	case depth > maxDepth:
		err = s.errorf("values lie more than %d deep in one another", maxDepth)
	case c == '"':
		v.kind = jsonText
		err = s.string()
		v.text = string(s.buf)
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
			return s.errorf("the key %q is there twice", key)
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
	if more, err = s.separator(first, '}'); err != nil || !more {
		return "", more, err
	}
	c, err := s.must()
	if err != nil {
		return "", false, err
	}
	if c != '"' {
		return "", false, s.errorf("expected a key in quotes, found %s", s.found())
	}
	if err = s.string(); err != nil {
		return "", false, err
	}
	// Items have the same keys again and again.
	key, ok := s.keys[string(s.buf)]
	if !ok {
		if key = string(s.buf); len(s.keys) < 1000 && len(key) < 100 {
			s.keys[key] = key
		}
	}
	return key, true, s.expect(':', "a colon after a key")
}

// separator reads the opening of a list or object, or the comma before another of its
// values, or its end, at which more is false.
func (s *jsonScanner) separator(first bool, closing byte) (more bool, err error) {
	if first {
		s.at++
	}
	c, err := s.must()
	if err != nil {
		return false, err
	}
	switch {
	case c == closing:
		s.at++
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, s.errorf("expected a comma or %q, found %s", closing, s.found())
	}
	s.at++
	if c, err = s.must(); err == nil && c == closing {
		err = s.errorf("a comma before %q", closing)
	}
	return err == nil, err
}

func (s *jsonScanner) list(v *jsonValue, depth int) error {
	for {
		more, err := s.separator(len(v.kids) == 0, ']')
		if err != nil || !more {
			return err
		}
		kid, err := s.read(depth + 1)
		if err != nil {
			return err
		}
		v.kids = append(v.kids, kid)
	}
}

// parseJSON reads a text that is one value.
func parseJSON(text string) (jsonValue, error) {
	s := newJSONScanner(strings.NewReader(text), "", budget.Least)
	v, err := s.value()
	if err == nil {
		if _, err = s.peek(); err == nil {
			err = s.errorf("expected the end")
		} else if err == io.EOF {
			err = nil
		}
	}
	return v, err
}
