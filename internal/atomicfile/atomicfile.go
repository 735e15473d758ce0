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
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
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
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	return dir == "/dev/fd" || dir == "/proc/self/fd" || path == "/dev/stdout" || path == "/dev/stderr"
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
	_ = Clean(dir, escape.Replace(name))
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
var escape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// MkdirAll makes a folder with all that lie above it, durably: after a crash it is
// there, or none of it was. The umask decides who may use them.
func MkdirAll(path string) error {
	var made []string
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		_, err := os.Stat(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		made = append(made, dir)
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	for _, dir := range made {
		if err := SyncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// SyncDir makes the names in a folder durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return synced(d.Sync())
}

// synced returns the error of syncing a folder. Systems on which a folder cannot
// be synced say so, and have guarantees of their own.
func synced(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || !foldersSync {
		return nil
	}
	return err
}

// Lock is a file that one process at a time holds. The system releases it when
// the process ends, however it ends; the file that a killed process leaves is a
// leftover that the next one takes over.
type Lock struct{ file *os.File }

// HeldError says who holds a lock.
type HeldError struct {
	Path   string
	Holder string // process, host and time, or empty if it has not said so yet
}

// Error names the holder.
func (e *HeldError) Error() string {
	if e.Holder == "" {
		return e.Path + " is held by another process"
	}
	return e.Path + " is held by " + e.Holder
}

// patience is how long a lock is waited for: whoever cleans up holds it for an
// instant.
const patience = 250 * time.Millisecond

// TakeLock takes the lock file at path, and writes into it who holds it. If
// another process has it, the error is a [HeldError]. Where the file system knows
// no locks nothing is locked.
func TakeLock(path string) (*Lock, error) {
	for end := time.Now().Add(patience); ; time.Sleep(patience / 25) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o666)
		if err != nil {
			return nil, err
		}
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			f.Close()
			return nil, fmt.Errorf("%s: expected a regular file", path)
		}
		held, known := lock(f)
		if !known || held && present(f) {
			l := &Lock{f}
			l.sign()
			return l, nil
		}
		// The file of a lock that was held here has been removed since it was opened.
		holder, _ := io.ReadAll(io.LimitReader(f, 1<<10))
		f.Close()
		if !held && time.Now().After(end) {
			return nil, &HeldError{path, strings.TrimSpace(string(holder))}
		}
	}
}

// LockFile takes the lock of an open file itself, whatever names it has; closing
// it gives the lock back. If another process has it, the error is a [HeldError].
// Where the file system knows no locks nothing is locked.
func LockFile(f *os.File) error {
	for end := time.Now().Add(patience); ; time.Sleep(patience / 25) {
		if held, known := lock(f); held || !known {
			return nil
		}
		if time.Now().After(end) {
			return &HeldError{Path: f.Name()}
		}
	}
}

// sign writes into the file who holds it; a disk that is full does not keep
// anybody from holding it.
func (l *Lock) sign() {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	_ = l.file.Truncate(0)
	fmt.Fprintf(l.file, "process %d on %s since %s\n", os.Getpid(), host, time.Now().Format(time.RFC3339))
}

// Holds reports whether the lock file is still the one that was taken: false if
// somebody removed it, or the folder that it is in.
func (l *Lock) Holds() bool { return present(l.file) }

// Release gives the lock back and removes its file.
func (l *Lock) Release() error {
	if !l.Holds() {
		return l.file.Close()
	}
	return retire(l.file)
}
