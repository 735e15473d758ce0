package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"credence/head"
	"credence/internal/config"
	"credence/internal/printout"
	"credence/internal/words"
	"credence/model"
)

// readMethod makes the method from --method, which is one of its choices, and its settings.
func (o *trainOptions) readMethod() error {
	m, err := head.MethodByName(o.Method)
	if err != nil {
		return usagef("--method: %w", err)
	}
	for flag, value := range map[string]string{"components": fmt.Sprint(o.Components), "limit": fmt.Sprint(o.Limit)} {
		if !o.Given(flag) {
			continue
		}
		if head.SettingValue(m, flag) == "" {
			return usagef("--%s is of the mixture, which method %s does not have", flag, o.Method)
		}
		if m, err = head.WithSetting(m, flag, value); err != nil {
			return usagef("--%s: %w", flag, err)
		}
	}
	for _, text := range o.MethodSettings {
		setting, value, found := strings.Cut(text, "=")
		setting = strings.TrimSpace(setting)
		if !found {
			return withHint(usagef("--setting %q: expected name=value", text), settingsHint(m))
		}
		if slices.Contains(config.OfMixture, setting) && head.SettingValue(m, setting) != "" {
			return usagef("--setting %s: give --%s", text, setting)
		}
		next, err := head.WithSetting(m, setting, strings.TrimSpace(value))
		if err != nil {
			return withHint(usagef("--setting %s: %w", text, err), settingsHint(m))
		}
		m = next
	}
	h, err := m.New(head.Task{Classes: 2}) // any number will do
	if err != nil {
		return withHint(usagef("--setting: %w", err), settingsHint(m))
	}
	o.Fit.Head, o.Joint = m, h.Traits().Joint
	return nil
}

// settingsOf returns the settings of a method that have no flags of their own.
func settingsOf(m head.Method) []head.Setting {
	return slices.DeleteFunc(head.Settings(m), func(s head.Setting) bool {
		return slices.Contains(config.OfMixture, s.Name)
	})
}

// settingsHelp lists the settings of all methods for the help.
func settingsHelp() string {
	var lines []string
	for _, m := range head.Methods {
		for i, s := range settingsOf(m) {
			name := ""
			if i == 0 {
				name = m.Name()
			}
			lines = append(lines, fmt.Sprintf("  %-11s %-17s %s", name, s.Name+"="+s.Default, s.Help))
		}
	}
	return strings.Join(lines, "\n")
}

// settingsHint lists the settings of a method with their defaults.
func settingsHint(m head.Method) string {
	list := words.Each(settingsOf(m), func(s head.Setting) string { return fmt.Sprintf("%s=%s (%s)", s.Name, s.Default, s.Help) })
	if len(list) == 0 {
		return "leave out --setting"
	}
	return "the settings of " + m.Name() + ": " + strings.Join(list, ", ")
}

// noInterval follows what a method without distributions says of its uncertainty.
const noInterval = "No interval of the class probability is made of it."

// tellMeaning writes what the uncertainty of a model without distributions is, in lines of a width.
func tellMeaning(w io.Writer, m *model.Model, width int) error {
	meaning := m.Traits().Meaning
	if meaning == "" {
		return nil
	}
	var b strings.Builder
	printout.Wrap(&b, "", fmt.Sprintf("method %s: %s %s", m.Method.Name(), meaning, noInterval), width)
	_, err := io.WriteString(w, b.String())
	return err
}

// refuseIntervals refuses flags that ask for what only distributions give.
func refuseIntervals(m *model.Model, f *pflag.FlagSet, names ...string) error {
	given := slices.DeleteFunc(names, func(name string) bool { return !f.Changed(name) })
	if m.Traits().Joint || len(given) == 0 {
		return nil
	}
	return withHint(usagef("--%s asks for the distribution of the class probability: the model, by method %s, has none", given[0], m.Method.Name()),
		"leave it out, or train with --method "+head.Mixture{}.Name())
}
