package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"credence/internal/table"
	"credence/internal/words"
	"credence/record"
)

// The usual names of columns, in order of preference, as normalized by
// [table.Plain]. pandas writes an index without a name to Parquet as
// __index_level_0__.
var (
	itemNames  = []string{"item", "itemid", "id", "items", "case", "caseid", "example", "exampleid", "sample", "sampleid", "image", "imageid", "scan", "scanid", "unit", "unitid", "task", "taskid", "indexlevel0"}
	raterNames = []string{"rater", "raterid", "annotator", "annotatorid", "worker", "workerid", "reader", "readerid", "judge", "coder", "labeler", "labeller", "expert", "observer", "reviewer"}
	labelNames = []string{"label", "vote", "rating", "class", "answer", "annotation", "response", "category", "grade", "score"}
	countNames = []string{"count", "counts", "votes", "nvotes", "numvotes"}
	totalNames = []string{"total", "votes", "nvotes", "numvotes", "n", "m", "count", "raters", "nraters"}
)

// nonEmpty returns the names that are not "".
func nonEmpty(names ...string) []string {
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}

// known returns the index of the column with the first of the given names, or
// −1.
func known(header, names []string) int {
	for _, want := range names {
		if i := slices.IndexFunc(header, func(h string) bool { return table.Plain(h) == want }); i >= 0 {
			return i
		}
	}
	return -1
}

// findColumn returns the column that the caller named, or the one with the role in the
// file format, or one with a usual name, or −1.
func findColumn(t table.Table, name string, names []string, role table.Role) (int, error) {
	if name != "" {
		return column(t, name)
	}
	roles := t.Traits().Roles
	if i := slices.Index(roles, role); i >= 0 && role != table.DataRole {
		return i, readable(t, i)
	}
	if slices.Contains(roles, table.LabelRole) { // the format defines all columns of votes
		return -1, nil
	}
	i := known(t.Header(), names)
	return i, readable(t, i)
}

// findLabel returns the column of labels as findColumn does. If the labels are responses to
// several questions, it returns an error that asks for a choice.
func findLabel(t table.Table, name string) (int, error) {
	var questions []string
	for i, role := range t.Traits().Roles {
		if role == table.LabelRole {
			questions = append(questions, t.Header()[i])
		}
	}
	if name == "" && len(questions) > 1 {
		return -1, advise(&ParseError{File: t.Name(), Msg: fmt.Sprintf("the labels answer %s, but one has to be selected: %s",
			words.Plural(len(questions), "question"), words.Few(questions))}, questions[0], SetLabel)
	}
	return findColumn(t, name, labelNames, table.LabelRole)
}

// findItem returns the id column that the caller named, which may be optional, or
// else one with a usual name, or the first column if its name ends in "id" or if it
// has no name, as row names written by R and pandas; or −1. Columns in taken have
// another use.
func findItem(t table.Table, name string, optional bool, taken ...string) (int, error) {
	if name != "" && (!optional || slices.Contains(t.Header(), name)) {
		return column(t, name)
	}
	if i := slices.Index(t.Traits().Roles, table.ItemRole); i >= 0 {
		return i, nil
	}
	header := slices.Clone(t.Header())
	if len(header) == 0 {
		return -1, &ParseError{File: t.Name(), Msg: "there are no items"}
	}
	for i, h := range header {
		if slices.Contains(taken, h) {
			header[i] = ""
		}
	}
	if i := known(header, itemNames); i >= 0 {
		return i, readable(t, i)
	}
	if header[0] != "" && (hasRowNames(t) || namesItems(header[0])) {
		return 0, readable(t, 0)
	}
	return -1, nil
}

// namesItems reports whether a name such as "Patient ID", "subject_id" or
// "lesionId" is that of a column of ids of something other than raters and
// labels.
func namesItems(name string) bool {
	name = strings.TrimSpace(name)
	at := len(name) - len("id")
	if at <= 0 || !strings.EqualFold(name[at:], "id") {
		return false
	}
	// The word "id" has to be separate: "valid" does not end in it.
	last, _ := utf8.DecodeLastRuneInString(name[:at])
	separate := strings.ContainsRune(" _-.", last) || unicode.IsLower(last) && name[at] == 'I'
	stem := table.Plain(name[:at])
	return separate && !slices.Contains(raterNames, stem) && !slices.Contains(labelNames, stem)
}

// hasRowNames reports whether the first column of a table contains row names: its
// header is blank but its cells are not, or the header is what pandas and R write for
// a blank one.
func hasRowNames(t table.Table) bool {
	return t.Traits().RowNames || slices.Contains([]string{"Unnamed: 0", "...1"}, t.Header()[0])
}

// Booleans differ between formats: True in files from pandas, TRUE in R and in workbooks, true in JSON,
// a bit in Parquet and Arrow, and the numbers 0 and 1 in arrays and data frames. A level or class that is a boolean is
// the same in all spellings, regardless of the one in training; all other texts are compared exactly.

// boolOf returns 1 for a spelling of true and 0 for one of false and reports whether a text is either. With numbers,
// the numbers 1 and 0 are booleans too.
func boolOf(s string, numbers bool) (value int, ok bool) {
	switch {
	case len(s) == 4 && strings.EqualFold(s, "true"):
		return 1, true
	case len(s) == 5 && strings.EqualFold(s, "false"):
		return 0, true
	case numbers:
		x, ok := record.ParseNumber(s, false)
		return int(x), ok && (x == 0 || x == 1)
	}
	return 0, false
}

// levelIndex maps texts to the indices of levels or classes.
type levelIndex struct {
	codes map[string]int32
	// bools are the codes of the level that is false and of the one that is true, or −1 if there is none or several.
	bools   [2]int32
	numbers bool // all levels are booleans, so that the numbers 0 and 1 are booleans too
}

// newLevelIndex returns the index of levels. With numbers, 0 and 1 are booleans if all levels are booleans.
func newLevelIndex(levels []string, numbers bool) *levelIndex {
	x := &levelIndex{codes: make(map[string]int32, len(levels)), bools: [2]int32{-1, -1}}
	x.numbers = numbers && !slices.ContainsFunc(levels, func(l string) bool { _, ok := boolOf(l, true); return !ok })
	var found [2]int
	for i, l := range levels {
		x.codes[l] = int32(i)
		if b, ok := boolOf(l, x.numbers); ok {
			x.bools[b] = int32(i)
			if found[b]++; found[b] > 1 {
				x.bools[b] = -1
			}
		}
	}
	return x
}

// code returns the index of the level with a text, or UnknownLevel.
func (x *levelIndex) code(text string) int32 {
	if c, ok := x.codes[text]; ok {
		return c
	}
	if b, ok := boolOf(text, x.numbers); ok {
		return x.bools[b]
	}
	return UnknownLevel
}

// oneSpelling returns names with one spelling for each boolean if all of them are booleans: unchanged if each
// has only one spelling, so that equal files still give equal models, else true and false.
func oneSpelling(names []string) []string {
	var spelled [2]string
	several := false
	for _, name := range names {
		b, ok := boolOf(name, false)
		if !ok {
			return names
		}
		several = several || spelled[b] != "" && spelled[b] != name
		spelled[b] = name
	}
	if !several {
		return names
	}
	out := make([]string, len(names))
	for i, name := range names {
		b, _ := boolOf(name, false)
		out[i] = strconv.FormatBool(b == 1)
	}
	return out
}

// joinSpellings merges the spellings of each boolean into one level, in a column of only booleans.
func (c *columnScan) joinSpellings() {
	names := slices.Collect(maps.Keys(c.levels))
	for i, to := range oneSpelling(names) {
		if n := c.levels[names[i]]; to != names[i] {
			delete(c.levels, names[i])
			c.levels[to] += n
		}
	}
}
