package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"credence/internal/yamltext"
)

// Error is what is wrong with a file, and where.
type Error struct {
	File         string
	Line, Column int // from 1; 0 if the whole file is meant
	Msg          string
	Hint         string // how to mend it, if known
}

// Error reads like "config.yaml:2:1: unknown key \"epoch\"".
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("reading %s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// Entry is one key of a file with its value.
type Entry struct {
	Key   *Key
	Texts []string // of the value, or of the elements of a list
	File  string
	Line  int // of the key

	line, column int // of the value
}

// Origin returns where the value comes from.
func (e *Entry) Origin() Origin { return Origin{File, e.File, e.Line} }

// Errorf returns an error about the value.
func (e *Entry) Errorf(format string, args ...any) error {
	return &Error{File: e.File, Line: e.line, Column: e.column, Msg: e.Key.Name + ": " + fmt.Sprintf(format, args...)}
}

// Read reads a YAML file. Keys without a value are as good as left out. Names
// that misplaced holds have their place on the command line alone.
func (s Schema) Read(path string, misplaced []string) ([]Entry, error) {
	text, err := yamltext.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return s.Parse(path, text, misplaced)
}

// Parse reads the text of a YAML file; name is what errors call it.
func (s Schema) Parse(name string, text []byte, misplaced []string) (entries []Entry, err error) {
	defer func() { err = placed(name, err) }()
	defer yamltext.Recover(&err)
	keys, err := topLevel(name, text)
	if err != nil {
		return nil, err
	}
	lines := map[string]int{}
	for _, k := range keys {
		at := k.Key.GetToken().Position
		bad := func(hint, format string, args ...any) error {
			return &Error{name, at.Line, at.Column, fmt.Sprintf(format, args...), hint}
		}
		word := scalar(k.Key)
		key := s.Lookup(word)
		if slices.Contains(misplaced, word) {
			return nil, bad("", "%s has its place on the command line, not in a file", word)
		}
		if key == nil {
			hint := ""
			if near := s.nearest(word); near != nil {
				hint = fmt.Sprintf("did you mean %q (%s)?", near.Name, near.left())
			}
			return nil, bad(hint, "unknown key %q", word)
		}
		if line, ok := lines[word]; ok {
			return nil, bad("", "%s is given twice, first in line %d", word, line)
		}
		lines[word] = at.Line
		if _, empty := k.Value.(*ast.NullNode); empty || k.Value == nil {
			continue
		}
		p := k.Value.GetToken().Position
		e := Entry{Key: key, File: name, Line: at.Line, line: p.Line, column: p.Column}
		if err := e.read(k.Value); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// placed gives an error about a text the name of its file.
func placed(name string, err error) error {
	if e, ok := errors.AsType[*yamltext.Error](err); ok {
		return &Error{File: name, Line: e.Line, Column: e.Column, Msg: e.Msg}
	}
	return err
}

// topLevel returns the keys of a file with their values.
func topLevel(name string, text []byte) ([]*ast.MappingValueNode, error) {
	bodies, err := yamltext.Parse(text, true)
	if err != nil {
		return nil, err
	}
	var keys []*ast.MappingValueNode
	for _, body := range bodies {
		switch body := body.(type) {
		case nil, *ast.CommentGroupNode, *ast.NullNode:
		case *ast.MappingNode:
			keys = append(keys, body.Values...)
		case *ast.MappingValueNode:
			keys = append(keys, body)
		default:
			p := body.GetToken().Position
			return nil, &Error{File: name, Line: p.Line, Column: p.Column, Msg: `expected keys and values such as "epochs: 100"`}
		}
	}
	return keys, nil
}

// read takes a plain value or a list of them.
func (e *Entry) read(n ast.Node) error {
	switch n := n.(type) {
	case *ast.SequenceNode:
		if !e.Key.List {
			return e.Errorf("expected one value, found a list")
		}
		e.Texts = []string{}
		for _, v := range n.Values {
			if _, ok := v.(ast.ScalarNode); !ok {
				return e.Errorf("expected a list of plain values")
			}
			e.Texts = append(e.Texts, scalar(v))
		}
	case ast.ScalarNode:
		e.Texts = []string{scalar(n)}
	default:
		return e.Errorf("expected a plain value")
	}
	for _, text := range e.Texts {
		if err := e.Key.check(text); err != nil {
			bad := e.Errorf("%v", err).(*Error)
			if near := Nearest(text, e.Key.Choices); near != "" {
				bad.Hint = fmt.Sprintf("did you mean %q (%s)?", near, e.Key.left())
			}
			return bad
		}
	}
	return nil
}

// scalar returns the text of a plain value, without quotes.
func scalar(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	return strings.TrimSpace(n.GetToken().Value)
}
