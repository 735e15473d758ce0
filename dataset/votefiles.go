package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"credence/internal/words"
)

// loadVotes reads a data set without features from files of votes.
func loadVotes(ctx context.Context, paths []string, opts VotesOptions) (*Dataset, error) {
	if len(paths) == 0 {
		return nil, errors.New("expected a file of features or of votes, found none")
	}
	v, err := readVotesFiles(ctx, paths, opts)
	if err != nil {
		return nil, err
	}
	ds := v.dataset()
	if n := ds.Votes.Unvoted; n > 0 && ds.Rows != nil && opts.Schema == nil {
		ds.Warnings = append(ds.Warnings, Unvoted(n))
	}
	ds.warnRaters()
	ds.Warnings = append(ds.Warnings, opts.unmerged()...)
	return ds, nil
}

// readVotesFiles reads the votes of one or more files and adds them up. The files
// may be in different forms.
func readVotesFiles(ctx context.Context, paths []string, opts VotesOptions) (*votes, error) {
	if err := checkDuplicateFiles(paths, "votes"); err != nil {
		return nil, err
	}
	paths, err := opts.stack(ctx, paths, opts.Memory)
	if err != nil {
		return nil, err
	}
	own := opts
	if own.absent == nil && len(paths) > 1 {
		own.absent = absent{} // a column to ignore may be in only one of the files
	}
	var list []*votes
	for _, path := range paths {
		v, err := readVotesFile(ctx, path, own)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	v := list[0]
	if len(list) > 1 {
		if v, err = addUp(list, opts.Duplicates); err != nil {
			return nil, err
		}
		for _, name := range opts.Ignore {
			if err := own.absent[name]; err != nil && opts.absent == nil {
				return nil, err
			}
		}
	}
	return v, v.finish(&opts)
}

// votesFile is the name and the items of a file of votes.
type votesFile struct {
	name  string
	items []string
}

// adder combines the votes of several files.
type adder struct {
	*votes
	policy   Duplicates
	items    idSet
	raters   idSet
	amounts  []float32        // of the ratings
	last     map[[2]int32]int // (item, rater) → index of the rating
	origin   []string         // file of each rating
	repeated int              // votes by raters who had voted on the item in an earlier file
	changed  int              // of them, those for another class
	first    string           // description of the first changed vote, or else of the first repeated one
}

// addUp returns the combined votes of several files.
func addUp(list []*votes, policy Duplicates) (*votes, error) {
	a := &adder{votes: &votes{}, policy: policy, last: map[[2]int32]int{}}
	class, err := a.classes(list)
	if err != nil {
		return nil, err
	}
	if err := a.sameIDs(list); err != nil {
		return nil, err
	}
	a.describe(list)
	for _, v := range list {
		for _, id := range v.Items {
			a.items.code(id, 0)
		}
	}
	a.Items = a.items.names
	a.Counts = make([]float32, len(a.Items)*len(a.Classes))
	for k, v := range list {
		if err := a.add(v, class[k]); err != nil {
			return nil, err
		}
		a.Warnings = append(a.Warnings, v.Warnings...)
		a.files = append(a.files, v.files...)
		a.machines, a.people = append(a.machines, v.machines...), append(a.people, v.people...)
	}
	if slices.ContainsFunc(list, func(v *votes) bool { return v.Ratings != nil }) {
		a.Raters = a.raters.names
		if a.Ratings == nil {
			a.Ratings = []Rating{}
		}
	}
	a.warnRepeated(list)
	a.votes.amounts = a.amounts
	return a.votes, nil
}

// classes determines the classes of all files, and for each file the indices of its
// own classes among them. If one file has all classes, their order is that of the file.
func (a *adder) classes(list []*votes) ([][]int32, error) {
	var all idSet
	for _, v := range list {
		for _, c := range v.Classes {
			all.code(c, 0)
		}
	}
	of, classes := sortLabels(all.names, false)
	for _, v := range list {
		if len(v.Classes) == len(all.names) { // it has all
			classes = v.Classes
			break
		}
	}
	if len(classes) > maxClasses {
		return nil, tooManyLabels(fileNames(list), classes)
	}
	a.Classes = classes
	at := map[string]int32{}
	for i, name := range all.names {
		at[name] = of[i]
	}
	for i, name := range classes {
		at[name] = int32(i)
	}
	class := make([][]int32, len(list))
	for k, v := range list {
		for _, c := range v.Classes {
			class[k] = append(class[k], at[c])
		}
	}
	return class, nil
}

// sameIDs returns an error if some files have ids and others do not, or if files
// without ids have different numbers of rows.
func (a *adder) sameIDs(list []*votes) error {
	first := list[0]
	a.named = first.Votes.ItemColumn != ""
	for _, v := range list[1:] {
		switch named := v.Votes.ItemColumn != ""; {
		case named != a.named:
			with, without := first, v
			if named {
				with, without = v, first
			}
			return advise(&ParseError{File: without.Votes.File, Msg: fmt.Sprintf("no id column, but %s has one, %q: votes of several files are added up by item",
				with.Votes.File, with.Votes.ItemColumn)}, "", SetVotesItem)
		case !named && len(v.Items) != len(first.Items):
			return advise(&ParseError{File: v.Votes.File, Msg: fmt.Sprintf("votes on %s, but %s has votes on %s: without an id column, votes are added up by position",
				words.Plural(len(v.Items), "item"), first.Votes.File, words.Thousands(len(first.Items)))}, "", SetVotesItem)
		}
	}
	return nil
}

// describe sets how the votes were read: what all files have in common, and a
// description of each file if they differ.
func (a *adder) describe(list []*votes) {
	how, same := list[0].Votes, true
	var several []Interpretation
	for _, v := range list {
		w := &v.Votes
		several = append(several, *w)
		columns := []*string{&how.ItemColumn, &how.RaterColumn, &how.LabelColumn}
		for i, name := range []string{w.ItemColumn, w.RaterColumn, w.LabelColumn} {
			if *columns[i] != name {
				*columns[i], same = "", false
			}
		}
		if w.Form != how.Form {
			how.Form, same = Auto, false
		}
	}
	if !same {
		how.several = several
	}
	how.File = fileNames(list)
	a.Votes = how
}

// add adds the votes of a file; class has the indices of its classes.
func (a *adder) add(v *votes, class []int32) error {
	d, own := len(a.Classes), len(v.Classes)
	item := make([]int32, len(v.Items))
	for i, id := range v.Items {
		item[i] = a.items.code(id, 0)
		for c := range own {
			a.Counts[int(item[i])*d+int(class[c])] += v.Counts[i*own+c]
		}
	}
	earlier := len(a.Ratings)
	for k, r := range v.Ratings {
		amount := float32(1)
		if v.amounts != nil {
			amount = v.amounts[k]
		}
		next := Rating{item[r.Item], a.raters.code(v.Raters[r.Rater], 0), class[r.Class]}
		pair := [2]int32{next.Item, next.Rater}
		if at, ok := a.last[pair]; ok && at < earlier {
			done, err := a.applyPolicy(at, next, amount, v)
			if err != nil {
				return err
			}
			if done {
				continue
			}
		}
		if _, ok := a.last[pair]; !ok {
			a.last[pair] = len(a.Ratings)
		}
		a.Ratings, a.amounts = append(a.Ratings, next), append(a.amounts, amount)
		a.origin = append(a.origin, v.Votes.File)
	}
	return nil
}

// applyPolicy applies the policy to a vote by a rater who has voted on the item in an
// earlier file, and reports whether the vote needs no further handling. The vote is
// already counted.
func (a *adder) applyPolicy(at int, next Rating, amount float32, v *votes) (done bool, err error) {
	old := a.Ratings[at]
	rater, item := a.raters.names[next.Rater], a.Items[next.Item]
	what := fmt.Sprintf("rater %s on item %s: %s in %s, %s in %s", rater, item, a.Classes[old.Class], a.origin[at], a.Classes[next.Class], v.Votes.File)
	if a.policy == RefuseSecond {
		return true, &ParseError{File: v.Votes.File, Msg: fmt.Sprintf("second vote by rater %q on item %q: %s in %s, %s here", rater, item, a.Classes[old.Class], a.origin[at], a.Classes[next.Class])}
	}
	if a.repeated == 0 || a.changed == 0 && old.Class != next.Class {
		a.first = what
	}
	if old.Class != next.Class {
		a.changed++
	}
	a.repeated++
	d := len(a.Classes)
	switch a.policy {
	case LastVote:
		a.Counts[int(old.Item)*d+int(old.Class)] -= a.amounts[at]
		a.Ratings[at], a.amounts[at], a.origin[at] = next, amount, v.Votes.File
		return true, nil
	case FirstVote:
		a.Counts[int(next.Item)*d+int(next.Class)] -= amount
		return true, nil
	}
	return false, nil
}

// warnRepeated adds warnings about votes that are in more than one file.
func (a *adder) warnRepeated(list []*votes) {
	if a.repeated > 0 {
		a.warn("%s by a rater who had voted on the item in another file, %s for another class (%s): %s",
			words.Plural(a.repeated, "vote"), words.Thousands(a.changed), a.first, duplicatesText[a.policy])
	}
	for k, v := range list {
		for _, w := range list[:k] {
			if v.Ratings == nil && w.Ratings == nil && slices.Equal(v.Items, w.Items) && slices.Equal(v.Classes, w.Classes) && slices.Equal(v.Counts, w.Counts) {
				a.warn("%s has the same votes on the same items as %s, and both count: is it a copy?", v.Votes.File, w.Votes.File)
			}
		}
	}
}

// fileNames lists the files of votes.
func fileNames(list []*votes) string {
	return words.List(words.Each(list, func(v *votes) string { return v.Votes.File }), "and")
}
