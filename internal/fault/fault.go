// Package fault says what is wrong with a file that is read, and where.
package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrFormat is the cause when a file is truncated, damaged, or of another format
// than its name says.
var ErrFormat = errors.New("malformed file")

// Error says what is wrong with a file, and where.
type Error struct {
	File   string // as the caller named it
	Line   int    // from 1; 0 when the whole file is meant
	Column int    // the field, from 1; 0 when the whole line is meant
	Sheet  string // of a workbook, whose rows are the lines; else ""
	Name   string // the column's name, if it has one
	Msg    string
	Err    error // the cause, or nil
}

// Error reads like `reading votes.csv: line 17, column 3 (label): …`.
func (e *Error) Error() string {
	var place string
	switch {
	case e.Sheet != "" && e.Line > 0 && e.Column > 0:
		place = fmt.Sprintf("sheet %q, cell %s%d", e.Sheet, Letters(e.Column), e.Line)
	case e.Sheet != "" && e.Line > 0:
		place = fmt.Sprintf("sheet %q, row %d", e.Sheet, e.Line)
	case e.Sheet != "":
		place = fmt.Sprintf("sheet %q", e.Sheet)
	case e.Line > 0 && e.Column > 0:
		place = fmt.Sprintf("line %d, column %d", e.Line, e.Column)
	case e.Line > 0:
		place = fmt.Sprintf("line %d", e.Line)
	default:
		return fmt.Sprintf("reading %s: %s", e.File, e.Msg)
	}
	if e.Column > 0 && e.Name != "" {
		place += " (" + e.Name + ")"
	}
	return fmt.Sprintf("reading %s: %s: %s", e.File, place, e.Msg)
}

// Letters returns what spreadsheets call a column, from 1: A, B, …, Z, AA, AB …
func Letters(column int) string {
	name := ""
	for ; column > 0; column = (column - 1) / 26 {
		name = string(rune('A'+(column-1)%26)) + name
	}
	return name
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Malformed reports a damaged file.
func Malformed(file, format string, args ...any) error {
	return &Error{File: file, Msg: fmt.Sprintf(format, args...), Err: ErrFormat}
}

// Of wraps an error of the operating system or of a library. The operation and the
// path of an [os.PathError] are dropped: Error says them already. That of a context is
// no fault of the file.
func Of(file string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		err = pe.Err
	}
	return &Error{File: file, Msg: err.Error(), Err: err}
}

// Open opens a file to read and returns its size.
func Open(path string) (*os.File, int64, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, 0, Of(path, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, Of(path, err)
	}
	return f, info.Size(), nil
}

// Reader returns r, which ends with the context's error once that is done: files are
// read in small steps, and a reader notices at the next.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &reader{ctx, r} }

type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}

// errPipe is the reason why something is not opened. Opening a pipe waits until
// somebody writes to it, and what was read from it cannot be read again.
var errPipe = errors.New("it is a pipe or a device: expected a file; standard input, which may be a pipe, is called -")

// OpenFile opens a file to be read, and refuses pipes, sockets and devices. What a
// shell or the system hands over as a file that is open already, under /dev or
// /proc, is read as it comes.
func OpenFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if m := info.Mode(); !m.IsRegular() && !m.IsDir() && !handedOver(path) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errPipe}
	}
	return os.Open(path)
}

func handedOver(path string) bool {
	path = filepath.Clean(path)
	return strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/")
}

// Extension returns the extension of a file's name in lower case, without .gz behind it.
func Extension(path string) string {
	return filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz"))
}
