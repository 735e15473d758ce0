package config

import "io"

// WriteSchema writes what a configuration file may hold as a JSON Schema, draft
// 2020-12, that accepts what Settings.File accepts.
func WriteSchema(w io.Writer) error {
	var properties ordered
	for i := range Options {
		properties = append(properties, member{Options[i].Name, Options[i].property()})
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
	switch {
	case o.list:
		p = append(p, member{"anyOf", []ordered{
			{{"type", "array"}, {"items", o.element(false)}},
			o.element(true),
		}})
	default:
		p = append(p, o.element(true)...)
	}
	if o.fallback == nil {
		return p
	}
	if o.list {
		var all []any
		for _, t := range o.fallback {
			all = append(all, o.typed(t))
		}
		return append(p, member{"default", all})
	}
	return append(p, member{"default", o.typed(o.fallback[0])})
}

// element describes one plain value.
func (o *Option) element(null bool) ordered {
	var types []string
	var more ordered
	switch o.typ {
	case boolType:
		types = []string{"boolean"}
	case wholeType:
		types = []string{"integer"}
	case naturalType:
		types, more = []string{"integer"}, ordered{{"minimum", 0}}
	case numberType:
		types = []string{"number"}
	case fractionType:
		types, more = []string{"number", "string"}, ordered{{"pattern", `^\s*[-+0-9.eE]+(/[-+0-9.eE]+)?\s*$`}}
	case sizeType:
		types, more = []string{"integer", "string"}, ordered{{"pattern", `^\s*[0-9.eE+]+\s*([TGMkK]?B)?\s*$`}}
	default:
		// Names may look like numbers: classes 1 to 5.
		types = []string{"string", "number", "boolean"}
	}
	if o.Choices != nil {
		choices := []any{}
		for _, c := range o.Choices {
			choices = append(choices, o.typed(c))
		}
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
