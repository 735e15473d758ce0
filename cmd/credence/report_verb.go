package main

import (
	"github.com/spf13/cobra"

	"credence/run"
)

// reportOptions is the command line of credence report.
type reportOptions struct {
	evaluateOptions
	output    string
	overwrite bool
}

func newReport() *cobra.Command {
	o := reportOptions{evaluateOptions: evaluateOptions{levels: numbers{values: []float64{0.95}}, pageOnly: true}}
	cmd := &cobra.Command{
		Use:   "report RUN DATA...",
		Short: "Write the report of a model on given items as a page",
		Long:  helpText("report"),
		Example: `  credence report runs/first test-items.csv --votes test-votes.csv
  credence report runs/first test.csv --vote-columns r1,r2 -o test.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return withHint(usagef("expected a run and a file of items, found no items"),
					"the page on the items that training held out is "+shellQuote(run.Folder(args[0]).Path(run.ReportFile)))
			}
			return arguments(2, true, "a run and a file of items")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseTaken(o.output, o.overwrite); err != nil {
				return err
			}
			o.report = o.output
			return o.run(cmd, args[0], args[1:])
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", run.ReportFile, "`file` to write, .html; - is standard output")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace the file")
	o.declare(f)
	return cmd
}
