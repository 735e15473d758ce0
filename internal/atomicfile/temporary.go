package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A temporary file for NAME is called .NAME.DIGITS.tmp. Its process holds a lock
// on it, which the system releases when the process ends, however it ends: a
// temporary that nobody holds is a leftover.

// suffix ends the name of a temporary file.
const suffix = ".tmp"

// unlockable is the age from which a temporary counts as a leftover where the
// file system has no locks to tell by.
const unlockable = 24 * time.Hour

// Clean removes the temporary files that killed processes left in a folder,
// those for files whose names match one of the patterns of [filepath.Match].
// Files that a living process is writing stay. A folder that is not there is
// clean.
func Clean(dir string, patterns ...string) error {
	d, err := os.Open(dir)
	if err != nil {
		return unlessGone(err)
	}
	defer d.Close()
	entries, err := d.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name, ok := target(entry)
		if !ok {
			continue
		}
		for _, p := range patterns {
			match, err := filepath.Match(p, name)
			if match {
				err = removeLeftover(filepath.Join(dir, entry))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// target returns the name of the file that a temporary is for.
func target(entry string) (name string, ok bool) {
	rest, ok := strings.CutSuffix(entry, suffix)
	at := strings.LastIndexByte(rest, '.')
	if !ok || at < 2 || rest[0] != '.' || at == len(rest)-1 || strings.Trim(rest[at+1:], "0123456789") != "" {
		return "", false
	}
	return rest[1:at], true
}

// removeLeftover removes a temporary file unless a process holds it.
func removeLeftover(path string) error {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return unlessGone(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return unlessGone(err)
	}
	defer f.Close()
	switch held, known := lock(f); {
	case !held && known, !known && time.Since(info.ModTime()) < unlockable:
		return nil
	case !present(f): // another has come to its place since it was opened
		return nil
	}
	return unlessGone(os.Remove(path))
}

// unlessGone returns an error other than that a file is not there.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// File is a file that is being written under a temporary name.
type File struct {
	*os.File
	path string
	done bool
}

// Create begins a file for path, which appears there with Commit. Only its owner
// may read it, unless its mode is changed before.
func Create(path string) (*File, error) { return create(path, 0o600) }

func create(path string, mode os.FileMode) (*File, error) {
	dir, name := folder(path), filepath.Base(path)
	// Leftovers that cannot be removed do not keep a file from being written.
	_ = Clean(dir, escape(name))
	for {
		// Not os.CreateTemp, whose files are private whatever the umask says.
		at := filepath.Join(dir, fmt.Sprintf(".%s.%d%s", name, rand.Uint32(), suffix))
		f, err := os.OpenFile(at, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// Before the lock was there, another process may have taken the file for
		// a leftover.
		held, known := lock(f)
		if !known || held && present(f) {
			return &File{File: f, path: path}, nil
		}
		f.Close()
		os.Remove(f.Name())
	}
}

// Commit syncs the file, gives it its name and closes it.
func (f *File) Commit() error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := publish(f.File, f.path); err != nil {
		return err
	}
	f.done = true
	return SyncDir(folder(f.path))
}

// Discard closes and removes a file that was not committed.
func (f *File) Discard() {
	if !f.done {
		f.done = true
		f.Close()
		os.Remove(f.Name())
	}
}

// present reports whether f is still the file of its name.
func present(f *os.File) bool {
	mine, err1 := f.Stat()
	there, err2 := os.Lstat(f.Name())
	return err1 == nil && err2 == nil && os.SameFile(mine, there)
}

// folder is where the file at path lies.
func folder(path string) string {
	if dir, _ := filepath.Split(path); dir != "" {
		return dir
	}
	return "."
}

// escape makes a pattern that matches a name alone.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}
