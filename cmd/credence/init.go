package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"credence/dataset"
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
	cmd := newVerb("init", "Write a commented configuration for given data", "", o.run)
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", run.ConfigFile, "`file` to write; - is standard output")
	declareOverwrite(f, &o.overwrite)
	declare(f, &o.Settings, config.Train)
	return cmd
}

func (o *initOptions) run(cmd *cobra.Command, _ []string) error {
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
	err = writeFile(cmd, o.output, func(w io.Writer) error {
		_, err := w.Write(o.text(ds))
		return err
	})
	if err != nil || o.output == "-" {
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
