package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"

	"credence/evaluate"
	"credence/predict"
)

// writeScores writes the single numbers of an evaluation as CSV, one per row
// under its name in JSON, with its standard error where it has one.
func writeScores(w io.Writer, d predict.Digits, r *evaluate.Result) error {
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
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		name := key.(string)
		if base, ok := strings.CutSuffix(name, "_se"); ok && values[base] != nil || !isNumber(value) {
			continue
		}
		c.Write([]string{name, numberText(value, d), numberText(values[name+"_se"], d)})
	}
	writeApart(c, d, r.DispersionBy)
	c.Flush()
	return c.Error()
}

// writeApart writes the dispersion ratios of the levels of columns.
func writeApart(c *csv.Writer, d predict.Digits, columns []evaluate.DispersionColumn) {
	text := func(x evaluate.Number) string {
		if !x.Known() {
			return ""
		}
		return d.Text(float64(x))
	}
	row := func(name, column, level string, e evaluate.Estimate) {
		if level != "" {
			column += "=" + level
		}
		c.Write([]string{name + "[" + column + "]", text(e.Value), text(e.SE)})
	}
	alone := func(x evaluate.Number) evaluate.Estimate {
		return evaluate.Estimate{Value: x, SE: evaluate.Number(math.NaN())}
	}
	for _, x := range columns {
		for _, l := range x.Levels {
			row("dispersion_ratio", x.Column, l.Name, l.Ratio.Estimate)
			row("dispersion_ratio_lo", x.Column, l.Name, alone(l.Ratio.Lo))
			row("dispersion_ratio_hi", x.Column, l.Name, alone(l.Ratio.Hi))
			row("dispersion_p_value", x.Column, l.Name, alone(l.PValue))
			row("dispersion_ratio_shrunk", x.Column, l.Name, l.Shrunk)
		}
		row("dispersion_common", x.Column, "", x.Common)
		row("dispersion_tau", x.Column, "", alone(x.Tau))
		row("dispersion_heterogeneity_p_value", x.Column, "", alone(x.PValue))
	}
}

// isNumber reports whether a value of JSON is a number, or null for one that is
// not known.
func isNumber(value json.RawMessage) bool {
	return len(value) > 0 && (value[0] == '-' || value[0] >= '0' && value[0] <= '9' || string(value) == "null")
}

func numberText(value json.RawMessage, d predict.Digits) string {
	if string(value) == "null" {
		return ""
	}
	x, err := strconv.ParseFloat(string(value), 64)
	if err != nil || x == math.Trunc(x) { // a count has all its digits
		return string(value)
	}
	return d.Text(x)
}
