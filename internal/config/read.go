package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"credence/internal/words"
	"credence/internal/yamltext"
)

// Error is an error in a configuration file, with its position, or in the environment.
type Error struct {
	File         string // "" for the environment
	Line, Column int    // from 1; 0 for the file as a whole
	Msg          string
	Hint         string // how to fix it, if known
}

// Error reads like "config.yaml:2:1: unknown key \"epoch\"".
func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Msg
	case e.Line == 0:
		return fmt.Sprintf("reading %s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// entry is a key of a file with its value. Its origin is the line of the key.
type entry struct {
	setting
	line, column int // position of the value
}

// errorf returns an error at the value. The message is prefixed with the key.
func (e *entry) errorf(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{File: e.origin.name, Line: e.line, Column: e.column, Msg: e.Name + err.Error()}
}

// commandLineOnly lists the flags that cannot be keys of a configuration file.
var commandLineOnly = []string{"out", "config", "resume", "overwrite", "quiet", "json", "help", "kernel"}

// parse parses the text of a file; name is the file name in errors. Keys without a value count as unset.
func parse(name string, text []byte) (entries []entry, err error) {
	defer func() {
		if e, ok := errors.AsType[*yamltext.Error](err); ok {
			err = &Error{File: name, Line: e.Line, Column: e.Column, Msg: e.Msg}
		}
	}()
	defer yamltext.Recover(&err)
	keys, err := topLevel(name, text)
	if err != nil {
		return nil, err
	}
	lines := map[string]int{}
	for _, k := range keys {
		at := k.Key.GetToken().Position
		word := scalar(k.Key)
		bad := &Error{File: name, Line: at.Line, Column: at.Column}
		option := lookup(word)
		line, twice := lines[word]
		switch {
		case slices.Contains(commandLineOnly, word):
			bad.Msg = word + " is a command-line flag, not a key of a configuration file"
		case option == nil:
			bad.Msg = fmt.Sprintf("unknown key %q", word)
			if near := lookup(words.Nearest(strings.ReplaceAll(word, "_", "-"), names)); near != nil {
				bad.Hint = fmt.Sprintf("did you mean %q (%s)?", near.Name, near.left())
			}
		case twice:
			bad.Msg = fmt.Sprintf("duplicate key %s, first in line %d", word, line)
		}
		if bad.Msg != "" {
			return nil, bad
		}
		lines[word] = at.Line
		if _, empty := k.Value.(*ast.NullNode); empty || k.Value == nil {
			continue
		}
		p := k.Value.GetToken().Position
		e := entry{setting{Option: option, origin: origin{fromFile, name, at.Line}}, p.Line, p.Column}
		if err := e.read(k.Value); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
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
			return nil, &Error{File: name, Line: p.Line, Column: p.Column,
				Msg: `expected keys and values such as "epochs: 100"`}
		}
	}
	return keys, nil
}

// read sets the texts from a plain value or a list of plain values.
func (e *entry) read(n ast.Node) error {
	switch n := n.(type) {
	case *ast.SequenceNode:
		if !e.list {
			return e.errorf(": expected one value, found a list")
		}
		e.Texts = []string{}
		for _, v := range n.Values {
			if _, ok := v.(ast.ScalarNode); !ok {
				return e.errorf(": expected a list of plain values")
			}
			e.Texts = append(e.Texts, scalar(v))
		}
	case ast.ScalarNode:
		e.Texts = []string{scalar(n)}
		if e.list && e.typ == textType && e.Texts[0] == "" {
			e.Texts = []string{} // as for a flag, an empty text is an empty list
		}
	default:
		return e.errorf(": expected a plain value")
	}
	if err := e.put(&Settings{}, e.Texts, false); err != nil {
		bad := e.errorf(" %w", err)
		if near := words.Nearest(e.Texts[0], e.Choices); near != "" {
			bad.Hint = fmt.Sprintf("did you mean %q (%s)?", near, e.left())
		}
		return bad
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
