// Package config is the options of credence train, which are flags, keys of the
// configuration file and variables of the environment at once.
//
// [Options] is the one table of them: a row names an option, says what it does
// and points to its field in [Settings]; types and defaults are those of the
// fields. [Settings.Field] is an option as a flag, [Settings.Environment] and
// [Settings.File] fill in what flags leave open, [Settings.Show] tells what holds
// and where it comes from, [Settings.WriteRecord] writes what repeats a run,
// [Settings.WriteTemplate] a file to start from, and [WriteSchema] publishes the
// keys as a JSON Schema, for editors. Other verbs take some of the rows.
//
// A file is read strictly: a key that is unknown, given twice or of the wrong
// type is an [Error] with its place and, where there is one, the nearest key and
// its default. What is written reads back the same.
package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// valueType is what the value of an option is, or each element of a list.
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

// String says what is expected, with an article.
func (t valueType) String() string {
	return [...]string{"a text", "true or false", "a whole number", "a whole number from 0", "a number",
		"a number or a fraction such as 1/3", "a size such as 500MB or 2GB"}[t]
}

// Verb is a set of verbs of the command line.
type Verb uint8

// The verbs that take options of the table.
const (
	Train Verb = 1 << iota // with init and config show
	Predict
	Evaluate // with report
	Check
)

// Option is one row of the table: a flag, and a key of the configuration file.
type Option struct {
	Name    string
	Help    string   // one line; what stands for the value is in backquotes
	Choices []string // the only values, if not nil

	verbs Verb
	at    func(*Settings) any // a pointer to the field, or a custom value
	fit   bool                // a field of train.Options, where zero leaves the choice to the fit
	open  bool                // left out, it is chosen from the data
	none  bool                // 0 means none, which the field says by -1
	valid func(float64) bool  // the numbers that make sense, if not nil
	want  string              // what is expected, where the type does not say it

	// Found from the field, and from what new settings hold.
	typ      valueType
	list     bool
	fallback []string // what holds if the option is left out; nil: nothing, or what suits the data
}

// Of reports whether one of the verbs takes the option.
func (o *Option) Of(verbs Verb) bool { return o.verbs&verbs != 0 }

// IsBool reports whether the option is true or false.
func (o *Option) IsBool() bool { return o.typ == boolType }

// TypeName returns the type of the value, or of the elements of a list, as JSON Schema names it, or
// size for a number of bytes.
func (o *Option) TypeName() (name string, list bool) {
	return [...]string{"string", "boolean", "integer", "integer", "number", "number", "size"}[o.typ], o.list
}

// Default is what holds if the option is left out, "" for nothing or for what
// suits the data.
func (o *Option) Default() string { return strings.Join(o.fallback, ",") }

// about is the help without the marks of a flag's usage.
func (o *Option) about() string { return strings.ReplaceAll(o.Help, "`", "") }

// expected says what a value has to be.
func (o *Option) expected() string {
	switch {
	case o.want != "":
		return o.want
	case o.Choices != nil:
		return "one of " + strings.Join(o.Choices, ", ")
	}
	return o.typ.String()
}

// left says what holds if the option is left out.
func (o *Option) left() string {
	if o.fallback == nil {
		return "left out, it is chosen from the data"
	}
	return "default " + o.Default()
}

// lookup returns the option of a name, or nil.
func lookup(name string) *Option {
	if i := slices.Index(names, name); i >= 0 {
		return Options[i]
	}
	return nil
}

// source is the kind of place that a value comes from.
type source string

// The sources, from the one that goes before all others to the last resort.
const (
	fromFlag        source = "flag"
	fromEnvironment source = "environment"
	fromFile        source = "file"
	fromDefault     source = "default"
	fromData        source = "data" // chosen by what the data are
)

// origin is where a value comes from.
type origin struct {
	source source
	name   string // of the flag, the environment variable or the file
	line   int    // of the file
}

// place is the flag, the variable or file:line; "" for the other sources.
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
