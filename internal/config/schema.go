package config

import "io"

// JSON writes the schema as a JSON Schema, draft 2020-12, that accepts what
// Read accepts.
func (s Schema) JSON(w io.Writer, title, description string) error {
	var properties ordered
	for i := range s {
		properties = append(properties, member{s[i].Name, s[i].property()})
	}
	return writeIndented(w, ordered{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", title},
		{"description", description},
		{"type", "object"},
		{"additionalProperties", false},
		{"properties", properties},
	})
}

// property describes the value of a key.
func (k *Key) property() ordered {
	var p ordered
	if k.About != "" {
		p = append(p, member{"description", k.About})
	}
	// A key without a value is as good as left out.
	switch {
	case k.List:
		p = append(p, member{"anyOf", []ordered{
			{{"type", "array"}, {"items", k.element(false)}},
			k.element(true),
		}})
	default:
		p = append(p, k.element(true)...)
	}
	if k.Default == nil {
		return p
	}
	if k.List {
		var all []any
		for _, t := range k.Default {
			all = append(all, k.typed(t))
		}
		return append(p, member{"default", all})
	}
	return append(p, member{"default", k.typed(k.Default[0])})
}

// element describes one plain value.
func (k *Key) element(null bool) ordered {
	var types []string
	var more ordered
	switch k.Type {
	case Bool:
		types = []string{"boolean"}
	case Whole:
		types = []string{"integer"}
	case Natural:
		types, more = []string{"integer"}, ordered{{"minimum", 0}}
	case Number:
		types = []string{"number"}
	case Fraction:
		types, more = []string{"number", "string"}, ordered{{"pattern", `^\s*[-+0-9.eE]+(/[-+0-9.eE]+)?\s*$`}}
	case Size:
		types, more = []string{"integer", "string"}, ordered{{"pattern", `^\s*[0-9.eE+]+\s*([TGMkK]?B)?\s*$`}}
	default:
		// Names may look like numbers: classes 1 to 5.
		types = []string{"string", "number", "boolean"}
	}
	if k.Choices != nil {
		choices := []any{}
		for _, c := range k.Choices {
			choices = append(choices, k.typed(c))
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
