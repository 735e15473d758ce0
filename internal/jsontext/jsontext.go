// Package jsontext reads JSON token by token. Its [Scanner] serves readers of files, which read the text in
// chunks and build values, and readers of requests, which have the whole text in memory and build none. Both
// accept NaN and infinities as Python writes them, and reject text that is not UTF-8, where the standard
// library would replace bytes. Callers supply the error messages.
package jsontext

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the kind of a [Problem].
type Kind uint8

const (
	None             Kind = iota
	Unfinished            // the text ends before a string does
	UnfinishedEscape      // the text ends within an escape of a string
	Control               // a control character in a string
	NotUTF8               // the string that ends here is not UTF-8
	BadEscape             // the backslash at this position does not start a JSON escape
	BadHex                // the \u at this position is not followed by four hexadecimal digits
	TooLong               // a string has more bytes than Scanner.Most
	NoString              // no string or key where one is expected
	NoObject              // no object where one is expected
	NoArray               // no array where one is expected
	NoColon               // no colon after a key
	NoComma               // neither a comma nor the closing bracket after a value
	ExtraComma            // a comma before the closing bracket
)

// blank reports whether c is white space between tokens.
func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// plain returns the number of bytes at the start of text that need no decoding in a string: those before
// a quote, a backslash or a control character.
func plain(text []byte) int {
	for i, c := range text {
		if c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(text)
}

// appendString decodes the text after the opening quote of a string and appends it to buf. It consumes n
// bytes of text: up to and including the closing quote, or up to the problem. To continue an unfinished
// string, call it again with the returned buffer and with text[n:] followed by more text.
func appendString(buf, text []byte) (out []byte, n int, p Kind) {
	for {
		k := plain(text[n:])
		buf = append(buf, text[n:n+k]...)
		n += k
		switch {
		case n == len(text):
			return buf, n, Unfinished
		case text[n] == '"' && !utf8.Valid(buf):
			return buf, n + 1, NotUTF8
		case text[n] == '"':
			return buf, n + 1, None
		case text[n] != '\\':
			return buf, n, Control
		}
		r, k, p := escape(text[n:])
		if p != None {
			return buf, n, p
		}
		buf = utf8.AppendRune(buf, r)
		n += k
	}
}

// escape decodes the escape at the start of text and returns its character and length. Unpaired
// surrogates become U+FFFD, as in the standard library.
func escape(text []byte) (r rune, n int, p Kind) {
	if len(text) < 2 {
		return 0, 0, Unfinished
	}
	if i := strings.IndexByte(`"\/bfnrt`, text[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2, None
	}
	if text[1] != 'u' {
		return 0, 0, BadEscape
	}
	if r, p = hex(text[2:]); p != None || !utf16.IsSurrogate(r) {
		return r, 6, p
	}
	rest := text[6:]
	if len(rest) < 2 && strings.HasPrefix(`\u`, string(rest)) {
		return 0, 0, Unfinished
	}
	if bytes.HasPrefix(rest, []byte(`\u`)) {
		low, p := hex(rest[2:])
		if p == Unfinished {
			return 0, 0, p
		}
		if pair := utf16.DecodeRune(r, low); p == None && pair != utf8.RuneError {
			return pair, 12, None
		}
	}
	return utf8.RuneError, 6, None
}

// hex decodes four hexadecimal digits.
func hex(text []byte) (rune, Kind) {
	if len(text) < 4 {
		return 0, Unfinished
	}
	x, err := strconv.ParseUint(string(text[:4]), 16, 16)
	if err != nil {
		return 0, BadHex
	}
	return rune(x), None
}

// wordLen returns the length of the number or word at the start of text.
func wordLen(text []byte) int {
	for i, c := range text {
		if !(c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return i
		}
	}
	return len(text)
}

// skipDigits returns text without its leading digits, and reports whether there are any.
func skipDigits(text string) (rest string, ok bool) {
	rest = strings.TrimLeft(text, "0123456789")
	return rest, len(rest) < len(text)
}

// IsNumber reports whether text is a valid JSON number.
func IsNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	rest, ok := skipDigits(text)
	if !ok || text[0] == '0' && len(rest) < len(text)-1 {
		return false
	}
	if rest != "" && rest[0] == '.' {
		rest, ok = skipDigits(rest[1:])
	}
	if ok && rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		if rest = rest[1:]; rest != "" && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		rest, ok = skipDigits(rest)
	}
	return ok && rest == ""
}

// Scanner reads JSON text token by token without building values. The text may be only partly in memory:
// the scanner reads more when a token is incomplete.
type Scanner struct {
	Text []byte // the text in memory
	At   int    // index of the next byte in Text
	Err  error  // why no more text can be read: io.EOF at its end
	Most int    // maximum bytes of a string

	r                     io.Reader                         // the rest of the text
	fail                  func(s *Scanner, p Problem) error // returns the error for a problem at the next byte
	line, column, counted int                               // line and column of Text[counted], from 1
	buf                   []byte                            // for decoded strings
}

// Problem describes a syntax error at the next byte of a text.
type Problem struct {
	Kind
	Closing      byte // the closing bracket, for NoComma and ExtraComma
	Line, Column int  // start of a string
	Size         int  // bytes of a string so far
}

// chunk is the number of bytes read at a time.
const chunk = 1 << 16

// NewScanner returns a scanner of a text. fail returns the error for a problem; if it returns nil for an ExtraComma,
// reading the next value reports the error instead.
func NewScanner(text []byte, fail func(s *Scanner, p Problem) error) *Scanner {
	return &Scanner{Text: text, Err: io.EOF, Most: math.MaxInt, fail: fail, line: 1, column: 1}
}

// NewReader returns a scanner that reads its text from r and keeps only part of it in memory.
func NewReader(r io.Reader, fail func(s *Scanner, p Problem) error) *Scanner {
	s := NewScanner(nil, fail)
	s.r, s.Err = r, nil
	return s
}

// Place returns the line and the column of the next byte.
func (s *Scanner) Place() (line, column int) {
	passed := s.Text[s.counted:s.At]
	s.counted = s.At
	s.column += len(passed)
	if last := bytes.LastIndexByte(passed, '\n'); last >= 0 {
		s.line += bytes.Count(passed, []byte{'\n'})
		s.column = len(passed) - last
	}
	return s.line, s.column
}

// more drops the text before the next byte and reads more. It reports whether there was more.
func (s *Scanner) more() bool {
	if s.Err != nil {
		return false
	}
	s.Place()
	s.Text = append(s.Text[:0], s.Text[s.At:]...)
	s.At, s.counted = 0, 0
	s.Text = slices.Grow(s.Text, chunk)
	for {
		n, err := s.r.Read(s.Text[len(s.Text):cap(s.Text)])
		s.Text = s.Text[:len(s.Text)+n]
		if n > 0 { // the next Read returns the error again
			return true
		}
		if s.Err = err; err != nil {
			return false
		}
	}
}

// Ahead returns the next n bytes without consuming them, or fewer at the end of the text.
func (s *Scanner) Ahead(n int) []byte {
	for len(s.Text)-s.At < n && s.more() {
	}
	return s.Text[s.At:min(s.At+n, len(s.Text))]
}

// Peek skips white space and returns the first byte of the next token without consuming it; 0 at the end of the text.
func (s *Scanner) Peek() byte {
	for {
		for ; s.At < len(s.Text); s.At++ {
			if c := s.Text[s.At]; !blank(c) {
				return c
			}
		}
		if !s.more() {
			return 0
		}
	}
}

// Ended reports whether no token follows.
func (s *Scanner) Ended() bool { return s.Peek() == 0 && s.At == len(s.Text) }

// Next consumes the opening bracket of an array or object (first), the comma before another value, or the closing
// bracket, for which it returns false.
func (s *Scanner) Next(first bool, closing byte) (more bool, err error) {
	if first {
		s.At++
	}
	switch c := s.Peek(); {
	case c == closing:
		s.At++
		return false, nil
	case first:
		return true, nil
	case c != ',':
		return false, s.fail(s, Problem{Kind: NoComma, Closing: closing})
	}
	s.At++
	if s.Peek() == closing {
		err = s.fail(s, Problem{Kind: ExtraComma, Closing: closing})
	}
	return err == nil, err
}

// Key consumes the opening brace of an object (first) or the comma before a member, and the member's key with its
// colon; more is false at the end of the object. The key is valid until the next token.
func (s *Scanner) Key(first bool) (key []byte, more bool, err error) {
	if more, err = s.Next(first, '}'); !more || err != nil {
		return nil, more, err
	}
	if key, err = s.String(); err == nil && s.Peek() != ':' {
		err = s.fail(s, Problem{Kind: NoColon})
	}
	s.At++
	return key, err == nil, err
}

// Object reads an object and calls f with each key; f reads the value. The key is valid until then.
func (s *Scanner) Object(f func(key []byte) error) error {
	if s.Peek() != '{' {
		return s.fail(s, Problem{Kind: NoObject})
	}
	for first := true; ; first = false {
		key, more, err := s.Key(first)
		if err == nil && more {
			err = f(key)
		}
		if err != nil || !more {
			return err
		}
	}
}

// Array reads an array and calls f before each value; f reads the value.
func (s *Scanner) Array(f func(i int) error) error {
	if s.Peek() != '[' {
		return s.fail(s, Problem{Kind: NoArray})
	}
	for i := 0; ; i++ {
		more, err := s.Next(i == 0, ']')
		if err == nil && more {
			err = f(i)
		}
		if err != nil || !more {
			return err
		}
	}
}

// String reads a string, which is valid until the next token.
func (s *Scanner) String() ([]byte, error) {
	if s.Peek() != '"' {
		return nil, s.fail(s, Problem{Kind: NoString})
	}
	text := s.Text[s.At+1:]
	n := plain(text)
	// Most strings have no escapes and can be returned without a copy, unless reading more could move Text.
	if n < len(text) && text[n] == '"' && s.Err != nil && n <= s.Most && utf8.Valid(text[:n]) {
		s.At += n + 2
		return text[:n], nil
	}
	var p Problem
	p.Line, p.Column = s.Place()
	s.At++
	s.buf = s.buf[:0]
	for {
		s.buf, n, p.Kind = appendString(s.buf, s.Text[s.At:])
		s.At += n
		p.Size = len(s.buf)
		switch {
		case p.Size > s.Most:
			p.Kind = TooLong
		case p.Kind == None:
			return s.buf, nil
		case p.Kind == Unfinished && s.more():
			continue
		case p.Kind == Unfinished && s.At < len(s.Text):
			p.Kind, s.At = UnfinishedEscape, len(s.Text)
		}
		return nil, s.fail(s, p)
	}
}

// Word returns the next number or word without consuming it. It stops reading more text once the word has more than
// most bytes.
func (s *Scanner) Word(most int) []byte {
	s.Peek()
	n := wordLen(s.Text[s.At:])
	for s.At+n == len(s.Text) && n <= most && s.more() {
		n += wordLen(s.Text[n:])
	}
	return s.Text[s.At : s.At+n]
}
