package main

import (
	"errors"

	"github.com/spf13/cobra"

	"credence/internal/config"
)

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
	f.BoolVar(&o.origin, "origin", false, "tell where each value comes from")
	f.StringVar(&o.format, "format", "yaml", "`form` of the output: yaml or json")
	declare(f, &o.Settings, config.Train)
	return cmd
}

func (o *configShowOptions) show(cmd *cobra.Command, _ []string) error {
	if err := oneOf("format", o.format, "yaml", "json"); err != nil {
		return err
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
	run := func(cmd *cobra.Command, _ []string) error {
		if verbs {
			return writeVerbs(cmd.OutOrStdout(), cmd.Root())
		}
		return config.WriteSchema(cmd.OutOrStdout())
	}
	cmd := newVerb("schema", "Print the JSON Schema of the configuration file", "", run)
	cmd.Flags().BoolVar(&verbs, "verbs", false, "describe all verbs and their flags, as JSON")
	return cmd
}
