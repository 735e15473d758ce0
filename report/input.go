package report

import (
	"fmt"

	"credence/evaluate"
	"credence/head"
	"credence/model"
)

// Input is everything a report may tell. Classes are needed; Provenance, Result
// and the items each have a part of the page that is left out without them.
type Input struct {
	// Title is the name of the page, "Report of a Credence model" if empty.
	Title string
	// Author and Date are shown below it, where given. Date is any text: the package
	// asks no clock.
	Author, Date string
	// Subject is what was learned, in words that continue "… was trained on",
	// such as "the LIDC lung nodules".
	Subject string
	Classes []string // [d]
	// Network and Parameters describe the model: "mlp 64-64", and how many
	// numbers were fitted.
	Network    string
	Members    int // networks of the ensemble
	Method     head.Method
	Parameters int

	// Provenance is that of the model file.
	Provenance *model.Provenance

	// Result is the evaluation of the items below, and Evaluated says which they
	// are: "items held out", "items with out-of-fold predictions"; it follows
	// their number.
	Result    *evaluate.Result
	Evaluated string
	Items     []string       // ids, [N]; numbers if nil
	Answers   []head.Answer  // predictions, [N]
	Votes     evaluate.Votes // [N × d]; the zero value if there are none

	// Raters are shown where training modelled them, by the names given here.
	Raters *evaluate.RaterReport

	// Commands repeat the run, one per line; Config is the complete configuration
	// as a file.
	Commands []string
	Config   string
	// Files are what the run read and wrote, with their hashes.
	Files []File
	// Warnings are further ones, beside those of Provenance and Result.
	Warnings []string
}

// File is a file and its SHA-256.
type File struct{ Name, SHA256 string }

// check reports the first way in which the input contradicts itself.
func (in *Input) check() error {
	d, n := len(in.Classes), len(in.Answers)
	if d < 2 {
		return fmt.Errorf("%d classes: there are at least two", d)
	}
	if in.Items != nil && len(in.Items) != n {
		return fmt.Errorf("%d item names for %d predictions", len(in.Items), n)
	}
	if in.Votes.Classes != 0 && (in.Votes.Classes != d || in.Votes.Len() != n) {
		return fmt.Errorf("votes on %d items of %d classes, but predictions of %d items of %d",
			in.Votes.Len(), in.Votes.Classes, n, d)
	}
	for j := range in.Answers {
		if m := in.Answers[j].Law; m == nil || m.Classes() != d {
			return fmt.Errorf("prediction %d is none of %d classes", j, d)
		}
	}
	return nil
}
