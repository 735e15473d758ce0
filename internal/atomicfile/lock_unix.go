//go:build unix && !solaris && !aix

package atomicfile

import (
	"os"
	"syscall"
	"time"
)

// lock locks an open file if no other process holds its lock. known is false if
// the file system does not support locks.
func lock(f *os.File) (held, known bool) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case nil:
			return true, true
		case syscall.EWOULDBLOCK:
			return false, true
		case syscall.EINTR:
		default:
			return false, false
		}
	}
}

// noFollow prevents opening a symbolic link as a lock file.
const noFollow = syscall.O_NOFOLLOW

// unlocked is the age up to which a temporary file may have lost its lock although its process is about to rename it: none, since
// files are renamed before they are closed.
const unlocked = time.Duration(0)

// busy reports whether an error of renaming a file is due to others that have it open: never, on Unix.
func busy(error) bool { return false }

// foldersSync reports whether a folder can be synced.
const foldersSync = true

// retire removes a lock file and then closes it, which releases the lock. While the
// lock is held no other process can have replaced the file.
func retire(f *os.File) error {
	err := os.Remove(f.Name())
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// publish renames a temporary file to its final name and then closes it, which
// releases its lock.
func publish(f *os.File, path string) error {
	if err := rename(f.Name(), path, busy); err != nil {
		return err
	}
	return f.Close()
}
