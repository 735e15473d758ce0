// Package atomicfile writes files atomically: under a temporary name in the same
// folder, which is synced and then renamed, after which the folder is synced. A
// crash, a full disk or a signal never leaves an incomplete file under the final
// name, and an existing file is kept until the new one is complete. Devices, pipes
// and /dev/stdout are written directly.
//
// A killed process leaves its temporary file behind. The next [Write] of the same
// file removes it, and so does [Clean] for the files of a folder. Package
// atomicfile also provides lock files: see [TakeLock].
package atomicfile

import (
	"bufio"
	"cmp"
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

// Write replaces the contents of the file at path by the output of write. A new
// file has the permissions that the umask allows. An existing file keeps its
// permissions.
func Write(path string, write func(w io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", path, reason(err))
		}
	}()
	old, _ := os.Stat(path)
	mode := os.FileMode(0o666) // restricted by the umask
	switch {
	case old == nil:
	case old.IsDir():
		return syscall.EISDIR
	case IsStream(path):
		return writeThrough(path, write)
	default: // private until it gets the permissions of the old file
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

// buffered calls write with a buffered writer to f.
func buffered(f io.Writer, write func(w io.Writer) error) error {
	b := bufio.NewWriter(f)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// IsStream reports whether a path is written directly and never replaced: a device, a pipe, or the name of
// an open file of the process, such as /dev/stdout, wherever it leads.
func IsStream(path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return false
	}
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	return !info.Mode().IsRegular() || dir == "/dev/fd" || dir == "/proc/self/fd" || path == "/dev/stdout" || path == "/dev/stderr"
}

// writeThrough writes to a file that cannot be replaced. It appends, so that output that a shell redirects to the end
// of a file goes there.
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

// reason removes the operation and the temporary name from an error of the
// operating system.
func reason(err error) error {
	switch e := err.(type) { // not errors.As: an error that wraps another has its own message
	case *os.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}

// A temporary file for NAME is named .NAME.DIGITS.tmp. Its process holds a lock
// on it, which the system releases when the process ends for any reason. A
// temporary file that is not locked is a leftover.

// suffix is the end of the name of a temporary file.
const suffix = ".tmp"

// unlockable is the age from which a temporary file counts as a leftover if the
// file system does not support locks.
const unlockable = 24 * time.Hour

// Clean removes the temporary files that killed processes left in a folder, for
// files whose names match one of the patterns; see [filepath.Match]. Files that
// a running process is writing are kept. A missing folder is not an
// error.
func Clean(dir string, patterns ...string) error {
	return clean(dir, func(name string) (matches bool, err error) {
		for _, p := range patterns {
			if matches, err = filepath.Match(p, name); matches || err != nil {
				break
			}
		}
		return matches, err
	})
}

// clean is Clean for the files whose names match.
func clean(dir string, match func(name string) (bool, error)) error {
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
		matches, err := match(name)
		if matches {
			err = removeLeftover(filepath.Join(dir, entry))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// target returns the final name of a temporary file.
func target(entry string) (name string, ok bool) {
	rest, ok := strings.CutSuffix(entry, suffix)
	at := strings.LastIndexByte(rest, '.')
	if !ok || at < 2 || rest[0] != '.' || at == len(rest)-1 || strings.Trim(rest[at+1:], "0123456789") != "" {
		return "", false
	}
	return rest[1:at], true
}

// removeLeftover removes a temporary file unless a process holds its lock.
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
	case !held && known, !known && time.Since(info.ModTime()) < unlockable, time.Since(info.ModTime()) < unlocked:
		return nil
	case !present(f): // it was replaced since it was opened
		return nil
	}
	return unlessGone(retire(f))
}

// unlessGone returns err, or nil if it means that a file does not exist.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// File is an open file with a temporary name.
type File struct {
	*os.File
	path string
	done bool
}

// Create creates a temporary file for path. [File.Commit] moves it there. Only the
// owner may read it, unless its mode is changed before.
func Create(path string) (*File, error) { return create(path, 0o600) }

// create is Create with the permissions of the temporary file, which the umask restricts.
func create(path string, mode os.FileMode) (*File, error) {
	dir, name := folder(path), filepath.Base(path)
	// Failure to remove leftovers does not prevent writing a file.
	_ = clean(dir, func(other string) (bool, error) { return other == name, nil })
	for {
		// Not os.CreateTemp, whose files are private regardless of the umask.
		at := filepath.Join(dir, fmt.Sprintf(".%s.%d%s", name, rand.Uint32(), suffix))
		f, err := os.OpenFile(at, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// Before the lock was taken, another process may have removed the file as
		// a leftover.
		held, known := lock(f)
		if !known || held && present(f) {
			return &File{File: f, path: path}, nil
		}
		f.Close()
		os.Remove(f.Name())
	}
}

// Commit syncs the file, renames it to its final name and closes it.
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

// present reports whether f is still the file at its path.
func present(f *os.File) bool {
	mine, err1 := f.Stat()
	there, err2 := os.Lstat(f.Name())
	return err1 == nil && err2 == nil && os.SameFile(mine, there)
}

// folder returns the folder of the file at path.
func folder(path string) string {
	if dir, _ := filepath.Split(path); dir != "" {
		return dir
	}
	return "."
}

// MkdirAll creates a folder and its parents and syncs them, so that they survive a
// crash. Permissions are determined by the umask.
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

// synced returns the error of syncing a folder. Errors of systems on which folders
// cannot be synced are ignored: they have other guarantees.
func synced(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || !foldersSync {
		return nil
	}
	return err
}

// Lock is a lock file that one process at a time holds. The system releases the
// lock when the process ends for any reason. The file that a killed process leaves
// behind is reused by the next one.
type Lock struct{ file *os.File }

// HeldError reports that another process holds a lock.
type HeldError struct {
	Path   string
	Holder string // process, host and time, or empty if unknown
}

// Error returns a message with the path and the holder.
func (e *HeldError) Error() string {
	return e.Path + " is held by " + cmp.Or(e.Holder, "another process")
}

// patience is the maximum waiting time for a lock. A process that cleans up holds
// it only briefly.
const patience = 250 * time.Millisecond

// TakeLock takes the lock file at path, and writes a description of the holder to
// it. If another process holds it, the error is a [HeldError]. If the file system
// does not support locks, nothing is locked.
func TakeLock(path string) (*Lock, error) {
	for end := time.Now().Add(patience); ; time.Sleep(patience / 25) {
		if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: expected a regular file", path)
		}
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
		// If held is true, the file was removed after it was opened.
		holder, _ := io.ReadAll(io.LimitReader(f, 1<<10))
		f.Close()
		if !held && time.Now().After(end) {
			return nil, &HeldError{path, strings.TrimSpace(string(holder))}
		}
	}
}

// LockFile locks an open file itself, independently of its names. Closing the file
// releases the lock. If another process holds it, the error is a [HeldError]. If
// the file system does not support locks, nothing is locked.
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

// sign writes a description of the holder to the file. Errors, as of a full disk,
// are ignored.
func (l *Lock) sign() {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	_ = l.file.Truncate(0)
	fmt.Fprintf(l.file, "process %d on %s since %s\n", os.Getpid(), host, time.Now().Format(time.RFC3339))
}

// Holds reports whether the lock file is still the one that was taken. It is false
// if the file or its folder was removed.
func (l *Lock) Holds() bool { return present(l.file) }

// Release releases the lock and removes its file.
func (l *Lock) Release() error {
	if !l.Holds() {
		return l.file.Close()
	}
	return retire(l.file)
}
