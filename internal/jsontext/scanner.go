package jsontext

import (
	"bytes"
	"io"
	"math"
	"slices"
	"unicode/utf8"
)

// Scanner reads JSON text token by token, without building values of it. A part of the text may be in memory:
// tokens that it ends within are read on.
type Scanner struct {
	Text []byte // what was read and not dropped
	At   int    // the next byte
	Err  error  // why there is no more text than this: io.EOF at its end
	Most int    // bytes of a string

	r                     io.Reader             // of the rest of the text
	fail                  func(p Problem) error // returns the error of a problem at the next byte
	line, column, counted int                   // the place of Text[counted], from 1
	buf                   []byte                // of a string with escapes
}

// Problem is what is wrong at the next byte of a text.
type Problem struct {
	Kind
	Closing      byte // the bracket that NoComma and ExtraComma are about
	Line, Column int  // where a string begins
	Size         int  // bytes of a string so far
}

// chunk is how much of a text is read at a time.
const chunk = 1 << 16

// NewScanner returns a scanner of a text. fail words problems; one that returns nil for an ExtraComma leaves it
// to what reads the next value.
func NewScanner(text []byte, fail func(p Problem) error) *Scanner {
	return &Scanner{Text: text, Err: io.EOF, Most: math.MaxInt, fail: fail, line: 1, column: 1}
}

// NewReader returns a scanner of the text that r reads, of which it keeps a part in memory.
func NewReader(r io.Reader, fail func(p Problem) error) *Scanner {
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

// more reads on, and drops what lies before the next byte. It reports whether there is more.
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
		if n > 0 { // an error comes again
			return true
		}
		if s.Err = err; err != nil {
			return false
		}
	}
}

// Ahead returns the next n bytes, or those that are left.
func (s *Scanner) Ahead(n int) []byte {
	for len(s.Text)-s.At < n && s.more() {
	}
	return s.Text[s.At:min(s.At+n, len(s.Text))]
}

// Peek returns the first byte of the next token and leaves it to be read; 0 where there is no more text.
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

// Next reads the opening bracket of a list or object or the comma before another of its values, or its end, at which
// it returns false.
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
		return false, s.fail(Problem{Kind: NoComma, Closing: closing})
	}
	s.At++
	if s.Peek() == closing {
		err = s.fail(Problem{Kind: ExtraComma, Closing: closing})
	}
	return err == nil, err
}

// Key reads the opening of an object or the comma before a member of it, and the member's key with its colon; more
// is false at the end of the object. The key is valid until the next token.
func (s *Scanner) Key(first bool) (key []byte, more bool, err error) {
	if more, err = s.Next(first, '}'); !more || err != nil {
		return nil, more, err
	}
	if key, err = s.String(); err == nil && s.Peek() != ':' {
		err = s.fail(Problem{Kind: NoColon})
	}
	s.At++
	return key, err == nil, err
}

// Object calls f with each key, whose value f reads. The key is valid until then.
func (s *Scanner) Object(f func(key []byte) error) error {
	if s.Peek() != '{' {
		return s.fail(Problem{Kind: NoObject})
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

// Array calls f before each value, which f reads.
func (s *Scanner) Array(f func(i int) error) error {
	if s.Peek() != '[' {
		return s.fail(Problem{Kind: NoArray})
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
		return nil, s.fail(Problem{Kind: NoString})
	}
	text := s.Text[s.At+1:]
	n := plain(text)
	// Most strings have no escapes. Text that is read on moves.
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
		return nil, s.fail(p)
	}
}

// Word returns the number or word that comes next, of which it looks at some more bytes than most, and leaves it to
// be read.
func (s *Scanner) Word(most int) []byte {
	s.Peek()
	n := wordLen(s.Text[s.At:])
	for s.At+n == len(s.Text) && n <= most && s.more() {
		n += wordLen(s.Text[n:])
	}
	return s.Text[s.At : s.At+n]
}
