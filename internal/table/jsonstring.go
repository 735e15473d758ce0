package table

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"credence/internal/budget"
)

// word reads a number, true, false or null.
func (s *jsonScanner) word(v *jsonValue) error {
	at := *s
	s.buf = s.buf[:0]
	for {
		c, err := s.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '+' || c == '-' || c == '.') {
			s.back(c)
			break
		}
		if s.buf = append(s.buf, c); len(s.buf) > 1000 {
			break
		}
	}
	v.text = string(s.buf)
	switch v.text {
	case "null":
		v.kind, v.text = jsonNull, ""
		return nil
	case "true", "false":
		v.kind = jsonBool
		return nil
	case "NaN", "Infinity", "-Infinity":
		v.kind = jsonNumber
		return nil
	}
	v.kind = jsonNumber
	if !IsJSONNumber(v.text) {
		found := strconv.Quote(v.text)
		if v.text == "" {
			found = s.found()
		}
		return at.errorf("expected a value, found %s", found)
	}
	return s.keep(len(v.text))
}

// IsJSONNumber reports whether a text is a number as JSON writes them.
func IsJSONNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	rest := strings.TrimLeft(text, "0123456789")
	whole := text[:len(text)-len(rest)]
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	if after, ok := strings.CutPrefix(rest, "."); ok {
		rest = strings.TrimLeft(after, "0123456789")
		if len(rest) == len(after) {
			return false
		}
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	return rest != "" && digits(rest)
}

// string reads a text in quotes.
func (s *jsonScanner) string() (string, error) {
	err := s.text()
	return string(s.buf), err
}

// text reads a text in quotes into buf.
func (s *jsonScanner) text() error {
	at := *s
	s.next()
	s.buf = s.buf[:0]
	for {
		c, err := s.next()
		if err == io.EOF {
			return at.errorf("the file ends in the middle of a text that begins here: it is cut short")
		}
		if err != nil {
			return err
		}
		switch {
		case c == '"':
			if !utf8.Valid(s.buf) {
				return at.errorf("the text is not UTF-8: save the file as UTF-8")
			}
			return s.keep(byteCost * len(s.buf))
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < ' ':
			s.back(c)
			return s.errorf(`a line break, tab or control character within a text, where JSON has \n, \t or \u%04x`, c)
		default:
			s.buf = append(s.buf, c)
		}
		if need := s.used + byteCost*int64(len(s.buf)); need > s.limit {
			return budget.Check(s.limit, need, s.file, "line %d: a text", at.line)
		}
	}
}

// escape reads what follows a backslash. Halves of a pair of surrogates that stand alone
// become U+FFFD, as in the standard library.
func (s *jsonScanner) escape() error {
	c, err := s.next()
	if err == io.EOF {
		return s.cutShort()
	}
	if err != nil {
		return err
	}
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		s.buf = append(s.buf, "\"\\/\b\f\n\r\t"[i])
		return nil
	}
	if c != 'u' {
		s.back(c)
		return s.errorf("%q does not follow a backslash in JSON", c)
	}
	r, err := s.hex()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(r) {
		r = s.pair(r)
	}
	s.buf = utf8.AppendRune(s.buf, r)
	return nil
}

// pair returns the character of a pair of surrogates whose second half follows, and
// U+FFFD where none does.
func (s *jsonScanner) pair(high rune) rune {
	more, _ := s.r.Peek(6)
	if len(more) < 6 || string(more[:2]) != `\u` {
		return utf8.RuneError
	}
	low, err := strconv.ParseUint(string(more[2:]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	r := utf16.DecodeRune(high, rune(low))
	if r != utf8.RuneError {
		s.r.Discard(len(more))
		s.column += len(more)
	}
	return r
}

// hex reads four hexadecimal digits.
func (s *jsonScanner) hex() (rune, error) {
	var r rune
	for range 4 {
		c, err := s.next()
		if err == io.EOF {
			return 0, s.cutShort()
		}
		if err != nil {
			return 0, err
		}
		x, err := strconv.ParseUint(string(c), 16, 8)
		if err != nil {
			s.back(c)
			return 0, s.errorf(`\u is not followed by four hexadecimal digits`)
		}
		r = r<<4 | rune(x)
	}
	return r, nil
}
