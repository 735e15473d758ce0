package dataset

import (
	"errors"

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

// missingError says that data lack a feature of a model.
type missingError struct{ text string }

func (e *missingError) Error() string        { return e.text }
func (e *missingError) Is(target error) bool { return target == ErrMissingFeature }

// Unvoted warns of so many items without votes.
type Unvoted int

func (n Unvoted) Error() string {
	them := "them"
	if n == 1 {
		them = "it"
	}
	return number(int(n), "item") + " without votes: nothing is learned from " + them
}

// number writes "1 vote", "2 votes", "2 classes" and so on.
func number(n int, noun string) string {
	if noun == "class" && n != 1 {
		return words.Thousands(n) + " classes"
	}
	return words.Plural(n, noun)
}
