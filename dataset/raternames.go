package dataset

import (
	"fmt"
	"strings"

	"credence/internal/text"
	"credence/internal/words"
)

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
			pairs = append(pairs, fmt.Sprintf(format, names[k], number(cast[k], "vote"), names[r], number(cast[r], "vote")))
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
