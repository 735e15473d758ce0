package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock locks an open file if no other process holds its lock. known is false if
// the file system does not support locks.
//
// Locks of Windows are mandatory: what they cover cannot be read by others. A lock file
// names its process, so the lock covers one byte far behind its end.
func lock(f *os.File) (held, known bool) {
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	switch {
	case err == nil:
		return true, true
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return false, true
	}
	return false, false
}

// busy reports whether an error of renaming or removing a file is due to others that have it open, such as a server that reads a
// model, or a virus scanner. Windows denies access to a file that is to be replaced and is open.
func busy(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}
