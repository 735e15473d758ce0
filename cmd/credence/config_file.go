package main

import (
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"credence/internal/config"
)

// A configuration file holds the long flags of credence train, one key each:
//
//	data: items.csv
//	widths: [64, 64]
//
// The flags are the one definition of the keys; what the command line gives
// goes before the environment, and that before the file.

// flagChoices are the only values of some flags.
var flagChoices = map[string][]string{
	"votes-form":   {"auto", "long", "wide", "counts", "fractions"},
	"duplicates":   {"last", "first", "every", "refuse"},
	"layout":       {"vector", "HW", "CHW", "HWC", "DHW", "CDHW", "DHWC"},
	"volume-fit":   {"stretch", "proportions"},
	"volume-scale": {"zscore", "range", "none"},
	"volume-store": {"float16", "uint8", "float32"},
	"method":       methodChoices(),
	"optimizer":    {"adamw", "adam", "sgd"},
	"schedule":     {"constant", "cosine"},
	"init":         {"he", "glorot"},
}

// literalDefault finds the default that a usage names, as in "(default 3)".
var literalDefault = regexp.MustCompile(` ?\(default ([^\s,;()]+)\)`)

// configSchema returns the keys of a configuration file.
func configSchema() config.Schema {
	f := pflag.NewFlagSet("train", pflag.ContinueOnError)
	f.SortFlags = false
	(&trainOptions{}).declare(f)
	var s config.Schema
	f.VisitAll(func(flag *pflag.Flag) {
		_, usage := pflag.UnquoteUsage(flag)
		key := config.Key{Name: flag.Name, Choices: flagChoices[flag.Name], About: strings.ReplaceAll(usage, "\n", " ")}
		_, key.List = flag.Value.(pflag.SliceValue)
		switch flag.Value.Type() {
		case "bool":
			key.Type = config.Bool
		case "int", "intSlice":
			key.Type = config.Whole
		case "uint64":
			key.Type = config.Natural
		case "float64":
			key.Type = config.Number
		case "numbers":
			key.Type = config.Fraction
		case "bytes":
			key.Type = config.Size
		}
		if def := flag.DefValue; def != "" && def != "0" && def != "[]" {
			key.Default = []string{def}
		} else if m := literalDefault.FindStringSubmatch(key.About); m != nil && m[1] != "all" {
			key.Default = m[1:]
			key.About = strings.Replace(key.About, m[0], "", 1)
		}
		s = append(s, key)
	})
	return s
}

// settleFlags fills in the flags that the command line leaves open: from the
// environment, unless it is to be left alone, and from a file, if it has a
// name. It returns where every flag that is then set comes from.
func settleFlags(f *pflag.FlagSet, file string, environment bool) (map[string]config.Origin, error) {
	schema := configSchema()
	origins := map[string]config.Origin{}
	for _, key := range schema {
		flag := f.Lookup(key.Name)
		variable := "CREDENCE_" + strings.ToUpper(strings.ReplaceAll(key.Name, "-", "_"))
		text := os.Getenv(variable)
		switch {
		case flag.Changed:
			origins[key.Name] = config.Origin{Source: config.Flag, Name: key.Name}
		case environment && text != "":
			if err := f.Set(key.Name, text); err != nil {
				return nil, usagef("$%s %q is not %s", variable, text, key.Type)
			}
			origins[key.Name] = config.Origin{Source: config.Environment, Name: variable}
		}
		if value := flag.Value.String(); value != "" && key.Choices != nil && !slices.Contains(key.Choices, value) {
			return nil, usagef("%s %q: expected one of %s", origins[key.Name], value, strings.Join(key.Choices, ", "))
		}
	}
	if file == "" {
		return origins, nil
	}
	entries, err := schema.Read(file, aboutOneCall)
	if err != nil {
		return nil, hinted(err)
	}
	for _, e := range entries {
		if _, given := origins[e.Key.Name]; given {
			continue
		}
		if err := setFlag(f, e.Key.Name, e.Texts); err != nil {
			return nil, e.Errorf("%q is not %s", strings.Join(e.Texts, ","), e.Key.Type)
		}
		origins[e.Key.Name] = e.Origin()
	}
	return origins, nil
}

// hinted gives the advice of an error on a configuration its place.
func hinted(err error) error {
	if e, ok := errors.AsType[*config.Error](err); ok && e.Hint != "" {
		return withHint(err, e.Hint)
	}
	return err
}

// setFlag sets a flag to one value or, where it holds a list, to several.
func setFlag(f *pflag.FlagSet, name string, texts []string) error {
	flag := f.Lookup(name)
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		flag.Changed = true
		return list.Replace(texts)
	}
	return f.Set(name, texts[0])
}

// flagTexts returns what a flag holds, in the form that setFlag takes.
func flagTexts(flag *pflag.Flag) []string {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return append([]string{}, list.GetSlice()...)
	}
	return []string{flag.Value.String()}
}

// writeConfig writes the flags of f that are set in the form that settleFlags
// reads.
func writeConfig(w io.Writer, f *pflag.FlagSet) error {
	var values []config.Value
	schema := configSchema()
	for i := range schema {
		if flag := f.Lookup(schema[i].Name); flag.Changed {
			values = append(values, config.Value{Key: &schema[i], Texts: flagTexts(flag)})
		}
	}
	return config.WriteYAML(w, values, false)
}

// numberList is a flag of numbers that a configuration file holds as a list.
type numberList struct{ numbers }

func (n *numberList) String() string        { return strings.Join(n.GetSlice(), ",") }
func (n *numberList) Append(s string) error { return n.Set(s) }
func (n *numberList) Replace(list []string) error {
	n.changed = false
	for _, s := range list {
		if err := n.Set(s); err != nil {
			return err
		}
	}
	return nil
}

func (n *numberList) GetSlice() []string {
	var list []string
	for _, v := range n.values {
		list = append(list, strconv.FormatFloat(v, 'g', -1, 64))
	}
	return list
}
