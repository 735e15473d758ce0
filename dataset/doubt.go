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
	"credence/record"
)

// Unless the classes are named, every label in a file of votes becomes a class.
// Without warnings, a spelling of a missing vote or a typing error would become one too.

// blankNames are labels that often mean a missing vote, in lower case. Some are valid
// classes in other data, so they cause a warning and are not left out.
var blankNames = []string{"?", "??", "???", "-", "--", "---", "–", "—", ".", "..", "*", "_", "/", "x?", "na", "n/a", "n.a.", "nan",
	"<na>", "#n/a", "#na", "#null!", "#value!", "#ref!", "#name?", "#div/0!", "#num!", "null", "nil", "none", "unknown", "unk", "unclear",
	"unsure", "not sure", "missing", "not available", "not applicable", "no answer", "no vote", "skip", "skipped", "blank", "empty",
	"undefined", "tbd", "-1", "-9", "-99", "-999", "9999", "-9999"}

// suspectClasses returns warnings about classes that do not look like classes.
func (v *votes) suspectClasses() []error {
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
			list = append(list, &caused{fmt.Sprintf("label %q is treated as a separate class, with %s", name, of(c)),
				&Advice{Settings: []Setting{SetMissing, SetClasses}, Value: name}})
		case near >= 0:
			doubt("class %q, with %s, is spelled almost like %q, with %s: correct the file if it is a typo", name, of(c), v.Classes[near], voteString(count[near]))
		case count[c] == 1 && v.Votes.Votes >= 50:
			single = append(single, strconv.Quote(name))
		}
	}
	if len(single) > 0 {
		doubt("%s with only 1 of %s votes: %s; correct the file if this is a typo", words.Plural(len(single), "class"), voteString(v.Votes.Votes), words.Few(single))
	}
	return list
}

// Numeric labels are considered measurements if they have at least manyGrades distinct values and fewer votes per
// value than votesPerCode, if all are whole numbers, which may be codes of many classes, or else votesPerPoint.
const (
	manyGrades    = 50
	votesPerCode  = 1.25
	votesPerPoint = 5
)

// measured returns an error if labels look like measurements, or like ids, instead of classes.
func (v *votes) measured() error {
	values, numeric := numbersOf(v.Classes, record.ParseNumber, true)
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
		"are they classes? Round measurements to a few values first",
		where, words.Thousands(len(values)), voteString(v.Votes.Votes), strings.Join(v.Classes[:3], ", "))}, "", SetClasses, settle)
}

// tooManyLabels returns the error for a file with more than maxClasses classes.
func tooManyLabels(file string, classes []string) error {
	msg := fmt.Sprintf("expected at most %s classes, found %s different labels (%s, …): is this the label column?",
		words.Thousands(maxClasses), words.Thousands(len(classes)), strings.Join(classes[:3], ", "))
	if _, numeric := numbersOf(classes, record.ParseNumber, true); numeric {
		msg += " Round measurements to a few values first"
	}
	return advise(&ParseError{File: file, Msg: msg}, "", SetLabel)
}

// blank reports whether a label often means a missing vote. A minus does not if there is
// also a plus, nor -1 if there is also 1.
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

// spelledLike returns the class with the most similar name among those with at least fifty
// times the votes, or five votes if class c has one; −1 if no name is similar. Names that
// differ only in digits are different classes.
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

// similarClasses returns warnings about classes that differ only in case, blanks and hyphens.
func similarClasses(classes []string) []error {
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
			warnings = append(warnings, fmt.Errorf("classes %q and %q differ only in %s: are they the same?", other, c, what))
		}
		seen[plain] = c
	}
	return warnings
}

// suggestClass returns a question whether a label is a misspelled class, or "".
func suggestClass(label string, classes []string) string {
	if near := known(classes, []string{table.Plain(label)}); near >= 0 {
		return fmt.Sprintf(": is it %q in another spelling?", classes[near])
	}
	if near := words.Nearest(label, classes); near != "" {
		return fmt.Sprintf(": is it %q misspelled?", near)
	}
	return ""
}

// RatersAlike returns, for each name, the index of the first name that differs from it
// only in case, white space or Unicode form (NFKC), or −1 if no earlier name does.
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

// AlikeRaters returns a warning that wraps [ErrRaterNames] if names of raters with votes look
// like different spellings of one name, else nil.
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
	return fmt.Errorf("%w: %s; if they are one person, use one name", ErrRaterNames, words.Few(pairs))
}

// warnRaters adds the warning of AlikeRaters, if there is one.
func (ds *Dataset) warnRaters() {
	if err := ds.AlikeRaters(); err != nil {
		ds.Warnings = append(ds.Warnings, err)
	}
}

// A feature that contains the label (a final diagnosis, another rater, the mean of the
// votes) yields a model that looks perfect and is useless for new items, for which the
// label is not known yet. Such a leak is detected by how well the feature alone predicts
// the majority of the votes, which is random even given the true probabilities.

const (
	// leakItems is the number of items examined; more do not change the result.
	leakItems = 2000
	// leakFeatures is the largest number of features that are examined.
	leakFeatures = 2000
	// minLeakItems is the smallest number of items for a meaningful result.
	minLeakItems = 20
	// leakShare is the share of majority votes that a feature alone should not predict.
	leakShare = 0.97
	// sameShare is the share above which levels named like the classes are votes, even if
	// other columns often have such levels.
	sameShare = 0.75
)

// commonClasses are classes that are often levels of unrelated columns.
var commonClasses = []string{"yes", "no", "y", "n", "true", "false", "t", "f", "0", "1", "2", "3", "4", "5", "positive", "negative", "pos", "neg",
	"+", "-", "low", "medium", "moderate", "high", "normal", "abnormal", "present", "absent", "none", "mild", "severe", "good", "bad"}

// leaks returns warnings about features that contain the label.
func (ds *Dataset) leaks() []error {
	items, majority := ds.majorities()
	if len(items) < minLeakItems || len(ds.Features) > leakFeatures ||
		slices.ContainsFunc(ds.Features, func(p Feature) bool { return p.Kind == Tensor && len(p.Shape) > 1 }) {
		return nil
	}
	values := make([][]float32, len(ds.Features))
	row := make([]float32, ds.Rows.Width())
	for _, i := range items {
		if err := ds.Rows.ReadRow(i, row); err != nil {
			return nil // reported when the row is needed
		}
		at := 0
		for k, p := range ds.Features {
			if p.Kind != Tensor {
				values[k] = append(values[k], row[at])
			}
			at += p.Width()
		}
	}
	base := largestShare(majority, len(ds.Classes))
	var list []error
	warn := func(k int, format string, args ...any) {
		name := ds.Features[k].Name
		list = append(list, advised(fmt.Sprintf("column %q ", name)+fmt.Sprintf(format, args...), name, SetIgnore))
	}
	for k, p := range ds.Features {
		if p.Kind == Tensor || p.Judge {
			continue
		}
		same, named := ds.sameAsClasses(p, values[k], majority)
		known := predictedShare(values[k], majority, p.Kind == Categorical)
		switch {
		case named && (same >= sameShare || !commonOnly(ds.Classes)):
			warn(k, "has the classes as its levels, and equals the majority vote for %.0f%% of the items: does it contain the label, or a rater's votes?", 100*same)
		case known >= leakShare && base <= 0.9:
			warn(k, "alone predicts the majority vote for %.4g%% of the items (most frequent class: %.0f%%): does it contain the label?", math.Floor(1000*known)/10, 100*base)
		}
	}
	return list
}

// majorities returns items whose votes have a unique most frequent class, evenly spaced
// over the data, and that class.
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

// sameAsClasses reports whether a feature has at least two levels and all of them are names
// of classes, and returns the share of items whose level is their majority
// class.
func (ds *Dataset) sameAsClasses(p Feature, values []float32, majority []int) (share float64, named bool) {
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

// commonOnly reports whether all classes are common levels of unrelated columns.
func commonOnly(classes []string) bool {
	return !slices.ContainsFunc(classes, func(c string) bool { return !slices.Contains(commonClasses, strings.ToLower(c)) })
}

// predictedShare returns the share of items whose class is predicted by the other items with the
// same value or, for numbers, with the nearest values; 0 if most values are missing.
func predictedShare(values []float32, class []int, categorical bool) float64 {
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
		known += predictedAmong(order[from:to], class)
		distinct++
		from = to
	}
	if !categorical && 2*distinct > len(order) {
		// Mostly distinct values: predict each item from its neighbors.
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

// predictedAmong returns the number of items whose class is the most frequent one among the
// others.
func predictedAmong(items []int, class []int) int {
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
