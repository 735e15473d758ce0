//go:build unix && !solaris && !aix

package atomicfile

import (
	"os"
	"syscall"
)

// lock takes the lock of an open file if no other process has it. known is false
// where the file system has no locks.
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

// noFollow keeps a link from being opened for the file of a lock.
const noFollow = syscall.O_NOFOLLOW

// foldersSync reports whether a folder can be synced.
const foldersSync = true

// retire removes the file of a lock and closes it, which releases the lock: while
// it is held nobody else can have taken its place.
func retire(f *os.File) error {
	err := os.Remove(f.Name())
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// publish gives a temporary file its final name, under the lock that closing
// releases.
func publish(f *os.File, path string) error {
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return f.Close()
}
