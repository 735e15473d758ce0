//go:build !unix || solaris || aix

package atomicfile

import "os"

// lock takes no lock: age decides what is a leftover.
func lock(*os.File) (held, known bool) { return false, false }

// noFollow has no counterpart here.
const noFollow = 0

// foldersSync reports whether a folder can be synced.
const foldersSync = false

// retire closes and removes the file of a lock; an open file may not be removed.
func retire(f *os.File) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Remove(f.Name())
}

// publish gives a temporary file its final name; an open file may not be
// renamed.
func publish(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
