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

// writeScores writes the single numbers of an evaluation as CSV, one per row
// under its name in JSON, with its standard error where it has one.
func writeScores(w io.Writer, d predict.Digits, r *evaluate.Result) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	// The order of the object is that of the result.
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
		if isSE && hasBase || !isNumber && values[name] != nil { // null is a number that is not known
			continue
		}
		c.Write([]string{name, numberText(values[name], d), numberText(values[name+"_se"], d)})
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

func numberText(value any, d predict.Digits) string {
	number, _ := value.(json.Number)
	x, err := number.Float64()
	if err != nil || x == math.Trunc(x) { // a count has all its digits
		return number.String()
	}
	return d.Text(x)
}
