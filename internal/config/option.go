package config

import (
	"slices"
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
