package dataset

import (
	"cmp"
	"fmt"
	"slices"

	"credence/internal/table"
	"credence/internal/words"
	"credence/record"
)

// scales are words of ordered scales, each from its lower end to its upper end, as [table.Plain] writes them.
// The classes of a scale may be any of its words.
var scales = [][]string{
	{"none", "verylow", "low", "mid", "high", "veryhigh"},
	{"none", "verylow", "low", "middle", "high", "veryhigh"},
	{"none", "verylow", "low", "medium", "high", "veryhigh", "critical"},
	{"none", "verylow", "low", "moderate", "high", "veryhigh"},
	{"none", "minimal", "mild", "moderate", "severe", "verysevere", "critical"},
	{"none", "minor", "moderate", "major", "severe", "critical"},
	{"verysmall", "small", "medium", "large", "verylarge"},
	{"terrible", "verypoor", "verybad", "poor", "bad", "fair", "average", "ok", "okay", "good", "verygood", "great", "excellent"},
	{"verynegative", "negative", "neutral", "positive", "verypositive"},
	{"never", "rarely", "seldom", "sometimes", "often", "usually", "always"},
	{"veryunlikely", "unlikely", "possible", "neutral", "likely", "verylikely"},
	{"stronglydisagree", "disagree", "somewhatdisagree", "neutral", "neitheragreenordisagree", "somewhatagree", "agree", "stronglyagree"},
	{"verydissatisfied", "dissatisfied", "neutral", "satisfied", "verysatisfied"},
}

// onScale returns the position of each class on a scale: its value if all are numbers, else its place among
// the words of one of scales. It returns nil if the classes are neither.
func onScale(classes []string) []float64 {
	if values, numeric := numbersOf(classes, record.ParseNumber, false); numeric {
		return values
	}
	for _, scale := range scales {
		at := make([]float64, len(classes))
		known := 0
		for i, name := range classes {
			if k := slices.Index(scale, table.Plain(name)); k >= 0 {
				at[i] = float64(k)
				known++
			}
		}
		if known == len(classes) {
			return at
		}
	}
	return nil
}

// order marks the classes as ordered, and sorts them along their scale unless the options name them in order.
func (v *votes) order(opts *VotesOptions) error {
	v.Ordered = true
	if opts.Classes != nil {
		return nil
	}
	at := onScale(v.Classes)
	if at == nil {
		if v.Votes.Form == Counted || v.Votes.Form == Fractions {
			return nil // in the order of their columns
		}
		return advise(&ParseError{File: v.Votes.File, Msg: fmt.Sprintf("expected ordered classes that are numbers or words of a known scale, such as low, medium and high, found [%s], whose order is unknown",
			words.Few(v.Classes))}, "", SetClasses)
	}
	d := len(at)
	from := make([]int, d)
	for i := range from {
		from[i] = i
	}
	slices.SortStableFunc(from, func(a, b int) int { return cmp.Compare(at[a], at[b]) })
	to := make([]int32, d)
	classes := make([]string, d)
	for i, k := range from {
		to[k], classes[i] = int32(i), v.Classes[k]
	}
	v.Classes = classes
	for _, list := range [][]float32{v.Counts, v.Truth} {
		for ; len(list) >= d; list = list[d:] {
			was := slices.Clone(list[:d])
			for i, k := range from {
				list[i] = was[k]
			}
		}
	}
	for i := range v.Ratings {
		v.Ratings[i].Class = to[v.Ratings[i].Class]
	}
	return nil
}

// Scales of whole numbers have at most longScale points, unless they end at 10: labels with more are rather codes.
const longScale = 7

// maybeOrdered returns the question whether the classes are ordered, if their labels look like the points of a scale.
func (v *votes) maybeOrdered() error {
	at, d := onScale(v.Classes), len(v.Classes)
	if at == nil || d < 3 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(at))
	if _, numeric := numbersOf(v.Classes, record.ParseNumber, false); numeric {
		for i, x := range sorted {
			if x != sorted[0]+float64(i) {
				return nil
			}
		}
		if d > longScale && sorted[d-1] != 10 {
			return nil
		}
	}
	return advised(fmt.Sprintf("classes [%s] look like the points of a scale: are they ordered?", words.Few(v.Classes)), "", SetOrdered, SetClasses)
}
