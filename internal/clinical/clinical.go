// Package clinical turns the columns of a clinical table into votes: a
// diagnosis, a test score and a rating scale each become a voter that puts an
// item into a class.
//
// [Rules] say how, in YAML that a clinician can read ([Default] are those of Wu
// et al., ICML 2019):
//
//	classes:
//	  NC+MCI: [NC, MCI]
//	  AD: [AD]
//	votes:
//	  - from: [MMSE, MMSCORE]
//	    NC: 28-30
//	    MCI: 24-27
//	    AD: 0-23
//
// Any columns and any classes will do. [Rules.Apply] reads a table by them: a
// missing score is a vote less, a score that no condition takes is an error
// that names its line.
package clinical

import (
	_ "embed"
)

// Rules say how the columns of a table become votes.
type Rules struct {
	// Items are the names that the column of items may have.
	Items []string
	// Classes are the labels, each with the levels that it takes in.
	Classes []Class
	Voters  []Voter
}

// Class is a label and the levels that mean it.
type Class struct {
	Name   string
	Levels []string
}

// Voter is one column of scores.
type Voter struct {
	Name string // that votes carry
	From []string
	// Levels [of Rules.Levels] are the conditions; nil where the voter has none.
	Levels  []*Condition
	Missing *Condition // scores that mean there is none; may be nil
}

// Levels returns the levels of all classes, in order.
func (r *Rules) Levels() []string {
	var all []string
	for _, c := range r.Classes {
		all = append(all, c.Levels...)
	}
	return all
}

//go:embed default.yaml
var defaultText []byte

// DefaultText is the YAML of the rules of [Default].
func DefaultText() string { return string(defaultText) }

// Default returns the thresholds of the paper: AD against NC and MCI by
// diagnosis, CDR and MMSE.
func Default() *Rules {
	r, err := Parse("default rules", defaultText)
	if err != nil {
		panic(err) // the text is part of the program
	}
	return r
}
