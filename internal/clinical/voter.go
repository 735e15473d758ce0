package clinical

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"credence/internal/words"
)

// voter reads one entry under votes.
func (r *reader) voter(n ast.Node) (*Voter, error) {
	v := &Voter{Levels: make([]*Condition, len(r.levels))}
	places := make([]ast.Node, len(r.levels))
	what := `a column and its levels, such as "from: MMSE" and "AD: 0-23"`
	err := r.entries(n, what, func(key string, k *ast.MappingValueNode) (err error) {
		switch l := slices.Index(r.levels, key); {
		case key == "from":
			v.From, err = r.names(k.Value, "a column")
		case key == "as":
			v.Name, err = r.scalar(k.Value)
		case key == "missing":
			if v.Missing, err = r.condition(k.Value); err == nil && v.Missing.otherwise {
				err = r.errorAt(k.Value, 0, "missing values are named, not what is left: otherwise has no place here")
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

// condition reads a condition, or a list of them any of which will do.
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
			se, ok := errors.AsType[*SyntaxError](err)
			if ok && !strings.Contains(text, "\n") {
				offset = se.Offset
				if origin := v.GetToken().Origin; strings.ContainsAny(strings.TrimSpace(origin)[:min(1, len(strings.TrimSpace(origin)))], `'"`) {
					offset++
				}
			}
			return nil, r.errorAt(v, offset, "%v", err)
		}
		all.names = append(all.names, c.names...)
		all.ranges = append(all.ranges, c.ranges...)
		all.otherwise = all.otherwise || c.otherwise
	}
	if len(all.names)+len(all.ranges) == 0 && !all.otherwise {
		return nil, r.errorAt(n, 0, "expected a condition such as 24-27")
	}
	return all, nil
}

// disjoint makes sure that no score means two things.
func (r *reader) disjoint(v *Voter, n ast.Node, places []ast.Node) error {
	given := 0
	for l, c := range v.Levels {
		if c == nil {
			continue
		}
		given++
		for k, d := range v.Levels[:l] {
			if d == nil {
				continue
			}
			if value, both := d.overlap(c); both {
				return r.errorAt(places[l], 0, "%s: %q is both %s and %s", v.Name, value, r.levels[k], r.levels[l])
			}
		}
		if v.Missing != nil {
			if value, both := v.Missing.overlap(c); both {
				return r.errorAt(places[l], 0, "%s: %q is both %s and missing", v.Name, value, r.levels[l])
			}
		}
	}
	if given == 0 {
		return r.errorAt(n, 0, "%s: no level has a condition: expected a key such as \"%s: 0-23\"", v.Name, r.levels[0])
	}
	return nil
}

// Level returns the level of a score: an index of Rules.Levels, or −1 where the
// score counts as missing, and false where no condition takes it.
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

// describe lists what a voter takes, for messages.
func (v *Voter) describe(levels []string) string {
	var parts []string
	for l, c := range v.Levels {
		if c != nil {
			parts = append(parts, fmt.Sprintf("%s: %s", levels[l], c))
		}
	}
	return strings.Join(parts, "; ")
}

// String writes the condition as ParseCondition reads it.
func (c *Condition) String() string {
	parts := append(words.Each(c.ranges, span.String), words.Each(c.names, quoteName)...)
	if c.otherwise {
		parts = append(parts, "otherwise")
	}
	return strings.Join(parts, ", ")
}
