package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/config"
)

// What config schema --verbs prints, under its JSON names.
type (
	verbsInfo struct {
		Version string     `json:"version"`
		Verbs   []verbInfo `json:"verbs"`
	}
	verbInfo struct {
		Name      string     `json:"name"` // such as "config show"
		Summary   string     `json:"summary"`
		Arguments string     `json:"arguments"` // such as "RUN ITEMS..."
		Flags     []flagInfo `json:"flags"`
	}
	flagInfo struct {
		Name    string   `json:"name"`
		Short   string   `json:"short,omitempty"`
		Type    string   `json:"type"` // boolean, integer, number, string, size or duration
		List    bool     `json:"list"` // may be repeated
		Choices []string `json:"choices,omitempty"`
		Default string   `json:"default"` // "" for nothing, or what is chosen from the data
		Help    string   `json:"help"`
	}
)

// flagTypes are the types of flags that are not of the table of options, and whether they are lists.
var flagTypes = map[string]flagInfo{
	"bool": {Type: "boolean"}, "int": {Type: "integer"}, "int64": {Type: "integer"}, "uint64": {Type: "integer"},
	"float64": {Type: "number"}, "numbers": {Type: "number", List: true}, "stringSlice": {Type: "string", List: true},
	"stringArray": {Type: "string", List: true}, "intSlice": {Type: "integer", List: true}, "duration": {Type: "duration"},
}

// writeVerbs describes every verb and its flags, for programs that call them.
func writeVerbs(w io.Writer, root *cobra.Command) error {
	info := verbsInfo{Version: buildVersion()}
	eachCommand(root, func(c *cobra.Command) {
		name := strings.TrimPrefix(c.CommandPath(), root.Name()+" ")
		if c == root || c.Hidden || strings.HasPrefix(name, "completion") || !c.Runnable() || c.HasSubCommands() {
			return
		}
		_, arguments, _ := strings.Cut(strings.TrimSuffix(c.Use, " [flags]"), " ")
		v := verbInfo{Name: name, Summary: c.Short, Arguments: arguments, Flags: []flagInfo{}}
		add := func(f *pflag.Flag) {
			if f.Name != "help" && !f.Hidden {
				v.Flags = append(v.Flags, describeFlag(f))
			}
		}
		c.LocalFlags().VisitAll(add)
		c.InheritedFlags().VisitAll(add)
		info.Verbs = append(info.Verbs, v)
	})
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(info)
}

func describeFlag(f *pflag.Flag) flagInfo {
	info, ok := flagTypes[f.Value.Type()]
	if !ok {
		info = flagInfo{Type: "string"}
	}
	if field, ok := f.Value.(*config.Field); ok {
		info.Type, info.List = field.TypeName()
		info.Choices = field.Choices
	}
	_, info.Help = pflag.UnquoteUsage(f)
	info.Name, info.Short = f.Name, f.Shorthand
	if f.DefValue != "false" && f.DefValue != "[]" {
		info.Default = f.DefValue
	}
	return info
}
