package config

import (
	"cmp"
	"strconv"
)

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
