package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"credence/dataset"
	"credence/internal/atomicfile"
	"credence/internal/config"
	"credence/run"
)

// initOptions is the command line of credence init.
type initOptions struct {
	trainOptions
	output string
}

func newInit() *cobra.Command {
	o := &initOptions{trainOptions: *newTrainOptions()}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented configuration for given data",
		Long: `Look at data as credence train would, and write a configuration file for them:
how they were read, and every setting of training with one line on what it does.
Settings that were not given stand there as comments, with the values that would
be chosen for these data; take out the "#" before a key to change it. Used as it
is, the file trains the same model as the flags given here.

Paths in the file are those given here, relative to the folder in which credence
runs. A file that exists already is replaced with --overwrite only.`,
		Example: `  credence init --data items.csv --votes votes.csv
  credence train --config config.yaml --out runs/first
  credence init --data nodules.csv --votes reads.csv --group patient -o -`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", run.ConfigFile, "`file` to write; - is standard output")
	declareOverwrite(f, &o.overwrite)
	declare(f, &o.Settings, config.Train)
	return cmd
}

func (o *initOptions) run(cmd *cobra.Command) error {
	if err := o.settle(); err != nil {
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
	text := o.text(ds)
	if o.output == "-" {
		_, err := cmd.OutOrStdout().Write(text)
		return err
	}
	err = atomicfile.Write(o.output, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "\nwritten to %s; next:\n  credence train --config %s --out runs/first\n", o.output, shellQuote(o.output))
	return nil
}

// text returns the file.
func (o *initOptions) text(ds *dataset.Dataset) []byte {
	name := shellQuote(o.output)
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
	return b.Bytes()
}
