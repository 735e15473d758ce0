package config

import "strconv"

// Source is the kind of place that a value comes from.
type Source string

// The sources, from the one that goes before all others to the last resort.
const (
	Flag        Source = "flag"
	Environment Source = "environment"
	File        Source = "file"
	Default     Source = "default"
	Data        Source = "data" // chosen by what the data are
)

// Origin is where a value comes from.
type Origin struct {
	Source Source
	Name   string // of the flag, the environment variable or the file
	Line   int    // of the file
}

// Place is the flag, the variable or file:line; "" for the other sources.
func (o Origin) Place() string {
	switch o.Source {
	case Flag:
		return "--" + o.Name
	case Environment:
		return "$" + o.Name
	case File:
		return o.Name + ":" + strconv.Itoa(o.Line)
	}
	return ""
}

// String reads like "--epochs", "$CREDENCE_EPOCHS", "config.yaml:3", "default"
// or "chosen from the data".
func (o Origin) String() string {
	switch o.Source {
	case Default:
		return "default"
	case Data:
		return "chosen from the data"
	}
	return o.Place()
}
