package main

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/evaluate"
	"credence/internal/atomicfile"
	"credence/internal/calculator"
	"credence/internal/config"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/predict"
)

// declare adds the options of a verb as flags.
func declare(f *pflag.FlagSet, s *config.Settings, verb config.Verb) {
	s.Load.FeatureOptions.Backbone.Worker = workerCommand()
	for _, o := range config.Options {
		if !o.Of(verb) {
			continue
		}
		flag := f.VarPF(s.Field(o), o.Name, "", o.Help)
		flag.DefValue = o.Default()
		if flag.Value.Type() == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
}

// zeroMark marks flags whose 0 means the default internally. A user who writes 0
// does not mean that.
const zeroMark = "credence_not_zero"

// notZero marks flags that are optional but must not be 0.
func notZero(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f.SetAnnotation(name, zeroMark, nil)
	}
}

// refuseZeros returns an error if a marked flag is given as 0.
func refuseZeros(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, marked := f.Annotations[zeroMark]; marked && f.Value.String() == "0" && err == nil {
			err = usagef("--%s 0: expected a number above 0; omit the flag for the default", f.Name)
		}
	})
	return err
}

// numbers is a flag of numbers separated by commas. Repeated flags append; the
// first one replaces the default.
type numbers struct {
	values  []float64
	changed bool
}

func (n *numbers) Set(s string) error {
	values, err := parseNumbers(s)
	if n.changed {
		values = append(n.values, values...)
	}
	n.values, n.changed = values, true
	return err
}

func (n *numbers) String() string { return calculator.JoinNumbers(n.values, ",") }
func (n *numbers) Type() string   { return "numbers" }

// share is a flag with a number, a fraction or a percentage.
type share float64

func (x *share) Set(s string) error {
	v, err := config.ParseNumber(s)
	*x = share(v)
	return err
}

func (x *share) String() string { return exact(float64(*x)) }
func (x *share) Type() string   { return "float64" }

// numberRows is a flag that adds a row of numbers each time it is given.
type numberRows [][]float64

func (r *numberRows) Set(s string) error {
	values, err := parseNumbers(s)
	*r = append(*r, values)
	return err
}

func (r *numberRows) String() string {
	row := func(values []float64) string { return calculator.JoinNumbers(values, ",") }
	return strings.Join(words.Each(*r, row), " ")
}

func (r *numberRows) Type() string { return "numbers" }

// parseNumbers parses finite numbers or fractions, separated by commas.
func parseNumbers(s string) ([]float64, error) {
	var values []float64
	for part := range strings.SplitSeq(s, ",") {
		v, err := config.ParseNumber(part)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// exact formats a number with the fewest digits that parse back to it.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// defaultDigits is the number of significant digits in CSV. Estimates from votes
// are never more precise.
const defaultDigits = 6

// digits is the flag --digits: the number of significant digits in the output.
type digits struct {
	predict.Digits
	given bool
}

func (d *digits) Set(s string) error {
	n, err := strconv.Atoi(s)
	switch {
	case s == "full":
		n = 0
	case err != nil || n < 1 || n > 17:
		return errors.New("expected a number of digits from 1 to 17, or full")
	}
	d.Digits, d.given = predict.Digits(n), true
	return nil
}

func (d *digits) String() string {
	if d.Digits == 0 {
		return "full"
	}
	return strconv.Itoa(int(d.Digits))
}

func (d *digits) Type() string { return "number" }

// declare adds the flag to a verb that writes CSV.
func (d *digits) declare(f *pflag.FlagSet) {
	d.Digits = defaultDigits
	f.Var(d, "digits", "significant `digits` in CSV, or full; also in JSON lines if given; Parquet and Arrow have all")
}

// of returns the number of digits in an output format. Formats other than CSV are read
// by programs and have all digits, unless the flag is given.
func (d digits) of(form string) predict.Digits {
	if form != "csv" && !d.given {
		return 0
	}
	return d.Digits
}

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

// kindOf maps kinds of fields other than numbers to kinds of columns.
var kindOf = map[reflect.Kind]predict.Kind{reflect.Int: predict.Whole, reflect.String: predict.Text}

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
		kind, ok := kindOf[field.Type.Kind()]
		if !ok {
			kind = predict.Number
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

// numberText formats a number of a JSON object, or null as "".
func numberText(value any, d predict.Digits) string {
	number, _ := value.(json.Number)
	x, err := number.Float64()
	if err != nil || x == math.Trunc(x) { // counts are not rounded
		return number.String()
	}
	return d.Text(x)
}
