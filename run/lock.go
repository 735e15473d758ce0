package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"credence/internal/atomicfile"
	"credence/train"
)

// lockFile is held by the process that writes into the folder, and by one that
// cleans up what a killed process left. It tells who that is.
const lockFile = ".lock"

// ErrInUse is the reason when another process is writing into a folder. The error
// names the process, its host and since when.
var ErrInUse = errors.New("is in use")

// Lock takes the folder for this process, and makes it if it is not there. If
// another process has it the error is ErrInUse. The system gives the folder back
// when the process ends, however it ends. [Train] does all of this itself.
func (f Folder) Lock() (release func() error, err error) {
	l, err := f.lock()
	if err != nil {
		return nil, err
	}
	return l.Release, nil
}

func (f Folder) lock() (*atomicfile.Lock, error) {
	for tries := 0; ; tries++ {
		if err := atomicfile.MkdirAll(string(f)); err != nil {
			return nil, err
		}
		l, err := atomicfile.TakeLock(f.Path(lockFile))
		if held, ok := errors.AsType[*atomicfile.HeldError](err); ok {
			held.Holder = cmp.Or(held.Holder, "another process")
			return nil, fmt.Errorf("%s %w by %s", f, ErrInUse, held.Holder)
		}
		// A run that never began takes its folder with it.
		if errors.Is(err, fs.ErrNotExist) && tries < 10 {
			continue
		}
		return l, err
	}
}

// clean removes what killed processes left half written, and their lock. If a
// living process writes into the folder the error is ErrInUse.
func (f Folder) clean() error {
	if !f.stale() {
		return nil
	}
	l, err := f.lock()
	if err != nil {
		return err
	}
	err = f.sweep()
	return errors.Join(err, l.Release())
}

// stale reports whether there is anything that a process at work or a killed one
// has left.
func (f Folder) stale() bool {
	temporary := func(e fs.DirEntry) bool {
		return e.Name() == lockFile || strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".tmp")
	}
	there, _ := os.ReadDir(string(f))
	checkpoints, err := os.ReadDir(f.checkpoints())
	return slices.ContainsFunc(there, temporary) || slices.ContainsFunc(checkpoints, temporary) || err == nil && len(checkpoints) == 0
}

// sweep removes leftovers. The caller holds the lock: a folder of checkpoints that
// is empty may be one that is about to be written to.
func (f Folder) sweep() error {
	if err := atomicfile.Clean(string(f), slices.Concat([]string{partFile}, files)...); err != nil {
		return err
	}
	return train.CleanCheckpoint(f.checkpoints())
}
