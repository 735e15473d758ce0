//go:build unix

package fault

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestOpenFile checks that a pipe instead of a file is an error, without blocking.
func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(pipe); !errors.Is(err, errPipe) {
		t.Errorf("a pipe: %v", err)
	}
	if _, err := OpenFile(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	for _, path := range []string{file, dir, os.DevNull} {
		f, err := OpenFile(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		f.Close()
	}
}
