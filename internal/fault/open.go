package fault

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errPipe is the reason why something is not opened. Opening a pipe waits until
// somebody writes to it, and what was read from it cannot be read again.
var errPipe = errors.New("it is a pipe or a device: expected a file; standard input, which may be a pipe, is called -")

// OpenFile opens a file to be read, and refuses pipes, sockets and devices. What a
// shell or the system hands over as a file that is open already, under /dev or
// /proc, is read as it comes.
func OpenFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if m := info.Mode(); !m.IsRegular() && !m.IsDir() && !handedOver(path) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errPipe}
	}
	return os.Open(path)
}

func handedOver(path string) bool {
	path = filepath.Clean(path)
	return strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/")
}

// Extension returns the extension of a file's name in lower case, without .gz behind it.
func Extension(path string) string {
	return filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz"))
}
