// Package atomicfile writes files that appear whole or not at all: to a
// temporary name in the same folder, synced, then renamed, and the folder
// synced. A crash, a full disk or a signal never leaves half a file under a
// final name, and what was there before stays until the new file is complete.
// A device or a pipe is written to as it is.
//
// A process that is killed leaves its temporary file behind. The next [Write]
// of the same file removes it, and so does [Clean] for the files of a folder.
package atomicfile

import (
	"bufio"
	"fmt"
	"io"
	"os"
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
	begin, keep := createPublic, func(*File) error { return nil }
	switch {
	case old == nil:
	case old.IsDir():
		return syscall.EISDIR
	case !old.Mode().IsRegular():
		return writeThrough(path, write)
	default: // nobody may read the new content who may not read the old
		begin, keep = Create, func(f *File) error { return f.Chmod(old.Mode().Perm()) }
	}
	f, err := begin(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	b := bufio.NewWriter(f)
	for _, step := range []func() error{func() error { return write(b) }, b.Flush, func() error { return keep(f) }, f.Commit} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// writeThrough writes to what is not a file that could be replaced.
func writeThrough(path string, write func(w io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	for _, step := range []func() error{func() error { return write(b) }, b.Flush} {
		if err := step(); err != nil {
			f.Close()
			return err
		}
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
