package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Sections of a help text that are not shown with the rest: More with --help-all only, Last after the flags.
const (
	more = "More"
	last = "Last"
)

// helpTemplate is cobra's, with the last section below the usage.
const helpTemplate = `{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}{{with index .Annotations "` + last + `"}}
{{.}}
{{end}}`

// flagGroup is a group of flags in a short help.
type flagGroup struct {
	title string
	names []string
}

// shortHelp has --help show the flags of some groups, and adds --help-all, which shows everything.
func shortHelp(cmd *cobra.Command, groups []flagGroup) {
	all := &helpAll{cmd: cmd}
	cmd.Flags().VarPF(all, "help-all", "", "show all flags and details").NoOptDefVal = "true"
	full := cmd.UsageFunc()
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		if all.given {
			return full(cmd)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		for _, g := range groups {
			set := pflag.NewFlagSet("", pflag.ContinueOnError)
			set.SortFlags = false
			for _, name := range g.names {
				set.AddFlag(cmd.Flags().Lookup(name))
			}
			fmt.Fprintf(&b, "\n%s:\n%s", g.title, set.FlagUsagesWrapped(100))
		}
		fmt.Fprintf(&b, "\nUse \"%s --help-all\" for all flags and details.\n", cmd.CommandPath())
		_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
		return err
	})
}

// helpAll is the value of --help-all: setting it asks for help, with everything.
type helpAll struct {
	cmd   *cobra.Command
	given bool
}

func (h *helpAll) String() string { return "" }
func (h *helpAll) Type() string   { return "bool" }

func (h *helpAll) Set(string) error {
	h.given = true
	if text := h.cmd.Annotations[more]; text != "" {
		h.cmd.Long += "\n\n" + text
		h.cmd.Annotations[more] = ""
	}
	return h.cmd.Flags().Set("help", "true")
}

// renamedFlags are the flags that have another name now. The old one works for one release, with a warning.
var renamedFlags = map[string]string{"tell": "fields"}

// useRenamed has root take the old names of flags, and warns of those in args.
func useRenamed(root *cobra.Command, args []string) {
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(cmp.Or(renamedFlags[name], name))
	})
	for _, arg := range args {
		old, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if now := renamedFlags[old]; now != "" && strings.HasPrefix(arg, "--") {
			fmt.Fprintf(root.ErrOrStderr(), "credence: warning: --%s is deprecated: use --%s\n", old, now)
		}
	}
}
