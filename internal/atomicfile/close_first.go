//go:build !unix || solaris || aix

package atomicfile

import (
	"os"
	"time"
)

// noFollow does not exist on this system.
const noFollow = 0

// foldersSync reports whether a folder can be synced.
const foldersSync = false

// unlocked is the age up to which a temporary file may have lost its lock although its process is about to rename it: it has to
// close it first.
const unlocked = 5 * time.Second

// retire closes and removes a lock file. An open file cannot be removed. Another process that has opened it since then has it as
// its own lock file.
func retire(f *os.File) error {
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Remove(f.Name()); !busy(err) {
		return unlessGone(err)
	}
	return nil
}

// publish renames a temporary file to its final name. An open file cannot be
// renamed.
func publish(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return rename(f.Name(), path, busy)
}
