package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"

	"credence/evaluate"
	"credence/predict"
)

// known returns a number as a cell, nil if it is unknown.
func known(x evaluate.Number) any {
	if !x.Known() {
		return nil
	}
	return float64(x)
}

// writeScores writes the scalar scores of an evaluation as CSV: one per row, with
// its JSON name and, if it has one, its standard error.
func writeScores(w io.Writer, d predict.Digits, r *evaluate.Result) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// A decoder keeps the order of the fields.
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	_, err = dec.Token()
	var names []string
	values := map[string]any{}
	for err == nil && dec.More() {
		var key json.Token
		var value any
		key, err = dec.Token()
		err = errors.Join(err, dec.Decode(&value))
		name, _ := key.(string)
		names, values[name] = append(names, name), value
	}
	if err != nil {
		return err
	}
	c := csv.NewWriter(w)
	c.Write([]string{"score", "value", "se"})
	for _, name := range names {
		base, isSE := strings.CutSuffix(name, "_se")
		_, hasBase := values[base]
		_, isNumber := values[name].(json.Number)
		if isSE && hasBase || !isNumber && values[name] != nil { // null is an unknown number
			continue
		}
		c.Write([]string{name, numberText(values[name], d), numberText(values[name+"_se"], d)})
	}
	for _, x := range furtherScores(r) {
		row := []string{x.Key, "", ""}
		if x.Value.Known() {
			row[1] = d.Text(float64(x.Value))
		}
		if x.SE.Known() {
			row[2] = d.Text(float64(x.SE))
		}
		c.Write(row)
	}
	writeDispersion(c, d, r.DispersionBy)
	writeDecisions(c, d, r.Decisions)
	c.Flush()
	return c.Error()
}

// writeDispersion writes the dispersion ratios of the levels of columns.
func writeDispersion(c *csv.Writer, d predict.Digits, columns []evaluate.DispersionColumn) {
	text := func(x evaluate.Number) string {
		if !x.Known() {
			return ""
		}
		return d.Text(float64(x))
	}
	none := evaluate.Number(math.NaN())
	row := func(name, of string, value, se evaluate.Number) {
		c.Write([]string{name + "[" + of + "]", text(value), text(se)})
	}
	for _, x := range columns {
		for _, l := range x.Levels {
			of := strings.TrimSuffix(x.Column+"="+l.Name, "=")
			row("dispersion_ratio", of, l.Ratio.Value, l.Ratio.SE)
			row("dispersion_ratio_lo", of, l.Ratio.Lo, none)
			row("dispersion_ratio_hi", of, l.Ratio.Hi, none)
			row("dispersion_p_value", of, l.PValue, none)
			row("dispersion_ratio_shrunk", of, l.Shrunk.Value, l.Shrunk.SE)
		}
		row("dispersion_common", x.Column, x.Common.Value, x.Common.SE)
		row("dispersion_tau", x.Column, x.Tau, none)
		row("dispersion_heterogeneity_p_value", x.Column, x.PValue, none)
	}
}
