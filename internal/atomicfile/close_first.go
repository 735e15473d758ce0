//go:build !unix || solaris || aix

package atomicfile

import "os"

// noFollow does not exist on this system.
const noFollow = 0

// foldersSync reports whether a folder can be synced.
const foldersSync = false

// retire closes and removes a lock file. An open file cannot be removed.
func retire(f *os.File) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Remove(f.Name())
}

// publish renames a temporary file to its final name. An open file cannot be
// renamed.
func publish(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
