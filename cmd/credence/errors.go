package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"credence/dataset"
	"credence/internal/config"
	"credence/internal/printout"
	"credence/internal/words"
)

// usageError is an error in the command line, as opposed to work that failed.
// The program exits with code 2.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// usagef formats a usageError.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// expect returns a usageError unless ok.
func expect(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return usagef(format, args...)
}

// oneOf checks that the value of a flag is one of the choices.
func oneOf(flag, value string, choices ...string) error {
	expected := "one of " + strings.Join(choices, ", ")
	if len(choices) == 2 {
		expected = words.List(choices, "or")
	}
	return expect(slices.Contains(choices, value), "--%s %q: expected %s", flag, value, expected)
}

// firstChanged returns the first of the named flags that is set on the command line, or "".
func firstChanged(f *pflag.FlagSet, names ...string) string {
	for _, name := range names {
		if f.Changed(name) {
			return name
		}
	}
	return ""
}

// asUsage wraps err in a usageError unless it is one.
func asUsage(err error) error {
	if _, ok := errors.AsType[*usageError](err); ok {
		return err
	}
	return &usageError{err}
}

// flagError rewords pflag's errors about flags and their values.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, unknown)
	}
	bad, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	flag := bad.GetFlag()
	if field, ok := flag.Value.(*config.Field); ok {
		err := usagef("--%s %w", flag.Name, errors.Unwrap(bad))
		if near := words.Nearest(strings.ToLower(bad.GetValue()), field.Choices); near != "" {
			err = withHint(err, fmt.Sprintf("did you mean --%s %s?", flag.Name, near))
		}
		return err
	}
	want := map[string]string{"int": "a whole number", "uint64": "a whole number that is not negative", "intSlice": "whole numbers",
		"float64": "a number", "bool": "true or false"}[flag.Value.Type()]
	if want == "" {
		return usagef("--%s: %w", flag.Name, errors.Unwrap(bad))
	}
	return usagef("--%s %q: expected %s", flag.Name, bad.GetValue(), want)
}

// hintedError is an error with a hint on how to fix it.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Unwrap() error { return e.error }

// withHint attaches a hint, which is printed on the line below the error. If a
// chain of wrapped errors has several, the outermost is printed.
func withHint(err error, hint string) error {
	return &hintedError{err, hint}
}

// hint is the hint for errors that wrap kind.
type hint struct {
	kind error
	text string
}

// withHintOn attaches the first hint whose kind err wraps, if there is one.
func withHintOn(err error, hints ...hint) error {
	for _, h := range hints {
		if errors.Is(err, h.kind) {
			return withHint(err, h.text)
		}
	}
	return err
}

// reportError prints err and its hint, and returns the exit code. The default hint of
// a usage error is the help of cmd.
func reportError(stderr io.Writer, cmd *cobra.Command, err error) int {
	code := exitError
	if _, ok := errors.AsType[*usageError](err); ok {
		code = exitUsage
	}
	if _, ok := errors.AsType[*loggedError](err); ok {
		return code
	}
	hint := hintOn(cmd, err)
	fmt.Fprintf(stderr, "credence: error: %s\n", printout.Plain(err.Error()))
	if hint != "" {
		fmt.Fprintf(stderr, "credence: hint: %s\n", hint)
	}
	return code
}

// loggedError is an error that the verb has written to its log.
type loggedError struct{ error }

func (e *loggedError) Unwrap() error { return e.error }

// hintOn returns the hint about an error of a verb, or "".
func hintOn(cmd *cobra.Command, err error) string {
	if h, ok := errors.AsType[*hintedError](err); ok {
		return h.hint
	}
	usage := ""
	if _, ok := errors.AsType[*usageError](err); ok {
		usage = fmt.Sprintf("run %q for usage", cmd.CommandPath()+" --help")
	}
	return cmp.Or(adviceOn(err, cmd.Flags()), backboneHint(err), nearFile(err), usage)
}

// nearFile returns the hint about a file that does not exist: a file of the same folder
// with a similar name, or that the folder does not exist either. It returns "" if there
// is none.
func nearFile(err error) string {
	var path string
	if e, ok := errors.AsType[*dataset.ParseError](err); ok {
		path = e.File
	} else if e, ok := errors.AsType[*fs.PathError](err); ok {
		path = e.Path
	}
	if path == "" || !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	folder := filepath.Dir(path)
	there, readErr := os.ReadDir(folder)
	if readErr != nil {
		return fmt.Sprintf("folder %s does not exist", folder)
	}
	if near := nearestFile(filepath.Base(path), words.Each(there, fs.DirEntry.Name)); near != "" {
		return fmt.Sprintf("did you mean %s?", words.Quote(filepath.Join(folder, near)))
	}
	return ""
}

// nearestFile returns the name that resembles a file's: the name without its extension may differ in a third of
// its letters, so that votes.cvs is votes.csv and data.json data.jsonl, but nope.csv is not pe.csv.
func nearestFile(name string, there []string) string {
	stem := func(name string) string {
		name = strings.ToLower(name)
		return strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), filepath.Ext(strings.TrimSuffix(name, ".gz")))
	}
	alike := slices.DeleteFunc(slices.Clone(there), func(other string) bool {
		a, b := stem(name), stem(other)
		return 3*words.Distance(a, b) > min(len(a), len(b))
	})
	if near := words.Nearest(name, alike); near != "" {
		return near
	}
	for _, other := range alike { // another format or extension
		if stem(other) == stem(name) {
			return other
		}
	}
	return ""
}

// settingFlags has the flag of each setting and two hints: known if the column, or the
// value, is known, and open if it is not. [WORD] is replaced by the column or value,
// quoted for the flag.
var settingFlags = map[dataset.Setting]struct{ flag, known, open string }{
	dataset.SetItem:        {"item", "use --item [WORD] if it identifies the items", "name the column of the items with --item"},
	dataset.SetVotesItem:   {"votes-item", "", "name the column of the items among the votes with --votes-item"},
	dataset.SetLabel:       {"label", "", "name the column of labels, one per row, with --label"},
	dataset.SetTotal:       {"total", "", "name the column of totals with --total, or give the number of votes of every item, such as --total 5"},
	dataset.SetVotes:       {"votes", "", "give the file of votes with --votes"},
	dataset.SetVoteColumns: {"vote-columns", "name the columns of votes with --vote-columns [WORD]", "name the columns of votes with --vote-columns"},
	dataset.SetForm:        {"votes-form", "specify [WORD]", "if these are votes, specify their form with --votes-form"},
	dataset.SetClasses:     {"classes", "", "name all classes with --classes"},
	dataset.SetOrdered:     {"ordered", "", "say so with --ordered"},
	dataset.SetIgnore:      {"ignore", "exclude the column with --ignore [WORD]", "exclude other columns with --ignore"},
	dataset.SetGroup:       {"group", "", "name the column of groups with --group"},
	dataset.SetCategorical: {"categorical", "read its values as categories with --categorical [WORD]", "name columns of categories with --categorical"},
	dataset.SetText:        {"text", "learn from its words with --text [WORD]", "name columns of text with --text"},
	dataset.SetMissing:     {"na", "use --na [WORD] if it means a missing value", ""},
	dataset.SetImages:      {"image-column", "read the files with --image-column [WORD]", "name the column of their paths with --image-column"},
	dataset.SetArray:       {"array", "", "name it with --array"},
	dataset.SetBackbone:    {"backbone", "", "give the file with --backbone, or vectors from credence embed"},
	dataset.SetSheet:       {"sheet", "leave --sheet or --votes-sheet out, or give the workbook", "name the sheet with --sheet, that of a file of votes with --votes-sheet"},
}

// adviceOn returns the flags that would resolve an error or a warning about data, or "".
// If flags is not nil, flags that the verb does not have are omitted.
func adviceOn(err error, flags *pflag.FlagSet) string {
	a, ok := errors.AsType[*dataset.Advice](err)
	if !ok {
		return ""
	}
	quoted := func(name string, quote func(string) string) string {
		if name == "" {
			return ""
		}
		return quote(name)
	}
	var list []string
	for _, s := range a.Settings {
		f := settingFlags[s]
		if flags != nil && flags.Lookup(f.flag) == nil {
			continue
		}
		word := ""
		switch {
		case s == dataset.SetMissing:
			word = quoted(a.Value, listWord)
		case s == dataset.SetVoteColumns:
			word = strings.Join(words.Each(a.Columns, listWord), ",")
		case s == dataset.SetForm:
			word = strings.Join(words.Each(a.Forms, func(f dataset.Form) string { return "--votes-form " + f.String() }), " or ")
		case s == dataset.SetItem || s == dataset.SetImages:
			word = quoted(a.Column, words.Quote)
		default:
			word = quoted(a.Column, listWord)
		}
		if word != "" && f.known != "" {
			list = append(list, strings.Replace(f.known, "[WORD]", word, 1))
		} else {
			list = append(list, f.open)
		}
	}
	if n := len(list); n > 1 {
		return strings.Join(list[:n-1], ", ") + ", or " + list[n-1]
	}
	return strings.Join(list, "")
}

// warningText formats a warning about data with the flags that would resolve it.
func warningText(err error) string {
	text := err.Error()
	if advice := adviceOn(err, nil); advice != "" {
		text += "; " + advice
	}
	return printout.Plain(text)
}

// listWord quotes a column name for a flag with a list of columns, separated by
// commas.
func listWord(name string) string {
	if strings.ContainsAny(name, ",\"\n") {
		name = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	return words.Quote(name)
}
