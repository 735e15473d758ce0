package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"credence/internal/words"
	"credence/internal/yamltext"
)

// Card is what people state about a model, its data and its use: what no run can know. Every text is one or
// more paragraphs.
type Card struct {
	Texts map[string][]string // by the keys of [CardKeys]
	// Tripod has answers to items of the TRIPOD+AI checklist by their numbers, such as 12a. They stand before those
	// that the run and other texts give.
	Tripod map[string][]string
}

// CardKey is a key of a card.
type CardKey struct {
	Key   string
	Items []string // of the TRIPOD+AI checklist that it answers
	Help  string
}

// CardKeys are the keys of a card in the order in which they are shown; besides them there is tripod.
var CardKeys = []CardKey{
	{"name", nil, "name of the model"},
	{"question", []string{"4"}, "the question that the model or its evaluation answers"},
	{"background", []string{"3a"}, "context, and existing models"},
	{"intended_use", []string{"3b"}, "what the model is for, and where in the care of patients"},
	{"users", []string{"3b"}, "who uses it"},
	{"population", []string{"3b"}, "for whom or what"},
	{"out_of_scope", nil, "uses that it is not made for"},
	{"inequalities", []string{"3c"}, "known inequalities between groups of people"},
	{"data", []string{"5a"}, "sources of the data, and whom they represent"},
	{"dates", []string{"5b"}, "when the data were collected"},
	{"setting", []string{"6a"}, "the kind, number and location of centers"},
	{"eligibility", []string{"6b"}, "criteria of inclusion and exclusion"},
	{"treatments", []string{"6c"}, "treatments received"},
	{"outcome", []string{"8a"}, "what a vote means, and how it was cast"},
	{"raters", []string{"8b"}, "who voted, and with what experience"},
	{"blinding", []string{"8c"}, "what raters did not know"},
	{"predictors", []string{"9a", "9b"}, "how predictors were chosen and measured"},
	{"sample_size", []string{"10"}, "how the number of items was determined"},
	{"fairness", []string{"14"}, "what was done for fairness between groups"},
	{"differences", []string{"16"}, "how the data of training and evaluation differ"},
	{"ethics", []string{"17"}, "approval and consent"},
	{"funding", []string{"18a"}, "who paid"},
	{"conflicts", []string{"18b"}, "conflicts of interest"},
	{"protocol", []string{"18c"}, "where the protocol is"},
	{"registration", []string{"18d"}, "where the study is registered"},
	{"data_sharing", []string{"18e"}, "who may have the data"},
	{"code_sharing", []string{"18f"}, "where the code is"},
	{"involvement", []string{"19"}, "of patients and the public"},
	{"interpretation", []string{"25"}, "what the results mean"},
	{"limits", []string{"26"}, "when not to rely on it"},
	{"input_quality", []string{"27a"}, "what to do about poor or missing inputs"},
	{"expertise", []string{"27b"}, "what users have to do and to know"},
	{"next_steps", []string{"27c"}, "further research"},
	{"license", nil, "of the model, an SPDX identifier"},
	{"language", nil, "of texts, such as en"},
	{"contact", nil, "whom to ask"},
}

// text returns the text of a key in one line, or "" if the card is nil or lacks it.
func (c *Card) text(key string) string { return strings.Join(c.paragraphs(key), " ") }

// paragraphs returns the text of a key.
func (c *Card) paragraphs(key string) []string {
	if c == nil {
		return nil
	}
	return c.Texts[key]
}

// ReadCard reads a card from a YAML file: a mapping from keys to texts or lists of texts, and tripod, a mapping
// from numbers of the checklist to texts.
func ReadCard(path string) (*Card, error) {
	text, err := yamltext.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseCard(path, text)
}

// ParseCard parses a card; name identifies it in errors.
func ParseCard(name string, text []byte) (c *Card, err error) {
	defer func() {
		if e, ok := errors.AsType[*yamltext.Error](err); ok && e.Line > 0 {
			err = fmt.Errorf("%s:%d:%d: %s", name, e.Line, e.Column, e.Msg)
		} else if err != nil {
			err = fmt.Errorf("reading %s: %w", name, err)
		}
	}()
	defer yamltext.Recover(&err)
	bodies, err := yamltext.Parse(text, false)
	if err != nil {
		return nil, err
	}
	if len(bodies) != 1 || bodies[0] == nil {
		return nil, fmt.Errorf("expected one document of keys and texts, such as \"intended_use: ...\"")
	}
	c = &Card{Texts: map[string][]string{}, Tripod: map[string][]string{}}
	keys := append(words.Each(CardKeys, func(k CardKey) string { return k.Key }), "tripod")
	err = entries(bodies[0], keys, func(key string, value ast.Node) (err error) {
		if key == "tripod" {
			numbers := words.Each(tripod, func(i tripodItem) string { return i.number })
			return entries(value, numbers, func(number string, value ast.Node) (err error) {
				c.Tripod[number], err = paragraphs(value)
				return err
			})
		}
		c.Texts[key], err = paragraphs(value)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// at returns an error at the position of a node.
func at(n ast.Node, format string, args ...any) error {
	p := n.GetToken().Position
	return &yamltext.Error{Line: p.Line, Column: p.Column, Msg: fmt.Sprintf(format, args...)}
}

// entries calls visit for the entries of a mapping with known keys, and returns the first error.
func entries(n ast.Node, known []string, visit func(key string, value ast.Node) error) error {
	var list []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		list = n.Values
	case *ast.MappingValueNode:
		list = []*ast.MappingValueNode{n}
	default:
		return at(n, "expected keys and texts, such as \"%s: ...\"", known[0])
	}
	for _, e := range list {
		key := e.Key.GetToken().Value
		if !slices.Contains(known, key) {
			if near := words.Nearest(strings.ToLower(strings.NewReplacer("-", "_", " ", "_").Replace(key)), known); near != "" {
				return at(e.Key, "unknown key %q: did you mean %q?", key, near)
			}
			return at(e.Key, "unknown key %q: expected one of %s", key, strings.Join(known, ", "))
		}
		if err := visit(key, e.Value); err != nil {
			return err
		}
	}
	return nil
}

// paragraphs reads a text or a list of texts. Blank lines separate paragraphs.
func paragraphs(n ast.Node) ([]string, error) {
	var list []string
	nodes := []ast.Node{n}
	if s, ok := n.(*ast.SequenceNode); ok {
		nodes = s.Values
	}
	for _, v := range nodes {
		var text string
		switch v := v.(type) {
		case *ast.StringNode:
			text = v.Value
		case *ast.LiteralNode:
			text = v.Value.Value
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
			text = v.GetToken().Value
		default:
			return nil, at(v, "expected a text or a list of texts")
		}
		for part := range strings.SplitSeq(text, "\n\n") {
			if part = strings.Join(strings.Fields(part), " "); part != "" {
				list = append(list, part)
			}
		}
	}
	if len(list) == 0 {
		return nil, at(n, "expected a text, found nothing: leave the key out")
	}
	return list, nil
}
