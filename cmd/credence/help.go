package main

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"
)

// helpFiles are the long help texts, of 80 columns: what a verb does, reads and writes and, below a line
// "Examples:", how it is called.
//
//go:embed help/*.txt
var helpFiles embed.FS

// addHelp gives every command the help and the examples of the file of its name, such as config-show.txt.
func addHelp(root *cobra.Command) {
	eachCommand(root, func(c *cobra.Command) {
		name := strings.ReplaceAll(strings.TrimPrefix(c.CommandPath(), root.Name()+" "), " ", "-")
		text, err := helpFiles.ReadFile("help/" + name + ".txt")
		if err != nil {
			panic(err) // the files are part of the program
		}
		c.Long, c.Example, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n\nExamples:\n")
		c.Long = strings.Replace(c.Long, "{settings}", settingsHelp(), 1)
	})
}

// newVerb returns a command that takes the arguments that follow its name in use, which errors call expected.
func newVerb(use, short, expected string, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	args := arguments(len(strings.Fields(use))-1, strings.HasSuffix(use, "..."), expected)
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

// help prints the help of a command that was called without a verb, or of the
// command that the arguments of "credence help" name.
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
