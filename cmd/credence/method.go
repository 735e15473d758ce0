package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"credence/baseline"
	"credence/internal/config"
	"credence/model"
	"credence/train"
)

// readMethod makes the settings of --method, which is one of its choices, from
// --setting.
func readMethod(o *config.Settings) error {
	m := baseline.Method(o.Method)
	o.Fit.Method, o.Fit.Components, o.Fit.Limit = m, o.Components, o.Limit
	if !o.Rival() {
		if len(o.MethodSettings) > 0 {
			return usagef("--setting %s: method %s has no settings", o.MethodSettings[0], train.Mixture)
		}
		return nil
	}
	for _, name := range []string{"components", "limit"} {
		if o.Given(name) {
			return usagef("--%s is of the mixture, which method %s does not have", name, m)
		}
	}
	o.Fit.Rival = baseline.Options{}
	for _, text := range o.MethodSettings {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return withHint(usagef("--setting %q: expected name=value", text), settingsHint(m))
		}
		if err := o.Fit.Rival.Set(m, strings.TrimSpace(name), strings.TrimSpace(value)); err != nil {
			return withHint(usagef("--setting %s: %w", text, err), settingsHint(m))
		}
	}
	complete := o.Fit.Rival
	complete.Classes = 2 // any number will do
	if _, err := complete.Complete(m); err != nil {
		return withHint(usagef("--setting: %w", err), settingsHint(m))
	}
	return nil
}

// settingsHelp lists the settings of all methods for the help.
func settingsHelp() string {
	var lines []string
	for _, m := range baseline.Methods {
		for i, s := range m.Settings() {
			name := ""
			if i == 0 {
				name = string(m)
			}
			lines = append(lines, fmt.Sprintf("  %-11s %-17s %s", name, s.Name+"="+s.Default, s.Meaning))
		}
	}
	return strings.Join(lines, "\n")
}

// settingsHint lists the settings of a method with their defaults.
func settingsHint(m baseline.Method) string {
	var list []string
	for _, s := range m.Settings() {
		list = append(list, fmt.Sprintf("%s=%s (%s)", s.Name, s.Default, s.Meaning))
	}
	if len(list) == 0 {
		return "leave out --setting"
	}
	return "the settings of " + string(m) + ": " + strings.Join(list, ", ")
}

// meaningOf says what the uncertainty of a model without distributions is.
func meaningOf(m *model.Model) (string, error) {
	r, err := m.Head.NewRival(len(m.Classes))
	if err != nil {
		return "", err
	}
	return r.Meaning(), nil
}

// noInterval is what is said wherever a rival's uncertainty is shown.
func noInterval(m baseline.Method) string {
	if m == baseline.Evidential {
		return "No interval of the class probability is made of it."
	}
	return "There is no interval of the class probability."
}

// tellMeaning writes what a model's uncertainty is, in lines of a width.
func tellMeaning(w io.Writer, m *model.Model, width int) error {
	meaning, err := meaningOf(m)
	if err != nil {
		return err
	}
	var b strings.Builder
	wrapped(&b, "", fmt.Sprintf("method %s: %s %s", m.Head.Kind, meaning, noInterval(m.Head.Method())), width)
	_, err = io.WriteString(w, b.String())
	return err
}

// refuseIntervals refuses flags that ask for what only distributions give.
func refuseIntervals(m *model.Model, f *pflag.FlagSet, names ...string) error {
	method := m.Head.Method()
	if method == "" {
		return nil
	}
	given := slices.DeleteFunc(names, func(name string) bool { return !f.Changed(name) })
	if len(given) == 0 {
		return nil
	}
	return withHint(usagef("--%s asks for the distribution of the class probability: the model, by method %s, has none", given[0], method),
		"leave it out, or train with --method "+string(train.Mixture))
}
