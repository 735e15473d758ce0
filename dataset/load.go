package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"credence/internal/table"
	"credence/internal/words"
)

// LoadOptions specifies the files of a data set and how they are read.
type LoadOptions struct {
	// Data are the feature files. The first defines the items; further files are
	// joined to it by id or, if they have no ids, by position. If the first is a
	// JSON collection of items with their votes, further collections are appended
	// to it.
	Data []string
	// Votes are the files of votes, which are added up. If there are none, votes
	// are read from the first file of Data: from VotesOptions.Columns, from the
	// columns named like VotesOptions.Classes, or from a column with one label per
	// row. NoVotes allows data without votes.
	Votes   []string
	NoVotes bool
	// Ignore are columns to leave out; each must be in at least one of the files.
	Ignore []string
	// Truth, if set, is a file of true probabilities, one column per class.
	Truth          string
	FeatureOptions FeatureOptions
	VotesOptions   VotesOptions
}

// Load reads a data set. The caller closes it.
func Load(ctx context.Context, opts LoadOptions) (*Dataset, error) {
	opts.FeatureOptions.Ignore = slices.Concat(opts.FeatureOptions.Ignore, opts.Ignore)
	if len(opts.Ignore) > 0 && len(opts.Votes) > 0 {
		opts.VotesOptions.Ignore = slices.Concat(opts.VotesOptions.Ignore, opts.Ignore)
		opts.VotesOptions.absent = absent{}
	}
	if opts.FeatureOptions.Schema != nil {
		opts.VotesOptions.Schema = opts.FeatureOptions.Schema
	}
	if err := cmp.Or(opts.FeatureOptions.checkMerge(), opts.VotesOptions.checkMerge(), opts.FeatureOptions.checkBackbone()); err != nil {
		return nil, err
	}
	merged := map[string]bool{}
	opts.FeatureOptions.merged, opts.VotesOptions.merged = merged, merged
	if opts.VotesOptions.Classes != nil {
		classes := words.Each(opts.VotesOptions.Classes, (&TableOptions{FoldCase: opts.VotesOptions.FoldCase}).spelling)
		opts.VotesOptions.Classes = classes
	}
	opts.VotesOptions.Memory = cmp.Or(opts.VotesOptions.Memory, opts.FeatureOptions.Memory)
	if len(opts.Data) == 0 {
		return loadVotes(ctx, opts.Votes, opts.VotesOptions)
	}
	if err := checkDuplicateFiles(opts.Data, "features"); err != nil {
		return nil, err
	}
	if err := opts.stack(ctx); err != nil {
		return nil, err
	}
	var v *votes
	fo := newReading(opts.FeatureOptions)
	defer fo.embed.release()
	if len(opts.Ignore) > 0 {
		fo.absent = absent{}
	}
	var err error
	switch {
	case len(opts.Votes) > 0:
		v, err = readVotesFiles(ctx, opts.Votes, opts.VotesOptions)
	case !opts.NoVotes:
		v, err = votesInFeatures(ctx, opts.Data[0], &opts.VotesOptions, &fo)
	}
	if err != nil {
		return nil, err
	}
	if v != nil {
		fo.known = v.Items
		if v.judges != nil {
			fo.judged = true
			if fo.Schema != nil {
				fo.Schema = withoutJudges(fo.Schema)
			}
		}
	}
	f, err := readJoined(ctx, opts.Data, fo)
	if err != nil {
		return nil, err
	}
	var ds *Dataset
	// Each column to ignore must be in a file, but the long form of votes has none that could be left out.
	for _, name := range opts.Ignore {
		if v == nil || v.Votes.Form == Long || opts.VotesOptions.absent[name] != nil {
			err = cmp.Or(err, fo.absent[name])
		}
	}
	if err == nil {
		ds, err = join(f, v)
	}
	if err == nil && v != nil {
		if fo.Schema == nil {
			ds.Warnings = append(ds.Warnings, ds.leaks()...)
		}
		ds.warnRaters()
	}
	if err == nil && fo.Schema == nil {
		ds.Warnings = append(ds.Warnings, opts.FeatureOptions.unmerged()...)
	}
	if err == nil && opts.Truth != "" {
		err = ds.readTruth(ctx, opts.Truth, &opts.VotesOptions)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return ds, ds.Check()
}

// stack combines JSON collections of items with their votes into one table.
func (o *LoadOptions) stack(ctx context.Context) (err error) {
	fo := &o.FeatureOptions
	o.Data, err = fo.stack(ctx, o.Data, fo.Memory)
	if len(o.Votes) == 0 { // votes are in the feature file
		vo := &o.VotesOptions
		vo.under, vo.Sheet, vo.SheetOptional = fo.under, fo.Sheet, fo.SheetOptional
	}
	return err
}

// votesInFeatures reads votes from the feature file itself and excludes their
// columns from the features.
func votesInFeatures(ctx context.Context, path string, vo *VotesOptions, fo *reading) (*votes, error) {
	t, err := vo.open(ctx, path, table.Options{Memory: vo.Memory})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	opts := *vo
	if opts.ItemColumn == "" {
		opts.ItemColumn, opts.ItemOptional = fo.ItemColumn, fo.ItemOptional
	}
	item, err := findItem(t, opts.ItemColumn, opts.ItemOptional, slices.Concat(fo.taken(), opts.Columns)...)
	if err != nil {
		return nil, err
	}
	label, err := findLabel(t, opts.LabelColumn)
	if err != nil {
		return nil, err
	}
	header := t.Header()
	var v *votes
	switch {
	case opts.Columns != nil:
		if i := known(header, totalNames); opts.TotalColumn == "" && opts.Form == Fractions && i >= 0 {
			opts.TotalColumn = header[i]
		}
		fo.votes = slices.Clone(opts.Columns)
		if _, number := totalOf(opts.TotalColumn); !number || slices.Contains(header, opts.TotalColumn) {
			fo.votes = append(fo.votes, nonEmpty(opts.TotalColumn)...)
		}
		v, err = readGrid(ctx, t, item, opts)
	case label >= 0 && (opts.Form == Auto || opts.Form == Long):
		fo.repeated = item >= 0
		opts.numbered = true
		if v, err = readLong(ctx, t, item, label, opts); err == nil {
			fo.votes = v.columns
		}
	case opts.Classes != nil && placesOf(header).hasAll(opts.Classes):
		opts.Columns, opts.Form = opts.Classes, cmp.Or(opts.Form, Counted)
		fo.votes = slices.Clone(opts.Columns)
		v, err = readGrid(ctx, t, item, opts)
	default:
		a := &Advice{Settings: []Setting{SetVotes, SetVoteColumns, SetLabel}, Columns: voteColumns(ctx, t, item, opts)}
		if a.Columns != nil {
			a.Settings = []Setting{SetVoteColumns}
		}
		err = &ParseError{File: t.Name(), Msg: fmt.Sprintf("no column of votes among [%s]", words.Few(header)), Err: a}
	}
	if err != nil {
		return nil, err
	}
	return v, v.finish(&opts)
}

// join assigns votes to the items of f. Items without votes are kept; votes on
// items without features are left out. Both cause a warning. v may be nil.
func join(f *features, v *votes) (*Dataset, error) {
	ds := &f.Dataset
	if v == nil {
		ds.Votes.count(ds)
		return ds, nil
	}
	if v.Votes.ItemColumn != "" {
		f.dropExtensions(v.Items, false)
	}
	at, err := f.rowsOf(v)
	if err != nil {
		return nil, err
	}
	if at != nil {
		if n, example := at.ignoreCase(v.Items, f.Items); n > 0 {
			ds.warn("ids of %s with votes differ from those with features only in case, and are taken for the same: %s", words.Plural(n, "item"), example)
		}
	}
	d := len(v.Classes)
	ds.Classes, ds.Ordered, ds.Raters, ds.Votes = v.Classes, v.Ordered, v.Raters, v.Votes
	for _, w := range v.Warnings { // of a file with both, each reader notes what is above its header
		if !slices.ContainsFunc(ds.Warnings, func(other error) bool { return other.Error() == w.Error() }) {
			ds.Warnings = append(ds.Warnings, w)
		}
	}
	if at == nil {
		ds.Counts, ds.Ratings = v.Counts, v.Ratings
	} else if err := ds.place(f, v, at, d); err != nil {
		return nil, err
	}
	if v.judges != nil {
		if err := ds.addJudges(v.judges, at); err != nil {
			return nil, err
		}
	}
	ds.Votes.count(ds)
	if n := ds.Votes.Unvoted; n > 0 {
		ds.Warnings = append(ds.Warnings, Unvoted(n))
	}
	var none []string
	for c, name := range ds.Classes {
		if ds.classVotes(c) == 0 {
			none = append(none, strconv.Quote(name))
		}
	}
	if len(none) > 0 {
		ds.warn("%s without votes: %s", words.Plural(len(none), "class"), words.Few(none))
	}
	if ds.Votes.Votes > 0 && ds.Votes.MaxVotes <= 1 {
		ds.Warnings = append(ds.Warnings, ErrOneVote)
	}
	return ds, nil
}

// place assigns votes to the rows of their items, which at returns by id.
func (ds *Dataset) place(f *features, v *votes, at places, d int) error {
	ds.Counts = make([]float32, len(f.Items)*d)
	var unknown []string
	for i, id := range v.Items {
		if to, ok := at[id]; ok {
			copy(ds.Counts[to*d:(to+1)*d], v.Counts[i*d:(i+1)*d])
		} else {
			unknown = append(unknown, strconv.Quote(id))
		}
	}
	if err := v.checkOverlap(f.Items, at); err != nil {
		return err
	}
	if len(unknown) > 0 {
		ds.Warnings = append(ds.Warnings, fmt.Errorf("votes on %s without features left out: %s", words.Plural(len(unknown), "item"), words.Few(unknown)))
	}
	if v.Ratings != nil {
		ds.Ratings = make([]Rating, 0, len(v.Ratings))
		for _, r := range v.Ratings {
			if to, ok := at[v.Items[r.Item]]; ok {
				ds.Ratings = append(ds.Ratings, Rating{int32(to), r.Rater, r.Class})
			}
		}
	}
	return nil
}

// checkOverlap returns an error if none of the items of a vote file has features.
func (v *votes) checkOverlap(items []string, at places) error {
	for _, file := range v.files {
		if slices.ContainsFunc(file.items, at.has) {
			continue
		}
		msg := fmt.Sprintf("no item of %s has features: its items are %s, those with features are %s", file.name, words.Few(quoted(file.items)), words.Few(quoted(items)))
		if slices.ContainsFunc(items, func(id string) bool { return strings.TrimLeft(id, "0") == strings.TrimLeft(file.items[0], "0") }) {
			msg += "; they differ in leading zeros, which spreadsheets drop"
		}
		msg += lackExtension(file.items, items)
		return errors.New(msg)
	}
	return nil
}

// classVotes returns the total number of votes for class c.
func (ds *Dataset) classVotes(c int) float64 {
	var m float64
	for i := c; i < len(ds.Counts); i += len(ds.Classes) {
		m += float64(ds.Counts[i])
	}
	return m
}

func quoted(names []string) []string {
	q := slices.Clone(names)
	for i := range min(len(q), 6) {
		q[i] = strconv.Quote(q[i])
	}
	return q
}

// ReadColumns reads columns as text from the files that ds was loaded from with
// the same options, whether they are features or not. For each name it returns the
// values of the items, [N], "" if missing, from the first file that has the column.
func (ds *Dataset) ReadColumns(ctx context.Context, opts LoadOptions, names []string) ([][]string, error) {
	if err := opts.stack(ctx); err != nil {
		return nil, err
	}
	at := placesOf(ds.Items)
	values := make([][]string, len(names))
	var headers []string
	for k, path := range opts.Data {
		t, err := tableOf(ctx, path, &opts.FeatureOptions)
		if err != nil {
			return nil, err
		}
		if t == nil { // an array or a folder of images
			continue
		}
		headers = append(headers, t.Header()...)
		err = ds.readColumns(ctx, t, k == 0, at, &opts, names, values)
		t.Close()
		if err != nil {
			return nil, err
		}
	}
	for i, name := range names {
		if values[i] == nil {
			return nil, &ParseError{File: strings.Join(opts.Data, ", "), Name: name,
				Msg: fmt.Sprintf("no column %q among [%s]", name, words.Few(headers)), Err: ErrNoColumn}
		}
	}
	return values, nil
}

// readColumns reads the columns of one table that are not in an earlier one.
// Rows are assigned to items by id or, without ids, by row number.
func (ds *Dataset) readColumns(ctx context.Context, t table.Table, first bool, at places, opts *LoadOptions,
	names []string, values [][]string) error {
	fo := &opts.FeatureOptions
	item, err := findItem(t, fo.ItemColumn, fo.ItemOptional || !first, slices.Concat(fo.taken(), opts.VotesOptions.Columns)...)
	if err != nil {
		return err
	}
	type column struct {
		in int
		to []string
	}
	var columns []column
	for i, name := range names {
		in := slices.Index(t.Header(), name)
		if in < 0 || values[i] != nil {
			continue
		}
		if err := readable(t, in); err != nil {
			return err
		}
		values[i] = make([]string, len(ds.Items))
		columns = append(columns, column{in, values[i]})
	}
	if columns == nil {
		return nil
	}
	row, seen := 0, make([]bool, len(ds.Items))
	return table.Records(ctx, t, func(rec []table.Cell) error {
		to, ok := row, row < len(ds.Items)
		row++
		if item >= 0 {
			to, ok = at[rec[item].String()]
		} else if first {
			to, ok = at[strconv.Itoa(to)]
		}
		if !ok || seen[to] { // the first row of an item counts
			return nil
		}
		seen[to] = true
		for _, c := range columns {
			if cell := &rec[c.in]; !fo.missing(cell, table.FeatureNA) {
				c.to[to] = strings.Clone(cell.String())
			}
		}
		return nil
	})
}
