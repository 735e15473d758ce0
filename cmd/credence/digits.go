package main

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"

	"credence/mixture"
)

// defaultDigits is how many significant digits the numbers of CSV have: what is
// estimated from votes is never known better.
const defaultDigits = 6

// digits is the flag --digits: how many significant digits numbers are written with.
type digits struct {
	n     int // 0 for as many as reading the same number back takes
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
	d.n, d.given = n, true
	return nil
}

func (d *digits) String() string {
	if d.n == 0 {
		return "full"
	}
	return strconv.Itoa(d.n)
}

func (d *digits) Type() string { return "number" }

// declare adds the flag to a verb that writes CSV.
func (d *digits) declare(f *pflag.FlagSet) {
	d.n = defaultDigits
	f.Var(d, "digits", "significant `digits` of numbers in CSV, or full; of JSON lines too if given; Parquet has all")
}

// of returns the digits of numbers in a form of output. Programs read JSON, and get
// all unless told otherwise.
func (d digits) of(form string) digits {
	if form != "csv" && !d.given {
		d.n = 0
	}
	return d
}

// precision is that of intervals of which so many digits are written.
func (d digits) precision() mixture.Precision {
	if d.n == 0 {
		return mixture.Full
	}
	return mixture.PrecisionOf(d.n)
}

// append writes a number. One that is not 1 is never rounded to it: how far a
// probability is from 1 may be all that matters.
func (d digits) append(dst []byte, x float64) []byte {
	if d.n == 0 {
		return strconv.AppendFloat(dst, x, 'g', -1, 64)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, x, 'g', d.n, 64)
	for n := d.n + 1; string(dst[from:]) == "1" && x != 1 && n <= 17; n++ {
		dst = strconv.AppendFloat(dst[:from], x, 'g', n, 64)
	}
	return dst
}

// text is a number as text.
func (d digits) text(x float64) string { return string(d.append(nil, x)) }
