package clinical

import (
	"cmp"
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

// Parse parses rules; name identifies the text in errors.
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

// reader converts YAML nodes to rules.
type reader struct {
	name   string
	levels []string // of all classes
}

// errorAt returns an error at the position of a node, plus an offset in bytes.
func (r *reader) errorAt(n ast.Node, offset int, format string, args ...any) error {
	p := n.GetToken().Position
	return fmt.Errorf("%s:%d:%d: %s", r.name, p.Line, p.Column+offset, fmt.Sprintf(format, args...))
}

// entries calls visit for the keys of a mapping in order, and returns the first error.
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

// scalar returns the text of a scalar node.
func (r *reader) scalar(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	}
	return "", r.errorAt(n, 0, "expected a plain value")
}

// list returns the elements of a sequence, or the node itself if it is not one.
func list(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values
	}
	return []ast.Node{n}
}

// names reads a name or a list of names.
func (r *reader) names(n ast.Node, what string) ([]string, error) {
	var names []string
	for _, v := range list(n) {
		s, err := r.scalar(v)
		if err != nil {
			return nil, err
		}
		if s = strings.TrimSpace(s); s == "" {
			return nil, r.errorAt(v, 0, "expected a %s, found an empty name", what)
		}
		if slices.Contains(names, s) {
			return nil, r.errorAt(v, 0, "duplicate %s %q", what, s)
		}
		names = append(names, s)
	}
	if len(names) == 0 {
		return nil, r.errorAt(n, 0, "expected a %s or a list of them", what)
	}
	return names, nil
}

func (r *reader) rules(n ast.Node) (*Rules, error) {
	rules := &Rules{}
	var votes ast.Node
	err := r.entries(n, "the keys classes and votes", func(key string, k *ast.MappingValueNode) (err error) {
		switch key {
		case "item":
			rules.Items, err = r.names(k.Value, "column")
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
			return nil, r.errorAt(v, 0, "duplicate votes by %q: name the others with \"as\"", voter.Name)
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
	classOf := map[string]string{} // by level
	add := func(n ast.Node, class string, levels []string) error {
		if slices.ContainsFunc(classes, func(c Class) bool { return c.Name == class }) {
			return r.errorAt(n, 0, "duplicate class %q", class)
		}
		for _, l := range levels {
			if slices.Contains([]string{"from", "as", "missing"}, l) {
				return r.errorAt(n, 0, "level %q has the name of a key of votes", l)
			}
			if other, ok := classOf[l]; ok {
				return r.errorAt(n, 0, "level %q already belongs to class %q", l, other)
			}
			classOf[l] = class
		}
		classes = append(classes, Class{class, levels})
		return nil
	}
	if s, ok := n.(*ast.SequenceNode); ok {
		names, err := r.names(s, "class")
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
			levels, err := r.names(k.Value, "level")
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
		return nil, r.errorAt(n, 0, "expected at least two classes")
	}
	return classes, nil
}

// voter reads one entry under votes.
func (r *reader) voter(n ast.Node) (*Voter, error) {
	v := &Voter{Levels: make([]*Condition, len(r.levels))}
	places := make([]ast.Node, len(r.levels))
	what := `a column and its levels, such as "from: MMSE" and "AD: 0-23"`
	err := r.entries(n, what, func(key string, k *ast.MappingValueNode) (err error) {
		switch l := slices.Index(r.levels, key); {
		case key == "from":
			v.From, err = r.names(k.Value, "column")
		case key == "as":
			v.Name, err = r.scalar(k.Value)
		case key == "missing":
			if v.Missing, err = r.condition(k.Value); err == nil && v.Missing.otherwise {
				err = r.errorAt(k.Value, 0, "expected the values that count as missing, found otherwise")
			}
		case l < 0:
			err = r.errorAt(k.Key, 0, "unknown key %q: expected from, as, missing or a level of the classes [%s]",
				key, strings.Join(r.levels, ", "))
		default:
			places[l] = k.Value
			v.Levels[l], err = r.condition(k.Value)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if v.From == nil {
		return nil, r.errorAt(n, 0, "no column: expected a key such as \"from: MMSE\"")
	}
	v.Name = cmp.Or(v.Name, v.From[0])
	return v, r.disjoint(v, n, places)
}

// condition reads a condition, or a list of alternative conditions.
func (r *reader) condition(n ast.Node) (*Condition, error) {
	all := &Condition{}
	for _, v := range list(n) {
		text, err := r.scalar(v)
		if err != nil {
			return nil, err
		}
		c, err := ParseCondition(text)
		if err != nil {
			offset := 0
			if se, ok := errors.AsType[*SyntaxError](err); ok && !strings.Contains(text, "\n") {
				offset = se.Offset
				if q := strings.TrimSpace(v.GetToken().Origin); strings.HasPrefix(q, "'") || strings.HasPrefix(q, `"`) {
					offset++
				}
			}
			return nil, r.errorAt(v, offset, "%v", err)
		}
		all.text = strings.TrimPrefix(all.text+", "+c.text, ", ")
		all.names = append(all.names, c.names...)
		all.ranges = append(all.ranges, c.ranges...)
		all.otherwise = all.otherwise || c.otherwise
	}
	if len(all.names)+len(all.ranges) == 0 && !all.otherwise {
		return nil, r.errorAt(n, 0, "expected a condition such as 24-27")
	}
	return all, nil
}

// disjoint returns an error if a score meets two conditions, or if there is no condition.
func (r *reader) disjoint(v *Voter, n ast.Node, places []ast.Node) error {
	if !slices.ContainsFunc(v.Levels, func(c *Condition) bool { return c != nil }) {
		return r.errorAt(n, 0, "%s: no level has a condition: expected a key such as \"%s: 0-23\"", v.Name, r.levels[0])
	}
	all, names := append([]*Condition{v.Missing}, v.Levels...), append([]string{"missing"}, r.levels...)
	for l, c := range all {
		for k, d := range all[:l] {
			if c == nil || d == nil {
				continue
			}
			if value, both := d.overlap(c); both {
				return r.errorAt(places[l-1], 0, "%s: %q is both %s and %s", v.Name, value, names[k], names[l])
			}
		}
	}
	return nil
}

// Level returns the level of a score: an index of Rules.Levels, or −1 if the score
// counts as missing. It returns false if the score meets no condition.
func (v *Voter) Level(text string, x float64, isNumber bool) (int, bool) {
	if text == "" || v.Missing != nil && v.Missing.Matches(text, x, isNumber) {
		return -1, true
	}
	rest := -1
	for l, c := range v.Levels {
		if c == nil {
			continue
		}
		if c.Matches(text, x, isNumber) {
			return l, true
		}
		if c.otherwise {
			rest = l
		}
	}
	return rest, rest >= 0
}

// describe lists the conditions of a voter, for error messages.
func (v *Voter) describe(levels []string) string {
	var parts []string
	for l, c := range v.Levels {
		if c != nil {
			parts = append(parts, fmt.Sprintf("%s: %s", levels[l], c))
		}
	}
	return strings.Join(parts, "; ")
}
