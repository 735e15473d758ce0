package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// WriteYAML writes values in the form that Read takes, each with its origin as
// a comment if asked to.
func WriteYAML(w io.Writer, values []Setting, origins bool) error {
	var b strings.Builder
	for _, v := range values {
		comment := ""
		if origins {
			comment = v.Origin.String()
		}
		b.WriteString(v.YAML(comment))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// YAML returns the value as lines of a YAML file, with a comment in the first
// of them if it is not empty.
func (v *Setting) YAML(comment string) string {
	line, more := v.Name+":", ""
	switch {
	case v.Texts == nil:
	case v.list:
		var list []string
		for _, t := range v.Texts {
			list = append(list, v.scalar(t))
		}
		line += " [" + strings.Join(list, ", ") + "]"
	case v.typ == textType && block(v.Texts[0]):
		line += " |-"
		for l := range strings.SplitSeq(v.Texts[0], "\n") {
			more += strings.TrimRight("  "+l, " ") + "\n"
		}
	default:
		line += " " + v.scalar(v.Texts[0])
	}
	if comment != "" {
		line = fmt.Sprintf("%-34s # %s", line, comment)
	}
	return line + "\n" + more
}

// block tells whether a text of several lines can be written as they are.
func block(text string) bool {
	if !strings.Contains(text, "\n") || strings.HasPrefix(text, " ") || strings.HasPrefix(text, "\n") || strings.HasSuffix(text, "\n") {
		return false
	}
	for l := range strings.SplitSeq(text, "\n") {
		if strings.HasSuffix(l, " ") {
			return false
		}
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
}

// plainText are texts that no YAML reader takes for anything else, unless they
// are one of notText.
var plainText = regexp.MustCompile(`^[A-Za-z_./][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*$`)

// notText are the words that some version of YAML takes for other things.
var notText = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null"}

// scalar writes one plain value.
func (o *Option) scalar(text string) string {
	switch value := o.typed(text).(type) {
	case string:
		number := len(text) > 0 && (text[0] == '.' || strings.ContainsAny(text[:1], "iInN") && canBeNumber(text))
		if plainText.MatchString(text) && !number && !slices.Contains(notText, strings.ToLower(text)) {
			return text
		}
		return quote(text)
	case float64:
		s := strconv.FormatFloat(value, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	default:
		return fmt.Sprint(value)
	}
}

func canBeNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// quote writes text between double quotes, as JSON and YAML both read it.
func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// A string always has a form in JSON.
	_ = e.Encode(text)
	return strings.TrimSuffix(b.String(), "\n")
}

// typed returns the value that a text stands for; the text itself where the
// type is another.
func (o *Option) typed(text string) any {
	switch o.typ {
	case boolType:
		if v, err := strconv.ParseBool(text); err == nil {
			return v
		}
	case wholeType:
		if v, err := strconv.ParseInt(text, 0, 64); err == nil {
			return v
		}
	case naturalType:
		if v, err := strconv.ParseUint(text, 0, 64); err == nil {
			return v
		}
	case numberType, fractionType:
		if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) {
			return v
		}
	}
	return text
}

// WriteJSON writes values as one object; with origins, each is an object of
// value, origin and, for what was given, the place.
func WriteJSON(w io.Writer, values []Setting, origins bool) error {
	var list ordered
	for _, v := range values {
		var value any
		switch {
		case v.Texts == nil:
		case v.list:
			all := []any{}
			for _, t := range v.Texts {
				all = append(all, v.typed(t))
			}
			value = all
		default:
			value = v.typed(v.Texts[0])
		}
		if origins {
			value = struct {
				Value  any    `json:"value"`
				Origin Source `json:"origin"`
				Place  string `json:"place,omitempty"`
			}{value, v.Origin.Source, v.Origin.Place()}
		}
		list = append(list, member{v.Name, value})
	}
	return writeIndented(w, list)
}

// ordered is an object whose members keep their order.
type ordered []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(m.name) + ":")
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func writeIndented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
