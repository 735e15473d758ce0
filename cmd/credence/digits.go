package main

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"

	"credence/predict"
)

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
