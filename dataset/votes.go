package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"credence/internal/table"
	"credence/internal/words"
	"credence/record"
)

// VotesOptions specifies how a file of votes is read. The zero value detects the form:
//
//   - columns for the item and the label: [Long];
//   - column headers equal to Classes: [Counted], or with an additional column
//     for the total [Fractions];
//   - blank cells or cells of text: [Wide];
//   - whole numbers, none negative, one above 10, or with the same sum of two or more in ten rows
//     and more: [Counted];
//   - fractions that sum to 1 in ten rows and more: [Fractions];
//   - anything else is ambiguous and returns an error with an [Advice] that lists the
//     possible forms.
type VotesOptions struct {
	Form Form
	// Classes are the classes in order. Nil takes the labels in the file: in order
	// of their value if all are numbers, else in alphabetical order.
	Classes []string
	// Ordered means that the classes are the points of a scale. They are then in the order of Classes or, if that is
	// nil, of their values if all are numbers, or of the words of a known scale, such as low, medium and high.
	Ordered bool
	// ItemColumn, RaterColumn and LabelColumn name columns of the long form;
	// "" finds them by their usual names (rater, annotator, worker, reader …).
	// ItemColumn applies to all forms; without one, rows are numbered from 0.
	ItemColumn, RaterColumn, LabelColumn string
	// ItemOptional allows a file without ItemColumn: the column is then found as
	// if none were named.
	ItemOptional bool
	// CountColumn names a column of the long form with the number of votes that a
	// row represents; "" finds one called count or votes.
	CountColumn string
	// TotalColumn names the column with the number of votes, or is the number for all items, of the fractions
	// form; "" finds it by its usual names (total, votes, n …).
	TotalColumn string
	// Columns are the vote columns of the other forms; nil means all except
	// ItemColumn, TotalColumn and Ignore.
	Columns []string
	Ignore  []string
	// Judges are raters that are machines, such as language models: their votes become features of the items, not votes. So do those
	// of raters whose kind is machine in a column called kind of the long form.
	Judges []string
	// Schema, if set, are the features of a trained model ([Transform.Schema]): its judges are found among the raters. [Load] sets it.
	Schema []Feature
	// Duplicates selects how two votes by one rater on one item are treated.
	Duplicates Duplicates
	// LeaveOut drops votes for labels not in Classes, with a warning, instead of
	// returning an error: for test data with classes that were not in the training
	// data.
	LeaveOut bool
	// Memory limits the bytes used for reading, as in [FeatureOptions]; 0 means 2 GB,
	// or the limit of the features that are read by the same call.
	Memory int64
	TableOptions

	numbered bool   // in the long form without an item column, each row is an item
	absent   absent // of the columns of Ignore, if they may be in other files
}

// Duplicates is a policy for two votes by one rater on one item. With any policy
// but RefuseSecond, a warning reports their number.
type Duplicates uint8

const (
	LastVote     Duplicates = iota // the later vote counts
	FirstVote                      // the earlier vote counts
	EveryVote                      // both count
	RefuseSecond                   // an error
)

// votes are the votes of a file, before they are joined to features.
type votes struct {
	Dataset             // with items in order of first appearance
	amounts []float32   // number of votes per element of Ratings; nil: one each
	named   bool        // items have ids, even if Dataset.Votes.ItemColumn is ""
	files   []votesFile // one or more
	columns []string    // of the long form: those of labels, raters, counts and kinds

	machines, people []string  // raters by the column of kinds
	judges           *features // the votes of judges, nil if there are none
}

// ReadVotes reads the votes in a CSV, TSV, JSON, Parquet or NPY file and returns a data set
// without features.
func ReadVotes(ctx context.Context, path string, opts VotesOptions) (*Dataset, error) {
	v, err := readVotesFiles(ctx, []string{path}, opts)
	if err != nil {
		return nil, err
	}
	return v.dataset(), nil
}

// VotesOf reads the votes of a source as [ReadVotes] reads those of a file. The caller closes s.
func VotesOf(ctx context.Context, s Source, opts VotesOptions) (*Dataset, error) {
	v, err := readVotes(ctx, tableFrom(s), opts)
	if err == nil {
		err = v.finish(&opts)
	}
	if err != nil {
		return nil, err
	}
	return v.dataset(), nil
}

// readVotesFile reads a file of votes without the checks of [votes.finish].
func readVotesFile(ctx context.Context, path string, opts VotesOptions) (*votes, error) {
	t, err := opts.open(ctx, path, table.Options{Memory: opts.Memory})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return readVotes(ctx, t, opts)
}

func readVotes(ctx context.Context, t table.Table, opts VotesOptions) (*votes, error) {
	if err := checkClasses(opts.Classes); err != nil {
		return nil, &ParseError{File: t.Name(), Msg: err.Error()}
	}
	item, err := findItem(t, opts.ItemColumn, opts.ItemOptional, slices.Concat(opts.Columns, opts.Ignore)...)
	if err != nil {
		return nil, err
	}
	label, err := findLabel(t, opts.LabelColumn)
	if err != nil {
		return nil, err
	}
	auto := opts.Form == Auto && opts.Columns == nil
	if opts.Form == Long || auto && item >= 0 && label >= 0 {
		return readLong(ctx, t, item, label, opts)
	}
	if rater := known(t.Header(), raterNames); auto && label >= 0 && rater >= 0 && rater != label {
		return nil, noColumn(t, "item", SetItem) // the long form without an item column
	}
	return readGrid(ctx, t, item, opts)
}

// newVotes returns counts of zero for the given items and classes of t.
func newVotes(t table.Table, items, classes []string) (*votes, error) {
	n := len(items) * len(classes)
	if err := t.Keep(4 * n); err != nil {
		return nil, err
	}
	return &votes{Dataset: Dataset{Items: items, Classes: classes, Counts: make([]float32, n)}}, nil
}

// from sets the file name, the items per file and the warnings of votes read from t.
func (v *votes) from(t table.Table) *votes {
	v.Votes.File = t.Name()
	v.files = []votesFile{{t.Name(), v.Items}}
	v.Warnings = append(v.Warnings, t.Notes()...)
	return v
}

// finish checks the votes, counts them and adds the warnings that all forms share.
func (v *votes) finish(opts *VotesOptions) error {
	if err := v.separate(opts); err != nil {
		return err
	}
	if len(v.Classes) < 2 {
		return advise(&ParseError{File: v.Votes.File, Msg: fmt.Sprintf("expected votes for at least two classes, found %d: [%s]",
			len(v.Classes), words.Few(v.Classes))}, "", SetClasses)
	}
	if opts.Ordered {
		if err := v.order(opts); err != nil {
			return err
		}
	}
	v.Votes.count(&v.Dataset)
	v.Warnings = append(v.Warnings, similarClasses(v.Classes)...)
	if opts.Classes == nil && v.Votes.Form != Counted && v.Votes.Form != Fractions {
		if err := v.measured(); err != nil {
			return err
		}
		v.Warnings = append(v.Warnings, v.suspectClasses()...)
		if err := v.maybeOrdered(); err != nil && !opts.Ordered {
			v.Warnings = append(v.Warnings, err)
		}
	}
	return nil
}

// dataset returns the votes as a data set without features, with a warning if no item has two.
func (v *votes) dataset() *Dataset {
	if v.Votes.Votes > 0 && v.Votes.MaxVotes <= 1 {
		v.Warnings = append(v.Warnings, ErrOneVote)
	}
	if v.judges != nil { // the names are all different, and the items the same
		_ = v.Dataset.addJudges(v.judges, nil)
	}
	return &v.Dataset
}

// add counts m votes.
func (v *votes) add(item, class int, m float32) {
	v.Counts[item*len(v.Classes)+class] += m
}

func checkClasses(classes []string) error {
	for i, c := range classes {
		if c == "" {
			return fmt.Errorf("class %d has an empty name", i+1)
		}
		if slices.Contains(classes[:i], c) {
			return fmt.Errorf("class %q is named twice", c)
		}
	}
	if len(classes) == 1 {
		return errors.New("expected at least two classes, found one")
	}
	return nil
}

// maxClasses limits the number of classes in a file: with more, the label column
// is most likely a different one.
const maxClasses = 1000

// maxVotes is the largest number of votes that float32 counts one by one. votesRange describes a number of
// votes in messages.
const (
	maxVotes   = 1 << 24
	votesRange = "a number of votes from 0 to 16,777,216"
)

// classes returns the class of each of the distinct labels of a file, −1 for those left out, and the
// classes in order. Labels that are equal as numbers ("1" and "1.0") are one, and so are spellings of a boolean.
func (l *idSet) classes(t table.Table, opts *VotesOptions) ([]int32, []string, error) {
	commas := t.Traits().Commas
	if opts.Classes != nil && JudgesOf(opts.Schema) == nil { // labels of judges may be others: see separate
		of := indexAmong(l.names, opts.Classes, commas)
		for i, name := range l.names {
			if of[i] < 0 && !opts.LeaveOut {
				e := errorIn(t, int(l.lines[i]), -1, "expected a label among %s, found %q%s", classList(opts.Classes), name, suggestClass(name, opts.Classes))
				e.Err = ErrUnknownClass
				return nil, nil, e
			}
		}
		if len(of) > 0 && slices.Max(of) < 0 {
			return nil, nil, noneOf(t, "labels", l.names, opts.Classes)
		}
		return of, opts.Classes, nil
	}
	of, classes := sortLabels(l.names, commas)
	if len(classes) > maxClasses {
		return nil, nil, tooManyLabels(t.Name(), classes)
	}
	return of, classes, nil
}

// indexAmong returns the index of each label among the classes, or −1. Labels are equal as in [idSet.classes].
func indexAmong(labels, classes []string, commas bool) []int32 {
	values, numeric := numbersOf(labels, record.ParseNumber, commas)
	fixed, fixedNumeric := numbersOf(classes, record.ParseNumber, commas)
	index, of := newLevelIndex(classes, true), make([]int32, len(labels))
	for i, name := range labels {
		c := index.code(name)
		if c < 0 && numeric && fixedNumeric {
			c = int32(slices.Index(fixed, values[i]))
		}
		of[i] = c
	}
	return of
}

// sortLabels returns the class of each label, and the classes in order of their
// value if all labels are numbers, else in alphabetical order. Labels that are
// equal as numbers are one class, and so are spellings of a boolean.
func sortLabels(names []string, commas bool) (of []int32, classes []string) {
	names = oneSpelling(names)
	values, numeric := numbersOf(names, record.ParseNumber, commas)
	of = make([]int32, len(names))
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		byName := strings.Compare(names[a], names[b])
		if !numeric {
			return byName
		}
		return cmp.Or(cmp.Compare(values[a], values[b]), len(names[a])-len(names[b]), byName)
	})
	for k, i := range order {
		if k == 0 || names[i] != names[order[k-1]] && !(numeric && values[i] == values[order[k-1]]) {
			classes = append(classes, names[i])
		}
		of[i] = int32(len(classes) - 1)
	}
	return of, classes
}

// noneOf returns the error for a file without a vote for any of the classes.
func noneOf(t table.Table, what string, found, classes []string) error {
	return &ParseError{File: t.Name(), Msg: fmt.Sprintf("expected %s among the classes %s, found [%s]", what, classList(classes), words.Few(quoted(found)))}
}

// numbersOf returns the values of names if all are finite numbers; with commas, decimal commas are allowed.
func numbersOf(names []string, parse func(s string, commas bool) (float64, bool), commas bool) ([]float64, bool) {
	values := make([]float64, len(names))
	for i, s := range names {
		x, ok := parse(s, commas)
		if !ok || math.IsInf(x, 0) {
			return nil, false
		}
		values[i] = x
	}
	return values, len(names) > 0
}

// classList writes classes as [0 1 2], the first ten of them.
func classList(classes []string) string {
	if len(classes) > 10 {
		return fmt.Sprintf("%v and %d more", classes[:10], len(classes)-10)
	}
	return fmt.Sprint(classes)
}
