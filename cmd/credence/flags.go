package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/calculator"
	"credence/internal/config"
	"credence/internal/words"
	"credence/predict"
)

// declare adds the options of a verb to its flags.
func declare(f *pflag.FlagSet, s *config.Settings, verb config.Verb) {
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

// zeroMark marks flags whose 0 stands for their default, which nobody means who
// writes 0.
const zeroMark = "credence_not_zero"

// notZero marks flags that may be left out but not be 0.
func notZero(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f.SetAnnotation(name, zeroMark, nil)
	}
}

// refuseZeros is the error of a marked flag that is given as 0.
func refuseZeros(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, marked := f.Annotations[zeroMark]; marked && f.Value.String() == "0" && err == nil {
			err = usagef("--%s 0: expected a number above 0, or leave the flag out", f.Name)
		}
	})
	return err
}

// numbers is a flag of numbers separated by commas. Given repeatedly, it holds
// those of all; its default gives way to the first.
type numbers struct {
	values  []float64
	changed bool
}

func (n *numbers) Set(s string) error {
	values, err := parseNumbers(s)
	if err != nil {
		return err
	}
	if !n.changed {
		n.values, n.changed = nil, true
	}
	n.values = append(n.values, values...)
	return nil
}

func (n *numbers) String() string { return calculator.JoinNumbers(n.values, ",") }
func (n *numbers) Type() string   { return "numbers" }

// numberRows is a flag that adds a row of numbers each time it is given.
type numberRows [][]float64

func (r *numberRows) Set(s string) error {
	values, err := parseNumbers(s)
	if err != nil {
		return err
	}
	*r = append(*r, values)
	return nil
}

func (r *numberRows) String() string {
	row := func(values []float64) string { return calculator.JoinNumbers(values, ",") }
	return strings.Join(words.Each(*r, row), " ")
}

func (r *numberRows) Type() string { return "numbers" }

// parseNumbers reads finite numbers or fractions, separated by commas.
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

// exact writes a number so that it reads back the same.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// defaultDigits is how many significant digits the numbers of CSV have: what is
// estimated from votes is never known better.
const defaultDigits = 6

// digits is the flag --digits: how many significant digits numbers are written with.
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
	f.Var(d, "digits", "significant `digits` of numbers in CSV, or full; of JSON lines too if given; Parquet and Arrow have all")
}

// of returns the digits of numbers in a form of output. Programs read JSON, and get
// all unless told otherwise.
func (d digits) of(form string) predict.Digits {
	if form != "csv" && !d.given {
		return 0
	}
	return d.Digits
}
