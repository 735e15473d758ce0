package dataset

import (
	"errors"
	"fmt"

	"credence/internal/fault"
	"credence/internal/words"
)

// Reasons that callers tell apart with errors.Is.
var (
	// ErrOneVote warns that no item has two votes: the votes then say nothing
	// about how much the probability varies between items that look alike, so
	// intervals are not identified.
	ErrOneVote = errors.New("no item has more than one vote: the width of intervals cannot be learned from such votes")

	// ErrNoColumn is the reason when a column that was named is not there; Name
	// of the [ParseError] is that column.
	ErrNoColumn = errors.New("no such column")

	// ErrMissingFeature is the reason when data lack a feature that a model was
	// trained with.
	ErrMissingFeature = errors.New("a feature is missing")

	// ErrRaterNames warns that raters may be one person under several spellings.
	ErrRaterNames = errors.New("names of raters differ only in case, spaces or Unicode form")
)

// ParseError says what is wrong with a file, and where: File, as the caller named
// it; Line and Column, from 1, and 0 when all is meant; Name of the column; Msg; and
// the cause Err.
type ParseError = fault.Error

// Unvoted warns of so many items without votes.
type Unvoted int

func (n Unvoted) Error() string {
	them := "them"
	if n == 1 {
		them = "it"
	}
	return words.Plural(int(n), "item") + " without votes: nothing is learned from " + them
}

// Setting is an option of the caller's that would settle what is wrong.
type Setting uint8

const (
	SetItem        Setting = iota // FeatureOptions.ItemColumn, or that of the votes in their file
	SetVotesItem                  // VotesOptions.ItemColumn
	SetLabel                      // VotesOptions.LabelColumn
	SetTotal                      // VotesOptions.TotalColumn
	SetVotes                      // LoadOptions.Votes
	SetVoteColumns                // VotesOptions.Columns
	SetForm                       // VotesOptions.Form
	SetClasses                    // VotesOptions.Classes
	SetIgnore                     // Ignore
	SetGroup                      // FeatureOptions.GroupColumn
	SetCategorical                // FeatureOptions.Categorical
	SetText                       // FeatureOptions.Text
	SetMissing                    // TableOptions.NA
	SetImages                     // FeatureOptions.ImageColumn
	SetArray                      // FeatureOptions.Array
	SetSheet                      // TableOptions.Sheet
)

// Advice is the cause of errors and warnings that an option would settle: any of
// Settings. This package does not know how its callers spell them.
type Advice struct {
	Settings []Setting
	Column   string   // the column to name, if it is known
	Columns  []string // of SetVoteColumns, those to name
	Value    string   // the text to take for a missing value
	Forms    []Form   // those that votes can be read in
}

func (a *Advice) Error() string { return fmt.Sprintf("an option would settle it: %d", a.Settings) }

// caused is an error, or a warning, with a cause that its text does not show.
type caused struct {
	text  string
	cause error
}

func (e *caused) Error() string { return e.text }
func (e *caused) Unwrap() error { return e.cause }

// advised returns a warning that an option about a column, or "", would settle.
func advised(text, column string, settings ...Setting) error {
	return &caused{text, &Advice{Settings: settings, Column: column}}
}

// advise gives an error its cause.
func advise(e *ParseError, column string, settings ...Setting) error {
	e.Err = &Advice{Settings: settings, Column: column}
	return e
}
