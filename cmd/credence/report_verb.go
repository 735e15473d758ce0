package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/run"
)

func newReport() *cobra.Command {
	o := evaluateOptions{levels: numbers{values: []float64{0.95}}, pageOnly: true}
	cmd := newVerb("report RUN DATA...", "Write a report on a model and its predictions as an HTML page",
		"a run and a file of items", o.run)
	takesItems := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return withHint(usagef("expected a run and a file of items, found no items"),
				"the page on the items that training held out is "+shellQuote(run.Folder(args[0]).Path(run.ReportFile)))
		}
		return takesItems(cmd, args)
	}
	f := cmd.Flags()
	f.StringVarP(&o.report, "output", "o", run.ReportFile, "`file` to write, .html; - is standard output")
	declareOverwrite(f, &o.out.overwrite)
	o.declare(f)
	return cmd
}

// pageFlags are what the top of a page says.
type pageFlags struct{ title, author, date string }

func (p *pageFlags) declare(f *pflag.FlagSet) {
	f.StringVar(&p.title, "title", "", "`title` of the report's page")
	f.StringVar(&p.author, "author", "", "`author` of the report, shown below its title")
	f.StringVar(&p.date, "date", "", "`date` of the report (default: today's, or $SOURCE_DATE_EPOCH; none for none)")
}

// settle fills in the date. Pages that training writes have none, so that a run
// repeats to the byte.
func (p *pageFlags) settle() error {
	switch p.date {
	case "none":
		p.date = ""
		return nil
	case "":
		now := time.Now()
		if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
			seconds, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return usagef("$SOURCE_DATE_EPOCH %q: expected the number of seconds since 1970", text)
			}
			now = time.Unix(seconds, 0).UTC()
		}
		p.date = now.Format("2006-01-02")
	}
	return nil
}

// checkPage refuses the name of a page that is no HTML.
func (o *evaluateOptions) checkPage() error {
	flag, path := "--report", o.report
	if o.pageOnly {
		flag = "-o"
	}
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case path == "-" || path == "" || ext == ".html" || ext == ".htm":
		return nil
	case ext == ".pdf":
		return withHint(usagef("%s %s: a report is an HTML page", flag, path), pdfAdvice)
	}
	return usagef("%s %s: expected a name that ends in .html", flag, path)
}
