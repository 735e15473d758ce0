package clinical

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Condition is a set of values of a column. Its text is one or more of these,
// separated by commas:
//
//	24-27           numbers from 24 to 27, both included; also "24 to 27"
//	0.5             a number
//	>= 1            numbers compared: >, >=, <, <= and =
//	> 0 and < 1     both
//	CN              a name, in any case
//	'1st visit'     a name in quotes, if it begins like a number or contains
//	                a comma
//	otherwise       all values that match no other condition of the column
type Condition struct {
	text      string
	ranges    []span
	names     []string
	otherwise bool
}

// String returns the condition as it was written.
func (c *Condition) String() string { return c.text }

// span is a range of numbers with both ends. An end that a comparison excludes is the adjacent float64.
type span struct{ lo, hi float64 }

func (s span) contains(x float64) bool { return s.lo <= x && x <= s.hi }

// intersect returns the range of numbers in both a and b.
func (a span) intersect(b span) span { return span{max(a.lo, b.lo), min(a.hi, b.hi)} }

func (s span) empty() bool { return s.lo > s.hi }

// Matches reports whether a value meets the condition: text is the cell of the
// table, and x its value if isNumber is true.
func (c *Condition) Matches(text string, x float64, isNumber bool) bool {
	return slices.ContainsFunc(c.names, func(n string) bool { return strings.EqualFold(n, text) }) ||
		isNumber && slices.ContainsFunc(c.ranges, func(s span) bool { return s.contains(x) })
}

// overlap returns an example of a value that meets both conditions, if there is one.
func (c *Condition) overlap(d *Condition) (string, bool) {
	if c.otherwise && d.otherwise {
		return "otherwise", true
	}
	for _, a := range c.names {
		for _, b := range d.names {
			if strings.EqualFold(a, b) {
				return a, true
			}
		}
	}
	for _, a := range c.ranges {
		for _, b := range d.ranges {
			if m := a.intersect(b); !m.empty() {
				return strconv.FormatFloat(m.example(), 'g', -1, 64), true
			}
		}
	}
	return "", false
}

// example returns a number in a range that is not empty, as small as possible and whole if there is such a number.
func (s span) example() float64 {
	x := min(max(0, s.lo), s.hi)
	for _, whole := range []float64{math.Ceil(x), math.Floor(x)} {
		if s.contains(whole) {
			return whole
		}
	}
	return x
}

// SyntaxError describes an error in the text of a condition, and its position.
type SyntaxError struct {
	Text   string
	Offset int // in bytes
	Msg    string
}

// Error includes the text from the position of the error onwards.
func (e *SyntaxError) Error() string {
	rest := e.Text[e.Offset:]
	if rest == "" {
		return fmt.Sprintf("%q: %s at the end", e.Text, e.Msg)
	}
	return fmt.Sprintf("%q: %s at %q", e.Text, e.Msg, rest)
}

// ParseCondition parses the text of a condition.
func ParseCondition(text string) (*Condition, error) {
	p := &conditionParser{text: text}
	c := &Condition{text: strings.TrimSpace(text)}
	for {
		p.blanks()
		if err := p.term(c); err != nil {
			return nil, err
		}
		p.blanks()
		if p.done() {
			return c, nil
		}
		if !p.take(",") {
			return nil, p.errorf("expected a comma")
		}
	}
}

// conditionParser parses the text of a condition from left to right.
type conditionParser struct {
	text string
	at   int
}

func (p *conditionParser) rest() string { return p.text[p.at:] }
func (p *conditionParser) done() bool   { return p.at == len(p.text) }

func (p *conditionParser) errorf(format string, args ...any) error {
	return &SyntaxError{p.text, p.at, fmt.Sprintf(format, args...)}
}

func (p *conditionParser) blanks() {
	p.at += len(p.rest()) - len(strings.TrimLeftFunc(p.rest(), unicode.IsSpace))
}

func (p *conditionParser) take(s string) bool {
	if !strings.HasPrefix(p.rest(), s) {
		return false
	}
	p.at += len(s)
	return true
}

// word consumes the word w if it is next and ends there, and reports whether it did.
func (p *conditionParser) word(w string) bool {
	r := p.rest()
	if len(r) < len(w) || !strings.EqualFold(r[:len(w)], w) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(r[len(w):])
	if len(r) > len(w) && !unicode.IsSpace(next) && !strings.ContainsRune(",<>=≤≥+-.0123456789", next) {
		return false
	}
	p.at += len(w)
	return true
}

// operators are the comparison operators; the longer of two with a common prefix comes first.
var operators = []string{">=", "<=", "≥", "≤", ">", "<", "="}

// term parses the text between two commas.
func (p *conditionParser) term(c *Condition) error {
	start := p.at
	if p.done() || strings.HasPrefix(p.rest(), ",") {
		return p.errorf("expected a value, a range such as 24-27, a comparison such as >= 1, or a name")
	}
	if q := p.text[p.at]; q == '\'' || q == '"' {
		return p.quoted(c, q)
	}
	if s, ok, err := p.comparison(); ok || err != nil {
		for err == nil {
			p.blanks()
			if !p.word("and") {
				break
			}
			p.blanks()
			var more span
			if more, ok, err = p.comparison(); err == nil && !ok {
				err = p.errorf("expected a comparison such as < 1")
			}
			s = s.intersect(more)
		}
		if err == nil && s.empty() {
			p.at = start
			err = p.errorf("the range is empty")
		}
		c.ranges = append(c.ranges, s)
		return err
	}
	if p.numeric() {
		s, err := p.numbers(start)
		c.ranges = append(c.ranges, s)
		return err
	}
	name, _, _ := strings.Cut(p.rest(), ",")
	p.at += len(name)
	if name = strings.TrimSpace(name); strings.EqualFold(name, "otherwise") {
		c.otherwise = true
	} else {
		c.names = append(c.names, name)
	}
	return nil
}

// numeric reports whether a number is next.
func (p *conditionParser) numeric() bool {
	r := strings.TrimLeft(p.rest(), "+-.")
	return r != "" && r[0] >= '0' && r[0] <= '9'
}

// quoted parses a name in quotes.
func (p *conditionParser) quoted(c *Condition, q byte) error {
	end := strings.IndexByte(p.rest()[1:], q)
	if end < 0 {
		return p.errorf("unclosed quote")
	}
	name := strings.TrimSpace(p.rest()[1 : end+1])
	if name == "" {
		return p.errorf("empty name")
	}
	p.at += end + 2
	c.names = append(c.names, name)
	return nil
}

// comparison parses an operator and its number, and reports whether an operator was next.
func (p *conditionParser) comparison() (span, bool, error) {
	for _, op := range operators {
		if !p.take(op) {
			continue
		}
		p.blanks()
		x, err := p.number()
		s := span{x, x}
		switch op {
		case ">":
			s = span{math.Nextafter(x, math.Inf(1)), math.Inf(1)}
		case ">=", "≥":
			s.hi = math.Inf(1)
		case "<":
			s = span{math.Inf(-1), math.Nextafter(x, math.Inf(-1))}
		case "<=", "≤":
			s.lo = math.Inf(-1)
		}
		return s, true, err
	}
	return span{}, false, nil
}

// numbers parses a number or a range.
func (p *conditionParser) numbers(start int) (span, error) {
	x, err := p.number()
	if err != nil {
		return span{}, err
	}
	s := span{lo: x, hi: x}
	p.blanks()
	if p.take("-") || p.take("–") || p.word("to") {
		p.blanks()
		if s.hi, err = p.number(); err != nil {
			return s, err
		}
		if s.hi < s.lo {
			p.at = start
			return s, p.errorf("the range runs backwards")
		}
	}
	p.blanks()
	if !p.done() && p.text[p.at] != ',' {
		return s, p.errorf("expected a comma after a number (a name that begins with one is put in 'quotes')")
	}
	return s, nil
}

var decimal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[+-]?[0-9.]*`) })

// number parses a decimal number.
func (p *conditionParser) number() (float64, error) {
	text := decimal().FindString(p.rest())
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(x, 0) {
		return 0, p.errorf("expected a number")
	}
	p.at += len(text)
	return x, nil
}
