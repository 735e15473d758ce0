package config

import (
	"io"
	"os"
	"slices"
	"strings"

	"credence/dataset"
	"credence/head"
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
func (s *Settings) votes() *dataset.VotesOptions      { return &s.Load.VotesOptions }
func (s *Settings) volumes() *dataset.Preparation     { return &s.Load.FeatureOptions.Volume.Preparation }

// Field returns an option of s as a flag value.
func (s *Settings) Field(o *Option) *Field { return &Field{o, s} }

func (s *Settings) from(name string, o origin) {
	if s.origins == nil {
		s.origins = map[string]origin{}
	}
	s.origins[name] = o
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
		if err := e.put(s, e.Texts, false); err != nil {
			return e.errorf(" %w", err)
		}
		s.from(e.Name, e.origin)
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
		if err := lookup(name).put(s, texts, false); err != nil {
			return err
		}
		s.from(name, origin{source: fromData})
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
