package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"credence/internal/clinical"
	"credence/internal/printout"
	"credence/internal/table"
	"credence/internal/words"
)

// labelsOptions is the command line of credence data labels.
type labelsOptions struct {
	rules, out, item string
	show, overwrite  bool
	na               []string
}

func newDataLabels() *cobra.Command {
	o := labelsOptions{}
	cmd := newVerb("labels TABLE", "Make votes from the columns of a clinical table", "a table", o.run)
	takesTable := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if o.show && len(args) == 0 {
			return nil
		}
		return takesTable(cmd, args)
	}
	f := cmd.Flags()
	f.StringVar(&o.rules, "rules", "", "`file` of rules, .yaml (default: those that --show-rules prints)")
	f.StringVarP(&o.out, "output", "o", "-", "`file` of votes to write, .csv or .tsv; - is standard output")
	declareOverwrite(f, &o.overwrite)
	f.StringVar(&o.item, "item", "", "`column` that names the items (default: as the rules say)")
	f.StringSliceVar(&o.na, "na", nil, "`spellings` of a missing value (default: NA, NaN, null and others)")
	f.BoolVar(&o.show, "show-rules", false, "print the default rules, to start from")
	return cmd
}

func (o *labelsOptions) run(cmd *cobra.Command, args []string) error {
	if o.show {
		_, err := io.WriteString(cmd.OutOrStdout(), clinical.DefaultText())
		return err
	}
	path, comma := args[0], ','
	switch ext := strings.ToLower(filepath.Ext(o.out)); {
	case ext == ".tsv":
		comma = '\t'
	case ext != ".csv" && o.out != "-":
		return usagef("--output %q: expected a name that ends in .csv or .tsv, or -", o.out)
	}
	if err := checkOutputs(cmd.InOrStdin(), o.overwrite, []string{o.out}, []string{path, o.rules}); err != nil {
		return err
	}
	rules := clinical.Default()
	if o.rules != "" {
		var err error
		if rules, err = clinical.Read(o.rules); err != nil {
			return withHint(err, `"credence data labels --show-rules" prints rules to start from; conditions such as ">= 1" are put in quotes`)
		}
	}
	sheet, err := table.ReadSheet(cmd.Context(), path, o.na)
	if err != nil {
		return err
	}
	res, err := rules.Apply(sheet, o.item)
	if err != nil {
		return withHint(err, "which columns and scores are meant can be said in a file: credence data labels --help")
	}
	if len(res.Votes) == 0 {
		return fmt.Errorf("reading %s: no votes: every score is missing", path)
	}
	if n := len(res.Unvoted); n > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: %s without any score, so without votes: %s\n", words.Plural(n, "item"), firstFew(res.Unvoted))
	}
	var text bytes.Buffer
	printCounts(&text, rules, res, path)
	if err := writeFile(cmd, o.out, func(w io.Writer) error { return writeVotes(w, res.Votes, comma) }); err != nil {
		return err
	}
	to := cmd.ErrOrStderr()
	if o.out != "-" {
		to = cmd.OutOrStdout()
		fmt.Fprintf(&text, "\nwritten to %s\n", o.out)
	}
	_, err = to.Write(text.Bytes())
	return err
}

// writeVotes writes votes in long form.
func writeVotes(w io.Writer, votes []clinical.Vote, comma rune) error {
	c := csv.NewWriter(w)
	c.Comma = comma
	rows := [][]string{{"item", "rater", "label"}}
	for _, v := range votes {
		rows = append(rows, []string{v.Item, v.Rater, v.Label})
	}
	return errors.Join(c.WriteAll(rows), c.Error())
}

// printCounts prints how often each voter says what: the paper's table.
func printCounts(w *bytes.Buffer, rules *clinical.Rules, res *clinical.Result, path string) {
	fmt.Fprintf(w, "%s: %s, named in column %s; %s\n\n", path, words.Plural(res.Items, "item"), res.ItemName, words.Plural(len(res.Votes), "vote"))
	t := printout.NewTable(0)
	head := []string{""}
	for v, voter := range rules.Voters {
		name := voter.Name
		if c := res.Columns[v]; c != name {
			name += " (" + c + ")"
		}
		head = append(head, name)
	}
	t.Add(head...)
	total := make([]int, len(rules.Voters))
	for l, level := range rules.Levels() {
		row := []string{level}
		for v := range rules.Voters {
			total[v] += res.Counts[v][l]
			row = append(row, strconv.Itoa(res.Counts[v][l]))
		}
		t.Add(row...)
	}
	totals, missing, any := []string{"total"}, []string{"missing"}, false
	for v, n := range total {
		totals = append(totals, strconv.Itoa(n))
		missing = append(missing, strconv.Itoa(res.Missing[v]))
		any = any || res.Missing[v] > 0
	}
	t.Add(totals...)
	if any {
		t.Add(missing...)
	}
	t.Print(w)
	for _, c := range rules.Classes {
		if len(c.Levels) != 1 || c.Levels[0] != c.Name {
			fmt.Fprintf(w, "\nlabel %s: %s", c.Name, strings.Join(c.Levels, " or "))
		}
	}
	if bytes.HasSuffix(w.Bytes(), []byte("\n")) {
		return
	}
	w.WriteByte('\n')
}

// firstFew lists at most five names.
func firstFew(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + " …"
	}
	return strings.Join(names, ", ")
}
