package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/evaluate"
	"credence/internal/atomicfile"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/predict"
)

// outputFlags are the flags that select where a result is written and in which
// format.
type outputFlags struct {
	forms []string // formats of the verb; the first is the default
	file  string
	form  string
	json  bool

	overwrite bool
	digits    digits
	csvSafe   bool // escape texts in CSV that a spreadsheet would read as formulas
}

// formOf maps extensions of files to output formats.
var formOf = map[string]string{
	".txt": "table", ".md": "md", ".markdown": "md", ".csv": "csv", ".json": "json",
	".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet", ".npy": "npy", ".arrow": "arrow",
}

func (o *outputFlags) declare(f *pflag.FlagSet, forms ...string) {
	o.forms = forms
	f.StringVarP(&o.file, "output", "o", "-", "`file` to write, in the format of its extension; - for standard output")
	declareOverwrite(f, &o.overwrite)
	f.StringVar(&o.form, "format", "", "output `format`, whatever the extension: "+words.List(forms, "or"))
	if slices.Contains(forms, "csv") {
		o.digits.declare(f)
	}
	if slices.Contains(forms, "parquet") { // rows with texts of users
		f.BoolVar(&o.csvSafe, "csv-safe", false, "in CSV, prefix texts that a spreadsheet would read as a formula (=, +, -, @) with '")
	}
	if !slices.Contains(forms, "json") {
		return
	}
	f.BoolVar(&o.json, "json", false, "same as --format json: one object on one line")
}

// resolve determines the format of the output.
func (o *outputFlags) resolve() error {
	if o.json {
		if o.form != "" && o.form != "json" {
			return usagef("--json and --format %s exclude each other", o.form)
		}
		o.form = "json"
	}
	switch {
	case o.form != "":
		return oneOf("format", o.form, o.forms...)
	case o.file == "-":
		o.form = o.forms[0]
		return nil
	}
	o.form = formOf[strings.ToLower(filepath.Ext(o.file))]
	extensions := strings.Replace("."+strings.Join(o.forms, ", ."), ".table", ".txt", 1)
	return expect(slices.Contains(o.forms, o.form), "-o %s: expected a name that ends in %s, or --format", o.file, extensions)
}

// begin determines the format of the output and checks that it and the other outputs can be written.
func (o *outputFlags) begin(cmd *cobra.Command, inputs []string, others ...string) error {
	if err := o.resolve(); err != nil {
		return err
	}
	return checkOutputs(cmd.InOrStdin(), o.overwrite, append([]string{o.file}, others...), inputs)
}

// forPeople reports whether the format is a report for people.
func (o *outputFlags) forPeople() bool { return o.form == "table" || o.form == "md" }

// write writes a result in the selected format: as a JSON object, as a report for people or as rows.
func (o *outputFlags) write(cmd *cobra.Command, object any, report func(*printout.Page), rows rowWriter) error {
	return writeFile(cmd, o.file, func(w io.Writer) error {
		switch {
		case o.form == "json":
			return json.NewEncoder(w).Encode(object)
		case o.forPeople():
			p := &printout.Page{Markdown: o.form == "md", Width: terminalWidth()}
			report(p)
			_, err := w.Write(p.Bytes())
			return err
		}
		return rows(w, o.rows())
	})
}

// rows returns how rows are written.
func (o *outputFlags) rows() predict.Form {
	return predict.Form{Name: o.form, Digits: o.digits.of(o.form), CSVSafe: o.csvSafe}
}

// writeFile writes an output to a file, or to standard output if path is -.
func writeFile(cmd *cobra.Command, path string, write func(w io.Writer) error) error {
	if path == "-" {
		return write(cmd.OutOrStdout())
	}
	return atomicfile.Write(path, write)
}

// rowWriter writes rows in a format.
type rowWriter func(w io.Writer, form predict.Form) error

// records writes structs as rows: fields are columns with their JSON names, estimates are followed by their
// standard errors. A column with omitempty is written if the first record has it.
func records[T any](list []T) rowWriter {
	var columns []predict.Column
	var at []int
	for i := range reflect.TypeFor[T]().NumField() {
		field := reflect.TypeFor[T]().Field(i)
		name, omit, _ := strings.Cut(field.Tag.Get("json"), ",")
		if omit != "" && (len(list) == 0 || reflect.ValueOf(list[0]).Field(i).IsNil()) {
			continue
		}
		kind := predict.Number
		switch field.Type.Kind() {
		case reflect.Int:
			kind = predict.Whole
		case reflect.String:
			kind = predict.Text
		}
		at, columns = append(at, i), append(columns, predict.Column{Name: name, Kind: kind})
		if field.Type == reflect.TypeFor[evaluate.Estimate]() {
			columns = append(columns, predict.Column{Name: name + "_se", Kind: kind})
		}
	}
	return func(w io.Writer, form predict.Form) error {
		var rows [][]any
		for _, record := range list {
			var row []any
			for _, i := range at {
				switch x := reflect.ValueOf(record).Field(i).Interface().(type) {
				case int:
					row = append(row, int64(x))
				case *float64:
					row = append(row, *x)
				case evaluate.Number:
					row = append(row, known(x))
				case evaluate.Estimate:
					row = append(row, known(x.Value), known(x.SE))
				default:
					row = append(row, x)
				}
			}
			rows = append(rows, row)
		}
		return predict.WriteRows(w, form, columns, rows)
	}
}

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
	writeDispersion(c, d, r.DispersionBy)
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

func numberText(value any, d predict.Digits) string {
	number, _ := value.(json.Number)
	x, err := number.Float64()
	if err != nil || x == math.Trunc(x) { // counts are not rounded
		return number.String()
	}
	return d.Text(x)
}
