package config

import (
	"io"
	"slices"
)

// WriteSchema writes what a configuration file may hold as a JSON Schema, draft
// 2020-12, that accepts what Settings.File accepts.
func WriteSchema(w io.Writer) error {
	var properties ordered
	for _, o := range Options {
		properties = append(properties, member{o.Name, o.property()})
	}
	return writeIndented(w, ordered{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "Configuration of credence train"},
		{"description", "Keys are the long flags of credence train. " +
			"What is left out is chosen from the data, or has the default named here."},
		{"type", "object"},
		{"additionalProperties", false},
		{"properties", properties},
	})
}

// property describes the value of a key.
func (o *Option) property() ordered {
	p := ordered{{"description", o.about()}}
	// A key without a value is as good as left out.
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

// elements are the types of plain values, and what else holds for them. Names may look like numbers: classes 1 to 5.
var elements = [...]struct {
	types []string
	more  ordered
}{
	textType:     {types: []string{"string", "number", "boolean"}},
	boolType:     {types: []string{"boolean"}},
	wholeType:    {types: []string{"integer"}},
	naturalType:  {[]string{"integer"}, ordered{{"minimum", 0}}},
	numberType:   {types: []string{"number"}},
	fractionType: {[]string{"number", "string"}, ordered{{"pattern", `^\s*[-+0-9.eE]+(/[-+0-9.eE]+)?\s*$`}}},
	sizeType:     {[]string{"integer", "string"}, ordered{{"pattern", `^\s*[0-9.eE+]+\s*([TGMkK]?B)?\s*$`}}},
}

// element describes one plain value.
func (o *Option) element(null bool) ordered {
	types, more := slices.Clone(elements[o.typ].types), elements[o.typ].more
	if o.Choices != nil {
		choices := o.values(o.Choices)
		if null {
			choices = append(choices, nil)
		}
		return append(ordered{{"enum", choices}}, more...)
	}
	if null {
		types = append(types, "null")
	}
	if len(types) == 1 {
		return append(ordered{{"type", types[0]}}, more...)
	}
	return append(ordered{{"type", types}}, more...)
}
