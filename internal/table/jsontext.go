package table

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"credence/internal/budget"
	"credence/internal/fault"
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

// jsonScanner reads a JSON text value by value. It takes NaN and infinities for numbers,
// as Python writes them. A value is bounded in memory and depth, whatever the text
// says, and a text that is not UTF-8 is refused where the standard library would mend it
// silently.
type jsonScanner struct {
	r         *bufio.Reader
	file      string
	limit     int64 // of the memory of a value
	used      int64
	line      int // of the next byte, from 1
	column    int
	lastWidth int // column before the last line feed
	buf       []byte
	keys      map[string]string
}

func newJSONScanner(r *bufio.Reader, file string, limit int64) *jsonScanner {
	return &jsonScanner{r: r, file: file, limit: limit, line: 1, column: 1, keys: map[string]string{}}
}

// errorf reports something wrong at the next byte.
func (s *jsonScanner) errorf(format string, args ...any) error {
	return &fault.Error{File: s.file, Line: s.line, Column: s.column, Msg: fmt.Sprintf(format, args...), Err: fault.ErrFormat}
}

// next returns the next byte, and 0 with an error at the end.
func (s *jsonScanner) next() (byte, error) {
	c, err := s.r.ReadByte()
	if err != nil {
		return 0, s.readError(err)
	}
	s.column++
	if c == '\n' {
		s.line, s.column, s.lastWidth = s.line+1, 1, s.column-1
	}
	return c, nil
}

// readError says why no byte is left.
func (s *jsonScanner) readError(err error) error {
	if err == io.EOF {
		return io.EOF
	}
	return readError(s.file, err)
}

// back has the byte that next returned last returned once more.
func (s *jsonScanner) back(c byte) {
	s.r.UnreadByte()
	s.column--
	if c == '\n' {
		s.line, s.column = s.line-1, s.lastWidth
	}
}

// peek returns the first byte that is not a blank and leaves it to be read.
func (s *jsonScanner) peek() (byte, error) {
	for {
		c, err := s.next()
		if err != nil {
			return 0, err
		}
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			s.back(c)
			return c, nil
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
	s.next()
	return nil
}

// found describes what stands at the next byte.
func (s *jsonScanner) found() string {
	head, _ := s.r.Peek(12)
	text := strings.ToValidUTF8(string(head), "")
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
		v.text, err = s.string()
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
	if err = s.text(); err != nil {
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
		s.next()
	}
	c, err := s.must()
	if err != nil {
		return false, err
	}
	switch {
	case c == closing:
		s.next()
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, s.errorf("expected a comma or %q, found %s", closing, s.found())
	}
	s.next()
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
	s := newJSONScanner(bufio.NewReader(strings.NewReader(text)), "", budget.Least)
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
