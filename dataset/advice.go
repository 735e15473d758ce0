package dataset

import "fmt"

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

// warning is something to tell about data that are read all the same.
type warning struct {
	text   string
	advice *Advice
}

func (w *warning) Error() string { return w.text }
func (w *warning) Unwrap() error { return w.advice }

// advised returns a warning that an option about a column, or "", would settle.
func advised(text, column string, settings ...Setting) error {
	return &warning{text, &Advice{Settings: settings, Column: column}}
}

// advise gives an error its cause.
func advise(e *ParseError, column string, settings ...Setting) error {
	e.Err = &Advice{Settings: settings, Column: column}
	return e
}
