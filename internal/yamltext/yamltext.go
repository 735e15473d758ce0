// Package yamltext parses YAML to trees of nodes with positions. Input that the
// YAML module cannot handle (deep nesting, binary data, values on which it
// panics) results in errors.
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
	// MaxBytes is the largest size of a text.
	MaxBytes  = 1 << 20
	maxDepth  = 100           // nesting of brackets and lists: the YAML module is recursive
	maxLines  = 20_000        // the YAML module takes quadratic time
	maxIndent = 10 * maxDepth // blanks at the beginning of a line
)

// Error is an error about a text, with its position if known.
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

// ReadFile reads a text file, but at most MaxBytes+1 bytes, which [Parse] rejects as too long.
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

// Parse returns the bodies of the documents in a text. The body of an empty
// document is nil. Duplicate keys are an error unless allowTwice is true, in which
// case the caller must check them.
func Parse(text []byte, allowTwice bool) (bodies []ast.Node, err error) {
	defer Recover(&err)
	switch {
	case len(text) > MaxBytes:
		return nil, &Error{Msg: fmt.Sprintf("more than %d bytes", MaxBytes)}
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return nil, &Error{Msg: "expected UTF-8 text"}
	case bytes.Count(text, []byte("\n")) > maxLines:
		return nil, &Error{Msg: fmt.Sprintf("more than %d lines", maxLines)}
	case tooDeep(text):
		return nil, &Error{Msg: fmt.Sprintf("brackets or lists nested deeper than %d levels", maxDepth)}
	}
	var options []parser.Option
	if allowTwice {
		options = append(options, parser.AllowDuplicateMapKey())
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors write a byte-order mark
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

// tooDeep reports whether brackets are nested too deeply, or lists that begin on one line,
// as in "- - - a", or indented lines. It ignores quotes: people do not write texts that only
// seem deep because of them.
func tooDeep(text []byte) bool {
	depth, marks, start := 0, 0, true // marks are counted at the beginning of a line
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
			marks++ // a level of indentation takes at least one blank
		case start && (c == '-' || c == '?' || c == ':') && i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\t'):
			marks += maxIndent/maxDepth - 1 // the blank after it counts, too
		default:
			start = false
		}
		if depth > maxDepth || marks > maxIndent {
			return true
		}
	}
	return false
}

// Recover is deferred to convert a panic of the YAML module to an error. It panics,
// for example, on a tag before a word where a list is expected.
func Recover(err *error) {
	if p := recover(); p != nil {
		*err = &Error{Msg: fmt.Sprintf("malformed YAML: %v", p)}
	}
}
