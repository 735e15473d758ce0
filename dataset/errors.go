package dataset

import (
	"errors"
	"fmt"

	"credence/internal/words"
	"credence/record"
)

// Causes that callers can distinguish with errors.Is.
var (
	// ErrOneVote is the warning that no item has two votes: such votes contain no
	// information about how much the probability varies between similar items, so
	// intervals are not identified.
	ErrOneVote = errors.New("no item has more than one vote: the width of intervals cannot be learned from such votes")

	// ErrNoColumn is the cause if a column named in the options is not in the file;
	// Name of the [ParseError] is that column.
	ErrNoColumn = errors.New("column not found")

	// ErrMissingFeature is the cause if the data lack a feature that a model was
	// trained with.
	ErrMissingFeature = errors.New("a feature is missing")

	// ErrUnknownClass is the cause if a label or a column of votes is not among the
	// classes that the options name.
	ErrUnknownClass = errors.New("not one of the classes")

	// ErrRaterNames is the warning that several names of raters may be spellings of one.
	ErrRaterNames = errors.New("names of raters differ only in case, spaces or Unicode form")
)

// ParseError describes what is wrong with a file, and where: File, as the caller named
// it; Line and Column, counted from 1, or 0 for the whole file or line; Sheet of a
// workbook; Name of the column; Msg; and the cause Err, or nil.
type ParseError = record.Error

// Unvoted is the warning that a number of items have no votes.
type Unvoted int

func (n Unvoted) Error() string {
	return words.Plural(int(n), "item") + " without votes, not used for training"
}

// Setting identifies an option that would resolve an error or a warning.
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
	SetOrdered                    // VotesOptions.Ordered
	SetIgnore                     // Ignore
	SetGroup                      // FeatureOptions.GroupColumn
	SetCategorical                // FeatureOptions.Categorical
	SetText                       // FeatureOptions.Text
	SetMissing                    // TableOptions.NA
	SetImages                     // FeatureOptions.ImageColumn
	SetArray                      // FeatureOptions.Array
	SetSheet                      // TableOptions.Sheet
	SetBackbone                   // FeatureOptions.Backbone
)

// Advice is the cause of errors and warnings that an option would resolve: any of
// Settings. Callers translate them into the names of their own options.
type Advice struct {
	Settings []Setting
	Column   string   // the column to pass to the option, if known
	Columns  []string // for SetVoteColumns: the columns to pass
	Value    string   // for SetMissing: the spelling of a missing value
	Forms    []Form   // for SetForm: the forms that fit the votes
}

func (a *Advice) Error() string { return fmt.Sprintf("an option would resolve this: %d", a.Settings) }

// caused is an error or a warning whose text does not include that of its cause.
type caused struct {
	text  string
	cause error
}

func (e *caused) Error() string { return e.text }
func (e *caused) Unwrap() error { return e.cause }

// advised returns a warning with an [Advice], unless there are no settings; column may be "".
func advised(text, column string, settings ...Setting) error {
	if len(settings) == 0 {
		return errors.New(text)
	}
	return &caused{text, &Advice{Settings: settings, Column: column}}
}

// advise sets the cause of e to an [Advice]; column may be "".
func advise(e *ParseError, column string, settings ...Setting) error {
	e.Err = &Advice{Settings: settings, Column: column}
	return e
}
