// Package atomicfile writes files that appear whole or not at all: to a
// temporary name in the same folder, synced, then renamed, and the folder
// synced. A crash, a full disk or a signal never leaves half a file under a
// final name, and what was there before stays until the new file is complete.
// A device, a pipe or /dev/stdout is written to as it is.
//
// A process that is killed leaves its temporary file behind. The next [Write]
// of the same file removes it, and so does [Clean] for the files of a folder.
package atomicfile

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// Write makes write's output the content of the file at path. A new file may be
// read by whom the umask of the process allows, and one that is replaced by the
// same people as before.
func Write(path string, write func(w io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", path, reason(err))
		}
	}()
	old, _ := os.Stat(path)
	mode := os.FileMode(0o666) // which the umask narrows
	switch {
	case old == nil:
	case old.IsDir():
		return syscall.EISDIR
	case IsStream(path):
		return writeThrough(path, write)
	default: // nobody may read the new content who may not read the old
		mode = 0o600
	}
	f, err := create(path, mode)
	if err != nil {
		return err
	}
	defer f.Discard()
	err = buffered(f, write)
	if err == nil && old != nil {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = f.Commit()
	}
	return err
}

// buffered calls write with a buffer before f.
func buffered(f io.Writer, write func(w io.Writer) error) error {
	b := bufio.NewWriter(f)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// IsStream reports whether a path is written to as it is, and never replaced: a device, a pipe, or the name of
// a file that the process has open, such as /dev/stdout, whatever that leads to.
func IsStream(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return false
	}
	return !info.Mode().IsRegular() || isDescriptor(path)
}

// isDescriptor reports whether a path names a file that the process has open.
func isDescriptor(path string) bool {
	switch path = filepath.Clean(path); filepath.Dir(path) {
	case "/dev/fd", "/proc/self/fd":
		return true
	}
	return path == "/dev/stdout" || path == "/dev/stderr"
}

// writeThrough writes to what is not a file that could be replaced. What a shell has redirected to the end of a file
// goes there.
func writeThrough(path string, write func(w io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if err := buffered(f, write); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// reason drops the operation and the temporary name from an error of the
// operating system.
func reason(err error) error {
	switch e := err.(type) { // not one that another error wraps, with words of its own
	case *os.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}
