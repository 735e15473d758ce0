package dataset

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"credence/internal/words"
	"credence/record"
)

// Judges are machines that vote, such as language models. They err together, so that their votes are no votes: taken as
// raters, they would make intervals too narrow. Each judge is a feature of the items instead, and people's votes show what
// its votes are worth. Votes of judges are read with those of people and separated here.

// judgeKindNames are the usual names of the column of the long form that states who voted; machineKinds and humanKinds are
// its values.
var (
	judgeKindNames = []string{"kind", "rater_kind", "annotator_kind"}
	machineKinds   = []string{"machine", "judge", "model", "llm"}
	humanKinds     = []string{"human", "person", "people"}
)

// ErrNoHumanVotes is the cause where all votes are those of judges.
var ErrNoHumanVotes = errors.New("no votes by people")

// kindOfRater reads a cell of the column of kinds: whether a rater is a machine, and whether the text is a kind.
func kindOfRater(text string) (machine, ok bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	machine = slices.Contains(machineKinds, text)
	return machine, machine || slices.Contains(humanKinds, text)
}

// JudgesOf returns the names of the judges among the features of a model.
func JudgesOf(schema []Feature) []string {
	var names []string
	for _, p := range schema {
		if p.Judge {
			names = append(names, p.Name)
		}
	}
	return names
}

// withoutJudges returns the features that are not judges.
func withoutJudges(schema []Feature) []Feature {
	return slices.DeleteFunc(slices.Clone(schema), func(p Feature) bool { return p.Judge })
}

// separate moves the votes of judges into the features v.judges. With the features of a model, opts.Schema, judges are those of
// the model, and classes those of opts.Classes.
func (v *votes) separate(opts *VotesOptions) error {
	names := slices.Clone(opts.Judges)
	for _, name := range v.machines {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	schema := slices.DeleteFunc(slices.Clone(opts.Schema), func(p Feature) bool { return !p.Judge })
	if len(names) == 0 && len(schema) == 0 {
		return nil
	}
	if err := v.checkJudges(names, JudgesOf(schema), opts); err != nil {
		return err
	}
	people, any := make([]bool, len(v.Classes)), false
	if len(schema) > 0 {
		names = slices.DeleteFunc(JudgesOf(schema), func(name string) bool { return !slices.Contains(v.Raters, name) })
	}
	used := v.takeJudges(names)
	for i, m := range v.Counts {
		if m > 0 {
			people[i%len(v.Classes)], any = true, true
		}
	}
	if len(schema) > 0 {
		if len(names) > 0 {
			v.setJudges(schema, names, used)
		}
		return v.toClasses(people, opts)
	}
	if !any {
		return &ParseError{File: v.Votes.File, Err: ErrNoHumanVotes,
			Msg: fmt.Sprintf("expected votes by people besides those of the judges [%s], found none: how far judges can be trusted shows only in votes by people on some of the items", words.Few(names))}
	}
	_, numeric := numbersOf(v.Classes, record.ParseNumber, false)
	numeric = numeric && len(v.Classes) > 2
	if err := v.checkLabels(names, used, people, numeric); err != nil {
		return err
	}
	for _, name := range names {
		p := Feature{Name: name, Kind: Categorical, Levels: v.Classes, Judge: true}
		if numeric {
			p.Kind, p.Levels = Numeric, nil
		}
		schema = append(schema, p)
	}
	v.setJudges(schema, names, used)
	if opts.Classes == nil {
		v.reduceClasses(people)
	}
	return nil
}

// checkJudges returns an error for judges without votes, judges that are people, and judges unknown to a model.
func (v *votes) checkJudges(names, fitted []string, opts *VotesOptions) error {
	fail := func(format string, args ...any) error {
		return &ParseError{File: v.Votes.File, Msg: fmt.Sprintf(format, args...)}
	}
	if v.Ratings == nil && len(names) > 0 {
		return fail("expected the names of raters, to find the judges [%s] among them, found votes without raters", words.Few(names))
	}
	for i, name := range opts.Judges {
		switch {
		case slices.Contains(opts.Judges[:i], name):
			return fail("judge %q is named twice", name)
		case slices.Contains(v.people, name):
			return fail("rater %q is named as a judge, but its votes are of kind human: a rater is either a person or a judge", name)
		case !slices.Contains(v.Raters, name):
			return fail("expected votes by the judge %q, found the raters [%s]", name, words.Few(v.Raters))
		}
	}
	for _, name := range v.machines {
		if slices.Contains(v.people, name) {
			return fail("the votes of rater %q are of kind human and of kind machine: a rater is either a person or a judge", name)
		}
	}
	if len(fitted) == 0 {
		return nil
	}
	var persons []string
	for _, name := range v.Raters {
		if slices.Contains(fitted, name) {
			if slices.Contains(v.people, name) {
				return fail("rater %q is a judge of the model, but its votes are of kind human", name)
			}
			continue
		}
		if slices.Contains(v.machines, name) || !slices.Contains(v.people, name) && resembles(name, fitted) {
			return fail("%s", UnknownJudge(name, fitted))
		}
		if !slices.Contains(v.people, name) {
			persons = append(persons, name)
		}
	}
	if n := len(persons); n > 0 && n < len(v.Raters) {
		v.warn("%s who are not judges of the model, taken as people: %s", words.Plural(n, "rater"), words.Few(persons))
	}
	return nil
}

// UnknownJudge describes a judge that a model was not trained with.
func UnknownJudge(name string, judges []string) string {
	return fmt.Sprintf("judge %q is unknown: the model was trained with the judges [%s], and a new version of a model is a new judge: train with its votes, or leave it out",
		name, words.Few(judges))
}

// resembles reports whether a name looks like another version of a judge: both start with the same letters, three or more, up to the
// first character that is not a letter.
func resembles(name string, judges []string) bool {
	stem := func(s string) string {
		s = strings.ToLower(s)
		if i := strings.IndexFunc(s, func(r rune) bool { return r < 'a' || r > 'z' }); i >= 0 {
			return s[:i]
		}
		return s
	}
	own := stem(name)
	return len(own) >= 3 && slices.ContainsFunc(judges, func(j string) bool { return stem(j) == own })
}

// takeJudges removes the named raters and their votes from v, and returns the class of the last vote of each item and judge,
// [N×judges], −1 for none.
func (v *votes) takeJudges(names []string) []int32 {
	d, w := len(v.Classes), len(names)
	used := slices.Repeat([]int32{-1}, len(v.Items)*w)
	judge, to := make([]int, len(v.Raters)), make([]int32, len(v.Raters))
	var people []string
	for r, name := range v.Raters {
		judge[r] = slices.Index(names, name)
		if to[r] = int32(len(people)); judge[r] < 0 {
			people = append(people, name)
		}
	}
	var kept []Rating
	var amounts []float32
	for k, r := range v.Ratings {
		m := float32(1)
		if v.amounts != nil {
			m = v.amounts[k]
		}
		if j := judge[r.Rater]; j >= 0 {
			at := &v.Counts[int(r.Item)*d+int(r.Class)]
			*at = max(0, *at-m)
			used[int(r.Item)*w+j] = r.Class
			continue
		}
		kept, amounts = append(kept, Rating{r.Item, to[r.Rater], r.Class}), append(amounts, m)
	}
	if v.amounts != nil {
		v.amounts = amounts
	}
	v.Raters, v.Ratings = people, kept
	return used
}

// checkLabels returns an error if judges answer in their own words instead of the labels that people use, and warns of labels
// that only judges use.
func (v *votes) checkLabels(names []string, used []int32, people []bool, numeric bool) error {
	labels := 0
	for _, p := range people {
		if p {
			labels++
		}
	}
	extra := make([][]int32, len(names)) // labels of each judge that no person uses
	for k, c := range used {
		j := k % len(names)
		if c >= 0 && !people[c] && !slices.Contains(extra[j], c) {
			extra[j] = append(extra[j], c)
		}
	}
	var known, only []string
	for c, name := range v.Classes {
		if people[c] {
			known = append(known, name)
		}
	}
	for j, list := range extra {
		for _, c := range list {
			label := v.Classes[c]
			if !slices.Contains(only, label) {
				only = append(only, label)
			}
			if !numeric && (len(list) > max(3, labels) || utf8.RuneCountInString(label) > maxLabel || len(strings.Fields(label)) > maxLabelWords) {
				return &ParseError{File: v.Votes.File, Msg: fmt.Sprintf("judge %q: expected labels such as those of people, %s, found text: %q; reduce its answers to labels first",
					names[j], classList(known), shorten(label))}
			}
		}
	}
	if len(only) > 0 && !numeric {
		v.warn("labels that judges use and people do not: [%s]; they are levels of the judges, not classes", words.Few(quoted(only)))
	}
	return nil
}

// A label longer than these is taken for an answer in words.
const (
	maxLabel      = 60 // characters
	maxLabelWords = 6
)

func shorten(text string) string {
	if r := []rune(text); len(r) > maxLabel {
		return string(r[:maxLabel]) + "…"
	}
	return text
}

// reduceClasses removes the classes that are not kept, none of which has a vote.
func (v *votes) reduceClasses(keep []bool) {
	d := len(v.Classes)
	to := make([]int32, d)
	var classes []string
	for c, k := range keep {
		to[c] = int32(len(classes))
		if k {
			classes = append(classes, v.Classes[c])
		}
	}
	if len(classes) == d {
		return
	}
	counts := make([]float32, 0, len(v.Items)*len(classes))
	for i, m := range v.Counts {
		if keep[i%d] {
			counts = append(counts, m)
		}
	}
	for i, r := range v.Ratings {
		v.Ratings[i].Class = to[r.Class]
	}
	v.Classes, v.Counts = classes, counts
}

// setJudges sets the features of judges. used has the class of the last vote by each of the named judges, [N×names], −1 for none; the
// judges of the schema that are not named are missing.
func (v *votes) setJudges(schema []Feature, names []string, used []int32) {
	w := len(schema)
	m := &Memory{N: len(v.Items), W: w, Values: slices.Repeat([]float32{float32(math.NaN())}, len(v.Items)*w)}
	unknown := map[string]bool{}
	for k, p := range schema {
		j := slices.Index(names, p.Name)
		if j < 0 {
			continue
		}
		code := make([]float32, len(v.Classes)) // raw value of each class
		for c, of := range indexAmong(v.Classes, p.Levels, false) {
			code[c] = float32(of)
			if p.Kind == Numeric {
				code[c] = float32(math.NaN())
				if x, ok := record.ParseNumber(v.Classes[c], false); ok {
					code[c] = float32(x)
				}
			}
		}
		for i := range v.Items {
			c := used[i*len(names)+j]
			if c < 0 {
				continue
			}
			if m.Values[i*w+k] = code[c]; code[c] == UnknownLevel && p.Kind == Categorical || code[c] != code[c] {
				unknown[fmt.Sprintf("%q by %s", shorten(v.Classes[c]), p.Name)] = true
			}
		}
	}
	if len(unknown) > 0 {
		v.warn("labels that judges did not use in training, taken as no vote: %s", words.Few(slices.Sorted(maps.Keys(unknown))))
	}
	v.judges = &features{Dataset: Dataset{Items: v.Items, Features: schema, Rows: m}}
}

// toClasses assigns people's votes to the classes of a model, opts.Classes. Other labels of people are left out with a warning, or an
// error unless opts.LeaveOut.
func (v *votes) toClasses(people []bool, opts *VotesOptions) error {
	if opts.Classes == nil {
		return nil
	}
	of := indexAmong(v.Classes, opts.Classes, false)
	d, own := len(opts.Classes), len(v.Classes)
	counts, left := make([]float32, len(v.Items)*d), float32(0)
	for i, m := range v.Counts {
		switch c := of[i%own]; {
		case c >= 0:
			counts[i/own*d+int(c)] += m
		case m > 0 && !opts.LeaveOut:
			name := v.Classes[i%own]
			return &ParseError{File: v.Votes.File, Err: ErrUnknownClass, Msg: fmt.Sprintf("item %q: expected a label among %s, found %q%s",
				v.Items[i/own], classList(opts.Classes), shorten(name), suggestClass(name, opts.Classes))}
		default:
			left += m
		}
	}
	ratings := v.Ratings[:0]
	for _, r := range v.Ratings {
		if c := of[r.Class]; c >= 0 {
			ratings = append(ratings, Rating{r.Item, r.Rater, c})
		}
	}
	labels := v.Classes
	for c := range of {
		if !people[c] {
			of[c] = 0 // only judges use it
		}
	}
	v.Classes, v.Counts, v.Ratings = opts.Classes, counts, ratings
	v.warnVotes(int(left), labels, of)
	return nil
}

// addJudges adds the judges to the features of ds, missing for items without their votes. at has the index in ds of each item of f, nil
// if the items are the same.
func (ds *Dataset) addJudges(f *features, at places) error {
	n, w := len(ds.Items), len(f.Features)
	values := f.Rows.(*Memory).Values
	if at != nil {
		from := values
		values = slices.Repeat([]float32{float32(math.NaN())}, n*w)
		for i, id := range f.Items {
			if to, ok := at[id]; ok {
				copy(values[to*w:(to+1)*w], from[i*w:])
			}
		}
	}
	for k, p := range f.Features {
		if featureNamed(ds.Features, p.Name) >= 0 {
			return fmt.Errorf("column %q of the features has the name of a judge: leave it out with --ignore, or rename the judge", p.Name)
		}
		c := ColumnInfo{Name: p.Name, role: roleFeature, Feature: p}
		for i := k; i < len(values); i += w {
			if values[i] != values[i] {
				c.Missing++
			}
		}
		ds.Columns = append(ds.Columns, c)
	}
	ds.Features = slices.Concat(ds.Features, f.Features)
	ds.Rows = sideBySide(ds.Rows, &Memory{N: n, W: w, Values: values})
	return nil
}
