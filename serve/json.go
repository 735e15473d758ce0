package serve

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"credence/internal/jsontext"
)

// scanner reads JSON text token by token, without building values of it: requests are mostly
// numbers, and a tree of them would cost more than the prediction.
type scanner struct {
	text []byte
	at   int
	buf  []byte // of a string with escapes
}

// maxDepth bounds how deep values that are skipped may nest.
const maxDepth = 64

// errorf says what is wrong, and where.
func (s *scanner) errorf(format string, args ...any) error {
	line, column := 1, 1
	for _, c := range s.text[:min(s.at, len(s.text))] {
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
	return badRequest("JSON, line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
}

// peek returns the first byte of the next token, 0 at the end of the text.
func (s *scanner) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		if c := s.text[s.at]; !jsontext.Blank(c) {
			return c
		}
	}
	return 0
}

// found describes the next token.
func (s *scanner) found() string {
	if c := s.peek(); c != 0 {
		return strconv.QuoteRune(rune(c))
	}
	return "the end"
}

// take takes the byte c if it comes next.
func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// end makes sure that nothing follows.
func (s *scanner) end() error {
	if s.peek() != 0 || s.at < len(s.text) {
		return s.errorf("found %s after the end of the value", s.found())
	}
	return nil
}

// object calls f with each key, whose value f takes. The key is valid until the next string.
func (s *scanner) object(f func(key []byte) error) error {
	if !s.take('{') {
		return s.errorf("found %s, expected an object", s.found())
	}
	if s.take('}') {
		return nil
	}
	for {
		key, err := s.str()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return s.errorf("found %s, expected ':'", s.found())
		}
		if err := f(key); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.errorf("found %s, expected ',' or '}'", s.found())
		}
	}
}

// array calls f before each value, which f takes.
func (s *scanner) array(f func(i int) error) error {
	if !s.take('[') {
		return s.errorf("found %s, expected an array", s.found())
	}
	if s.take(']') {
		return nil
	}
	for i := 0; ; i++ {
		if err := f(i); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.errorf("found %s, expected ',' or ']'", s.found())
		}
	}
}

// str takes a string, which is valid until the next.
func (s *scanner) str() ([]byte, error) {
	if !s.take('"') {
		return nil, s.errorf("found %s, expected a string", s.found())
	}
	text := s.text[s.at:]
	n := jsontext.Plain(text)
	if n < len(text) && text[n] == '"' { // without escapes, as most
		s.at += n + 1
		if !utf8.Valid(text[:n]) {
			return nil, s.errorf("a string is not valid UTF-8")
		}
		return text[:n], nil
	}
	var problem jsontext.Problem
	s.buf, n, problem = jsontext.Append(s.buf[:0], text)
	s.at += n
	switch problem {
	case jsontext.None:
		return s.buf, nil
	case jsontext.NotUTF8:
		return nil, s.errorf("a string is not valid UTF-8")
	case jsontext.Control:
		return nil, s.errorf("a control character in a string")
	case jsontext.BadEscape:
		s.at += 2
		return nil, s.errorf("a string has the escape \\%c", text[n+1])
	case jsontext.BadHex:
		s.at += 2
		return nil, s.errorf("\\u%s: expected four hexadecimal digits", text[n+2:n+6])
	}
	s.at = len(s.text)
	return nil, s.errorf("the string has no end")
}

// number takes a number. NaN and infinities, as Python writes them, are numbers.
func (s *scanner) number() (float64, error) {
	s.peek()
	from := s.at
	s.at += jsontext.Word(s.text[s.at:])
	word := s.text[from:s.at]
	switch string(word) {
	case "NaN":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	if !jsontext.IsNumber(string(word)) {
		s.at = from
		return 0, s.errorf("found %s, expected a number", s.found())
	}
	x, err := strconv.ParseFloat(string(word), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, s.errorf("%q is not a number", word)
	}
	return x, nil
}

// word takes true, false or null if it comes next.
func (s *scanner) word(want string) bool {
	s.peek()
	end := s.at + len(want)
	if end > len(s.text) || string(s.text[s.at:end]) != want {
		return false
	}
	s.at = end
	return true
}

// skip takes any value.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return s.errorf("values nest more than %d deep", maxDepth)
	}
	switch s.peek() {
	case '{':
		return s.object(func([]byte) error { return s.skip(depth + 1) })
	case '[':
		return s.array(func(int) error { return s.skip(depth + 1) })
	case '"':
		_, err := s.str()
		return err
	case 't', 'f', 'n':
		if s.word("true") || s.word("false") || s.word("null") {
			return nil
		}
		return s.errorf("found %s, expected a value", s.found())
	}
	_, err := s.number()
	return err
}

// raw takes any value and returns its text.
func (s *scanner) raw() ([]byte, error) {
	s.peek()
	from := s.at
	if err := s.skip(0); err != nil {
		return nil, err
	}
	return s.text[from:s.at], nil
}
