package serve

import (
	"errors"
	"fmt"
	"strconv"

	"credence/internal/jsontext"
)

// scanner reads the JSON text of a request token by token, without building values of it: requests are mostly
// numbers, and a tree of them would cost more than the prediction.
type scanner struct{ *jsontext.Scanner }

func newScanner(text []byte) scanner {
	var s scanner
	s.Scanner = jsontext.NewScanner(text, func(p jsontext.Problem) error { return s.problem(p) })
	return s
}

// maxDepth bounds how deep values that are skipped may nest.
const maxDepth = 64

// errorf says what is wrong, and where.
func (s scanner) errorf(format string, args ...any) error {
	line, column := s.Place()
	return badRequest("JSON, line %d, column %d: %s", line, column, fmt.Sprintf(format, args...))
}

// found describes the next token.
func (s scanner) found() string {
	if c := s.Peek(); c != 0 {
		return strconv.QuoteRune(rune(c))
	}
	return "the end"
}

// expected reports that the next token is not what is expected.
func (s scanner) expected(what string) error {
	return s.errorf("found %s, expected %s", s.found(), what)
}

// missing is what is expected where the text has something else.
var missing = map[jsontext.Kind]string{jsontext.NoString: "a string", jsontext.NoObject: "an object", jsontext.NoArray: "an array",
	jsontext.NoColon: "':'"}

// problem words a problem of the text.
func (s scanner) problem(p jsontext.Problem) error {
	switch p.Kind {
	case jsontext.NoComma:
		return s.expected("',' or " + strconv.QuoteRune(rune(p.Closing)))
	case jsontext.ExtraComma:
		return nil // who takes the next value knows what is expected
	case jsontext.NotUTF8:
		return s.errorf("a string is not valid UTF-8")
	case jsontext.Control:
		return s.errorf("a control character in a string")
	case jsontext.BadEscape:
		s.At += 2
		return s.errorf("a string has the escape \\%c", s.Text[s.At-1])
	case jsontext.BadHex:
		s.At += 2
		return s.errorf("\\u%s: expected four hexadecimal digits", s.Ahead(4))
	case jsontext.Unfinished, jsontext.UnfinishedEscape:
		return s.errorf("the string has no end")
	}
	return s.expected(missing[p.Kind])
}

// end makes sure that nothing follows.
func (s scanner) end() error {
	if s.Ended() {
		return nil
	}
	return s.errorf("found %s after the end of the value", s.found())
}

// whole takes a text that is one object.
func (s scanner) whole(f func(key []byte) error) error {
	if err := s.Object(f); err != nil {
		return err
	}
	return s.end()
}

// number takes a number. NaN and infinities, as Python writes them, are numbers.
func (s scanner) number() (float64, error) {
	word := s.Word(len(s.Text))
	if !jsontext.IsNumber(string(word)) {
		switch string(word) {
		case "NaN", "Infinity", "-Infinity":
		default:
			return 0, s.expected("a number")
		}
	}
	s.At += len(word)
	x, err := strconv.ParseFloat(string(word), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, s.errorf("%q is not a number", word)
	}
	return x, nil
}

// word takes true, false or null if it comes next.
func (s scanner) word(want string) bool {
	s.Peek()
	if string(s.Ahead(len(want))) != want {
		return false
	}
	s.At += len(want)
	return true
}

// skip takes any value.
func (s scanner) skip(depth int) error {
	if depth > maxDepth {
		return s.errorf("values nest more than %d deep", maxDepth)
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

// raw takes any value and returns its text.
func (s scanner) raw() ([]byte, error) {
	s.Peek()
	from := s.At
	err := s.skip(0)
	return s.Text[from:s.At], err
}
