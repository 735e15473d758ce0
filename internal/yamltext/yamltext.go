// Package yamltext reads YAML as trees of nodes that know their places, and
// turns what the YAML module cannot cope with (deep nesting, texts that are
// none, values on which it panics) into errors.
package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

const (
	// MaxBytes is the size of the largest text that is read.
	MaxBytes  = 1 << 20
	maxDepth  = 100           // of brackets and lists in each other: the YAML module recurses
	maxLines  = 20_000        // the YAML module takes time that grows with their square
	maxIndent = 10 * maxDepth // blanks at the beginning of a line
)

// Error is what is wrong with a text, and where, if that is known.
type Error struct {
	Line, Column int // from 1; 0 for the text as a whole
	Msg          string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Msg
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

// ReadFile reads a file that holds a text, up to a little more than MaxBytes.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	var text []byte
	if err == nil {
		defer f.Close()
		text, err = io.ReadAll(io.LimitReader(f, MaxBytes+1))
	}
	if err != nil {
		if pe, ok := errors.AsType[*os.PathError](err); ok {
			err = pe.Err
		}
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return text, nil
}

// Parse returns the bodies of the documents of a text; that of an empty one is
// nil. Keys that are there twice are the caller's concern if allowTwice is true,
// otherwise an error.
func Parse(text []byte, allowTwice bool) (bodies []ast.Node, err error) {
	defer Recover(&err)
	switch {
	case len(text) > MaxBytes:
		return nil, &Error{Msg: fmt.Sprintf("more than %d bytes", MaxBytes)}
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return nil, &Error{Msg: "this is not a text in UTF-8"}
	case bytes.Count(text, []byte("\n")) > maxLines:
		return nil, &Error{Msg: fmt.Sprintf("more than %d lines", maxLines)}
	case tooDeep(text):
		return nil, &Error{Msg: fmt.Sprintf("brackets or lists nest deeper than %d", maxDepth)}
	}
	var options []parser.Option
	if allowTwice {
		options = append(options, parser.AllowDuplicateMapKey())
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors mark UTF-8 so
	file, err := parser.ParseBytes(text, 0, options...)
	if err != nil {
		if ye, ok := errors.AsType[yaml.Error](err); ok && ye.GetToken() != nil {
			p := ye.GetToken().Position
			return nil, &Error{p.Line, p.Column, ye.GetMessage()}
		}
		return nil, &Error{Msg: yaml.FormatError(err, false, false)}
	}
	for _, doc := range file.Docs {
		bodies = append(bodies, doc.Body)
	}
	return bodies, nil
}

// tooDeep reports whether brackets nest too deep, or lists that begin on one line, as in
// "- - - a", or lines that are indented ever further. It takes no notice of quotes: a text
// that seems deep because of them is not one that people write.
func tooDeep(text []byte) bool {
	depth, marks, start := 0, 0, true // marks are those at the beginning of a line
	for i, c := range text {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		switch {
		case c == '\n' || c == '\r':
			marks, start = 0, true
		case start && (c == ' ' || c == '\t'):
			marks++ // a level of indentation takes a blank at least
		case start && (c == '-' || c == '?' || c == ':') && i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\t'):
			marks += maxIndent/maxDepth - 1 // the blank behind it counts too
		default:
			start = false
		}
		if depth > maxDepth || marks > maxIndent {
			return true
		}
	}
	return false
}

// Recover, deferred, makes an error of a panic of the YAML module, such as that
// on a tag before a word where a list is expected.
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = &Error{Msg: fmt.Sprintf("malformed YAML: %v", p)}
	}
}
