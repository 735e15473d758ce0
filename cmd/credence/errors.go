package main

import (
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

// usageError marks a command line that cannot be understood, as opposed to
// work that failed: it ends with exit code 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

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

// oneOf checks a flag that has a few values.
func oneOf(flag, value string, choices ...string) error {
	expected := "one of " + strings.Join(choices, ", ")
	if len(choices) == 2 {
		expected = words.List(choices, "or")
	}
	return expect(slices.Contains(choices, value), "--%s %q: expected %s", flag, value, expected)
}

// firstChanged returns the first of some flags that the command line sets, or "".
func firstChanged(f *pflag.FlagSet, names ...string) string {
	for _, name := range names {
		if f.Changed(name) {
			return name
		}
	}
	return ""
}

// asUsage marks err as a usageError unless it is one.
func asUsage(err error) error {
	if _, ok := errors.AsType[*usageError](err); ok {
		return err
	}
	return &usageError{err}
}

// flagError says in plain words what is wrong with the value of a flag.
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

// hintedError carries a sentence on how to fix the error.
type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() }
func (e *hintedError) Unwrap() error { return e.err }

// withHint attaches a hint, which is printed on the line below the error. Of
// several in a chain of wrapped errors the outermost is printed.
func withHint(err error, hint string) error {
	return &hintedError{err, hint}
}

// hint is what to do about errors of a kind.
type hint struct {
	kind error
	text string
}

// withHintOn attaches the hint of the first kind that err is of, if there is one.
func withHintOn(err error, hints ...hint) error {
	for _, h := range hints {
		if errors.Is(err, h.kind) {
			return withHint(err, h.text)
		}
	}
	return err
}

// reportError prints err and its hint, and returns the exit code it calls for. A
// usage error without a hint of its own points to the help of cmd.
func reportError(stderr io.Writer, cmd *cobra.Command, err error) int {
	code, hint := exitError, ""
	if _, ok := errors.AsType[*usageError](err); ok {
		code = exitUsage
		hint = fmt.Sprintf("run %q to see what it takes", cmd.CommandPath()+" --help")
	}
	if near := nearFile(err); near != "" {
		hint = near
	}
	if advice := adviceOn(err, cmd.Flags()); advice != "" {
		hint = advice
	}
	if h, ok := errors.AsType[*hintedError](err); ok {
		hint = h.hint
	}
	fmt.Fprintf(stderr, "credence: error: %s\n", printout.Plain(err.Error()))
	if hint != "" {
		fmt.Fprintf(stderr, "credence: hint: %s\n", hint)
	}
	return code
}

// nearFile is the hint about a file that is not there: one of the same folder whose
// name is almost the same, or that its folder is not there either.
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
		return fmt.Sprintf("there is no folder %s here", folder)
	}
	if near := words.Nearest(filepath.Base(path), words.Each(there, fs.DirEntry.Name)); near != "" {
		return fmt.Sprintf("did you mean %s?", shellQuote(filepath.Join(folder, near)))
	}
	return ""
}
