package dataset

import "strings"

// The names that columns are known by, in order of preference, as plain
// spells them.
var (
	itemNames  = []string{"item", "itemid", "id", "items", "case", "caseid", "example", "exampleid", "sample", "sampleid", "image", "imageid", "scan", "scanid", "unit", "unitid", "task", "taskid"}
	raterNames = []string{"rater", "raterid", "annotator", "annotatorid", "worker", "workerid", "reader", "readerid", "judge", "coder", "labeler", "labeller", "expert", "observer", "reviewer"}
	labelNames = []string{"label", "vote", "rating", "class", "answer", "annotation", "response", "category", "grade", "score"}
	countNames = []string{"count", "counts", "votes", "nvotes", "numvotes"}
	totalNames = []string{"total", "votes", "nvotes", "numvotes", "n", "m", "count", "raters", "nraters"}
)

// plain drops case, blanks, underscores, hyphens and dots from a column's name.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-.", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// known returns the index of the column with the first of the given names, or
// −1.
func known(header, names []string) int {
	for _, want := range names {
		for i, h := range header {
			if plain(h) == want {
				return i
			}
		}
	}
	return -1
}

// findColumn returns the column that the caller named, or one with a known
// name, or −1.
func findColumn(t table, name string, names []string) (int, error) {
	if name != "" {
		return column(t, name)
	}
	return known(t.header(), names), nil
}
