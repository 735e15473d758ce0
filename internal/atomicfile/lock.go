package atomicfile

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

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
