package dataset

import (
	"errors"
	"fmt"
	"strings"

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

	// ErrAmbiguous is the reason of an [AmbiguousError].
	ErrAmbiguous = errors.New("the form of the votes is ambiguous")

	// ErrFormat is the reason when a file is truncated, damaged, or of another
	// format than its name says.
	ErrFormat = errors.New("malformed file")
)

// ParseError says what is wrong with a file, and where.
type ParseError struct {
	File   string // as the caller named it
	Line   int    // from 1; 0 when the whole file is meant
	Column int    // the field, from 1; 0 when the whole line is meant
	Name   string // the column's name, if it has one
	Msg    string
	Err    error // the cause, or nil
}

// Error reads like `reading votes.csv: line 17, column 3 (label): …`.
func (e *ParseError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "reading %s: ", e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ", column %d", e.Column)
		}
		if e.Column > 0 && e.Name != "" {
			fmt.Fprintf(&b, " (%s)", e.Name)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

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

// malformed reports a damaged file of a binary format.
func malformed(file, format string, args ...any) error {
	return &ParseError{File: file, Msg: fmt.Sprintf(format, args...), Err: ErrFormat}
}

// failed wraps an error of the operating system or of a library.
func failed(file string, err error) error {
	return &ParseError{File: file, Msg: err.Error(), Err: err}
}

// few lists at most five names, for messages.
func few(names []string) string {
	if len(names) <= 5 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, … (%s in all)", strings.Join(names[:5], ", "), words.Thousands(len(names)))
}

// number writes "1 vote", "2 votes" and so on.
func number(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "class"):
		return words.Thousands(n) + " " + noun + "es"
	}
	return words.Thousands(n) + " " + noun + "s"
}
