// Package config defines the options of credence train. Each option is a flag, a
// key of the configuration file and an environment variable.
//
// [Options] is the table of all options: a row has a name, a help text and a
// function that points to the field in [Settings]; types and defaults come from
// the fields. [Settings.Field] returns an option as a flag value,
// [Settings.Environment] and [Settings.File] set what flags leave unset,
// [Settings.Show] prints the effective values and where they come from,
// [Settings.WriteRecord] writes the file that repeats a run,
// [Settings.WriteTemplate] writes a commented file to start from, and
// [WriteSchema] writes the keys as a JSON Schema, for editors. Other verbs use
// some of the rows.
//
// Files are parsed strictly: a key that is unknown, duplicate or of the wrong
// type is an [Error] with its position and, if one is close, the nearest key and
// its default. Files that are written read back to the same settings.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"credence/train"
)

// valueType is the type of an option's value, or of each element of a list.
type valueType uint8

// The types of values.
const (
	textType     valueType = iota
	boolType               // true or false
	wholeType              // an integer
	naturalType            // an integer that is not negative
	numberType             // a finite number
	fractionType           // a finite number, also as text like 1/3
	sizeType               // a number of bytes, also as text like 2GB
)

// types describes each type: the expected value for error messages, the JSON Schema name that [Option.TypeName]
// returns, the JSON types of a value and further keywords. Texts may look like numbers: classes 1 to 5.
var types = [...]struct {
	expected, name string
	json           []string
	more           ordered
}{
	textType:    {"a text", "string", []string{"string", "number", "boolean"}, nil},
	boolType:    {"true or false", "boolean", []string{"boolean"}, nil},
	wholeType:   {"a whole number", "integer", []string{"integer"}, nil},
	naturalType: {"a whole number of at least 0", "integer", []string{"integer"}, ordered{{"minimum", 0}}},
	numberType:  {"a number", "number", []string{"number"}, nil},
	fractionType: {"a number or a fraction such as 1/3", "number", []string{"number", "string"},
		ordered{{"pattern", `^\s*[-+0-9.eE]+(/[-+0-9.eE]+)?\s*$`}}},
	sizeType: {"a size such as 500MB or 2GB", "size", []string{"integer", "string"},
		ordered{{"pattern", `^\s*[0-9.eE+]+\s*([TGMkK]?B)?\s*$`}}},
}

// Verb is a set of command-line verbs.
type Verb uint8

// The verbs that have options of the table.
const (
	Train Verb = 1 << iota // with init and config show
	Predict
	Evaluate // with report
	Check
	Embed
)

// Option is one row of the table: a flag, and a key of the configuration file.
type Option struct {
	Name    string
	Help    string   // one line; the placeholder for the value is in backquotes
	Choices []string // the only values, if not nil

	verbs Verb
	at    func(*Settings) any // a pointer to the field, or a custom value
	fit   bool                // a field of train.Options, where zero leaves the choice to the fit
	open  bool                // if unset, it is chosen from the data
	none  bool                // 0 means none, which the field stores as -1
	valid domain              // the range of a number
	want  string              // the expected value for error messages, if nothing else describes it

	// Derived from the field and from its value in new settings.
	typ      valueType
	list     bool
	fallback []string // the default; nil if there is none or it is chosen from the data
}

// Of reports whether one of the verbs has the option.
func (o *Option) Of(verbs Verb) bool { return o.verbs&verbs != 0 }

// TypeName returns the type of the value, or of the elements of a list, as JSON Schema names it, or
// size for a number of bytes.
func (o *Option) TypeName() (name string, list bool) {
	return types[o.typ].name, o.list
}

// Default returns the default value, or "" if there is none or it is chosen from
// the data.
func (o *Option) Default() string { return strings.Join(o.fallback, ",") }

// about returns the help without the backquotes of a flag's usage.
func (o *Option) about() string { return strings.ReplaceAll(o.Help, "`", "") }

// expected describes the valid values.
func (o *Option) expected() string {
	if o.Choices != nil {
		return "one of " + strings.Join(o.Choices, ", ")
	}
	return cmp.Or(o.want, o.valid.want, types[o.typ].expected)
}

// left describes what applies if the option is unset.
func (o *Option) left() string {
	if o.fallback == nil {
		return "by default, chosen from the data"
	}
	return "default " + o.Default()
}

// lookup returns the option with the given name, or nil.
func lookup(name string) *Option {
	if i := slices.Index(names, name); i >= 0 {
		return Options[i]
	}
	return nil
}

// source is the kind of place that a value comes from.
type source string

// The sources, in order of precedence.
const (
	fromFlag        source = "flag"
	fromEnvironment source = "environment"
	fromFile        source = "file"
	fromDefault     source = "default"
	fromData        source = "data" // chosen from the data
)

// origin is where a value comes from.
type origin struct {
	source source
	name   string // name of the flag, the environment variable or the file
	line   int    // line number in the file
}

// place returns the flag, the variable or file:line, or "" for other sources.
func (o origin) place() string {
	switch o.source {
	case fromFlag:
		return "--" + o.name
	case fromEnvironment:
		return "$" + o.name
	case fromFile:
		return o.name + ":" + strconv.Itoa(o.line)
	}
	return ""
}

// String reads like "--epochs", "$CREDENCE_EPOCHS", "config.yaml:3", "default"
// or "chosen from the data".
func (o origin) String() string {
	if o.source == fromData {
		return "chosen from the data"
	}
	return cmp.Or(o.place(), string(o.source))
}

// byteSize is a number of bytes like 500MB or 2GB; 0 means unset.
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
		return errType
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

// extent holds the sides of a grid, like 64x64.
type extent []*int

func (e extent) set(texts []string) error {
	parts := strings.Split(texts[0], "x")
	if len(parts) != len(e) {
		return errType
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return errType
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

// percentiles is a pair of a lower and an upper percentile.
type percentiles [2]*float64

func (p percentiles) set(texts []string) error {
	var values []float64
	for _, part := range split(texts) {
		x, err := ParseNumber(part)
		if err != nil {
			return errType
		}
		values = append(values, x)
	}
	if len(values) != 2 || !(0 <= values[0] && values[0] < values[1] && values[1] <= 100) {
		return errType
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
		return errType
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

// augment is a list of random transformations like shift=2,flip, or none.
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

// ParseNumber parses a finite number, a fraction such as 1/3 or a percentage such as 95%.
func ParseNumber(s string) (float64, error) {
	s = strings.TrimSpace(s)
	if percent, ok := strings.CutSuffix(s, "%"); ok && !strings.ContainsAny(percent, "/%") {
		x, err := ParseNumber(percent)
		if err != nil {
			return 0, err
		}
		return strconv.ParseFloat(strconv.FormatFloat(x/100, 'g', 15, 64), 64) // 0.07, not 0.07000000000000001
	}
	numerator, denominator, isFraction := strings.Cut(s, "/")
	v, err := strconv.ParseFloat(numerator, 64)
	if err == nil && isFraction {
		var d float64
		d, err = strconv.ParseFloat(denominator, 64)
		v /= d
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is out of the range of float64", s)
	case err != nil:
		return 0, fmt.Errorf("expected numbers separated by commas, such as 0.5,0.5, found %q", s)
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("expected a finite number, found %s", s)
	}
	return v, nil
}
