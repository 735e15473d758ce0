package main

import (
	"encoding/json"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/evaluate"
	"credence/internal/atomicfile"
	"credence/internal/printout"
	"credence/predict"
)

// outputFlags is how the command line says where a result goes and in what
// form.
type outputFlags struct {
	forms []string // that the verb offers, the first by default
	file  string
	form  string
	json  bool

	overwrite bool
	digits    digits
	csvSafe   bool // texts that a spreadsheet would take for formulas are marked in CSV
}

// formOf is the form that the name of a file asks for.
var formOf = map[string]string{
	".txt": "table", ".md": "md", ".markdown": "md", ".csv": "csv", ".json": "json",
	".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
}

func (o *outputFlags) declare(f *pflag.FlagSet, forms ...string) {
	o.forms = forms
	f.StringVarP(&o.file, "output", "o", "-", "`file` to write, in the form that its name says; - is standard output")
	declareOverwrite(f, &o.overwrite)
	f.StringVar(&o.form, "format", "", "`form` of the output, whatever its name: "+strings.Join(forms, ", "))
	if slices.Contains(forms, "csv") {
		o.digits.declare(f)
	}
	f.BoolVar(&o.json, "json", false, "short for --format json: one object on one line")
}

// settle finds the form of the output.
func (o *outputFlags) settle() error {
	if o.json {
		if o.form != "" && o.form != "json" {
			return usagef("--json and --format %s exclude each other", o.form)
		}
		o.form = "json"
	}
	switch {
	case o.form != "":
		if !slices.Contains(o.forms, o.form) {
			return usagef("--format %q: expected one of %s", o.form, strings.Join(o.forms, ", "))
		}
	case o.file == "-":
		o.form = o.forms[0]
	default:
		o.form = formOf[strings.ToLower(filepath.Ext(o.file))]
		if !slices.Contains(o.forms, o.form) {
			var names []string
			for _, form := range o.forms {
				if form == "table" {
					form = "txt"
				}
				names = append(names, "."+form)
			}
			return usagef("-o %s: expected a name that ends in %s, or --format", o.file, strings.Join(names, ", "))
		}
	}
	return nil
}

// begin finds the form of the output, and refuses it and others that cannot be written.
func (o *outputFlags) begin(cmd *cobra.Command, inputs []string, others ...string) error {
	if err := o.settle(); err != nil {
		return err
	}
	return checkOutputs(cmd.InOrStdin(), o.overwrite, append([]string{o.file}, others...), inputs)
}

// forPeople reports whether the form is a report for people.
func (o *outputFlags) forPeople() bool { return o.form == "table" || o.form == "md" }

// write writes a result in the form asked for: as an object of JSON, as a report for people or as rows.
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
		return rows(w, predict.Form{Name: o.form, Digits: o.digits.of(o.form), CSVSafe: o.csvSafe})
	})
}

// writeFile writes an output to a file, or to standard output for -.
func writeFile(cmd *cobra.Command, path string, write func(w io.Writer) error) error {
	if path == "-" {
		return write(cmd.OutOrStdout())
	}
	return atomicfile.Write(path, write)
}

// rowWriter writes rows in a form.
type rowWriter func(w io.Writer, form predict.Form) error

// records writes structs as rows: their fields are columns under their names in JSON, estimates with their
// standard errors. A column that may be left out is there if the first record has it.
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

// known is a number as a cell, nil if it is not known.
func known(x evaluate.Number) any {
	if !x.Known() {
		return nil
	}
	return float64(x)
}
