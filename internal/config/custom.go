package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"credence/train"
)

// byteSize is a number of bytes like 500MB or 2GB; 0 leaves it open.
type byteSize int64

var byteUnits = []struct {
	name  string
	bytes int64
}{{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1}}

func (b *byteSize) set(texts []string) error {
	number, unit := strings.TrimSpace(texts[0]), int64(1)
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0 && v*float64(unit) < 1e18) {
		return errUnfit
	}
	*b = byteSize(v * float64(unit))
	return nil
}

func (b *byteSize) texts() []string {
	for _, u := range byteUnits {
		if v := int64(*b); v >= u.bytes && v%u.bytes == 0 {
			return []string{strconv.FormatInt(v/u.bytes, 10) + u.name}
		}
	}
	return nil
}

// extent is the sides of a grid, like 64x64.
type extent []*int

func (e extent) set(texts []string) error {
	parts := strings.Split(texts[0], "x")
	if len(parts) != len(e) {
		return errUnfit
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return errUnfit
		}
		*e[i] = n
	}
	return nil
}

func (e extent) texts() []string {
	var sides []string
	for _, n := range e {
		if *n == 0 {
			return nil
		}
		sides = append(sides, strconv.Itoa(*n))
	}
	return []string{strings.Join(sides, "x")}
}

// percentiles are a lower and a higher one.
type percentiles [2]*float64

func (p percentiles) set(texts []string) error {
	var values []float64
	for _, part := range split(texts) {
		x, err := ParseNumber(part)
		if err != nil {
			return errUnfit
		}
		values = append(values, x)
	}
	if len(values) != 2 || !(0 <= values[0] && values[0] < values[1] && values[1] <= 100) {
		return errUnfit
	}
	*p[0], *p[1] = values[0], values[1]
	return nil
}

func (p percentiles) texts() (list []string) {
	if *p[1] == 0 {
		return nil
	}
	for _, x := range p {
		list = append(list, strconv.FormatFloat(*x, 'g', -1, 64))
	}
	return list
}

// resolution is a number, auto (0) or off (negative).
type resolution float64

func (r *resolution) set(texts []string) error {
	switch texts[0] {
	case "auto":
		*r = 0
		return nil
	case "off":
		*r = -1
		return nil
	}
	x, err := ParseNumber(texts[0])
	if err != nil || !(x > 0 && x <= 0.1) {
		return errUnfit
	}
	*r = resolution(x)
	return nil
}

func (r *resolution) texts() []string {
	switch {
	case *r == 0:
		return nil
	case *r < 0:
		return []string{"off"}
	}
	return []string{strconv.FormatFloat(float64(*r), 'g', -1, 64)}
}

// augment is a list of changes like shift=2,flip, or none.
type augment train.Augment

func (a *augment) set(texts []string) error {
	parsed, err := train.ParseAugment(texts[0])
	if err == nil {
		*a = augment(parsed)
	}
	return err
}

func (a *augment) texts() []string {
	if *a == (augment{}) {
		return nil
	}
	return []string{train.Augment(*a).String()}
}

// ParseNumber reads a finite number or a fraction such as 1/3.
func ParseNumber(s string) (float64, error) {
	s = strings.TrimSpace(s)
	numerator, denominator, isFraction := strings.Cut(s, "/")
	v, err := strconv.ParseFloat(numerator, 64)
	if err == nil && isFraction {
		var d float64
		d, err = strconv.ParseFloat(denominator, 64)
		v /= d
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is beyond the range of float64", s)
	case err != nil:
		return 0, fmt.Errorf("%q is not a number: expected numbers separated by commas, such as 0.5,0.5", s)
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%s is not finite", s)
	}
	return v, nil
}
