package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"

	"credence/evaluate"
)

// writeScores writes the single numbers of an evaluation as CSV, one per row
// under its name in JSON, with its standard error where it has one.
func writeScores(w io.Writer, r *evaluate.Result) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	c := csv.NewWriter(w)
	c.Write([]string{"score", "value", "se"})
	// The order of the object is that of the result.
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		name := key.(string)
		if base, ok := strings.CutSuffix(name, "_se"); ok && values[base] != nil || !isNumber(value) {
			continue
		}
		c.Write([]string{name, numberText(value), numberText(values[name+"_se"])})
	}
	c.Flush()
	return c.Error()
}

// isNumber tells whether a value of JSON is a number, or null for one that is
// not known.
func isNumber(value json.RawMessage) bool {
	return len(value) > 0 && (value[0] == '-' || value[0] >= '0' && value[0] <= '9' || string(value) == "null")
}

func numberText(value json.RawMessage) string {
	if string(value) == "null" {
		return ""
	}
	return string(value)
}
