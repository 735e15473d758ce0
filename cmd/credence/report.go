package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/evaluate"
	"credence/internal/browser"
	"credence/internal/words"
	"credence/model"
	"credence/report"
	"credence/run"
)

func newReport() *cobra.Command {
	o := evaluateOptions{levels: numbers{values: []float64{0.95}}, pageOnly: true}
	cmd := newVerb("report RUN DATA...", "Write a report on a model and its predictions, as an HTML page or PDF",
		"a run and a file of items", o.run)
	itemsOrVotes(cmd)
	takesItems := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return withHint(usagef("expected a run and a file of items, found no items"),
				"the page on the items that training held out is "+words.Quote(run.Folder(args[0]).Path(run.ReportFile)))
		}
		return takesItems(cmd, args)
	}
	f := cmd.Flags()
	f.StringVarP(&o.report, "output", "o", run.ReportFile, "`file` to write, .html or .pdf; - for HTML on standard output")
	declareOverwrite(f, &o.out.overwrite)
	o.declare(f)
	return cmd
}

// pageFlags are the flags for the top of a report page and for what no run knows.
type pageFlags struct {
	title, author, date, card string

	texts   *report.Card // the content of card
	browser string       // that prints the page, if it is a PDF file
}

func (p *pageFlags) declare(f *pflag.FlagSet) {
	f.StringVar(&p.title, "title", "", "`title` of the report")
	f.StringVar(&p.author, "author", "", "`author` of the report")
	f.StringVar(&p.date, "date", "", "`date` of the report, or none (default: today, or $SOURCE_DATE_EPOCH)")
	f.StringVar(&p.card, "card", "", "YAML `file` with the question, intended use, limits and more; adds the TRIPOD+AI checklist to the report")
}

// resolve sets the date. Pages that training writes have none, so that a run
// repeats to the byte.
func (p *pageFlags) resolve() error {
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

// checkPage checks the name of the report, reads the card, and looks for a browser if one is needed: before any work.
func (o *evaluateOptions) checkPage() (err error) {
	flag, path := "--report", o.report
	if o.pageOnly {
		flag = "-o"
	}
	if o.page.card != "" {
		if path == "" {
			return usagef("--card %s: expected --report, the file of the report that it is for", o.page.card)
		}
		if o.page.texts, err = report.ReadCard(o.page.card); err != nil {
			return err
		}
	}
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case path == "-" || path == "" || ext == ".html" || ext == ".htm":
		return nil
	case ext == ".pdf":
		if o.page.browser, err = browser.Find(); err != nil {
			return withHint(fmt.Errorf("%s %s: %w", flag, path, err), fmt.Sprintf("install one, name it in $%s, or write .html and print that from a "+
				"browser elsewhere", browser.Variable))
		}
		return nil
	}
	return usagef("%s %s: expected a name that ends in .html or .pdf", flag, path)
}

// pageData is what a report is about: the items that were read, those of them that were evaluated, and the results.
type pageData struct {
	all, ds *dataset.Dataset
	in      *evaluate.Input
	r       *evaluate.Result
}

// writePage writes the report.
func (o *evaluateOptions) writePage(cmd *cobra.Command, path string, files []string, m *model.Model, d pageData) error {
	page := run.ReportInput(m, d.in, d.r)
	page.Evaluated, page.Items = o.evaluated(files), d.ds.Items
	page.Title, page.Author, page.Date = o.page.title, o.page.author, o.page.date
	var err error
	if page.Study, err = run.NewStudy(cmd.Context(), path, m, d.all, d.ds); err != nil {
		return err
	}
	page.Study.Card, page.Study.Part = o.page.texts, o.split
	suspects, err := evaluate.Suspects(cmd.Context(), d.in, d.ds, run.ShownSuspects)
	if err != nil {
		return err
	}
	run.ShowSuspects(&page, suspects, o.pseudonyms)
	raters, err := run.Raters(m, path)
	if err != nil && !errors.Is(err, run.ErrNoRaters) {
		return err
	}
	run.ShowRaters(&page, raters, o.pseudonyms)
	if o.pseudonyms {
		run.HideComparators(&page)
	}
	if o.page.browser == "" {
		return writeFile(cmd, o.report, func(w io.Writer) error { return report.Write(w, page) })
	}
	return o.printPage(cmd, page)
}

// printPage writes the report as a PDF file.
func (o *evaluateOptions) printPage(cmd *cobra.Command, page report.Input) error {
	var html bytes.Buffer
	if err := report.Write(&html, page); err != nil {
		return err
	}
	if !browser.NumbersPages(cmd.Context(), o.page.browser) {
		fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: %s is too old to number the pages: expected version %d or "+
			"later\n", o.page.browser, browser.NumberingVersion)
	}
	pdf, err := browser.PDF(cmd.Context(), o.page.browser, html.Bytes())
	if err != nil {
		return withHint(fmt.Errorf("printing %s: %w", o.report, err), fmt.Sprintf("name another browser in $%s, or write .html and print "+
			"that", browser.Variable))
	}
	return writeFile(cmd, o.report, func(w io.Writer) error {
		_, err := w.Write(pdf)
		return err
	})
}
