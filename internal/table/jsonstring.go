package table

import (
	"io"
	"strconv"

	"credence/internal/budget"
	"credence/internal/jsontext"
)

// word reads a number, true, false or null.
func (s *jsonScanner) word(v *jsonValue) error {
	const most = 1000 // bytes of a word that are looked at
	n := 0
	for {
		n += jsontext.Word(s.text[s.at+n:])
		if s.at+n < len(s.text) || n > most {
			break
		}
		if err := s.more(); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	n = min(n, most+1)
	v.kind, v.text = jsonNumber, string(s.text[s.at:s.at+n])
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
	s.at += n
	return s.keep(0)
}

// string reads a text in quotes into buf.
func (s *jsonScanner) string() error {
	begin := *s
	s.at++
	s.buf = s.buf[:0]
	for {
		var n int
		var problem jsontext.Problem
		s.buf, n, problem = jsontext.Append(s.buf, s.text[s.at:])
		s.at += n
		if need := s.used + byteCost*int64(len(s.buf)); need > s.limit {
			return budget.Check(s.limit, need, s.file, "line %d: a text", begin.line)
		}
		switch problem {
		case jsontext.None:
			return s.keep(byteCost * len(s.buf))
		case jsontext.Unfinished:
			switch err := s.more(); {
			case err == io.EOF && s.at < len(s.text): // within an escape
				s.at = len(s.text)
				return s.cutShort()
			case err == io.EOF:
				return begin.errorf("the file ends in the middle of a text that begins here: it is cut short")
			case err != nil:
				return err
			}
		case jsontext.NotUTF8:
			return begin.errorf("the text is not UTF-8: save the file as UTF-8")
		case jsontext.Control:
			return s.errorf(`a line break, tab or control character within a text, where JSON has \n, \t or \u%04x`, s.text[s.at])
		case jsontext.BadEscape:
			s.at++
			return s.errorf("%q does not follow a backslash in JSON", s.text[s.at])
		case jsontext.BadHex:
			for s.at += 2; isHex(s.text[s.at]); s.at++ {
			}
			return s.errorf(`\u is not followed by four hexadecimal digits`)
		}
	}
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
