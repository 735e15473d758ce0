package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"credence/internal/printout"
	"credence/internal/words"
)

// writeYAML writes values in the format that Settings.File reads, each with its origin
// as a comment if origins is true.
func writeYAML(w io.Writer, values []setting, origins bool) error {
	var b strings.Builder
	for _, v := range values {
		comment := ""
		if origins {
			comment = v.origin.String()
		}
		b.WriteString(v.yaml(comment))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteTemplate writes a commented configuration file for given data: about, a
// description of the data, then every option with its help. Options that were
// given or found in the data are keys; the others are commented out with "#" and
// show the value that applies if they stay so.
func (s *Settings) WriteTemplate(b *bytes.Buffer, about []string) {
	comment := func(text string) {
		var lines strings.Builder
		printout.Wrap(&lines, "", text, 78)
		for line := range strings.Lines(lines.String()) {
			b.WriteString("# " + line)
		}
	}
	for _, text := range about {
		comment(text)
	}
	b.WriteString("#\n")
	comment("Flags and environment variables override this file. A key after \"#\" shows the value " +
		"that applies while it is commented out: a default, the choice for these data, or none.")
	values := map[string]setting{}
	for _, v := range s.effective(false) {
		values[v.Name] = v
	}
	b.WriteString("\n# ── Data ──\n")
	training := false
	for _, o := range Options {
		if o.Name == firstOfTraining {
			b.WriteString("\n# ── Training ──\n")
			training = true
		}
		b.WriteString("\n")
		comment(o.about())
		v := values[o.Name]
		v.Option = o
		lines := v.yaml("")
		if from := v.origin.source; from != fromFlag && from != fromEnvironment && (from != fromData || training) {
			lines = "#" + strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", "\n#") + "\n"
		}
		b.WriteString(lines)
	}
}

// yaml returns the setting as lines of a YAML file. A comment that is not empty is
// appended to the first line.
func (v *setting) yaml(comment string) string {
	line, more := v.Name+":", ""
	switch {
	case v.Texts == nil:
	case v.list:
		line += " [" + strings.Join(words.Each(v.Texts, v.scalar), ", ") + "]"
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

// block reports whether a text of several lines can be written as a block scalar.
func block(text string) bool {
	if !strings.Contains(text, "\n") || strings.ContainsAny(text[:1], " \n") || strings.HasSuffix(text, "\n") {
		return false
	}
	for l := range strings.SplitSeq(text, "\n") {
		if strings.HasSuffix(l, " ") {
			return false
		}
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
}

// plainText matches texts that every YAML reader takes for a string without
// quotes, except those in notText.
var plainText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_./][A-Za-z0-9_./-]*( [A-Za-z0-9_./-]+)*$`) })

// notText lists the words that some version of YAML does not read as a string.
var notText = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null"}

// scalar writes one plain value.
func (o *Option) scalar(text string) string {
	switch value := o.typed(text).(type) {
	case string:
		_, err := strconv.ParseFloat(text, 64)
		number := text != "" && (text[0] == '.' || strings.ContainsAny(text[:1], "iInN") && err == nil)
		if plainText().MatchString(text) && !number && !slices.Contains(notText, strings.ToLower(text)) {
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

// quote writes text between double quotes, as JSON and YAML both read it.
func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// A string can always be encoded.
	_ = e.Encode(text)
	return strings.TrimSuffix(b.String(), "\n")
}

// typed returns the value of a text by the option's type, or the text itself if
// it cannot be parsed as one.
func (o *Option) typed(text string) any {
	if value, err := o.parse(text); err == nil {
		return value
	}
	return text
}

// values returns the typed values of texts.
func (o *Option) values(texts []string) []any {
	all := []any{}
	for _, t := range texts {
		all = append(all, o.typed(t))
	}
	return all
}

// value returns the typed value of the option's texts, or nil if there are none.
func (o *Option) value(texts []string) any {
	switch {
	case texts == nil:
		return nil
	case o.list:
		return o.values(texts)
	}
	return o.typed(texts[0])
}

// writeJSON writes values as one object; with origins, each member is an object
// of value, origin and, if it was given, its place.
func writeJSON(w io.Writer, values []setting, origins bool) error {
	var list ordered
	for _, v := range values {
		value := v.value(v.Texts)
		if origins {
			value = struct {
				Value  any    `json:"value"`
				Origin source `json:"origin"`
				Place  string `json:"place,omitempty"`
			}{value, v.origin.source, v.origin.place()}
		}
		list = append(list, member{v.Name, value})
	}
	return writeIndented(w, list)
}

// ordered is a JSON object that keeps the order of its members.
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

// WriteSchema writes the JSON Schema, draft 2020-12, of configuration files. It
// accepts the files that Settings.File accepts.
func WriteSchema(w io.Writer) error {
	var properties ordered
	for _, o := range Options {
		properties = append(properties, member{o.Name, o.property()})
	}
	return writeIndented(w, ordered{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "Configuration of credence train"},
		{"description", "Keys are the long flags of credence train. " +
			"Keys that are left out are chosen from the data, or have the default shown here."},
		{"type", "object"},
		{"additionalProperties", false},
		{"properties", properties},
	})
}

// property describes the value of a key.
func (o *Option) property() ordered {
	p := ordered{{"description", o.about()}}
	// A key without a value counts as unset.
	if o.list {
		p = append(p, member{"anyOf", []ordered{
			{{"type", "array"}, {"items", o.element(false)}},
			o.element(true),
		}})
	} else {
		p = append(p, o.element(true)...)
	}
	if o.fallback == nil {
		return p
	}
	return append(p, member{"default", o.value(o.fallback)})
}

// element describes one plain value.
func (o *Option) element(null bool) ordered {
	names, more := slices.Clone(types[o.typ].json), types[o.typ].more
	if o.Choices != nil {
		choices := o.values(o.Choices)
		if null {
			choices = append(choices, nil)
		}
		return append(ordered{{"enum", choices}}, more...)
	}
	if null {
		names = append(names, "null")
	}
	if len(names) == 1 {
		return append(ordered{{"type", names[0]}}, more...)
	}
	return append(ordered{{"type", names}}, more...)
}
