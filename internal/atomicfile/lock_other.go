//go:build !unix || solaris || aix

package atomicfile

import "os"

// lock takes no lock: age decides what is a leftover.
func lock(*os.File) (held, known bool) { return false, false }

// publish gives a temporary file its final name; an open file may not be
// renamed.
func publish(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
