package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/config"
	"credence/internal/words"
	"credence/run"
)

// initOptions is the command line of credence init.
type initOptions struct {
	trainOptions
	output string
}

func newInit() *cobra.Command {
	o := &initOptions{trainOptions: *newTrainOptions()}
	cmd := newVerb("init", "Write a commented configuration for your data", "", o.run)
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", run.ConfigFile, "`file` to write; - for standard output")
	declareOverwrite(f, &o.overwrite)
	declare(f, &o.Settings, config.Train)
	return cmd
}

func (o *initOptions) run(cmd *cobra.Command, _ []string) error {
	if err := o.resolve(); err != nil {
		return err
	}
	if len(o.Load.Data) == 0 {
		return withHint(usagef("no --data: expected a file of items with their features"),
			"for example, credence init --data items.csv --votes votes.csv")
	}
	inputs := slices.Concat(o.Load.Data, o.Load.Votes, []string{o.layers})
	if o.From != "" {
		inputs = append(inputs, runFiles(o.From)...)
	}
	if err := checkOutputs(cmd.InOrStdin(), o.overwrite, []string{o.output}, inputs); err != nil {
		return err
	}
	ds, err := o.examine(cmd.Context())
	if err != nil {
		return err
	}
	defer ds.Close()
	newTrainDisplay(&o.trainOptions, cmd).data(ds)
	err = writeFile(cmd, o.output, func(w io.Writer) error { return o.write(w, ds) })
	if err != nil || o.output == "-" {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "\nwritten to %s; next:\n  credence train --config %s --out runs/first\n", o.output, words.Quote(o.output))
	return nil
}

// write writes the content of the configuration file.
func (o *initOptions) write(w io.Writer, ds *dataset.Dataset) error {
	name := words.Quote(o.output)
	if o.output == "-" {
		name = run.ConfigFile
	}
	about := []string{ds.Votes.String() + "."}
	if len(ds.Columns) > 0 {
		about = append(about, dataset.DescribeColumns(ds.Columns)+".")
	}
	b := &bytes.Buffer{}
	fmt.Fprintf(b, "# A configuration of credence train:\n#   credence train --config %s --out runs/first\n#\n", name)
	o.WriteTemplate(b, about)
	_, err := b.WriteTo(w)
	return err
}

// configShowOptions is the command line of credence config show.
type configShowOptions struct {
	trainOptions
	origin bool
	format string
}

func newConfigShow() *cobra.Command {
	o := &configShowOptions{trainOptions: *newTrainOptions()}
	cmd := newVerb("show", "Print the effective configuration of training", "", o.show)
	f := cmd.Flags()
	f.StringVar(&o.config, "config", "", "`file` of settings, .yaml")
	f.BoolVar(&o.origin, "origin", false, "show the origin of each value")
	f.StringVar(&o.format, "format", "yaml", "output `format`: yaml or json")
	declare(f, &o.Settings, config.Train)
	return cmd
}

func (o *configShowOptions) show(cmd *cobra.Command, _ []string) error {
	if err := cmp.Or(oneOf("format", o.format, "yaml", "json"), o.resolve()); err != nil {
		return err
	}
	var unread error // why options that depend on the data are unknown
	if len(o.Load.Data) > 0 {
		ds, err := o.examine(cmd.Context())
		if _, usage := errors.AsType[*usageError](err); usage {
			return err
		}
		if err == nil {
			err = ds.Close()
		}
		unread = err
		if _, hinted := errors.AsType[*hintedError](err); err != nil && !hinted {
			hint := "options chosen from the data are shown without a value; credence train would fail with this error"
			if advice := adviceOn(err, cmd.Flags()); advice != "" {
				hint = advice + "; " + hint
			}
			unread = withHint(err, hint)
		}
	}
	view := config.View{JSON: o.format == "json", Origins: o.origin, Unknown: unread != nil || len(o.Load.Data) == 0}
	if err := o.Show(cmd.OutOrStdout(), view); err != nil {
		return err
	}
	return unread
}

func newConfigSchema() *cobra.Command {
	var verbs bool
	run := func(cmd *cobra.Command, _ []string) error {
		if verbs {
			return writeVerbs(cmd.OutOrStdout(), wholeTree())
		}
		return config.WriteSchema(cmd.OutOrStdout())
	}
	cmd := newVerb("schema", "Print the JSON Schema of the configuration file", "", run)
	cmd.Flags().BoolVar(&verbs, "verbs", false, "describe all verbs and their flags, as JSON")
	return cmd
}

// The JSON output of config schema --verbs.
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
		Default string   `json:"default"`            // "" if there is none or it is chosen from the data
		OldName string   `json:"old_name,omitempty"` // deprecated
		Help    string   `json:"help"`
	}
)

// flagTypes has the types of flags that are not in the table of options, and whether they are lists.
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
			if f.Name != "help" && f.Name != "help-all" && !f.Hidden {
				v.Flags = append(v.Flags, describeFlag(f))
			}
		}
		c.LocalFlags().VisitAll(add)
		c.InheritedFlags().VisitAll(add)
		info.Verbs = append(info.Verbs, v)
	})
	slices.SortFunc(info.Verbs, func(a, b verbInfo) int { return cmp.Compare(a.Name, b.Name) })
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(info)
}

// oldName annotates a flag of one verb with its former name, which works for one release, with a warning.
const oldName = "credence_old_name"

// describeFlag returns the description of a flag, for programs.
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
	for old, now := range renamedFlags {
		if now == f.Name {
			info.OldName = old
		}
	}
	if old := f.Annotations[oldName]; old != nil {
		info.OldName = old[0]
	}
	if f.DefValue != "false" && f.DefValue != "[]" {
		info.Default = f.DefValue
	}
	return info
}
