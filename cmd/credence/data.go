package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"image/png"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"credence/internal/atomicfile"
	"credence/internal/clinical"
	"credence/internal/cohort"
	"credence/internal/mnist"
	"credence/internal/printout"
	"credence/internal/table"
	"credence/internal/words"
)

func newDataMNIST() *cobra.Command {
	var out, from string
	var overwrite bool
	run := func(cmd *cobra.Command, _ []string) error {
		if out != "" {
			for _, path := range mnist.Paths(out) {
				if err := refuseExisting(path, overwrite); err != nil {
					return err
				}
			}
		}
		ctx, stop := interruptible(cmd)
		defer stop()
		src := mnist.Source{Folder: from, Note: func(s string) { fmt.Fprintf(cmd.ErrOrStderr(), "credence: %s\n", s) }}
		dir, err := src.Find(ctx)
		if err != nil {
			return withHintOn(err, hint{mnist.ErrNowhere,
				"download the four files train-images-idx3-ubyte.gz … and give their folder with --mnist"})
		}
		if out != "" {
			if err := mnist.Copy(dir, out); err != nil {
				return err
			}
			dir = out
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), dir)
		return err
	}
	cmd := newVerb("mnist", "Fetch the MNIST handwritten digits, verified", "", run)
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "`folder` to copy the files to")
	declareOverwrite(f, &overwrite)
	f.StringVar(&from, "mnist", "", "`folder` to read the files from, plain or compressed, instead of the cache or the network")
	return cmd
}

// adniOptions is the command line of credence data adni-synthetic.
type adniOptions struct {
	out          string
	scans, fresh int
	seed         uint64
	size         string
	overwrite    bool
	montage      string
}

func newDataADNISynthetic() *cobra.Command {
	o := adniOptions{}
	cmd := newVerb("adni-synthetic", "Write a synthetic cohort of MRI scans with clinical scores", "", o.run)
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "`folder` to write to")
	f.IntVar(&o.scans, "scans", cohort.PaperScans, "`number` of scans")
	f.IntVar(&o.fresh, "fresh", 0, "`number` of further scans of other subjects, for testing")
	f.Uint64Var(&o.seed, "seed", 1, "random `seed`")
	f.StringVar(&o.size, "size", "96x96x80", "`voxels` of a volume, XxYxZ: right to left, back to front, up")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace an existing cohort or picture")
	f.StringVar(&o.montage, "montage", "", "`file` for a picture of slices, .png, instead of a folder")
	return cmd
}

func (o *adniOptions) run(cmd *cobra.Command, _ []string) error {
	size, err := parseSize(o.size)
	err = cmp.Or(err,
		expect((o.out == "") != (o.montage == ""), "expected a folder with --out, or a picture with --montage"),
		expect(o.scans >= 1, "--scans %d: expected at least 1", o.scans),
		expect(o.fresh >= 0, "--fresh %d: expected at least 0", o.fresh))
	if err != nil {
		return err
	}
	if o.montage != "" {
		return o.writeMontage(size)
	}
	c, err := cohort.New(cohort.Options{Scans: o.scans, Fresh: o.fresh, Seed: o.seed})
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	start, bar := time.Now(), newStatusLine(cmd.ErrOrStderr())
	progress := func(done, total int) {
		if now := time.Now(); bar.due(now, 200*time.Millisecond, 10*time.Second) {
			left := time.Duration(float64(now.Sub(start)) / float64(done) * float64(total-done)).Round(time.Second)
			bar.show("credence: ", fmt.Sprintf("%s of %s volumes, %s left", words.Thousands(done), words.Thousands(total), left))
		}
	}
	err = cohort.Write(ctx, o.out, c, cohort.WriteOptions{Size: size, Overwrite: o.overwrite, Progress: progress})
	bar.erase()
	if errors.Is(err, context.Canceled) {
		return withHint(errors.New("interrupted"), "run the same command again to complete "+o.out)
	}
	if err != nil {
		return withHintOn(err, hint{cohort.ErrOccupied, "choose another folder, or give --overwrite"})
	}
	subjects := 0
	for i, s := range c.Scans {
		if i == 0 || s.Subject != c.Scans[i-1].Subject {
			subjects++
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s scans of %s synthetic subjects, %s, seed %d\n",
		o.out, words.Thousands(len(c.Scans)), words.Thousands(subjects), o.size, o.seed)
	return err
}

// writeMontage draws one subject at three severities, in standard deviations
// from the mean: −1.5, 0.3 and 2.
func (o *adniOptions) writeMontage(size cohort.Size) error {
	if !strings.HasSuffix(strings.ToLower(o.montage), ".png") {
		return usagef("--montage %q: expected a name that ends in .png", o.montage)
	}
	p := cohort.Picture{Seed: o.seed, Part: cohort.Study}
	if err := checkOutputs(nil, o.overwrite, []string{o.montage}, nil); err != nil {
		return err
	}
	img := cohort.Montage(p, size, []float64{-1.5, 0.3, 2}, max(1, 288/size[0]))
	return atomicfile.Write(o.montage, func(w io.Writer) error {
		return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(w, img)
	})
}

// parseSize parses a size such as 96x96x80.
func parseSize(s string) (size cohort.Size, err error) {
	_, err = fmt.Sscanf(s, "%dx%dx%d", &size[0], &size[1], &size[2])
	ok := err == nil && fmt.Sprintf("%dx%dx%d", size[0], size[1], size[2]) == s
	return size, expect(ok && slices.Min(size[:]) >= 4 && slices.Max(size[:]) <= 512,
		"--size %q: expected three numbers of voxels from 4 to 512, such as 96x96x80", s)
}

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
	f.StringVar(&o.rules, "rules", "", "`file` of rules, .yaml (default: those of --show-rules)")
	f.StringVarP(&o.out, "output", "o", "-", "`file` of votes to write, .csv or .tsv; - for standard output")
	declareOverwrite(f, &o.overwrite)
	f.StringVar(&o.item, "item", "", "`column` of item ids (default: from the rules)")
	f.StringSliceVar(&o.na, "na", nil, "further `spellings` of a missing value, next to NA, NaN, null and others")
	f.BoolVar(&o.show, "show-rules", false, "print the default rules")
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
			return withHint(err, `"credence data labels --show-rules" prints rules to start from; quote conditions such as ">= 1"`)
		}
	}
	sheet, err := table.ReadSheet(cmd.Context(), path, o.na)
	if err != nil {
		return err
	}
	res, err := rules.Apply(sheet, o.item)
	if err != nil {
		return withHint(err, "specify columns and scores in a file of rules; see credence data labels --help")
	}
	if len(res.Votes) == 0 {
		return fmt.Errorf("reading %s: no votes: every score is missing", path)
	}
	if n := len(res.Unvoted); n > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "credence: warning: no votes for %s without scores: %s\n", words.Plural(n, "item"), words.Few(res.Unvoted))
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

// printCounts prints the number of votes per voter and level, as the table of the paper does.
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
	add := func(name string, counts []int) { t.Add(append([]string{name}, words.Each(counts, strconv.Itoa)...)...) }
	total := make([]int, len(rules.Voters))
	for l, level := range rules.Levels() {
		counts := make([]int, len(total))
		for v := range counts {
			counts[v] = res.Counts[v][l]
			total[v] += counts[v]
		}
		add(level, counts)
	}
	add("total", total)
	if slices.Max(append([]int{0}, res.Missing...)) > 0 {
		add("missing", res.Missing)
	}
	t.Print(w)
	for _, c := range rules.Classes {
		if len(c.Levels) != 1 || c.Levels[0] != c.Name {
			fmt.Fprintf(w, "\nlabel %s: %s", c.Name, strings.Join(c.Levels, " or "))
		}
	}
	if !bytes.HasSuffix(w.Bytes(), []byte("\n")) {
		w.WriteByte('\n')
	}
}
