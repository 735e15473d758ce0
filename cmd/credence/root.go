package main

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/internal/words"
)

// stage is a group of verbs in the help.
type stage struct {
	title string // "" for verbs that are not listed
	verbs []verb
}

// verb is a command below the root: its name, by which it is found before it is built, and what builds it.
type verb struct {
	name string
	new  func() *cobra.Command
}

// stages has all verbs, in the order of the help.
func stages() []stage {
	return []stage{
		{"Prepare", []verb{
			{"init", newInit},
			{"check", newCheck},
			{"data", func() *cobra.Command {
				return newGroup("data", "Fetch or generate data sets; turn clinical scores into votes",
					newDataMNIST(), newDataADNISynthetic(), newDataLabels())
			}},
			{"embed", newEmbed},
			{"formats", func() *cobra.Command {
				return newVerb("formats", "Describe the files of items and votes that are read", "", help)
			}},
			{"network", func() *cobra.Command {
				return newVerb("network", "Describe how to write a network for --network", "", help)
			}},
			{"config", func() *cobra.Command {
				return newGroup("config", "Show the configuration of training and the origin of each value",
					newConfigShow(), newConfigSchema())
			}},
		}},
		{"Train", []verb{{"train", newTrain}, {"join", newJoin}, {"verify", newVerify}, {"demo", newDemo}}},
		{"Judge", []verb{{"evaluate", newEvaluate}, {"report", newReport}, {"inspect", newInspect}, {"raters", newRaters},
			{"judges", newJudges}, {"suspects", newSuspects}}},
		{"Use", []verb{{"predict", newPredict}, {"next", newNext}, {"monitor", newMonitor}, {"recalibrate", newRecalibrate},
			{"export", newExport}, {"mixture", newMixture}}},
		{"Operate", []verb{
			{"serve", newServe},
			{"health", newHealth},
			{"bench", func() *cobra.Command {
				return newGroup("bench", "Measure the speed of this machine",
					newBenchIntervals(), newBenchKernels(), newBenchServe(), newBenchTrain())
			}},
			{"version", newVersion},
		}},
		{"", []verb{{"reproduce", newReproduce}, {workerName, newWorker}}},
	}
}

// newRoot assembles the command tree for args. If they begin with a verb, the tree has no other: building all verbs takes
// longer than some of them run. All of them are needed for help, completion and suggestions only.
func newRoot(args ...string) *cobra.Command {
	root := &cobra.Command{
		Use:           "credence",
		Short:         "Classifiers that report how certain each probability is",
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "FlagUsages", "FlagUsagesWrapped 100"))
	root.SetHelpTemplate(helpTemplate)
	cobra.EnableCommandSorting = false // verbs are listed in the order of stages
	root.SetVersionTemplate("credence {{.Version}}\n")
	// Declared here, because cobra's own flag would also take -v.
	root.Flags().Bool("version", false, "print the version")
	addKernelFlag(root)
	root.SetFlagErrorFunc(flagError)

	all := stages()
	one := func(v verb) bool { return len(args) > 0 && v.name == args[0] }
	found := slices.ContainsFunc(all, func(s stage) bool { return slices.ContainsFunc(s.verbs, one) })
	for _, s := range all {
		if s.title != "" {
			root.AddGroup(&cobra.Group{ID: s.title, Title: s.title + ":"})
		}
		for _, v := range s.verbs {
			if found && !one(v) {
				continue
			}
			cmd := v.new()
			cmd.GroupID = s.title
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID("Operate")
	root.SetCompletionCommandGroupID("Operate")
	addHelp(root)
	return root
}

// wholeTree returns the tree of all verbs as execute prepares it, for verbs that describe others.
func wholeTree() *cobra.Command {
	root := newRoot()
	addDefaults(root)
	useRenamed(root, nil)
	return root
}

// addDefaults adds cobra's help and completion verbs, which cobra itself would
// add too late for them to be treated like every other verb. Commands that only
// group verbs get a function that checks that the verb exists, then prints help.
// The output of root must be set before, because completion keeps it.
func addDefaults(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	eachCommand(root, func(c *cobra.Command) {
		c.Flags().SortFlags = false // keep the order of declaration
		switch {
		case c.Name() == "help":
			c.Run, c.RunE = nil, help
		case c.HasSubCommands() && !c.Runnable():
			c.Args, c.RunE = noUnknownVerb, help
		}
	})
}

// eachCommand calls f on c and on every command below it.
func eachCommand(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		eachCommand(sub, f)
	}
}

// noUnknownVerb returns an error if arguments are left where a verb of cmd was
// expected. cobra checks this at the root only; elsewhere it would print help and
// report success.
func noUnknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := usagef("unknown command %q", cmd.CommandPath()+" "+args[0])
	hint := verbHint(cmd, args[0])
	if hint == "" {
		cmd.SuggestionsMinimumDistance = 2 // letters to change
		hint = didYouMean(cmd, cmd.SuggestionsFor(args[0]))
	}
	if hint == "" {
		return err
	}
	return withHint(err, hint)
}

// didYouMean returns the hint on commands of cmd with similar names, or "".
func didYouMean(cmd *cobra.Command, names []string) string {
	if len(names) == 0 {
		return ""
	}
	quoted := words.Each(names, func(name string) string { return fmt.Sprintf("%q", cmd.CommandPath()+" "+name) })
	return "did you mean " + strings.Join(quoted, " or ") + "?"
}

// unknownVerb is noUnknownVerb before flags are parsed. Otherwise the error would be
// about the flags of the command that does not exist.
func unknownVerb(root *cobra.Command, args []string) (*cobra.Command, error) {
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasSubCommands() || len(rest) == 0 || strings.HasPrefix(rest[0], "-") || strings.HasPrefix(rest[0], "__") {
		return root, nil // cobra reports the error
	}
	return cmd, noUnknownVerb(cmd, rest[:1])
}

// noArgs is the Args of a verb that has only flags.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, found %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// helpFiles holds the long help texts, of 80 columns: what a verb does, reads and writes and, after a line
// "Examples:", examples of calls.
//
//go:embed help/*.txt
var helpFiles embed.FS

// addHelp sets the help and the examples of every command from the file of its name, such as config-show.txt.
func addHelp(root *cobra.Command) {
	eachCommand(root, func(c *cobra.Command) {
		name := strings.ReplaceAll(strings.TrimPrefix(c.CommandPath(), root.Name()+" "), " ", "-")
		text, err := helpFiles.ReadFile("help/" + name + ".txt")
		if err != nil {
			panic(err) // the files are embedded
		}
		c.Long, c.Example, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n\nExamples:\n")
		if before, after, found := strings.Cut(c.Long, "{settings}"); found {
			c.Long = before + settingsHelp() + after
		}
		c.Annotations = map[string]string{}
		for _, section := range []string{more, last} {
			c.Long, c.Annotations[section], _ = strings.Cut(c.Long, "\n\n"+section+":\n")
		}
	})
}

// newVerb returns a command with the arguments that follow its name in use. Errors describe them as expected.
func newVerb(use, short, expected string, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	n, more := len(strings.Fields(use))-1, strings.HasSuffix(strings.TrimSuffix(use, "]"), "...")
	if strings.HasSuffix(use, "...]") { // none or several
		n--
	}
	args := func(_ *cobra.Command, args []string) error {
		return expect(len(args) == n || len(args) > n && more, "expected %s, found %s", expected, words.Plural(len(args), "argument"))
	}
	if expected == "" {
		args = noArgs
	}
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: run}
}

// newGroup returns a command that only groups verbs.
func newGroup(name, short string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short}
	cmd.AddCommand(verbs...)
	return cmd
}

// help prints the help of a command that was called without a verb, or for
// "credence help" that of the command named by the arguments.
func help(cmd *cobra.Command, args []string) error {
	if cmd.Name() != "help" {
		return cmd.Help()
	}
	topic, rest, err := cmd.Root().Find(args)
	if err != nil {
		return asUsage(err)
	}
	if err := noUnknownVerb(topic, rest); err != nil {
		return err
	}
	topic.InitDefaultHelpFlag()
	return topic.Help()
}

// newReproduce returns the command that points to the new place of the studies. It stays for one release.
func newReproduce() *cobra.Command {
	return &cobra.Command{
		Use:                "reproduce",
		Short:              "The studies are a program of their own: go run ./studies/reproduce",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			line := "go run ./studies/reproduce"
			for _, a := range args {
				line += " " + words.Quote(a)
			}
			return withHint(usagef("the studies have moved to a program of their own"), "in a clone of the project: "+line)
		},
	}
}

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
	all := false
	cmd.Flags().BoolFunc("help-all", "show all flags and details", func(string) error {
		if text := cmd.Annotations[more]; text != "" && !all {
			cmd.Long += "\n\n" + text
		}
		all = true
		return cmd.Flags().Set("help", "true")
	})
	full := cmd.UsageFunc()
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		if all {
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
