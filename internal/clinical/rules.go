package clinical

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"credence/internal/yamltext"
)

// Read reads rules from a YAML file.
func Read(path string) (*Rules, error) {
	text, err := yamltext.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse reads rules; name is what errors call the text.
func Parse(name string, text []byte) (r *Rules, err error) {
	defer func() {
		if e, ok := errors.AsType[*yamltext.Error](err); ok && e.Line > 0 {
			err = fmt.Errorf("%s:%d:%d: %s", name, e.Line, e.Column, e.Msg)
		} else if ok {
			err = fmt.Errorf("reading %s: %w", name, err)
		}
	}()
	defer yamltext.Recover(&err)
	bodies, err := yamltext.Parse(text, false)
	if err != nil {
		return nil, err
	}
	if len(bodies) != 1 || bodies[0] == nil {
		return nil, fmt.Errorf("reading %s: expected one document with the keys classes and votes", name)
	}
	return (&reader{name: name}).rules(bodies[0])
}

// reader makes rules of YAML.
type reader struct {
	name   string
	levels []string // of the classes
	class  map[string]string
}

// errorAt is an error at the place of a node, moved on by some bytes of its text.
func (r *reader) errorAt(n ast.Node, offset int, format string, args ...any) error {
	p := n.GetToken().Position
	return fmt.Errorf("%s:%d:%d: %s", r.name, p.Line, p.Column+offset, fmt.Sprintf(format, args...))
}

// entries visits the keys of a mapping in order, until one fails.
func (r *reader) entries(n ast.Node, what string, visit func(key string, k *ast.MappingValueNode) error) error {
	var keys []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		keys = n.Values
	case *ast.MappingValueNode:
		keys = []*ast.MappingValueNode{n}
	default:
		return r.errorAt(n, 0, "expected %s", what)
	}
	for _, k := range keys {
		key, err := r.scalar(k.Key)
		if err == nil {
			err = visit(key, k)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// scalar returns the text of a plain value.
func (r *reader) scalar(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	}
	return "", r.errorAt(n, 0, "expected a plain value")
}

// list returns the nodes of a list, or the node itself where one will do.
func list(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values
	}
	return []ast.Node{n}
}

// names reads one name or a list of them.
func (r *reader) names(n ast.Node, what string) ([]string, error) {
	var names []string
	for _, v := range list(n) {
		s, err := r.scalar(v)
		if err != nil {
			return nil, err
		}
		if s = strings.TrimSpace(s); s == "" {
			return nil, r.errorAt(v, 0, "%s without a name", what)
		}
		if slices.Contains(names, s) {
			return nil, r.errorAt(v, 0, "%s %q is there already", what, s)
		}
		names = append(names, s)
	}
	if len(names) == 0 {
		return nil, r.errorAt(n, 0, "expected %s or a list of them", what)
	}
	return names, nil
}

func (r *reader) rules(n ast.Node) (*Rules, error) {
	rules := &Rules{}
	var votes ast.Node
	err := r.entries(n, "the keys classes and votes", func(key string, k *ast.MappingValueNode) (err error) {
		switch key {
		case "item":
			rules.Items, err = r.names(k.Value, "a column")
		case "classes":
			rules.Classes, err = r.classes(k.Value)
		case "votes":
			votes = k.Value
		default:
			err = r.errorAt(k.Key, 0, "unknown key %q: expected item, classes or votes", key)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if rules.Classes == nil {
		return nil, r.errorAt(n, 0, "no classes: expected a key such as \"classes: [NC, MCI, AD]\"")
	}
	if votes == nil {
		return nil, r.errorAt(n, 0, "no votes: expected a list of columns under the key votes")
	}
	r.levels = rules.Levels()
	for _, v := range list(votes) {
		voter, err := r.voter(v)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(rules.Voters, func(o Voter) bool { return o.Name == voter.Name }) {
			return nil, r.errorAt(v, 0, "votes by %q are there already: give others a name with \"as\"", voter.Name)
		}
		rules.Voters = append(rules.Voters, *voter)
	}
	if len(rules.Voters) == 0 {
		return nil, r.errorAt(votes, 0, "no votes: expected a list of columns")
	}
	return rules, nil
}

// classes reads a list of classes, or a mapping from class to levels.
func (r *reader) classes(n ast.Node) (classes []Class, err error) {
	r.class = map[string]string{}
	add := func(n ast.Node, class string, levels []string) error {
		if slices.ContainsFunc(classes, func(c Class) bool { return c.Name == class }) {
			return r.errorAt(n, 0, "class %q is there already", class)
		}
		for _, l := range levels {
			if slices.Contains([]string{"from", "as", "missing"}, l) {
				return r.errorAt(n, 0, "a level cannot be called %q, which is a key of votes", l)
			}
			if other, ok := r.class[l]; ok {
				return r.errorAt(n, 0, "level %q belongs to class %q already", l, other)
			}
			r.class[l] = class
		}
		classes = append(classes, Class{class, levels})
		return nil
	}
	if s, ok := n.(*ast.SequenceNode); ok {
		names, err := r.names(s, "a class")
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			if err := add(s.Values[i], name, []string{name}); err != nil {
				return nil, err
			}
		}
	} else {
		what := "classes, such as [NC, MCI, AD], or each with its levels"
		err := r.entries(n, what, func(class string, k *ast.MappingValueNode) error {
			levels, err := r.names(k.Value, "a level")
			if err != nil {
				return err
			}
			return add(k.Key, class, levels)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(classes) < 2 {
		return nil, r.errorAt(n, 0, "expected two classes or more")
	}
	return classes, nil
}
