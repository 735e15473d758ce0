package dataset

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"credence/internal/table"
)

// Every format spells booleans differently: True in what pandas writes, TRUE in R and in workbooks, true in JSON,
// a bit in Parquet and Arrow, and the numbers 0 and 1 in arrays and frames. A level, or a class, that is a boolean is the
// same in all spellings, whichever one it had in training; all other texts are compared exactly.

// boolOf returns 1 for a spelling of true and 0 for one of false, with numbers also for the numbers 1 and 0, and
// reports whether a text is either.
func boolOf(s string, numbers bool) (value int, ok bool) {
	switch {
	case len(s) == 4 && strings.EqualFold(s, "true"):
		return 1, true
	case len(s) == 5 && strings.EqualFold(s, "false"):
		return 0, true
	case numbers:
		x, ok := table.ParseNumber(s, false)
		return int(x), ok && (x == 0 || x == 1)
	}
	return 0, false
}

// levelIndex finds levels, or classes, by their text.
type levelIndex struct {
	codes map[string]int32
	// bools are the codes of the only level that is false, and of the only one that is true, or −1.
	bools   [2]int32
	numbers bool // levels are all booleans, so that the numbers 0 and 1 are booleans too
}

// newLevelIndex returns the index of levels. With numbers, 0 and 1 are booleans among levels that are nothing else.
func newLevelIndex(levels []string, numbers bool) *levelIndex {
	x := &levelIndex{codes: make(map[string]int32, len(levels)), bools: [2]int32{-1, -1}}
	x.numbers = numbers && !slices.ContainsFunc(levels, func(l string) bool { _, ok := boolOf(l, true); return !ok })
	var several [2]bool
	for i, l := range levels {
		x.codes[l] = int32(i)
		if b, ok := boolOf(l, x.numbers); ok {
			several[b] = several[b] || x.bools[b] >= 0
			x.bools[b] = int32(i)
		}
	}
	for b, s := range several {
		if s {
			x.bools[b] = -1
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

// oneSpelling returns names with one spelling for each boolean, if all of them are booleans: their own if
// there is but one, so that equal files keep giving equal models, else true and false.
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

// joinSpellings makes one level of the spellings of a boolean, in a column of nothing else.
func (c *columnScan) joinSpellings() {
	names := slices.Collect(maps.Keys(c.levels))
	for i, to := range oneSpelling(names) {
		if n := c.levels[names[i]]; to != names[i] {
			delete(c.levels, names[i])
			c.levels[to] += n
		}
	}
}
