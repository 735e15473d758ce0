package main

import (
	"errors"

	"github.com/spf13/cobra"

	"credence/internal/config"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the configuration of training, and where it comes from",
		Long: `Show the configuration that credence train would use, and what a configuration
file may hold. A file has the names of the flags of credence train as keys, such
as "epochs: 100", and lists as [64, 64]. What the command line gives goes before
the environment (CREDENCE_EPOCHS for --epochs), that before the file, and the
file before defaults and choices made from the data.`,
		Example: `  credence config show --config config.yaml --origin
  credence config schema > config.schema.json`,
	}
	cmd.AddCommand(newConfigShow(), newConfigSchema())
	return cmd
}

// configShowOptions is the command line of credence config show.
type configShowOptions struct {
	trainOptions
	origin bool
	format string
}

func newConfigShow() *cobra.Command {
	o := &configShowOptions{trainOptions: *newTrainOptions()}
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the effective configuration of training",
		Long:  helpText("config"),
		Example: `  credence config show --config config.yaml --origin
  credence config show --data items.csv --votes votes.csv
  credence config show --config runs/first/config.yaml --epochs 50 --format json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.show(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.config, "config", "", "`file` of settings, .yaml")
	f.BoolVar(&o.origin, "origin", false, "tell where each value comes from")
	f.StringVar(&o.format, "format", "yaml", "`form` of the output: yaml or json")
	declare(f, &o.Settings, config.Train)
	return cmd
}

func (o *configShowOptions) show(cmd *cobra.Command) error {
	if o.format != "yaml" && o.format != "json" {
		return usagef("--format %q: expected yaml or json", o.format)
	}
	if err := o.settle(); err != nil {
		return err
	}
	var unread error // why what depends on the data is not known
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
			hint := "what is chosen from the data is shown without a value; credence train would stop at this"
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
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file",
		Long: `Print what a configuration file may hold as a JSON Schema, draft 2020-12, by
which editors complete and check it: every key with its type, its choices, its
default and what it does. In an editor with a YAML language server, save the
schema and let the first line of a configuration name it:

  # yaml-language-server: $schema=config.schema.json

--verbs describes the command line instead, for programs that call it: every
verb with its arguments and flags, and of each flag its type, whether it may be
repeated, its choices and its default.`,
		Example: `  credence config schema > config.schema.json
  credence config schema --verbs`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if verbs {
				return writeVerbs(cmd.OutOrStdout(), cmd.Root())
			}
			return config.WriteSchema(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&verbs, "verbs", false, "describe all verbs and their flags, as JSON")
	return cmd
}
