package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"credence/internal/table"
	"credence/internal/text"
	"credence/internal/words"
)

// Every label that a file of votes has becomes a class, unless the classes are named.
// A spelling of a missing vote, or a slip of the pen, would be one silently.

// blankNames are labels that often stand for no vote, in lower case. Some are proper
// classes elsewhere, so they are not left out but asked about.
var blankNames = []string{"?", "??", "???", "-", "--", "---", "–", "—", ".", "..", "*", "_", "/", "x?", "na", "n/a", "n.a.", "nan",
	"<na>", "#n/a", "#na", "#null!", "#value!", "#ref!", "#name?", "#div/0!", "#num!", "null", "nil", "none", "unknown", "unk", "unclear",
	"unsure", "not sure", "missing", "not available", "not applicable", "no answer", "no vote", "skip", "skipped", "blank", "empty",
	"undefined", "tbd", "-1", "-9", "-99", "-999", "9999", "-9999"}

// doubtful warns of classes that look like no classes.
func (v *votes) doubtful() []error {
	count := make([]float64, len(v.Classes))
	for c := range v.Classes {
		count[c] = v.classVotes(c)
	}
	of := func(c int) string { return voteString(count[c]) + " of " + voteString(v.Votes.Votes) + " votes" }
	var list []error
	doubt := func(format string, args ...any) {
		list = append(list, advised(fmt.Sprintf(format, args...), "", SetClasses))
	}
	var single []string
	for c, name := range v.Classes {
		near := v.spelledLike(c, count)
		switch {
		case v.blank(name):
			list = append(list, &caused{fmt.Sprintf("label %q is read as a class of its own, with %s", name, of(c)),
				&Advice{Settings: []Setting{SetMissing, SetClasses}, Value: name}})
		case near >= 0:
			doubt("class %q, with %s, is spelled almost like %q, with %s: mend the file if it is a slip", name, of(c), v.Classes[near], voteString(count[near]))
		case count[c] == 1 && v.Votes.Votes >= 50:
			single = append(single, strconv.Quote(name))
		}
	}
	switch {
	case len(single) == 1:
		doubt("class %s has 1 of %s votes: mend the file if it is a slip", single[0], voteString(v.Votes.Votes))
	case len(single) > 1:
		doubt("%d classes have 1 of %s votes each: %s; mend the file if they are slips", len(single), voteString(v.Votes.Votes), words.Few(single))
	}
	return list
}

// Numbers are taken for measurements where they have at least manyGrades different values and fewer votes per value than
// these: whole numbers may be codes of many classes, others are at best points of a fine scale.
const (
	manyGrades    = 50
	votesPerCode  = 1.25
	votesPerPoint = 5
)

// measured returns an error if labels look like measurements, or like ids, instead of classes.
func (v *votes) measured() error {
	values, numeric := readNumbers(v.Classes)
	if !numeric || len(values) < manyGrades {
		return nil
	}
	least := votesPerCode
	if slices.ContainsFunc(values, func(x float64) bool { return x != math.Trunc(x) }) {
		least = votesPerPoint
	}
	if v.Votes.Votes >= least*float64(len(values)) {
		return nil
	}
	where, settle := "votes have", SetVoteColumns
	if v.Votes.LabelColumn != "" {
		where, settle = "column "+v.Votes.LabelColumn+" has", SetLabel
	}
	return advise(&ParseError{File: v.Votes.File, Msg: fmt.Sprintf("%s %s different numbers in %s votes (%s, …): "+
		"are they classes? Measurements have to be rounded to a few values first",
		where, words.Thousands(len(values)), voteString(v.Votes.Votes), strings.Join(v.Classes[:3], ", "))}, "", SetClasses, settle)
}

// readNumbers is numbersOf of labels with points or commas in numbers.
func readNumbers(labels []string) ([]float64, bool) {
	return numbersOf(labels, func(s string) (float64, bool) { return table.ParseNumber(s, true) })
}

// tooManyLabels refuses more than maxClasses classes.
func tooManyLabels(file string, classes []string) error {
	msg := fmt.Sprintf("%s different labels (%s, …), but at most %s classes make sense: is this the label column?",
		words.Thousands(len(classes)), strings.Join(classes[:3], ", "), words.Thousands(maxClasses))
	if _, numeric := readNumbers(classes); numeric {
		msg += " Measurements have to be rounded to a few values first"
	}
	return advise(&ParseError{File: file, Msg: msg}, "", SetLabel)
}

// blank reports whether a label often stands for no vote. A minus beside a plus does
// not, nor does -1 beside 1.
func (v *votes) blank(name string) bool {
	low := strings.ToLower(name)
	if !slices.Contains(blankNames, low) {
		return false
	}
	if opposite, ok := strings.CutPrefix(low, "-"); ok && strings.Trim(opposite, "-") == opposite {
		return !slices.Contains(v.Classes, "+"+opposite) && (opposite == "" || !slices.Contains(v.Classes, opposite))
	}
	return true
}

// spelledLike returns the class of at least fifty times the votes, or five if there
// is one vote, whose name takes the fewest changes, if these are few, or −1. Names that
// differ in digits are of different classes.
func (v *votes) spelledLike(c int, count []float64) int {
	word := func(k int) string {
		return strings.ToLower(strings.TrimFunc(v.Classes[k], func(r rune) bool { return !unicode.IsLetter(r) }))
	}
	var others []string
	at := map[string]int{}
	for k := range v.Classes {
		if name := word(k); k != c && name != word(c) && count[k] >= 5 && count[k] >= 50*(count[c]-1) && count[c] > 0 {
			others, at[name] = append(others, name), k
		}
	}
	near, ok := at[words.Nearest(word(c), others)]
	if !ok {
		return -1
	}
	return near
}

// alike warns of classes that differ in case, blanks and hyphens alone.
func alike(classes []string) []error {
	var warnings []error
	seen := map[string]string{}
	for _, c := range classes {
		plain := table.Plain(c)
		if plain == "" || strings.Trim(plain, "0123456789") == "" {
			continue // 1.5 is not 15
		}
		if other, ok := seen[plain]; ok {
			what := "blanks, hyphens or dots"
			if strings.EqualFold(other, c) {
				what = "case"
			}
			warnings = append(warnings, fmt.Errorf("classes %q and %q differ in %s alone: are they the same?", other, c, what))
		}
		seen[plain] = c
	}
	return warnings
}

// meant asks for the class that a label is spelled almost like, or is "".
func meant(label string, classes []string) string {
	if near := known(classes, []string{table.Plain(label)}); near >= 0 {
		return fmt.Sprintf(": is it %q in another spelling?", classes[near])
	}
	if near := words.Nearest(label, classes); near != "" {
		return fmt.Sprintf(": is it %q misspelled?", near)
	}
	return ""
}

// RatersAlike returns, for each name, the number of the first name that differs from it
// only in case, white space or Unicode form (NFKC), −1 if there is none before it.
func RatersAlike(names []string) []int {
	first := make(map[string]int, len(names))
	like := make([]int, len(names))
	for r, name := range names {
		key := text.SameName(name)
		like[r] = -1
		if k, seen := first[key]; !seen {
			first[key] = r
		} else if names[k] != name {
			like[r] = k
		}
	}
	return like
}

// AlikeRaters returns a warning that is [ErrRaterNames] if names of raters who voted look
// like several spellings of one, else nil.
func (ds *Dataset) AlikeRaters() error {
	votes := make([]int, len(ds.Raters))
	for _, r := range ds.Ratings {
		votes[r.Rater]++
	}
	var names []string
	var cast []int
	for r, n := range votes {
		if n > 0 {
			names, cast = append(names, ds.Raters[r]), append(cast, n)
		}
	}
	var pairs []string
	for r, k := range RatersAlike(names) {
		if k >= 0 {
			format := "%q (%s) and %q (%s)"
			if !strings.EqualFold(strings.ReplaceAll(names[k], " ", ""), strings.ReplaceAll(names[r], " ", "")) {
				format = "%+q (%s) and %+q (%s)" // they may look the same
			}
			pairs = append(pairs, fmt.Sprintf(format, names[k], words.Plural(cast[k], "vote"), names[r], words.Plural(cast[r], "vote")))
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s; if they are one person, give them one name", ErrRaterNames, words.Few(pairs))
}

func (ds *Dataset) warnRaters() {
	if err := ds.AlikeRaters(); err != nil {
		ds.Warnings = append(ds.Warnings, err)
	}
}

// A feature that holds the answer (a final diagnosis, a further rater, the mean of the
// votes) makes a model that looks perfect and is of no use on new items, where the
// answer is not known yet. Such a feature is told from a good one by how well it knows
// the majority of votes, which is random itself.

const (
	// leakItems is how many items are looked at; more change nothing.
	leakItems = 2000
	// leakFeatures is how many features are looked at.
	leakFeatures = 2000
	// leastLeakItems is how many items say something.
	leastLeakItems = 20
	// leakShare is the share of majority votes that a feature alone should not know.
	leakShare = 0.97
	// sameShare is the share beyond which levels called like the classes are their
	// votes, even if other columns may be called so too.
	sameShare = 0.75
)

// usualAnswers are classes that columns of other things have for levels too.
var usualAnswers = []string{"yes", "no", "y", "n", "true", "false", "t", "f", "0", "1", "2", "3", "4", "5", "positive", "negative", "pos", "neg",
	"+", "-", "low", "medium", "moderate", "high", "normal", "abnormal", "present", "absent", "none", "mild", "severe", "good", "bad"}

// leaks warns of features that hold the answer.
func (ds *Dataset) leaks() []error {
	items, majority := ds.majorities()
	if len(items) < leastLeakItems || len(ds.Parts) > leakFeatures ||
		slices.ContainsFunc(ds.Parts, func(p Part) bool { return p.Kind == Tensor && len(p.Shape) > 1 }) {
		return nil
	}
	values := make([][]float32, len(ds.Parts))
	row := make([]float32, ds.Rows.Width())
	for _, i := range items {
		if err := ds.Rows.ReadRow(i, row); err != nil {
			return nil // whoever needs the row reports it
		}
		at := 0
		for k, p := range ds.Parts {
			if p.Kind != Tensor {
				values[k] = append(values[k], row[at])
			}
			at += p.Width()
		}
	}
	base := largestShare(majority, len(ds.Classes))
	var list []error
	warn := func(k int, format string, args ...any) {
		name := ds.Parts[k].Name
		list = append(list, advised(fmt.Sprintf("column %q ", name)+fmt.Sprintf(format, args...), name, SetIgnore))
	}
	for k, p := range ds.Parts {
		if p.Kind == Tensor {
			continue
		}
		same, named := ds.sameAsClasses(p, values[k], majority)
		known := knows(values[k], majority, p.Kind == Categorical)
		switch {
		case named && (same >= sameShare || !usual(ds.Classes)):
			warn(k, "has the classes as its levels, and is the majority of votes for %.0f%% of the items: does it hold the answer, or a rater's votes?", 100*same)
		case known >= leakShare && base <= 0.9:
			warn(k, "alone tells the majority of votes for %.4g%% of the items, of which %.0f%% have the same: does it hold the answer?", math.Floor(1000*known)/10, 100*base)
		}
	}
	return list
}

// majorities returns items whose votes have a majority, evenly over the data, and the
// class that has it.
func (ds *Dataset) majorities() (items []int, majority []int) {
	step := max(1, ds.Len()/leakItems)
	for i := 0; i < ds.Len(); i += step {
		counts := ds.CountsOf(i)
		most := slices.Max(counts)
		top := slices.Index(counts, most)
		if most > 0 && !slices.Contains(counts[top+1:], most) {
			items, majority = append(items, i), append(majority, top)
		}
	}
	return items, majority
}

// largestShare returns the share of the most common class.
func largestShare(of []int, classes int) float64 {
	count := make([]int, classes)
	for _, c := range of {
		count[c]++
	}
	return float64(slices.Max(count)) / float64(len(of))
}

// sameAsClasses reports whether at least two of the levels of a feature, and nothing
// else, are called like classes, and the share of items that are at the level of their
// majority.
func (ds *Dataset) sameAsClasses(p Part, values []float32, majority []int) (share float64, named bool) {
	if p.Kind != Categorical || len(p.Levels) < 2 {
		return 0, false
	}
	class := make([]int, len(p.Levels))
	for i, l := range p.Levels {
		class[i] = slices.IndexFunc(ds.Classes, func(c string) bool { return strings.EqualFold(c, l) })
		if class[i] < 0 {
			return 0, false
		}
	}
	same, n := 0, 0
	for i, x := range values {
		if x != x || x < 0 {
			continue
		}
		n++
		if class[int(x)] == majority[i] {
			same++
		}
	}
	return float64(same) / float64(max(1, n)), true
}

// usual reports whether columns of other things may have such classes too.
func usual(classes []string) bool {
	return !slices.ContainsFunc(classes, func(c string) bool { return !slices.Contains(usualAnswers, strings.ToLower(c)) })
}

// knows returns the share of items whose class the others with the same value, or of
// a number with the nearest ones, have for the most part: 0 if most values are missing.
func knows(values []float32, class []int, categorical bool) float64 {
	var order []int
	for i, x := range values {
		if x == x {
			order = append(order, i)
		}
	}
	if 2*len(order) < len(values) {
		return 0
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	known, distinct := 0, 0
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		known += knownAmong(order[from:to], class)
		distinct++
		from = to
	}
	if !categorical && 2*distinct > len(order) {
		// Values of their own: those next to each item answer for it.
		known = 0
		for k, i := range order {
			below, above := order[max(0, k-1)], order[min(len(order)-1, k+1)]
			if (below == i || class[below] == class[i]) && (above == i || class[above] == class[i]) {
				known++
			}
		}
	}
	return float64(known) / float64(len(values))
}

// knownAmong returns how many of some items have the class that most others among
// them have.
func knownAmong(items []int, class []int) int {
	count := map[int]int{}
	for _, i := range items {
		count[class[i]]++
	}
	most, second := 0, 0
	for _, n := range count {
		second = max(second, min(n, most))
		most = max(most, n)
	}
	if most-1 > second {
		return most
	}
	return 0
}
