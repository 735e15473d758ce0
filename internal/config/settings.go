package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"credence/dataset"
	"credence/head"
	"credence/internal/words"
	"credence/internal/yamltext"
	"credence/train"
)

// Settings holds the values of all options: how data are read, and how a model
// is fitted to them.
type Settings struct {
	Load             dataset.LoadOptions
	Fit              train.Options
	Method           string   // name of a method of package head
	Joint            bool     // whether the method uses an item's votes jointly
	MethodSettings   []string // name=value
	Components       int      // of the mixture
	Limit            float64  // of the mixture
	Test, Validation float64  // shares of the items
	Threads          int      // 0 for all cores
	Device           string   // device that networks run on
	From             string   // run to start from
	Inside           bool     // tables may only name images in their own folder

	origins map[string]origin // by option; only options that are set
}

// New returns the default settings.
func New() *Settings {
	s := &Settings{Fit: train.Options{Seed: 1}, Method: head.Mixture{}.Name(), Joint: true}
	s.features().Memory = 2e9
	s.features().Volume = dataset.VolumeOptions{
		Size: [3]int{96, 96, 80},
		Preparation: dataset.Preparation{
			Fit: "stretch", Scale: "zscore", Low: 0.5, High: 99.5, Store: "float16",
		},
	}
	return s
}

func (s *Settings) features() *dataset.FeatureOptions { return &s.Load.FeatureOptions }
func (s *Settings) backbone() *dataset.BackboneOptions {
	return &s.Load.FeatureOptions.Backbone
}
func (s *Settings) votes() *dataset.VotesOptions  { return &s.Load.VotesOptions }
func (s *Settings) volumes() *dataset.Preparation { return &s.Load.FeatureOptions.Volume.Preparation }

// Field returns an option of s as a flag value.
func (s *Settings) Field(o *Option) *Field { return &Field{o, s} }

// put sets an option and records the origin of its value. A list is appended to if the origin is the same as before.
func (s *Settings) put(o *Option, texts []string, from origin) error {
	if err := o.put(s, texts, s.origins[o.Name] == from); err != nil {
		return err
	}
	if s.origins == nil {
		s.origins = map[string]origin{}
	}
	s.origins[o.Name] = from
	return nil
}

// Given reports whether an option was set by the user or found in the data.
func (s *Settings) Given(name string) bool { return s.origins[name].source != "" }

// OfMixture lists the settings of the mixture that have options of their own.
var OfMixture = []string{"components", "limit"}

// LoadOptions returns the options for loading the data. Options that apply to
// both features and votes are copied to both.
func (s *Settings) LoadOptions() dataset.LoadOptions {
	o := s.Load
	o.FeatureOptions.AnyPath = !s.Inside
	o.VotesOptions.NA, o.VotesOptions.Memory = o.FeatureOptions.NA, o.FeatureOptions.Memory
	o.VotesOptions.Merge, o.VotesOptions.FoldCase = o.FeatureOptions.Merge, o.FeatureOptions.FoldCase
	o.VotesOptions.Ignore = o.FeatureOptions.Ignore
	if o.VotesOptions.Sheet == "" { // another workbook may have other sheets
		o.VotesOptions.Sheet, o.VotesOptions.SheetOptional = o.FeatureOptions.Sheet, len(o.Votes) > 0
	}
	// An array has no id column: its rows are in the order of the items.
	if o.VotesOptions.ItemColumn == "" && !slices.ContainsFunc(o.Votes, dataset.IsArray) {
		o.VotesOptions.ItemColumn = o.FeatureOptions.ItemColumn
	}
	return o
}

// Environment sets options that no flag has set from environment variables such
// as CREDENCE_EPOCHS.
func (s *Settings) Environment() error {
	for _, o := range Options {
		variable := "CREDENCE_" + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_"))
		from := origin{source: fromEnvironment, name: variable}
		text := os.Getenv(from.name)
		if text == "" || s.Given(o.Name) {
			continue
		}
		if err := s.Field(o).set(text, from); err != nil {
			return &Error{Msg: from.place() + " " + err.Error()}
		}
	}
	return nil
}

// File sets options that neither flags nor the environment have set from a
// configuration file, except for the named ones.
func (s *Settings) File(path string, except ...string) error {
	text, err := yamltext.ReadFile(path)
	if err != nil {
		return err
	}
	entries, err := parse(path, text)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if s.Given(e.Name) || slices.Contains(except, e.Name) {
			continue
		}
		if err := s.put(e.Option, e.Texts, e.origin); err != nil {
			return e.errorf(" %w", err)
		}
	}
	return nil
}

// Recognized sets the columns, the form and the classes that were not given to
// those found in the data, so that the record of the run names them and the data
// are read the same way again.
func (s *Settings) Recognized(ds *dataset.Dataset) error {
	votes := ds.Votes
	found := map[string][]string{
		"votes-form": {votes.Form.String()}, "label": {votes.LabelColumn}, "rater": {votes.RaterColumn},
		"classes": ds.Classes,
	}
	item := ds.ItemColumn()
	// --item names a column of both files unless --votes-item does so too.
	switch {
	case votes.ItemColumn == item:
		found["item"] = []string{item}
	case votes.ItemColumn != "":
		found["item"], found["votes-item"] = []string{item}, []string{votes.ItemColumn}
	}
	for name, texts := range found {
		if s.Given(name) || texts[0] == "" {
			continue
		}
		if err := s.put(lookup(name), texts, origin{source: fromData}); err != nil {
			return err
		}
	}
	return nil
}

// Complete copies the options that a fit has chosen.
func (s *Settings) Complete(chosen train.Options) {
	if s.Given("augment") && chosen.Augment == (train.Augment{}) {
		chosen.Augment = s.Fit.Augment // "none" was requested explicitly
	}
	s.Fit = chosen
	s.Method, s.MethodSettings = chosen.Head.Name(), nil
	for _, m := range head.Settings(chosen.Head) {
		if !slices.Contains(OfMixture, m.Name) {
			s.MethodSettings = append(s.MethodSettings, m.Name+"="+head.SettingValue(chosen.Head, m.Name))
		}
	}
	if m, ok := chosen.Head.(head.Mixture); ok {
		s.Components, s.Limit = m.Components, m.Limit
	}
}

// setting is the value of an option and its origin.
type setting struct {
	*Option
	Texts  []string // one, or the elements of a list; nil if it depends on data that are unknown
	origin origin
}

// set reports whether the option was given, found in the data or chosen by the fit.
func (s *Settings) set(o *Option) bool { return s.Given(o.Name) || o.fit && !o.zero(s) }

// WriteRecord writes the options that are set in the format that File reads.
func (s *Settings) WriteRecord(w io.Writer) error {
	var list []setting
	for _, o := range Options {
		if s.set(o) {
			list = append(list, setting{Option: o, Texts: o.texts(s)})
		}
	}
	return writeYAML(w, list, false)
}

// View selects how Show prints settings.
type View struct {
	JSON    bool // JSON instead of YAML
	Origins bool // include the origin of each value
	Unknown bool // the data are unknown, so options chosen from them have no value
}

// Show writes the effective configuration: options that are set, and defaults.
func (s *Settings) Show(w io.Writer, v View) error {
	write := writeYAML
	if v.JSON {
		write = writeJSON
	}
	return write(w, s.effective(v.Unknown), v.Origins)
}

// effective returns the effective configuration: options that are set, defaults
// and, without a value, options chosen from data that are unknown.
func (s *Settings) effective(unknown bool) []setting {
	var list []setting
	for _, o := range Options {
		v := setting{Option: o, origin: s.origins[o.Name]}
		switch {
		case slices.Contains(OfMixture, o.Name) && s.Method != head.Mixture{}.Name():
			continue // only the mixture has it
		case s.set(o):
			v.Texts = o.texts(s)
			if v.origin.source == "" {
				v.origin.source = fromData
				// Method settings that were not given are defaults.
				if slices.Equal(v.Texts, o.fallback) || o.Name == "setting" {
					v.origin.source = fromDefault
				}
			}
		case o.fallback != nil:
			v.Texts, v.origin.source = o.fallback, fromDefault
		case o.open && unknown:
			v.origin.source = fromData
		default:
			continue
		}
		list = append(list, v)
	}
	return list
}

// Error is an error in a configuration file, with its position, or in the environment.
type Error struct {
	File         string // "" for the environment
	Line, Column int    // from 1; 0 for the file as a whole
	Msg          string
	Hint         string // how to fix it, if known
}

// Error reads like "config.yaml:2:1: unknown key \"epoch\"".
func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Msg
	case e.Line == 0:
		return fmt.Sprintf("reading %s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// entry is a key of a file with its value. Its origin is the line of the key.
type entry struct {
	setting
	line, column int // position of the value
}

// errorf returns an error at the value. The message is prefixed with the key.
func (e *entry) errorf(format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{File: e.origin.name, Line: e.line, Column: e.column, Msg: e.Name + err.Error()}
}

// commandLineOnly lists the flags that cannot be keys of a configuration file.
var commandLineOnly = []string{"out", "config", "resume", "overwrite", "quiet", "json", "help", "kernel"}

// parse parses the text of a file; name is the file name in errors. Keys without a value count as unset.
func parse(name string, text []byte) (entries []entry, err error) {
	defer func() {
		if e, ok := errors.AsType[*yamltext.Error](err); ok {
			err = &Error{File: name, Line: e.Line, Column: e.Column, Msg: e.Msg}
		}
	}()
	defer yamltext.Recover(&err)
	keys, err := topLevel(name, text)
	if err != nil {
		return nil, err
	}
	lines := map[string]int{}
	for _, k := range keys {
		at := k.Key.GetToken().Position
		word := scalar(k.Key)
		bad := &Error{File: name, Line: at.Line, Column: at.Column}
		option := lookup(word)
		line, twice := lines[word]
		switch {
		case slices.Contains(commandLineOnly, word):
			bad.Msg = word + " is a command-line flag, not a key of a configuration file"
		case option == nil:
			bad.Msg = fmt.Sprintf("unknown key %q", word)
			if near := lookup(words.Nearest(strings.ReplaceAll(word, "_", "-"), names)); near != nil {
				bad.Hint = fmt.Sprintf("did you mean %q (%s)?", near.Name, near.left())
			}
		case twice:
			bad.Msg = fmt.Sprintf("duplicate key %s, first in line %d", word, line)
		}
		if bad.Msg != "" {
			return nil, bad
		}
		lines[word] = at.Line
		if _, empty := k.Value.(*ast.NullNode); empty || k.Value == nil {
			continue
		}
		p := k.Value.GetToken().Position
		e := entry{setting{Option: option, origin: origin{fromFile, name, at.Line}}, p.Line, p.Column}
		if err := e.read(k.Value); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// topLevel returns the keys of a file with their values.
func topLevel(name string, text []byte) ([]*ast.MappingValueNode, error) {
	bodies, err := yamltext.Parse(text, true)
	if err != nil {
		return nil, err
	}
	var keys []*ast.MappingValueNode
	for _, body := range bodies {
		switch body := body.(type) {
		case nil, *ast.CommentGroupNode, *ast.NullNode:
		case *ast.MappingNode:
			keys = append(keys, body.Values...)
		case *ast.MappingValueNode:
			keys = append(keys, body)
		default:
			p := body.GetToken().Position
			return nil, &Error{File: name, Line: p.Line, Column: p.Column,
				Msg: `expected keys and values such as "epochs: 100"`}
		}
	}
	return keys, nil
}

// read sets the texts from a plain value or a list of plain values.
func (e *entry) read(n ast.Node) error {
	switch n := n.(type) {
	case *ast.SequenceNode:
		if !e.list {
			return e.errorf(": expected one value, found a list")
		}
		e.Texts = []string{}
		for _, v := range n.Values {
			if _, ok := v.(ast.ScalarNode); !ok {
				return e.errorf(": expected a list of plain values")
			}
			e.Texts = append(e.Texts, scalar(v))
		}
	case ast.ScalarNode:
		e.Texts = []string{scalar(n)}
		if e.list && e.typ == textType && e.Texts[0] == "" {
			e.Texts = []string{} // as for a flag, an empty text is an empty list
		}
	default:
		return e.errorf(": expected a plain value")
	}
	if err := e.put(&Settings{}, e.Texts, false); err != nil {
		bad := e.errorf(" %w", err)
		if near := words.Nearest(e.Texts[0], e.Choices); near != "" {
			bad.Hint = fmt.Sprintf("did you mean %q (%s)?", near, e.left())
		}
		return bad
	}
	return nil
}

// scalar returns the text of a plain value, without quotes.
func scalar(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	return strings.TrimSpace(n.GetToken().Value)
}
