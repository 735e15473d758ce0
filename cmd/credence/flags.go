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

// declare adds the options of a verb as flags.
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
			err = usagef("--%s 0: expected a number above 0, or leave the flag out", f.Name)
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
