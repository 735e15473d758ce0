package main

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"credence/internal/atomicfile"
	"credence/internal/printout"
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

// write writes the result to the file, or to standard output.
func (o *outputFlags) write(stdout io.Writer, write func(w io.Writer) error) error {
	if o.file == "-" {
		return write(stdout)
	}
	return atomicfile.Write(o.file, write)
}

// print writes a report for people to w.
func (o *outputFlags) print(w io.Writer, report func(*printout.Page)) error {
	p := &printout.Page{Markdown: o.form == "md", Width: terminalWidth()}
	report(p)
	_, err := w.Write(p.Bytes())
	return err
}
