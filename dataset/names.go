package dataset

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"credence/internal/table"
	"credence/internal/words"
)

// The names that columns are known by, in order of preference, as plain
// spells them. pandas calls an index without a name __index_level_0__ when it
// writes Parquet.
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
		for i, h := range header {
			if table.Plain(h) == want {
				return i
			}
		}
	}
	return -1
}

// findColumn returns the column that the caller named, or the one that the format says
// has the role, or one with a known name, or −1.
func findColumn(t table.Table, name string, names []string, role table.Role) (int, error) {
	if name != "" {
		return column(t, name)
	}
	roles := t.Traits().Roles
	if i := slices.Index(roles, role); i >= 0 && role != table.DataRole {
		return i, readable(t, i)
	}
	if slices.Contains(roles, table.LabelRole) { // all about votes is where it belongs
		return -1, nil
	}
	i := known(t.Header(), names)
	return i, readable(t, i)
}

// findLabel returns the column of labels as findColumn does. Labels that answer several
// questions need a choice.
func findLabel(t table.Table, name string) (int, error) {
	var questions []string
	for i, role := range t.Traits().Roles {
		if role == table.LabelRole {
			questions = append(questions, t.Header()[i])
		}
	}
	if name == "" && len(questions) > 1 {
		return -1, advise(&ParseError{File: t.Name(), Msg: fmt.Sprintf("its labels answer %s, and one has to be chosen: %s",
			number(len(questions), "question"), words.Few(questions))}, questions[0], SetLabel)
	}
	return findColumn(t, name, labelNames, table.LabelRole)
}

// findItem returns the column of ids that the caller named, which may be optional,
// or else one with a known name, or the first column if its name ends in "id" or if
// it has none, as R and pandas write row names; or −1. Columns in taken have another
// use.
func findItem(t table.Table, name string, optional bool, taken ...string) (int, error) {
	if name != "" && (!optional || slices.Contains(t.Header(), name)) {
		return column(t, name)
	}
	if i := slices.Index(t.Traits().Roles, table.ItemRole); i >= 0 {
		return i, nil
	}
	header := slices.Clone(t.Header())
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
// "lesionId" says that a column identifies something other than raters and
// labels.
func namesItems(name string) bool {
	stem, ok := cutID(strings.TrimSpace(name))
	if !ok {
		return false
	}
	stem = table.Plain(stem)
	return !slices.Contains(raterNames, stem) && !slices.Contains(labelNames, stem)
}

// cutID cuts the word "id" off the end of a name; "valid" does not end in it.
func cutID(name string) (stem string, ok bool) {
	at := len(name) - len("id")
	if at <= 0 || !strings.EqualFold(name[at:], "id") {
		return "", false
	}
	stem = name[:at]
	last := []rune(stem)[len([]rune(stem))-1]
	return stem, strings.ContainsRune(" _-.", last) || unicode.IsLower(last) && name[at] == 'I'
}

// hasRowNames reports whether the first column of a table holds row names: its
// header is blank but its cells are not, or is what pandas and R make of a blank
// one.
func hasRowNames(t table.Table) bool {
	if t.Traits().RowNames {
		return true
	}
	first := t.Header()[0]
	return first == "Unnamed: 0" || first == "...1"
}
