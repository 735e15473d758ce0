// Package fault provides errors about input files, with the position in the file.
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

	"credence/record"
)

// ErrFormat is the cause if a file is truncated, damaged, or not of the format
// that its name implies.
var ErrFormat = record.ErrFormat

// Error is an error about a file, with its position.
type Error = record.Error

// Malformed returns an error about a damaged file, with the cause [ErrFormat].
func Malformed(file, format string, args ...any) error {
	return &Error{File: file, Msg: fmt.Sprintf(format, args...), Err: ErrFormat}
}

// Of wraps an error of the operating system or of a library. The operation and the
// path of an [os.PathError] are removed, since Error includes the file. Errors of a
// context are returned unchanged.
func Of(file string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		err = pe.Err
	}
	return &Error{File: file, Msg: err.Error(), Err: err}
}

// Open opens a file for reading and returns its size.
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

// Reader returns a reader of r that returns the context's error once the context is
// done. It is checked at each call of Read.
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

// errPipe is the reason why a pipe or device is not opened. Opening a pipe blocks
// until another process writes to it, and data from it cannot be read twice.
var errPipe = errors.New("expected a file, found a pipe or device; for standard input, which may be a pipe, use -")

// OpenFile opens a file for reading. Pipes, sockets and devices are an error, except
// for paths under /dev and /proc, by which a shell or the system passes files that
// are open already.
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

// Extension returns the extension of a file name in lower case, ignoring a trailing .gz.
func Extension(path string) string {
	return filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz"))
}
