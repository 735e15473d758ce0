package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"credence/dataset"
)

// evaluateData are the flags that say how votes, and the features of held-out
// items, are read.
type evaluateData struct {
	form                             string
	item, votesItem, rater, label    string
	count, total, duplicates         string
	columns, classes, ignore, absent []string
	votes, truth, group              string
	array, imageColumn, layout       string
}

// addVotes adds the flags on the form of a file of votes.
func (d *evaluateData) addVotes(f *pflag.FlagSet) {
	f.StringVar(&d.form, "votes-form", "auto", "`form` of the votes: auto, long, wide, counts, fractions")
	f.StringVar(&d.item, "item", "", "`column` of the items' ids")
	f.StringVar(&d.votesItem, "votes-item", "", "that of the votes, if it has another name: a `column`")
	f.StringVar(&d.rater, "rater", "", "`column` of the raters, in the long form")
	f.StringVar(&d.label, "label", "", "`column` of the labels, in the long form")
	f.StringVar(&d.count, "count", "", "`column` with the votes a row stands for, in the long form")
	f.StringVar(&d.total, "total", "", "`column` with the number of votes, with fractions")
	f.StringSliceVar(&d.columns, "vote-columns", nil, "`columns` of votes, in the other forms")
	f.StringSliceVar(&d.ignore, "ignore", nil, "`columns` to leave out")
	f.StringVar(&d.duplicates, "duplicates", "last", "which `vote` counts if a rater gives two: last, first, every, refuse")
	f.StringSliceVar(&d.absent, "na", nil, "`spellings` of a missing value (default NA, NaN, null and others)")
}

// addFeatures adds the flags on the files that are read beside a model.
func (d *evaluateData) addFeatures(f *pflag.FlagSet) {
	f.StringVar(&d.votes, "votes", "", "`file` of the votes, if they are not beside the features")
	f.StringVar(&d.truth, "truth", "", "`file` of true probabilities, one column a class")
	f.StringVar(&d.group, "group", "", "`column` whose equal values keep items together")
	f.StringVar(&d.array, "array", "", "`name` of the array of features in an NPZ file")
	f.StringVar(&d.layout, "layout", "", "`axes` of the items of an array: HW, CHW, HWC, …")
	f.StringVar(&d.imageColumn, "image-column", "", "`column` of paths of images")
}

// votesOptions returns what the flags on votes say.
func (d *evaluateData) votesOptions() (dataset.VotesOptions, error) {
	o := dataset.VotesOptions{
		Classes: d.classes, ItemColumn: cmp.Or(d.votesItem, d.item), RaterColumn: d.rater, LabelColumn: d.label,
		CountColumn: d.count, TotalColumn: d.total, Columns: d.columns, Ignore: d.ignore,
		TableOptions: dataset.TableOptions{NA: d.absent},
	}
	switch d.duplicates {
	case "last":
		o.Duplicates = dataset.LastVote
	case "first":
		o.Duplicates = dataset.FirstVote
	case "every":
		o.Duplicates = dataset.EveryVote
	case "refuse":
		o.Duplicates = dataset.RefuseSecond
	default:
		return o, usagef("--duplicates %q: expected one of last, first, every, refuse", d.duplicates)
	}
	if err := o.Form.UnmarshalText([]byte(d.form)); err != nil {
		return o, usagef("--votes-form %q: expected one of auto, long, wide, counts, fractions", d.form)
	}
	return o, nil
}

// loadOptions returns how the features in a file are read, and their votes.
func (d *evaluateData) loadOptions(data string) (dataset.LoadOptions, error) {
	vo, err := d.votesOptions()
	if err != nil {
		return dataset.LoadOptions{}, err
	}
	o := dataset.LoadOptions{
		Data: []string{data}, Votes: d.votes, Truth: d.truth, VotesOptions: vo,
		FeatureOptions: dataset.FeatureOptions{
			ItemColumn: d.item, GroupColumn: d.group, Array: d.array,
			ImageColumn: d.imageColumn, Layout: dataset.Layout(d.layout),
			TableOptions: vo.TableOptions,
		},
	}
	if d.votes == "" {
		o.FeatureOptions.Ignore = d.ignore
	}
	return o, nil
}

// dataWarnings writes the warnings of data that nothing is to be learned from,
// without those that are about learning alone.
func dataWarnings(w io.Writer, ds *dataset.Dataset) {
	for _, err := range ds.Warnings {
		if !errors.Is(err, dataset.ErrOneVote) {
			fmt.Fprintf(w, "credence: warning: %s\n", strings.TrimSuffix(err.Error(), ": nothing is learned from them"))
		}
	}
}

// groupNumbers numbers groups in order of first appearance; nil stays nil.
func groupNumbers(groups []string) []int {
	if groups == nil {
		return nil
	}
	of, at := make([]int, len(groups)), map[string]int{}
	for i, g := range groups {
		n, ok := at[g]
		if !ok {
			n = len(at)
			at[g] = n
		}
		of[i] = n
	}
	return of
}

// float64s widens values.
func float64s(values []float32) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

// withThousands writes a number of votes or items: 2,687.
func withThousands(x float64) string {
	if x != math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	s := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// wrapped writes text in lines of at most width characters, the first after
// lead and the others indented as far.
func wrapped(w io.StringWriter, lead, text string, width int) {
	indent := strings.Repeat(" ", len([]rune(lead)))
	line := lead
	room := width - len(indent)
	used := 0
	for word := range strings.FieldsSeq(text) {
		n := len([]rune(word))
		if used > 0 && used+1+n > room {
			w.WriteString(line + "\n")
			line, used = indent, 0
		}
		if used > 0 {
			line += " "
			used++
		}
		line += word
		used += n
	}
	w.WriteString(line + "\n")
}
